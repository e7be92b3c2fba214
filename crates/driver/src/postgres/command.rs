//! The messages of a logged-in client, as bytes. Nothing here allocates once `out` has its size.

use std::io::Write;

use super::value::{put_literal, put_parameter};
use super::wire::put_message;
use crate::{ParamType, Params, Statement};

/// One statement's parameters are counted in 16 bits.
pub(crate) const PARAMETERS_MAX: usize = u16::MAX as usize;

const COPY_REFUSED: &[u8] = b"truetps sends no COPY data\0";

pub(crate) fn put_terminate(out: &mut Vec<u8>) {
    put_message(out, b'X', |_| {});
}

/// Simple protocol: one SQL text, of one statement or several.
pub(crate) fn put_query(out: &mut Vec<u8>, sql: &[u8]) {
    put_message(out, b'Q', |out| {
        out.extend_from_slice(sql);
        out.push(0);
    });
}

/// Simple protocol: the statement as one SQL text with the values written into it.
pub(crate) fn put_text_statement(out: &mut Vec<u8>, statement: &Statement, params: &Params) {
    put_message(out, b'Q', |out| {
        let mut values = params.values().iter();
        for part in &statement.parts {
            out.extend_from_slice(part.as_bytes());
            if let Some(value) = values.next() {
                put_literal(out, *value, params);
            }
        }
        out.push(0);
    });
}

/// Prepares a statement under the name that [`put_execute`] uses. The server infers the parameters'
/// types.
pub(crate) fn put_parse(out: &mut Vec<u8>, index: usize, statement: &Statement) {
    put_message(out, b'P', |out| {
        Name::Listed(index).put(out);
        for (n, part) in statement.parts.iter().enumerate() {
            if n > 0 {
                let _ = write!(out, "${n}");
            }
            out.extend_from_slice(part.as_bytes());
        }
        out.push(0);
        out.extend_from_slice(&0_u16.to_be_bytes());
    });
}

/// Binds, executes and ends a prepared statement. `describe`: also requests the columns' names.
pub(crate) fn put_execute(out: &mut Vec<u8>, name: Name, params: &Params, describe: bool) {
    put_message(out, b'B', |out| {
        out.push(0); // the portal without a name
        name.put(out);
        out.extend_from_slice(&0_u16.to_be_bytes()); // all parameters are text
        let values = params.values();
        debug_assert!(values.len() <= PARAMETERS_MAX);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            put_parameter(out, *value, params);
        }
        out.extend_from_slice(&0_u16.to_be_bytes()); // all columns are text
    });
    if describe {
        put_message(out, b'D', |out| out.extend_from_slice(b"P\0"));
    }
    // Of the unnamed portal, without a row limit.
    put_message(out, b'E', |out| out.extend_from_slice(&[0; 1 + 4]));
    put_sync(out);
}

pub(crate) fn put_sync(out: &mut Vec<u8>) {
    put_message(out, b'S', |_| {});
}

/// Refuses to send the data that a COPY waits for: the server then fails the statement.
pub(crate) fn put_copy_fail(out: &mut Vec<u8>) {
    put_message(out, b'f', |out| out.extend_from_slice(COPY_REFUSED));
}

/// Prepares text of any kind, whose parameters are `?`, and requests its parameters and columns.
/// Returns the number of parameters; if it exceeds [`PARAMETERS_MAX`], nothing may be sent.
pub(crate) fn put_prepare(
    out: &mut Vec<u8>,
    handle: u32,
    sql: &[u8],
    types: &[ParamType],
) -> usize {
    let name = Name::AdHoc(handle);
    let mut params = 0;
    put_message(out, b'P', |out| {
        name.put(out);
        params = put_numbered(out, sql);
        out.push(0);
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for ParamType(oid) in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
    put_message(out, b'D', |out| {
        out.push(b'S');
        name.put(out);
    });
    put_sync(out);
    params
}

/// Closes a prepared statement: the answer arrives together with the answer to the next command.
pub(crate) fn put_close(out: &mut Vec<u8>, handle: u32) {
    put_message(out, b'C', |out| {
        out.push(b'S');
        Name::AdHoc(handle).put(out);
    });
}

/// The text that is sent to PostgreSQL to prepare: each `?` outside of quotes becomes `$1`, `$2`...
pub fn with_numbered_parameters(sql: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sql.len() + 8);
    put_numbered(&mut out, sql);
    out
}

/// How many parameters [`with_numbered_parameters`] finds.
pub fn count_parameters(sql: &[u8]) -> usize {
    put_numbered(&mut Vec::with_capacity(sql.len() + 8), sql)
}

/// Writes each `?` outside of quotes as `$1`, `$2`...; returns their number.
fn put_numbered(out: &mut Vec<u8>, sql: &[u8]) -> usize {
    let (mut params, mut quote) = (0, None);
    for byte in sql {
        match (quote, byte) {
            (None, b'?') => {
                params += 1;
                let _ = write!(out, "${params}");
                continue;
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        out.push(*byte);
    }
    params
}

/// A statement's name in the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name {
    /// By its index in the list that is prepared at login.
    Listed(usize),
    /// By its handle.
    AdHoc(u32),
}

impl Name {
    fn put(self, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = match self {
            Self::Listed(index) => write!(out, "s{index}\0"),
            Self::AdHoc(handle) => write!(out, "h{handle}\0"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_statement_has_numbered_parameters() {
        let statement = Statement::new("INSERT INTO t VALUES (?, -?, '?')").unwrap();
        let mut out = Vec::new();
        put_parse(&mut out, 3, &statement);
        assert_eq!(&out[5..], b"s3\0INSERT INTO t VALUES ($1, -$2, '?')\0\0\0");
    }

    #[test]
    fn execute_is_bind_execute_sync() {
        let mut params = Params::default();
        params.push_int(7);
        params.push_null();
        let mut out = Vec::new();
        put_execute(&mut out, Name::Listed(12), &params, false);
        let bind = b"B\0\0\0\x18\0s12\0\0\0\0\x02\0\0\0\x017\xff\xff\xff\xff\0\0";
        assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0", b"S\0\0\0\x04"].concat());
    }

    #[test]
    fn ad_hoc_statements_are_numbered_outside_of_quotes() {
        let mut out = Vec::new();
        let sql = b"SELECT '?''?', \"?\", ?, \xff ?::text";
        assert_eq!(put_prepare(&mut out, 7, sql, &[ParamType::INT8]), 2);
        let expect = b"h7\0SELECT '?''?', \"?\", $1, \xff \
                       $2::text\0\0\x01\0\0\0\x14D\0\0\0\x08Sh7\0S\0\0\0\x04";
        assert_eq!(&out[5..], expect);
        out.clear();
        put_close(&mut out, 7);
        assert_eq!(out, b"C\0\0\0\x08Sh7\0");
    }

    #[test]
    fn a_text_statement_is_one_query() {
        let statement = Statement::new("SELECT ?, -?").unwrap();
        let mut params = Params::default();
        params.push_text(|out| out.extend_from_slice(b"a'b"));
        params.push_int(-1);
        let mut out = Vec::new();
        put_text_statement(&mut out, &statement, &params);
        assert_eq!(&out[5..], b"SELECT 'a''b', -(-1)\0");
    }
}
