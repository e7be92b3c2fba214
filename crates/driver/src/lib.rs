//! Communicates with a server.
//!
//! Protocols are implemented without I/O: a [`Session`] takes received bytes and returns bytes to send, so that the
//! engine decides how sockets are read and by which thread. A [`Connector`] makes sessions with equal parameters;
//! [`Client`] is the small blocking client, over the same sessions, for all work that is not measured.

mod alarm;
mod client;
mod connector;
mod dsn;
mod dsn_names;
mod error;
mod handles;
mod http;
mod link;
mod mysql;
mod postgres;
mod result_sets;
mod session;
mod settings;
mod socket;
mod statement;
mod target;
mod tls;
mod user;

pub use alarm::Alarm;
pub use client::{Client, LOGIN_TIMEOUT, QueryResult, Traffic};
pub use connector::Connector;
pub use dsn::DsnError;
pub use error::{DriverError, LoginError, ServerError};
pub use handles::Handles;
pub use http::{HttpSession, HttpTarget, HttpTemplate, TemplateError, UrlError};
pub use link::{Link, Scratch};
pub use mysql::MysqlSession;
pub use postgres::{
    LibpqError, LibpqGiven, LibpqTarget, PgSession, TransactionStatus, count_parameters, libpq_variables,
    with_numbered_parameters,
};
pub use result_sets::{COLLECTED_BYTES_MAX, ResultSet, ResultSets, RowValues};
pub use session::{ParamType, Prepared, Reply, Session, SessionEvent};
pub use settings::{AURORA_POSTGRES, DURABILITY_STATUS, server_settings, session_settings};
pub use socket::{Address, Socket};
pub use statement::{Params, Statement, StatementError, Value};
pub use target::{ConnectionIds, Endpoint, Login, Password, Target, Tls, TlsMode};
pub use tls::{TlsClient, TlsError, TlsLayer};
pub use user::current as current_user;
