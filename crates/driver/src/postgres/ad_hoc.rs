//! Statements that are prepared individually, at any time.

use super::command::{PARAMETERS_MAX, put_close, put_prepare};
use super::report::parse_report;
use super::wire::BodyReader;
use crate::handles::Handles;
use crate::{DriverError, ParamType, Params, Prepared, ServerError};

/// The statements of one session that are open.
#[derive(Debug, Default)]
pub(crate) struct PostgresStatements {
    open: Handles<Prepared>,
    /// The next command closes these in the server, without an extra round trip.
    closing: Vec<u32>,
}

impl PostgresStatements {
    /// Appends the messages that prepare a statement.
    pub(crate) fn prepare(
        &mut self,
        sql: &[u8],
        types: &[ParamType],
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        if sql.contains(&0) {
            return Err(DriverError::Misuse(
                "a statement with a zero byte cannot be sent to PostgreSQL",
            ));
        }
        let from = out.len();
        for handle in &self.closing {
            put_close(out, *handle);
        }
        let params = put_prepare(out, self.open.next(), sql, types);
        if params > PARAMETERS_MAX || types.len() > PARAMETERS_MAX {
            out.truncate(from);
            return Err(DriverError::Misuse(
                "a prepared statement of PostgreSQL has at most 65535 parameters",
            ));
        }
        self.closing = Vec::new();
        Ok(())
    }

    /// The server has prepared the statement.
    fn insert(&mut self, params: u16, columns: u16) -> Prepared {
        let prepared = Prepared { handle: self.open.next(), params, columns };
        self.open.insert(prepared);
        prepared
    }

    /// Number of columns of a statement that is about to be executed with these values.
    pub(crate) fn columns(&self, handle: u32, params: &Params) -> Result<u16, DriverError> {
        let statement = self.open.get(handle).ok_or(DriverError::NO_HANDLE)?;
        if params.values().len() == usize::from(statement.params) {
            Ok(statement.columns)
        } else {
            Err(DriverError::OTHER_PARAMS)
        }
    }

    pub(crate) fn close(&mut self, handle: u32) -> Result<(), DriverError> {
        self.open.remove(handle).ok_or(DriverError::NO_HANDLE)?;
        self.closing.push(handle);
        Ok(())
    }

    /// Appends messages that were deferred until the next command, which follows.
    pub(crate) fn put_off(&mut self, out: &mut Vec<u8>) {
        for handle in std::mem::take(&mut self.closing) {
            put_close(out, handle);
        }
    }
}

/// A prepare in flight.
#[derive(Debug, Default)]
pub(crate) struct PrepareOne {
    /// Number of its parameters.
    params: Option<u16>,
    columns: u16,
    error: Option<Box<ServerError>>,
}

/// The statement, or why the server refuses it.
pub(crate) type PostgresPrepareEnd = Result<Prepared, ServerError>;

impl PrepareOne {
    /// Takes the next message; `Some` marks the end and has the transaction status.
    pub(crate) fn message(
        &mut self,
        kind: u8,
        body: &[u8],
        statements: &mut PostgresStatements,
    ) -> Result<Option<(PostgresPrepareEnd, u8)>, DriverError> {
        match kind {
            // CloseComplete, ParseComplete, NoData
            b'3' | b'1' | b'n' => {}
            b't' => self.params = Some(BodyReader::new(body).u16()?),
            b'T' => self.columns = BodyReader::new(body).u16()?,
            b'E' => {
                let report = parse_report(body)?;
                if report.is_fatal {
                    return Err(report.error.into());
                }
                self.error.get_or_insert_with(|| Box::new(report.error));
            }
            b'Z' => {
                let end = match (self.error.take(), self.params) {
                    (Some(error), _) => Err(*error),
                    (None, Some(params)) => Ok(statements.insert(params, self.columns)),
                    (None, None) => {
                        return Err(DriverError::Protocol(
                            "the end of a prepare without an answer",
                        ));
                    }
                };
                return Ok(Some((end, BodyReader::new(body).u8()?)));
            }
            _ => return Err(DriverError::Protocol("an unexpected message during a prepare")),
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: &[u8] = b"D\0\0\0\x08Sh0\0S\0\0\0\x04";

    fn prepared(
        one: &mut PrepareOne,
        statements: &mut PostgresStatements,
        messages: &[(u8, &[u8])],
    ) -> Option<(PostgresPrepareEnd, u8)> {
        messages.iter().fold(None, |_, (kind, body)| one.message(*kind, body, statements).unwrap())
    }

    #[test]
    fn a_number_that_is_used_again_is_closed_first() {
        let (mut statements, mut out) = (PostgresStatements::default(), Vec::new());
        statements.prepare(b"SELECT ?", &[], &mut out).unwrap();
        let parse = b"P\0\0\0\x13h0\0SELECT $1\0\0\0";
        assert_eq!(out, [&parse[..], ENDS].concat());
        let messages =
            [(b'1', &b""[..]), (b't', b"\0\x01\0\0\0\x14"), (b'T', b"\0\x02"), (b'Z', b"T")];
        let end = prepared(&mut PrepareOne::default(), &mut statements, &messages);
        let expect = Prepared { handle: 0, params: 1, columns: 2 };
        assert!(matches!(end, Some((Ok(found), b'T')) if found == expect));
        assert!(statements.columns(0, &Params::default()).is_err());

        statements.close(0).unwrap();
        assert!(statements.close(0).is_err());
        out.clear();
        // A statement that cannot be sent leaves deferred messages in place.
        let many = "?,".repeat(PARAMETERS_MAX + 1);
        assert!(statements.prepare(many.as_bytes(), &[], &mut out).is_err() && out.is_empty());
        assert!(statements.prepare(b"\0", &[], &mut out).is_err() && out.is_empty());
        statements.prepare(b"SELECT ?", &[], &mut out).unwrap();
        assert_eq!(out, [&b"C\0\0\0\x08Sh0\0"[..], parse, ENDS].concat());
        out.clear();
        statements.put_off(&mut out);
        assert!(out.is_empty(), "once is enough");
    }

    #[test]
    fn refusals_and_hostile_answers() {
        let mut statements = PostgresStatements::default();
        let error = (b'E', &b"VERROR\0C42601\0Msyntax\0\0"[..]);
        let end = prepared(
            &mut PrepareOne::default(),
            &mut statements,
            &[(b'3', b""), error, (b'Z', b"E")],
        );
        assert!(matches!(end, Some((Err(error), b'E')) if error.sqlstate == "42601"));
        let hostile: [(u8, &[u8]); 7] = [
            (b't', b"\0"),
            (b'T', b""),
            (b'Z', b"I"),
            (b'D', b"\0\0"),
            (b'C', b"SELECT 1\0"),
            (b'E', b""),
            (b'E', b"VFATAL\0C57P01\0Mbye\0\0"),
        ];
        for (kind, body) in hostile {
            let found = PrepareOne::default().message(kind, body, &mut statements);
            assert!(found.is_err(), "{} {body:?}", char::from(kind));
        }
    }
}
