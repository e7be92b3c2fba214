//! What can go wrong between a client and a server, and the class that it is counted in.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::{Endpoint, TlsError};

/// An error packet of the server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} (error {code}, SQLSTATE {sqlstate})")]
pub struct ServerError {
    pub code: u16,
    pub sqlstate: String,
    pub message: String,
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
}

impl DriverError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Server(error) => ErrorClass::of_code(error.code),
            Self::Io(_) | Self::Closed => ErrorClass::ConnectionLost,
            Self::Connect { .. } | Self::Tls(_) | Self::PasswordNeeded(_) => ErrorClass::ConnectFailed,
            Self::Protocol(_) => ErrorClass::Protocol,
        }
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Tls(error) => error.hint().map(str::to_owned),
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
    Protocol,
    Other(u16),
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
            Self::Protocol => f.write_str("protocol"),
            Self::Other(code) => write!(f, "other({code})"),
        }
    }
}
