//! Values as SQL literals.

use truetps_record::SqlDialect;

use super::ColumnClass;

/// A number of more digits is sent as text: the server then judges it as a value of the column, where a long literal
/// would be shortened.
const NUMBER_BYTES_MAX: usize = 60;

/// A name of a table or a column.
pub(crate) fn quoted_name(dialect: SqlDialect, name: &str) -> String {
    match dialect {
        SqlDialect::Mysql => format!("`{}`", name.replace('`', "``")),
        SqlDialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A number of JSON: its grammar is a part of SQL's.
pub(super) fn put_number(number: &str, out: &mut Vec<u8>) {
    if number.len() > NUMBER_BYTES_MAX {
        put_plain(number, out);
    } else {
        out.extend_from_slice(number.as_bytes());
    }
}

/// `None`: a zero byte, which PostgreSQL has no text for.
pub(super) fn put_text(dialect: SqlDialect, kind: ColumnClass, text: &str, out: &mut Vec<u8>) -> Option<()> {
    if kind == ColumnClass::Uuid
        && let Some(bytes) = uuid_bytes(text)
    {
        put_hex(&bytes, out);
        return Some(());
    }
    if text.bytes().all(is_plain) {
        put_plain(text, out);
        return Some(());
    }
    match (dialect, kind) {
        (SqlDialect::Mysql, ColumnClass::Binary | ColumnClass::Uuid) => put_hex(text.as_bytes(), out),
        (SqlDialect::Mysql, _) => {
            out.extend_from_slice(b"_utf8mb4 ");
            put_hex(text.as_bytes(), out);
        }
        (SqlDialect::Postgres, ColumnClass::Binary) => {
            out.extend_from_slice(b"'\\x");
            put_digits(text.as_bytes(), out);
            out.push(b'\'');
        }
        (SqlDialect::Postgres, _) => {
            if text.contains('\0') {
                return None;
            }
            out.push(b'\'');
            for byte in text.bytes() {
                out.extend_from_slice(if byte == b'\'' { b"''" } else { std::slice::from_ref(&byte) });
            }
            out.push(b'\'');
        }
    }
    Some(())
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
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}

/// The bytes of `018f2c3d-…`: 32 digits with or without their hyphens.
fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let is_uuid = digits.len() == 32 && matches!(text.len(), 32 | 36) && digits.iter().all(u8::is_ascii_hexdigit);
    is_uuid.then(|| u128::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok().map(u128::to_be_bytes))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(dialect: SqlDialect, kind: ColumnClass, text: &str) -> String {
        let mut out = Vec::new();
        put_text(dialect, kind, text, &mut out).map_or_else(|| "none".to_owned(), |()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn no_text_ends_its_literal() {
        let mysql = |kind, text| literal(SqlDialect::Mysql, kind, text);
        assert_eq!(mysql(ColumnClass::Text, "plain; -- text"), "'plain; -- text'");
        assert_eq!(mysql(ColumnClass::Text, "it's"), "_utf8mb4 x'69742773'");
        assert_eq!(mysql(ColumnClass::Text, "a\\"), "_utf8mb4 x'615c'");
        assert_eq!(mysql(ColumnClass::Binary, "\0é"), "x'00c3a9'");
        assert_eq!(
            mysql(ColumnClass::Uuid, "018f2c3d-0000-7000-8000-0123456789Ab"),
            "x'018f2c3d0000700080000123456789ab'"
        );
        assert_eq!(mysql(ColumnClass::Uuid, "no uuid"), "'no uuid'");
        let postgres = |kind, text| literal(SqlDialect::Postgres, kind, text);
        assert_eq!(postgres(ColumnClass::Text, "it's é \\"), "'it''s é \\'");
        assert_eq!(postgres(ColumnClass::Binary, "é'"), "'\\xc3a927'");
        assert_eq!(postgres(ColumnClass::Text, "a\0"), "none");
    }

    #[test]
    fn long_numbers_are_text() {
        let number = |text: &str| {
            let mut out = Vec::new();
            put_number(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(number("-1.5e3"), "-1.5e3");
        assert_eq!(number(&"9".repeat(61)), format!("'{}'", "9".repeat(61)));
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted_name(SqlDialect::Mysql, "a`b"), "`a``b`");
        assert_eq!(quoted_name(SqlDialect::Postgres, "a\"b"), "\"a\"\"b\"");
    }
}
