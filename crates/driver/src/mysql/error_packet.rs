//! Errors of statements: the server's, and those found here.

use super::wire::PayloadReader;
use crate::{DriverError, ServerError};

pub(super) fn parse_error(payload: &[u8]) -> Result<ServerError, DriverError> {
    let mut reader = PayloadReader::new(payload);
    reader.u8()?;
    let code = reader.uint(2)? as u16;
    if code == u16::MAX {
        return Err(DriverError::Protocol("an unexpected progress report"));
    }
    let rest = reader.rest();
    // Before the login the state marker may be missing.
    let (sqlstate, message) = match rest.first() {
        Some(b'#') if rest.len() >= 6 => (&rest[1..6], &rest[6..]),
        _ => (&b"HY000"[..], rest),
    };
    let [sqlstate, message] =
        [sqlstate, message].map(|text| String::from_utf8_lossy(text).into_owned());
    Ok(ServerError { code, sqlstate, message, position: 0 })
}

/// An error of the client, with a number of MySQL's own client.
pub(super) fn own_error(code: u16, message: String) -> ServerError {
    ServerError { code, sqlstate: "HY000".to_owned(), message, position: 0 }
}
