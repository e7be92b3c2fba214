//! Commands as bytes. Each returns the sequence number of the reply's first packet: a command of 16
//! MB or more is several packets, and the reply counts on from them.

use super::wire::{put_lenenc, put_packets};
use crate::statement::{Params, Statement, Value};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

const TYPE_DOUBLE: u8 = 5;
const TYPE_NULL: u8 = 6;
const TYPE_LONGLONG: u8 = 8;
const TYPE_BLOB: u8 = 252;
const TYPE_VAR_STRING: u8 = 253;

pub(crate) fn put_quit(out: &mut Vec<u8>) {
    put_packets(out, 0, |out| out.push(COM_QUIT));
}

pub(crate) fn put_query(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    put_packets(out, 0, |out| {
        out.push(COM_QUERY);
        out.extend_from_slice(sql);
    })
}

pub(crate) fn put_prepare(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    put_packets(out, 0, |out| {
        out.push(COM_STMT_PREPARE);
        out.extend_from_slice(sql);
    })
}

/// Closes a prepared statement, which has no reply.
pub(crate) fn put_close(out: &mut Vec<u8>, statement_id: u32) {
    put_packets(out, 0, |out| {
        out.push(COM_STMT_CLOSE);
        out.extend_from_slice(&statement_id.to_le_bytes());
    });
}

/// Executes a prepared statement. The types are sent each time: they are two bytes a parameter, and
/// a value may be NULL in one execution and a number in the next.
pub(crate) fn put_execute(out: &mut Vec<u8>, statement_id: u32, params: &Params) -> u8 {
    put_packets(out, 0, |out| {
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&statement_id.to_le_bytes());
        out.push(0); // no cursor
        out.extend_from_slice(&1_u32.to_le_bytes());
        let values = params.values();
        if values.is_empty() {
            return;
        }
        put_null_bitmap(out, values);
        out.push(1); // types follow
        for value in values {
            let kind = match value {
                Value::Null => TYPE_NULL,
                Value::Int(_) => TYPE_LONGLONG,
                Value::Double(_) => TYPE_DOUBLE,
                Value::Text { .. } => TYPE_VAR_STRING,
                Value::Bytes { .. } => TYPE_BLOB,
            };
            out.extend_from_slice(&[kind, 0]);
        }
        for value in values {
            match *value {
                Value::Null => {}
                Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Text { start, end } | Value::Bytes { start, end } => {
                    put_lenenc(out, u64::from(end - start));
                    out.extend_from_slice(params.text(start, end));
                }
            }
        }
    })
}

fn put_null_bitmap(out: &mut Vec<u8>, values: &[Value]) {
    let start = out.len();
    out.resize(start + values.len().div_ceil(8), 0);
    for (n, value) in values.iter().enumerate() {
        if *value == Value::Null {
            out[start + n / 8] |= 1 << (n % 8);
        }
    }
}

/// The statement as one SQL text with the values written into it.
pub(crate) fn put_text_statement(out: &mut Vec<u8>, statement: &Statement, params: &Params) -> u8 {
    put_packets(out, 0, |out| {
        out.push(COM_QUERY);
        let mut values = params.values().iter();
        for part in &statement.parts {
            out.extend_from_slice(part.as_bytes());
            match values.next() {
                None => {}
                Some(Value::Null) => out.extend_from_slice(b"NULL"),
                Some(Value::Int(number)) => put_decimal(out, *number),
                Some(Value::Double(number)) => out.extend_from_slice(number.to_string().as_bytes()),
                Some(Value::Text { start, end }) => put_quoted(out, params.text(*start, *end)),
                Some(Value::Bytes { start, end }) => put_hex(out, params.text(*start, *end)),
            }
        }
    })
}

fn put_decimal(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// A string literal for a server without `NO_BACKSLASH_ESCAPES`. Few texts have anything to escape,
/// so pieces without it are copied whole: looking at a piece has no early exit, which the compiler
/// turns into vector instructions.
fn put_quoted(out: &mut Vec<u8>, text: &[u8]) {
    const PIECE_BYTES: usize = 64;
    out.push(b'\'');
    for piece in text.chunks(PIECE_BYTES) {
        if piece.iter().fold(false, |found, byte| found | matches!(byte, 0 | b'\'' | b'\\')) {
            put_escaped(out, piece);
        } else {
            out.extend_from_slice(piece);
        }
    }
    out.push(b'\'');
}

fn put_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            0 => out.extend_from_slice(b"\\0"),
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            _ => out.push(*byte),
        }
    }
}

/// A binary literal, which has no character set.
fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"x'");
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_an_escape_gets_it_anywhere_in_a_text() {
        for length in [1, 63, 64, 65, 200] {
            for at in 0..length {
                for (byte, escape) in [(0, &br"\0"[..]), (b'\'', br"\'"), (b'\\', br"\\")] {
                    let mut text = vec![b'x'; length];
                    text[at] = byte;
                    let mut out = Vec::new();
                    put_quoted(&mut out, &text);
                    assert_eq!(
                        out,
                        [b"'", &text[..at], escape, &text[at + 1..], b"'"].concat(),
                        "{at} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn text_statement_quotes_its_values() {
        let statement = Statement::new("SET @a=?, @b=?, @c=?, @d=?, @e=?").unwrap();
        let mut params = Params::default();
        params.push_int(i64::MIN);
        params.push_text(|out| out.extend_from_slice(b"it's a \\ \0"));
        params.push_null();
        params.push_double(-0.5);
        params.push_bytes(|out| out.extend_from_slice(&[0, 0xff]));
        let mut out = Vec::new();
        put_text_statement(&mut out, &statement, &params);
        assert_eq!(
            &out[5..],
            br"SET @a=-9223372036854775808, @b='it\'s a \\ \0', @c=NULL, @d=-0.5, @e=x'00ff'"
        );
    }

    #[test]
    fn execute_has_bitmap_types_and_values() {
        let mut params = Params::default();
        params.push_int(7);
        params.push_null();
        params.push_text(|out| out.extend_from_slice(b"ab"));
        let mut out = Vec::new();
        put_execute(&mut out, 0x0102, &params);
        let payload = &out[4..];
        assert_eq!(payload[..10], [0x17, 2, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(payload[10..18], [0b010, 1, 8, 0, 6, 0, 253, 0]);
        assert_eq!(payload[18..], [7, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b']);
    }
}
