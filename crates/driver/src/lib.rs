//! The protocols of MySQL, PostgreSQL and HTTP, as clients.
//!
//! 1. `mysql/`, `postgres/` and `http/` (requests of a template, for `truetps verify`): state
//!    machines without I/O. Their interface is [`Session`]: received bytes in, bytes to send out,
//!    one event. So the engine decides how sockets are read, and by which thread. They handle
//!    logins, prepared statements and replies, in two ways: a fixed list of statements, which is
//!    measured, and any statement at any time ([`Session::prepare`], [`Session::execute`],
//!    [`Session::send_bytes`]). Rows of the latter are collected as text in a buffer that the
//!    caller lends (`result_sets`), so that a waiting session holds no buffer.
//! 2. `tls/`: encryption as another state machine, between session and socket, and the checks of
//!    certificates.
//! 3. `connector` ([`Connector`]) makes sessions with equal parameters: a `target`, read from a DSN
//!    (`dsn`), and its setup statements, which run before a connection is ready. `socket` has the
//!    non-blocking sockets, `link` ([`Link`]) one socket with its session. A caller with a single
//!    link can wait on it, also beside an `alarm`, a timer that repeats.
//! 4. `client` ([`Client`]): a small blocking client, over the same sessions, for all work that is
//!    not measured; `query_result` has its rows. `settings` reads the variables of a server in the
//!    form that run folders have.
//!
//! *Invariants:* every length that a server sends is checked, and a hostile packet is an error, not
//! a panic (`fuzz/` tries it). No message shows a password.

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
mod query_result;
mod result_sets;
mod session;
mod settings;
mod socket;
mod statement;
mod target;
mod tls;
mod user;

pub use alarm::Alarm;
pub use client::{Client, LOGIN_TIMEOUT, Traffic};
pub use connector::Connector;
pub use dsn::DsnError;
pub use error::{DriverError, LoginError, ServerError};
pub use handles::Handles;
pub use http::{HttpSession, HttpTarget, HttpTemplate, TemplateError, UrlError};
pub use link::{Link, Scratch};
pub use mysql::MysqlSession;
pub use postgres::{
    LibpqError, LibpqGiven, LibpqTarget, PgSession, count_parameters, libpq_variables,
    with_numbered_parameters,
};
pub use query_result::QueryResult;
pub use result_sets::{COLLECTED_BYTES_MAX, ResultSet, ResultSets, RowValues};
pub use session::{ParamType, Prepared, Reply, Session, SessionEvent, TransactionStatus};
pub use settings::{AURORA_POSTGRES, DURABILITY_STATUS, server_settings, session_settings};
pub use socket::{Address, Socket};
pub use statement::{Params, Statement, StatementError, Value};
pub use target::{ConnectionIds, Endpoint, Login, Password, Target, Tls, TlsMode};
pub use tls::{TlsClient, TlsError, TlsLayer};
pub use user::current as current_user;
