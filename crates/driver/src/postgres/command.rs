//! What a logged-in client says, as bytes. Nothing here allocates once `out` has its size.

use std::io::Write;

use super::value::{put_literal, put_parameter};
use super::wire::put_message;
use crate::{Params, Statement};

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
        for part in statement.parts() {
            out.extend_from_slice(part.as_bytes());
            if let Some(value) = values.next() {
                put_literal(out, *value, params);
            }
        }
        out.push(0);
    });
}

/// Prepares a statement under the name that [`put_execute`] uses. The server infers the parameters' types.
pub(crate) fn put_parse(out: &mut Vec<u8>, index: usize, statement: &Statement) {
    put_message(out, b'P', |out| {
        put_name(out, index);
        for (n, part) in statement.parts().iter().enumerate() {
            if n > 0 {
                let _ = write!(out, "${n}");
            }
            out.extend_from_slice(part.as_bytes());
        }
        out.push(0);
        out.extend_from_slice(&0_u16.to_be_bytes());
    });
}

/// Binds, executes and ends a prepared statement. `describe`: the columns' names are wanted too.
pub(crate) fn put_execute(out: &mut Vec<u8>, index: usize, params: &Params, describe: bool) {
    put_message(out, b'B', |out| {
        out.push(0); // the portal without a name
        put_name(out, index);
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
    // Of the portal without a name, without a limit of rows.
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

fn put_name(out: &mut Vec<u8>, index: usize) {
    let _ = write!(out, "s{index}\0");
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
        put_execute(&mut out, 12, &params, false);
        let bind = b"B\0\0\0\x18\0s12\0\0\0\0\x02\0\0\0\x017\xff\xff\xff\xff\0\0";
        assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0", b"S\0\0\0\x04"].concat());
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
