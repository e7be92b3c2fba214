//! Values as text: as literals inside SQL, and as the parameters of a prepared statement.

use std::io::Write;

use super::wire::put_counted;
use crate::{Params, Value};

/// The length of a parameter that is NULL.
const NULL: i32 = -1;

/// Appends one parameter in text format, with its length.
pub(crate) fn put_parameter(out: &mut Vec<u8>, value: Value, params: &Params) {
    if value == Value::Null {
        out.extend_from_slice(&NULL.to_be_bytes());
        return;
    }
    put_counted(out, 0, |out| match value {
        Value::Null => {}
        Value::Int(number) => put_int(out, number),
        Value::Double(number) => put_double(out, number),
        Value::Text { start, end } => out.extend_from_slice(params.text(start, end)),
        Value::Bytes { start, end } => put_hex(out, params.text(start, end)),
    });
}

/// Appends a value as it is written in SQL.
pub(crate) fn put_literal(out: &mut Vec<u8>, value: Value, params: &Params) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        // Two minus signs would begin a comment, and a cast binds closer than a sign.
        Value::Int(number) if number < 0 => in_parentheses(out, |out| put_int(out, number)),
        Value::Int(number) => put_int(out, number),
        // SQL reads these as names, so they are quoted.
        Value::Double(number) if !number.is_finite() => {
            let _ = write!(out, "'{number}'::float8");
        }
        Value::Double(number) if number.is_sign_negative() => {
            in_parentheses(out, |out| put_double(out, number));
        }
        Value::Double(number) => put_double(out, number),
        Value::Text { start, end } => put_quoted(out, params.text(start, end)),
        Value::Bytes { start, end } => {
            out.push(b'\'');
            put_hex(out, params.text(start, end));
            out.extend_from_slice(b"'::bytea");
        }
    }
}

fn in_parentheses(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'(');
    fill(out);
    out.push(b')');
}

fn put_int(out: &mut Vec<u8>, number: i64) {
    // Writing to a vector cannot fail, here and below.
    let _ = write!(out, "{number}");
}

/// The shortest text that is read back as the same number; without an exponent if that is readable,
/// so that a whole number also suits an integer column.
fn put_double(out: &mut Vec<u8>, number: f64) {
    let size = number.abs();
    let _ = if size == 0.0 || (1e-5..1e16).contains(&size) || !number.is_finite() {
        write!(out, "{number}")
    } else {
        write!(out, "{number:e}")
    };
}

/// A string literal for `standard_conforming_strings = on`, which the login sets: only quotes are
/// doubled. Text in PostgreSQL has no zero byte. Sent unescaped, it would end the whole statement.
/// Written as an escape, the server refuses the statement (SQLSTATE 22021), as it does for a
/// parameter of a prepared one, and the session remains usable.
fn put_quoted(out: &mut Vec<u8>, text: &[u8]) {
    if text.contains(&0) {
        out.extend_from_slice(b"E'\\000'");
        return;
    }
    out.push(b'\'');
    for piece in text.split_inclusive(|byte| *byte == b'\'') {
        out.extend_from_slice(piece);
        if piece.ends_with(b"'") {
            out.push(b'\'');
        }
    }
    out.push(b'\'');
}

/// The text form of bytea.
fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 + 2 * bytes.len());
    out.extend_from_slice(b"\\x");
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(push: impl FnOnce(&mut Params)) -> String {
        let mut params = Params::default();
        push(&mut params);
        let mut out = Vec::new();
        put_literal(&mut out, params.values()[0], &params);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn literals() {
        assert_eq!(literal(Params::push_null), "NULL");
        let check_int =
            |number, expect: &str| assert_eq!(literal(|params| params.push_int(number)), expect);
        check_int(0, "0");
        check_int(-7, "(-7)");
        check_int(i64::MIN, "(-9223372036854775808)");
        let check_double =
            |number, expect: &str| assert_eq!(literal(|params| params.push_double(number)), expect);
        check_double(5.0, "5");
        check_double(-0.5, "(-0.5)");
        check_double(1e300, "1e300");
        check_double(-1.5e-7, "(-1.5e-7)");
        let check_text = |text: &str, expect: &str| {
            assert_eq!(
                literal(|params| params.push_text(|out| out.extend_from_slice(text.as_bytes()))),
                expect
            );
        };
        check_text("", "''");
        check_text("it's a \\ 'é'", "'it''s a \\ ''é'''");
        check_text("zero \0 inside", "E'\\000'");
        assert_eq!(
            literal(|params| params.push_bytes(|out| out.extend_from_slice(&[0, 0xff]))),
            "'\\x00ff'::bytea"
        );
    }

    #[test]
    fn parameters_are_text_with_a_length() {
        let mut params = Params::default();
        params.push_null();
        params.push_int(-42);
        params.push_text(|out| out.extend_from_slice(b"it's"));
        params.push_bytes(|out| out.push(0xab));
        let mut out = Vec::new();
        for value in params.values() {
            put_parameter(&mut out, *value, &params);
        }
        assert_eq!(out, b"\xff\xff\xff\xff\0\0\0\x03-42\0\0\0\x04it's\0\0\0\x04\\xab");
    }
}
