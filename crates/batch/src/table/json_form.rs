//! JSON by its value: the order of fields, blanks, escapes and the spelling of numbers do not
//! count.

use std::collections::BTreeMap;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::decimal::Decimal;

/// MySQL's limit; each level is a call.
const DEPTH_MAX: usize = 100;

/// A document as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JsonForm {
    /// `null`, `true`, `false`
    Word(&'static str),
    Number(Vec<u8>),
    Text(String),
    List(Vec<JsonForm>),
    Fields(BTreeMap<String, JsonForm>),
}

impl JsonForm {
    /// `None`: it is not JSON, it is nested too deeply, or a field is in it twice, of which a
    /// server keeps one.
    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        if depth(json) > DEPTH_MAX {
            return None;
        }
        serde_json::from_slice(json).ok()
    }

    /// Whether each number of it is `kept`.
    pub(super) fn all_numbers(&self, kept: &impl Fn(&[u8]) -> bool) -> bool {
        match self {
            Self::Word(_) | Self::Text(_) => true,
            Self::Number(number) => kept(number),
            Self::List(items) => items.iter().all(|item| item.all_numbers(kept)),
            Self::Fields(fields) => fields.values().all(|field| field.all_numbers(kept)),
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Word(word) => out.extend_from_slice(word.as_bytes()),
            Self::Number(number) => out.extend_from_slice(number),
            Self::Text(text) => put_text(text, out),
            Self::List(items) => {
                out.push(b'[');
                for item in items {
                    item.put(out);
                    out.push(b',');
                }
                out.push(b']');
            }
            Self::Fields(fields) => {
                out.push(b'{');
                for (name, field) in fields {
                    put_text(name, out);
                    field.put(out);
                    out.push(b',');
                }
                out.push(b'}');
            }
        }
    }
}

/// How deeply lists and objects are nested.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// With its length, so that no text is taken for another one.
fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{}:", text.len()).as_bytes());
    out.extend_from_slice(text.as_bytes());
}

impl<'de> Deserialize<'de> for JsonForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        match raw.as_bytes().first() {
            Some(b'n') => Ok(Self::Word("null")),
            Some(b't') => Ok(Self::Word("true")),
            Some(b'f') => Ok(Self::Word("false")),
            Some(b'"') => serde_json::from_str(raw).map(Self::Text).map_err(de::Error::custom),
            Some(b'[' | b'{') => serde_json::Deserializer::from_str(raw)
                .deserialize_any(NestedForm)
                .map_err(de::Error::custom),
            _ => {
                let number =
                    Decimal::parse(raw.as_bytes()).ok_or_else(|| de::Error::custom("no number"))?;
                let mut out = Vec::new();
                number.put(&mut out);
                Ok(Self::Number(out))
            }
        }
    }
}

struct NestedForm;

impl<'de> Visitor<'de> for NestedForm {
    type Value = JsonForm;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonForm, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(JsonForm::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonForm, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, field)) = map.next_entry::<String, JsonForm>()? {
            if fields.insert(name, field).is_some() {
                return Err(de::Error::custom("a field twice"));
            }
        }
        Ok(JsonForm::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(json: &str) -> Option<JsonForm> {
        JsonForm::parse(json.as_bytes())
    }

    #[test]
    fn documents_are_compared_by_value() {
        assert_eq!(form(r#"{"b": 1.0, "a": [true, "\u0041"]}"#), form(r#"{"a":[true,"A"],"b":1}"#));
        assert_ne!(form("[1,2]"), form("[2,1]"));
        assert_ne!(form(r#"["1"]"#), form("[1]"));
        assert_eq!(form(r#"{"a":1,"a":2}"#), None);
        assert_eq!(form("{"), None);
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(
            form(&nested(100)).is_some()
                && form(&nested(101)).is_none()
                && form(&nested(100_000)).is_none()
        );
        assert!(form(r#"["]]\"[[", "\\"]"#).is_some());
    }

    #[test]
    fn numbers_are_judged_wherever_they_are() {
        let is_short = |number: &[u8]| number.len() < 4;
        assert!(form(r#"{"a":[1,{"b":22}]}"#).unwrap().all_numbers(&is_short));
        assert!(!form(r#"{"a":[1,{"b":12345}]}"#).unwrap().all_numbers(&is_short));
    }
}
