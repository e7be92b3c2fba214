//! A row as a JSON object, read into literals.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;
use truetps_record::{SqlDialect, fnv1a};

use super::column_type::JsonKind;
use super::literal::{literal_text, put_number, put_text};
use super::{ColumnType, TableColumns};
use crate::InsertRow;

/// Why a row is refused before it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RowError {
    #[error("not a JSON object: {0}")]
    NotJson(String),
    #[error("the table has no column `{0}` that can be set")]
    UnknownColumn(String),
    #[error("column `{0}` is given twice")]
    Twice(String),
    #[error("column `{0}` has no default and is not given")]
    Missing(String),
    #[error("column `{0}` cannot be null")]
    Null(String),
    #[error("column `{0}`: the server has no text with a zero byte")]
    ZeroByte(String),
    #[error("column `{column}`: {problem}")]
    Changed { column: String, problem: String },
}

impl TableColumns {
    /// Reads a JSON object whose fields are columns. `key_header` is the value of one more column,
    /// by its number, for clients that send their key in a header.
    pub fn read_row(
        &self,
        json: &[u8],
        key_header: Option<(usize, &str)>,
    ) -> Result<InsertRow, RowError> {
        let mut slots = vec![Slot::default(); self.columns().len()];
        let mut literals = Vec::with_capacity(json.len() + 16);
        if let Some((column, text)) = key_header {
            self.put_string(column, JsonKind::Text, text, &mut slots, &mut literals)?;
        }
        let mut error = None;
        let mut reader = serde_json::Deserializer::from_slice(json);
        let fields = RowFields {
            table: self,
            slots: &mut slots,
            literals: &mut literals,
            error: &mut error,
        };
        let read = fields.deserialize(&mut reader).and_then(|()| reader.end());
        if let Some(error) = error {
            return Err(error);
        }
        read.map_err(|error| RowError::NotJson(error.to_string()))?;
        self.check(&slots)?;
        Ok(self.make(&slots, &literals))
    }

    fn check(&self, slots: &[Slot]) -> Result<(), RowError> {
        for (column, slot) in self.columns().iter().zip(slots) {
            if slot.is_null && !column.is_nullable {
                return Err(RowError::Null(column.name.clone()));
            }
            if !slot.is_given && !column.has_default {
                return Err(RowError::Missing(column.name.clone()));
            }
        }
        let key = self.key().iter().find(|n| !slots[**n].is_given || slots[**n].is_null);
        key.map_or(Ok(()), |n| Err(RowError::Missing(self.columns()[*n].name.clone())))
    }

    /// Puts the literals into the order of the columns.
    fn make(&self, slots: &[Slot], literals: &[u8]) -> InsertRow {
        let mut ordered = Vec::with_capacity(literals.len());
        let ends = slots.iter().map(|slot| {
            ordered.extend_from_slice(slot.literal(literals));
            ordered.len() as u32
        });
        let ends = ends.collect();
        // An integer takes 16 bytes.
        let mut key = Vec::with_capacity(24 * self.key().len());
        let mut client = 0;
        for (n, column) in self.key().iter().enumerate() {
            if n == 1 {
                client = fnv1a(&key);
            }
            put_key_part(&self.columns()[*column].kind, slots[*column].literal(literals), &mut key);
        }
        InsertRow {
            key: key.into(),
            client,
            literals: ordered.into(),
            ends,
            columns_version: self.version,
        }
    }

    fn put_string(
        &self,
        column: usize,
        kind: JsonKind,
        text: &str,
        slots: &mut [Slot],
        literals: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let facts = &self.columns()[column];
        self.check_value(column, kind, text)?;
        let start = literals.len() as u32;
        put_text(self.dialect, &facts.kind, text, literals)
            .ok_or_else(|| RowError::ZeroByte(facts.name.clone()))?;
        slots[column] = Slot { start, end: literals.len() as u32, is_given: true, is_null: false };
        Ok(())
    }

    /// Refuses a value that the column would not keep as it is. Keys are always kept.
    fn check_value(&self, column: usize, kind: JsonKind, text: &str) -> Result<(), RowError> {
        if !self.refuses_changes && !self.key().contains(&column) {
            return Ok(());
        }
        let facts = &self.columns()[column];
        match facts.kind.problem(self.dialect, kind, text) {
            None => Ok(()),
            Some(problem) => Err(RowError::Changed { column: facts.name.clone(), problem }),
        }
    }

