//! Talks to a server of the MySQL family.
//!
//! The protocol is written without I/O: [`MysqlSession`] takes the bytes that came and says what to send, so that the
//! engine decides how sockets are read and by which thread. [`Client`] is the small blocking client for everything that
//! is not measured. Only logins without a password over a unix socket are here: that is what private servers have.

mod client;
mod command;
mod error;
mod handshake;
mod reply;
mod session;
mod statement;
mod wire;

pub use client::{Client, QueryResult};
pub use error::{DriverError, ErrorClass, ServerError};
pub use handshake::Login;
pub use reply::Reply;
pub use session::{Event, MysqlSession, Session};
pub use statement::{Dialect, Params, Statement, StatementError, Value};
