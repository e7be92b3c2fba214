//! What can go wrong between a client and a server, and the class that it is counted in.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::{Endpoint, TlsError};

/// An error that the server reports.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ServerError {
    /// MySQL's number; 0 from PostgreSQL, which has none.
    pub code: u16,
    pub sqlstate: String,
    pub message: String,
}

impl ServerError {
    pub fn class(&self) -> ErrorClass {
        if self.code == 0 { ErrorClass::of_sqlstate(&self.sqlstate) } else { ErrorClass::of_code(self.code) }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, sqlstate, message } = self;
        match code {
            0 => write!(f, "{message} (SQLSTATE {sqlstate})"),
            _ => write!(f, "{message} (error {code}, SQLSTATE {sqlstate})"),
        }
    }
}

#[derive(Debug, Error)]
pub enum DriverError {
    #[error("cannot connect to {endpoint}: {source}")]
    Connect { endpoint: Endpoint, source: io::Error },
    #[error("{0}")]
    Server(#[from] ServerError),
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    /// Bytes that no server of this protocol sends.
    #[error("the server broke the protocol: {0}")]
    Protocol(&'static str),
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("the server asks for a password (plugin {0}): only logins without one are supported here")]
    PasswordNeeded(String),
    /// The login cannot give what the server asks for.
    #[error("the server asks for {asks_for}")]
    Authentication { asks_for: String, hint: &'static str },
}

impl DriverError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Server(error) => error.class(),
            Self::Io(_) | Self::Closed => ErrorClass::ConnectionLost,
            Self::Connect { .. } | Self::Tls(_) | Self::PasswordNeeded(_) | Self::Authentication { .. } => {
                ErrorClass::ConnectFailed
            }
            Self::Protocol(_) => ErrorClass::Protocol,
        }
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Tls(error) => error.hint().map(str::to_owned),
            Self::Authentication { hint, .. } => Some((*hint).to_owned()),
            _ => None,
        }
    }

    /// The server's number; 0 where the error is not the server's.
    pub fn code(&self) -> u16 {
        if let Self::Server(error) = self { error.code } else { 0 }
    }
}

/// Errors by what a user can do about them; the server's number is kept beside the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    Deadlock,
    LockWaitTimeout,
    DuplicateKey,
    ConnectFailed,
    ConnectionLost,
    ReadOnly,
    /// Of PostgreSQL alone: concurrent transactions cannot be brought into an order; send this one again.
    SerializationFailure,
    Protocol,
    /// Any other error of a server that counts its errors.
    Other(u16),
    /// Any other error of a server that has SQLSTATEs only.
    OtherState([u8; 5]),
}

impl ErrorClass {
    pub fn of_code(code: u16) -> Self {
        match code {
            1213 => Self::Deadlock,
            1205 => Self::LockWaitTimeout,
            1022 | 1062 | 1586 => Self::DuplicateKey,
            1040 | 1044 | 1045 | 1129 | 1130 | 1203 | 1226 => Self::ConnectFailed,
            1053 | 1152 | 1927 | 2006 | 2013 => Self::ConnectionLost,
            1290 | 1792 | 1836 | 3100 => Self::ReadOnly,
            other => Self::Other(other),
        }
    }

    /// The class of an error of PostgreSQL (its manual, appendix A).
    pub fn of_sqlstate(sqlstate: &str) -> Self {
        match sqlstate {
            "40P01" => Self::Deadlock,
            // 57014 is not here: it is `statement_timeout`, or somebody who cancelled, more often than a lock.
            "55P03" => Self::LockWaitTimeout,
            "23505" => Self::DuplicateKey,
            "40001" => Self::SerializationFailure,
            "25006" => Self::ReadOnly,
            "08P01" => Self::Protocol,
            // 57P03: it is starting or stopping, and says so to a client that connects.
            "53300" | "3D000" | "57P03" => Self::ConnectFailed,
            // Shut down, crash of another session, database dropped; timeouts that end the session.
            "57P01" | "57P02" | "57P04" | "57P05" | "25P03" => Self::ConnectionLost,
            state if state.starts_with("28") => Self::ConnectFailed,
            state if state.starts_with("08") => Self::ConnectionLost,
            state => match state.as_bytes().try_into() {
                Ok(state) => Self::OtherState(state),
                Err(_) => Self::Protocol,
            },
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock => f.write_str("deadlock"),
            Self::LockWaitTimeout => f.write_str("lock_wait_timeout"),
            Self::DuplicateKey => f.write_str("duplicate_key"),
            Self::ConnectFailed => f.write_str("connect_failed"),
            Self::ConnectionLost => f.write_str("connection_lost"),
            Self::ReadOnly => f.write_str("read_only"),
            Self::SerializationFailure => f.write_str("serialization_failure"),
            Self::Protocol => f.write_str("protocol"),
            Self::Other(code) => write!(f, "other({code})"),
            Self::OtherState(state) => write!(f, "other({})", String::from_utf8_lossy(state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_from_the_number_or_else_from_the_sqlstate() {
        let check = |code, sqlstate: &str, expect: &str| {
            let error = ServerError { code, sqlstate: sqlstate.to_owned(), message: "m".to_owned() };
            assert_eq!(error.class().to_string(), expect, "{code} {sqlstate}");
        };
        check(1213, "40001", "deadlock");
        check(1114, "HY000", "other(1114)");
        check(0, "40P01", "deadlock");
        check(0, "40001", "serialization_failure");
        check(0, "55P03", "lock_wait_timeout");
        check(0, "57014", "other(57014)");
        check(0, "23505", "duplicate_key");
        check(0, "25006", "read_only");
        check(0, "28P01", "connect_failed");
        check(0, "57P03", "connect_failed");
        check(0, "57P01", "connection_lost");
        check(0, "08006", "connection_lost");
        check(0, "23503", "other(23503)");
        check(0, "short", "other(short)");
        check(0, "", "protocol");
    }
}