    fn put_value(
        &self,
        column: usize,
        value: &RawValue,
        slots: &mut [Slot],
        literals: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let facts = &self.columns()[column];
        if slots[column].is_given {
            return Err(RowError::Twice(facts.name.clone()));
        }
        let json = value.get();
        let start = literals.len() as u32;
        let is_mysql = self.dialect == SqlDialect::Mysql;
        match json.as_bytes()[0] {
            b'"' => {
                let text =
                    string_value(json).map_err(|error| RowError::NotJson(error.to_string()))?;
                return self.put_string(column, JsonKind::Text, &text, slots, literals);
            }
            b'{' | b'[' => return self.put_string(column, JsonKind::Nested, json, slots, literals),
            b'n' => literals.extend_from_slice(b"NULL"),
            b't' | b'f' if is_mysql && facts.kind.is_number() => {
                self.check_value(column, JsonKind::Boolean, json)?;
                literals.push(if json == "true" { b'1' } else { b'0' });
            }
            b't' | b'f' => {
                return self.put_string(column, JsonKind::Boolean, json, slots, literals);
            }
            // A number in a column of text is its text, with all its digits.
            _ if facts.kind == ColumnType::Integer || is_mysql && facts.kind.is_number() => {
                self.check_value(column, JsonKind::Number, json)?;
                put_number(json, literals);
            }
            _ => return self.put_string(column, JsonKind::Number, json, slots, literals),
        }
        slots[column] =
            Slot { start, end: literals.len() as u32, is_given: true, is_null: json == "null" };
        Ok(())
    }
}

/// The text of a JSON string, with its quotes, that was found to be correct. Most have no escapes.
fn string_value(json: &str) -> serde_json::Result<Cow<'_, str>> {
    match json.get(1..json.len() - 1) {
        Some(text) if !text.contains('\\') => Ok(Cow::Borrowed(text)),
        _ => serde_json::from_str(json).map(|JsonText(text)| text),
    }
}

/// Where the literal of a column is.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    start: u32,
    end: u32,
    is_given: bool,
    is_null: bool,
}

impl Slot {
    fn literal<'a>(&self, literals: &'a [u8]) -> &'a [u8] {
        &literals[self.start as usize..self.end as usize]
    }
}

/// Text that is borrowed from the JSON unless it has escapes.
#[derive(serde::Deserialize)]
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads the fields of an object.
struct RowFields<'a> {
    table: &'a TableColumns,
    slots: &'a mut [Slot],
    literals: &'a mut Vec<u8>,
    /// Set where the JSON is correct and the row is not.
    error: &'a mut Option<RowError>,
}

impl<'de> DeserializeSeed<'de> for RowFields<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowFields<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the columns of a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut expected = 0;
        while let Some(JsonText(name)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            let put = match self.table.find(&name, expected) {
                None => Err(RowError::UnknownColumn(name.into_owned())),
                Some(column) => {
                    expected = column + 1;
                    self.table.put_value(column, value, self.slots, self.literals)
                }
            };
            if let Err(error) = put {
                self.error.get_or_insert(error);
            }
        }
        Ok(())
    }
}

