//! A request with fields: compiled once, filled for each row.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;

use thiserror::Error;
use truetps_record::{did_you_mean_or, near_matches};

use super::url::{Url, UrlError};
use crate::{Endpoint, Params, Tls, Value};

/// Headers that the client sets itself: another value would describe another request than the one
/// that is sent.
const OWN_HEADERS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "expect"];
const METHODS: [&str; 3] = ["POST", "PUT", "PATCH"];

/// A service, and the requests that it gets.
#[derive(Debug, Clone)]
pub struct HttpTarget {
    pub endpoint: Endpoint,
    pub tls: Tls,
    pub template: Arc<HttpTemplate>,
}

/// The bytes of a request, with a gap for each value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTemplate {
    /// Request line and headers, without the length of the body and the empty line.
    head: Vec<TemplatePart>,
    body: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(Vec<u8>),
    /// The value with this number in [`Params`].
    Field(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    #[error("the address of the service: {0}")]
    Url(#[from] UrlError),
    #[error("`{{{field}}}` in the {part} is not a field{}", did_you_mean_or(near, "known", known))]
    UnknownField {
        field: String,
        part: &'static str,
        near: Vec<String>,
        known: &'static [&'static str],
    },
    #[error("the header `{0}` is not like Name: value")]
    BadHeader(String),
    #[error("the header `{0}` is set by truetps")]
    OwnHeader(String),
    #[error("the method `{0}` is not one of POST, PUT, PATCH")]
    BadMethod(String),
}

impl HttpTemplate {
    /// Compiles the requests to a service. `{name}` is a field if its name is one of `fields`; its
    /// value is the one at the same index in [`Params`]. Braces around anything but lower-case
    /// letters are text, as in JSON.
    pub fn target(
        url: &str,
        method: &str,
        headers: &[String],
        body: &str,
        fields: &'static [&'static str],
    ) -> Result<HttpTarget, TemplateError> {
        let url = Url::parse(url)?;
        if !METHODS.contains(&method) {
            return Err(TemplateError::BadMethod(method.to_owned()));
        }
        let mut head = vec![TemplatePart::Text(format!("{method} ").into_bytes())];
        head.extend(parts(&url.path, "address", fields)?);
        head.push(TemplatePart::Text(b" HTTP/1.1\r\n".to_vec()));
        if !headers.iter().any(|header| is_named(header, "host")) {
            head.push(TemplatePart::Text(format!("Host: {}\r\n", url.host).into_bytes()));
        }
        for header in headers {
            check_header(header)?;
            head.extend(parts(header, "header", fields)?);
            head.push(TemplatePart::Text(b"\r\n".to_vec()));
        }
        let template = Self { head: joined(head), body: joined(parts(body, "body", fields)?) };
        Ok(HttpTarget {
            endpoint: url.endpoint.clone(),
            tls: url.tls(),
            template: Arc::new(template),
        })
    }

    /// Numbers of the fields that the requests have.
    pub fn fields(&self) -> BTreeSet<usize> {
        let parts = self.head.iter().chain(&self.body);
        parts
            .filter_map(|part| match part {
                TemplatePart::Field(number) => Some(*number),
                TemplatePart::Text(_) => None,
            })
            .collect()
    }

    /// Appends the request of one row.
    pub(super) fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put_parts(&self.head, params, out);
        let length: usize = self.body.iter().map(|part| part_bytes(part, params)).sum();
        // Writing to memory does not fail.
        let _ = write!(out, "Content-Length: {length}\r\n\r\n");
        put_parts(&self.body, params, out);
    }
}

fn put_parts(parts: &[TemplatePart], params: &Params, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            TemplatePart::Text(text) => out.extend_from_slice(text),
            TemplatePart::Field(number) => match params.values()[*number] {
                Value::Text { start, end } | Value::Bytes { start, end } => {
                    out.extend_from_slice(params.text(start, end));
                }
                Value::Int(number) => drop(write!(out, "{number}")),
                Value::Double(number) => drop(write!(out, "{number}")),
                Value::Null => {}
            },
        }
    }
}

/// Length of what [`put_parts`] appends.
fn part_bytes(part: &TemplatePart, params: &Params) -> usize {
    match part {
        TemplatePart::Text(text) => text.len(),
        TemplatePart::Field(number) => match params.values()[*number] {
            Value::Text { start, end } | Value::Bytes { start, end } => (end - start) as usize,
            Value::Int(number) => {
                usize::from(number < 0)
                    + number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize
                    + 1
            }
            Value::Double(number) => number.to_string().len(),
            Value::Null => 0,
        },
    }
}

