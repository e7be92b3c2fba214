//! Values as SQL literals.

use std::borrow::Cow;

use truetps_record::SqlDialect;

use super::ColumnType;
use super::column_type::uuid_bytes;

/// A longer number is sent as text: the server then judges it as a value of the column, where it
/// would shorten a literal to 30 digits after the point.
const NUMBER_BYTES_MAX: usize = 28;

/// A name of a table or a column.
pub(crate) fn quoted_name(dialect: SqlDialect, name: &str) -> String {
    match dialect {
        SqlDialect::Mysql => format!("`{}`", name.replace('`', "``")),
        SqlDialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A number of JSON: its grammar is a part of SQL's. With an exponent it would be a floating-point
/// number.
pub(super) fn put_number(number: &str, out: &mut Vec<u8>) {
    if number.len() > NUMBER_BYTES_MAX || number.contains(['e', 'E']) {
        put_plain(number, out);
    } else {
        out.extend_from_slice(number.as_bytes());
    }
}

/// `None`: a zero byte, which PostgreSQL has no text for.
pub(super) fn put_text(
    dialect: SqlDialect,
    kind: &ColumnType,
    text: &str,
    out: &mut Vec<u8>,
) -> Option<()> {
    let is_binary =
        matches!(kind, ColumnType::Binary { .. } | ColumnType::Uuid { is_binary: true });
    if *kind == (ColumnType::Uuid { is_binary: true })
        && let Some(bytes) = uuid_bytes(text)
    {
        put_hex(&bytes, out);
        return Some(());
    }
    if are_plain(text.as_bytes()) {
        put_plain(text, out);
        return Some(());
    }
    match (dialect, is_binary) {
        (SqlDialect::Mysql, true) => put_hex(text.as_bytes(), out),
        (SqlDialect::Mysql, false) => {
            out.extend_from_slice(b"_utf8mb4 ");
            put_hex(text.as_bytes(), out);
        }
        (SqlDialect::Postgres, true) => {
            out.extend_from_slice(b"'\\x");
            put_digits(text.as_bytes(), out);
            out.push(b'\'');
        }
        (SqlDialect::Postgres, false) => {
            if text.contains('\0') {
                return None;
            }
            out.push(b'\'');
            for byte in text.bytes() {
                out.extend_from_slice(if byte == b'\'' {
                    b"''"
                } else {
                    std::slice::from_ref(&byte)
                });
            }
            out.push(b'\'');
        }
    }
    Some(())
}

/// Reads to the end in any case, which takes many bytes at a time.
fn are_plain(text: &[u8]) -> bool {
    text.iter().fold(true, |plain, byte| plain & is_plain(*byte))
}

/// A character that is the same in quotes in every character set and every SQL mode.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\' | b'"')
}

fn put_plain(text: &str, out: &mut Vec<u8>) {
    out.push(b'\'');
    out.extend_from_slice(text.as_bytes());
    out.push(b'\'');
}

fn put_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"x'");
    put_digits(bytes, out);
    out.push(b'\'');
}

fn put_digits(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(
        bytes
            .iter()
            .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
    );
}

/// The text that a literal stands for, as it was sent; `None` for NULL.
pub(crate) fn literal_text<'a>(kind: &ColumnType, literal: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    if literal == b"NULL" {
        return None;
    }
    if let Some(digits) = quoted(literal, b"x'").or_else(|| quoted(literal, b"_utf8mb4 x'")) {
        return Some(Cow::Owned(hex_bytes(digits)));
    }
    if matches!(kind, ColumnType::Binary { .. })
        && let Some(digits) = quoted(literal, b"'\\x")
    {
        return Some(Cow::Owned(hex_bytes(digits)));
    }
    match quoted(literal, b"'") {
        None => Some(Cow::Borrowed(literal)),
        Some(text) if !text.contains(&b'\'') => Some(Cow::Borrowed(text)),
        Some(text) => {
            let mut out = Vec::with_capacity(text.len());
            let mut bytes = text.iter();
            while let Some(byte) = bytes.next() {
                out.push(*byte);
                if *byte == b'\'' {
                    bytes.next();
                }
            }
            Some(Cow::Owned(out))
        }
    }
}

/// What is between `start` and the last quote.
fn quoted<'a>(literal: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    literal.strip_prefix(start)?.strip_suffix(b"'")
}

/// Bytes from the digits that [`put_digits`] writes, or a server.
pub(crate) fn hex_bytes(digits: &[u8]) -> Vec<u8> {
    digits.chunks_exact(2).map(|pair| hex_digit(pair[0]) << 4 | hex_digit(pair[1])).collect()
}

fn hex_digit(digit: u8) -> u8 {
    char::from(digit).to_digit(16).unwrap_or_default() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: ColumnType =
        ColumnType::Text { chars_max: None, bytes_max: None, keeps_blanks: true };
    const BINARY: ColumnType = ColumnType::Binary { fixed: None };
    const UUID: ColumnType = ColumnType::Uuid { is_binary: true };

    fn literal(dialect: SqlDialect, kind: &ColumnType, text: &str) -> String {
        let mut out = Vec::new();
        put_text(dialect, kind, text, &mut out)
            .map_or_else(|| "none".to_owned(), |()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn no_text_ends_its_literal() {
        let mysql = |kind, text| literal(SqlDialect::Mysql, kind, text);
        assert_eq!(mysql(&TEXT, "plain; -- text"), "'plain; -- text'");
        assert_eq!(mysql(&TEXT, "it's"), "_utf8mb4 x'69742773'");
        assert_eq!(mysql(&TEXT, "a\\"), "_utf8mb4 x'615c'");
        assert_eq!(mysql(&BINARY, "\0é"), "x'00c3a9'");
        assert_eq!(
            mysql(&UUID, "018f2c3d-0000-7000-8000-0123456789Ab"),
            "x'018f2c3d0000700080000123456789ab'"
        );
        assert_eq!(mysql(&UUID, "no uuid"), "'no uuid'");
        let postgres = |kind, text| literal(SqlDialect::Postgres, kind, text);
        assert_eq!(postgres(&TEXT, "it's é \\"), "'it''s é \\'");
        assert_eq!(postgres(&BINARY, "é'"), "'\\xc3a927'");
        assert_eq!(postgres(&TEXT, "a\0"), "none");
    }

    #[test]
    fn long_numbers_are_text() {
        let number = |text: &str| {
            let mut out = Vec::new();
            put_number(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(number("-1.53"), "-1.53");
        assert_eq!(number("-1.5e3"), "'-1.5e3'");
        assert_eq!(number(&"9".repeat(29)), format!("'{}'", "9".repeat(29)));
    }

    #[test]
    fn a_literal_stands_for_the_text_that_was_sent() {
        for dialect in [SqlDialect::Mysql, SqlDialect::Postgres] {
            for kind in [&TEXT, &BINARY] {
                for text in ["", "plain", "it's ''two''", "é\\", "\"", "\\x41", "NULL", "x'41'"] {
                    let literal = literal(dialect, kind, text);
                    let back = literal_text(kind, literal.as_bytes()).unwrap();
                    assert_eq!(back, text.as_bytes(), "{dialect:?} {kind:?} {literal}");
                }
            }
        }
        assert_eq!(literal_text(&TEXT, b"NULL"), None);
        assert_eq!(literal_text(&ColumnType::Integer, b"-7").unwrap(), &b"-7"[..]);
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted_name(SqlDialect::Mysql, "a`b"), "`a``b`");
        assert_eq!(quoted_name(SqlDialect::Postgres, "a\"b"), "\"a\"\"b\"");
    }
}