/// Appends one part of a key: bytes that are the same for equal values. Integers are in their own
/// order; all others in the order of their bytes.
pub(crate) fn put_key_value(kind: &ColumnType, text: &[u8], key: &mut Vec<u8>) {
    if *kind == ColumnType::Integer
        && let Ok(text) = str::from_utf8(text)
        && let Ok(integer) = text.parse::<i128>()
    {
        key.extend_from_slice(&(integer ^ i128::MIN).to_be_bytes());
        return;
    }
    for byte in kind.normal_form(text).iter() {
        key.push(*byte);
        if *byte == 0 {
            key.push(u8::MAX);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

fn put_key_part(kind: &ColumnType, literal: &[u8], key: &mut Vec<u8>) {
    put_key_value(kind, &literal_text(kind, literal).unwrap_or_default(), key);
}

#[cfg(test)]
mod tests {
    use super::super::ColumnFacts;
    use super::*;

    const TEXT: ColumnType =
        ColumnType::Text { chars_max: None, bytes_max: None, keeps_blanks: true };
    const DECIMAL: ColumnType = ColumnType::Decimal { scale: Some(2) };

    fn column(name: &str, kind: ColumnType, is_nullable: bool, has_default: bool) -> ColumnFacts {
        let (name, server_type) = (name.to_owned(), String::new());
        ColumnFacts { name, kind, server_type, reads_back: false, is_nullable, has_default }
    }

    fn table(dialect: SqlDialect) -> TableColumns {
        let columns = vec![
            column("client", ColumnType::Integer, false, false),
            column("seq", ColumnType::Integer, false, false),
            column("text", TEXT, true, true),
            column("n", DECIMAL, false, true),
        ];
        TableColumns::new(
            dialect,
            "t".to_owned(),
            7,
            columns,
            &["client".to_owned(), "seq".to_owned()],
        )
        .unwrap()
    }

    fn values(json: &str) -> Result<String, RowError> {
        let row = table(SqlDialect::Mysql).read_row(json.as_bytes(), None)?;
        let mut out = Vec::new();
        row.put_values("DEFAULT", &mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_row_is_in_the_order_of_the_columns() {
        assert_eq!(values(r#"{"client": 1, "seq": 2}"#).unwrap(), "1,2,DEFAULT,DEFAULT");
        let all =
            r#" {"n": -1.50, "text": "a\u0041é", "seq": "3", "client": 18446744073709551615} "#;
        assert_eq!(values(all).unwrap(), "18446744073709551615,'3',_utf8mb4 x'6141c3a9',-1.50");
        assert_eq!(values(r#"{"client":1,"seq":2,"text":null,"n":true}"#).unwrap(), "1,2,NULL,1");
        let json = values(r#"{"client":1,"seq":2,"text":{"a":[1]}}"#).unwrap();
        assert_eq!(json, "1,2,_utf8mb4 x'7b2261223a5b315d7d',DEFAULT");
        assert_eq!(values(r#"{"client":1,"seq":2,"text":1e3}"#).unwrap(), "1,2,'1e3',DEFAULT");
        assert_eq!(
            values(r#"{"client":1,"seq":2,"text":true,"n":15e-1}"#).unwrap(),
            "1,2,'true','15e-1'"
        );
    }

    #[test]
    fn a_wrong_row_names_its_column() {
        let check = |json: &str, expect: RowError| assert_eq!(values(json), Err(expect), "{json}");
        check(r#"{"client":1}"#, RowError::Missing("seq".to_owned()));
        check(r#"{"client":1,"seq":2,"seq":3}"#, RowError::Twice("seq".to_owned()));
        check(r#"{"client":1,"seq":2,"x":3}"#, RowError::UnknownColumn("x".to_owned()));
        check(r#"{"client":1,"seq":2,"n":null}"#, RowError::Null("n".to_owned()));
        for (json, column) in [
            (r#"{"client":1,"seq":0.6}"#, "seq"),
            (r#"{"client":"a","seq":1}"#, "client"),
            (r#"{"client":1,"seq":2,"n":1.005}"#, "n"),
        ] {
            let changed = values(json);
            assert!(
                matches!(&changed, Err(RowError::Changed { column: of, .. }) if of == column),
                "{changed:?}"
            );
        }
        for json in [
            "",
            "[]",
            "{",
            r#"{"client":1,"seq":2} x"#,
            r#"{"client":1e,"seq":2}"#,
            "{\"client\":\"\u{1}\"}",
        ] {
            assert!(
                matches!(values(json), Err(RowError::NotJson(_))),
                "{json}: {:?}",
                values(json)
            );
        }
    }

    #[test]
    fn a_key_may_come_from_a_header() {
        let table = table(SqlDialect::Postgres);
        let row = table.read_row(br#"{"client":1}"#, Some((1, "5"))).unwrap();
        assert_eq!(&row.literals[..], b"1'5'");
        let twice = table.read_row(br#"{"client":1,"seq":2}"#, Some((1, "5")));
        assert_eq!(twice, Err(RowError::Twice("seq".to_owned())));
    }

    #[test]
    fn integer_keys_are_in_their_own_order() {
        let table = table(SqlDialect::Mysql);
        let key = |client: &str| {
            table
                .read_row(format!(r#"{{"client":{client},"seq":0}}"#).as_bytes(), None)
                .unwrap()
                .key
        };
        let keys: Vec<_> =
            ["-100", "-1", "0", "9", "10", "\"11\"", "18446744073709551615"].map(key).into();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(key("7"), key("\"7\""));
    }
}