fn parts(
    text: &str,
    part: &'static str,
    fields: &'static [&'static str],
) -> Result<Vec<TemplatePart>, TemplateError> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, name, after)) = next_field(rest) {
        let number = fields.iter().position(|field| *field == name).ok_or_else(|| {
            TemplateError::UnknownField {
                field: name.to_owned(),
                part,
                near: near_matches(name, fields.iter().copied()),
                known: fields,
            }
        })?;
        parts.push(TemplatePart::Text(before.as_bytes().to_vec()));
        parts.push(TemplatePart::Field(number));
        rest = after;
    }
    parts.push(TemplatePart::Text(rest.as_bytes().to_vec()));
    Ok(parts)
}

/// The text before the next `{name}`, the name, and the text behind it.
fn next_field(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let behind = &text[at + 1..];
        let end =
            behind.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).filter(|end| *end > 0)?;
        behind[end..].strip_prefix('}').map(|after| (&text[..at], &behind[..end], after))
    })
}

/// Neighbouring texts become one, and empty ones none.
fn joined(parts: Vec<TemplatePart>) -> Vec<TemplatePart> {
    let mut all: Vec<TemplatePart> = Vec::new();
    for part in parts {
        match (all.last_mut(), part) {
            (_, TemplatePart::Text(text)) if text.is_empty() => {}
            (Some(TemplatePart::Text(last)), TemplatePart::Text(text)) => last.extend(text),
            (_, part) => all.push(part),
        }
    }
    all
}

fn is_named(header: &str, name: &str) -> bool {
    header.split_once(':').is_some_and(|(own, _)| own.eq_ignore_ascii_case(name))
}

fn check_header(header: &str) -> Result<(), TemplateError> {
    let is_printable = header.chars().all(|c| c == '\t' || !c.is_control());
    let name = header.split_once(':').map(|(name, _)| name).unwrap_or_default();
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
    if !is_name || !is_printable {
        // The value may be a secret.
        return Err(TemplateError::BadHeader(name.to_owned()));
    }
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(TemplateError::OwnHeader(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[&str] = &["client", "payload"];

    fn request(url: &str, headers: &[&str], body: &str) -> Result<String, TemplateError> {
        let headers: Vec<_> = headers.iter().map(|header| (*header).to_owned()).collect();
        let target = HttpTemplate::target(url, "POST", &headers, body, FIELDS)?;
        let mut params = Params::default();
        params.push_int(42);
        params.push_text(|out| out.extend_from_slice(b"xyz"));
        let mut out = Vec::new();
        target.template.put(&params, &mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn fields_get_their_values_and_the_length_is_the_body_s() {
        let text = request(
            "http://h:1/r/{client}?q={}",
            &["X-Key: {client}-{payload}"],
            r#"{"c":{client},"p":"{payload}"}"#,
        );
        let expect = "POST /r/42?q={} HTTP/1.1\r\nHost: h:1\r\nX-Key: 42-xyz\r\nContent-Length: \
                      18\r\n\r\n\
                      {\"c\":42,\"p\":\"xyz\"}";
        assert_eq!(text.unwrap(), expect);
        let own = request("http://h/", &["host: other"], "").unwrap();
        assert_eq!(own, "POST / HTTP/1.1\r\nhost: other\r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn lengths_of_numbers() {
        for number in [0, 7, 10, -1, -10, i64::MAX, i64::MIN] {
            let mut params = Params::default();
            params.push_int(number);
            assert_eq!(
                part_bytes(&TemplatePart::Field(0), &params),
                number.to_string().len(),
                "{number}"
            );
        }
    }

    #[test]
    fn an_unknown_field_is_named() {
        let error = request("http://h/", &[], r#"{"c":{cleint}}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`{cleint}` in the body is not a field (did you mean `client`?)"
        );
        let error = request("http://h/{row}", &[], "").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`{row}` in the address is not a field (known: `client`, `payload`)"
        );
    }

    #[test]
    fn headers_are_checked() {
        let check = |header: &str, expect: &str| {
            assert_eq!(request("http://h/", &[header], "").unwrap_err().to_string(), expect);
        };
        check("no colon", "the header `` is not like Name: value");
        check("X-Key: a\r\nX-Other: b", "the header `X-Key` is not like Name: value");
        check("content-LENGTH: 3", "the header `content-LENGTH` is set by truetps");
    }
}
