//! Values as SQL text, for the statements that load tables.

use truetps_driver::{Params, Value};
use truetps_record::SqlDialect;

/// Appends a literal. Servers of the MySQL family must run without `NO_BACKSLASH_ESCAPES`,
/// PostgreSQL with `standard_conforming_strings`: both are their defaults.
pub(crate) fn put_value(dialect: SqlDialect, params: &Params, value: Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Double(number) => out.extend_from_slice(format!("{number:?}").as_bytes()),
        Value::Text { start, end } => put_quoted(dialect, params.text(start, end), out),
        Value::Bytes { start, end } => {
            out.extend_from_slice(if dialect == SqlDialect::Mysql { b"x'" } else { b"'\\x" });
            for byte in params.text(start, end) {
                out.extend_from_slice(format!("{byte:02x}").as_bytes());
            }
            out.push(b'\'');
        }
    }
}

fn put_quoted(dialect: SqlDialect, text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' || (*byte == b'\\' && dialect == SqlDialect::Mysql) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_both_dialects() {
        let mut params = Params::default();
        params.push_int(-5);
        params.push_double(1e300);
        params.push_null();
        params.push_text(|out| out.extend_from_slice(br"it's \"));
        params.push_bytes(|out| out.extend_from_slice(&[0, 255]));
        let check = |dialect, expect: &[&str]| {
            for (value, expect) in params.values().iter().zip(expect) {
                let mut out = Vec::new();
                put_value(dialect, &params, *value, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), *expect);
            }
        };
        check(SqlDialect::Mysql, &["-5", "1e300", "NULL", r"'it''s \\'", "x'00ff'"]);
        check(SqlDialect::Postgres, &["-5", "1e300", "NULL", r"'it''s \'", r"'\x00ff'"]);
    }
}
