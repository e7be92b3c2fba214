//! Errors between a client and a server, and the class in which each is counted.

use std::fmt;
use std::io;
use std::net::IpAddr;

use thiserror::Error;
use truetps_record::{ErrorClass, SqlDialect};

use crate::dsn::is_socket_of_postgres;
use crate::{Endpoint, TlsError};

/// An error that the server reports.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ServerError {
    /// MySQL's error number; 0 from PostgreSQL, which has none.
    pub code: u16,
    pub sqlstate: String,
    pub message: String,
    /// Position in the statement, in characters from 1; 0 if the server reports none.
    pub position: u32,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, sqlstate, message, .. } = self;
        match code {
            0 => write!(f, "{message} (SQLSTATE {sqlstate})"),
            _ => write!(f, "{message} (error {code}, SQLSTATE {sqlstate})"),
        }
    }
}

impl ServerError {
    pub fn class(&self) -> ErrorClass {
        ErrorClass::of_server_error(self.code, &self.sqlstate)
    }

    /// Whether the server, or the account, has as many sessions as it may have.
    pub fn is_session_limit(&self) -> bool {
        matches!(self.code, 1040 | 1203 | 1226) || self.sqlstate == "53300"
    }

    /// How to fix it, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.code {
            0 => return sqlstate_hint(&self.sqlstate),
            1040 => "raise max_connections in the server, or use fewer clients",
            1203 | 1226 => {
                "raise the account's limit (max_user_connections, ALTER USER ... WITH), or use \
                 fewer clients"
            }
            1044 => {
                "give the account privileges on the database: GRANT ALL ON database.* TO the account"
            }
            1045 | 1698 => {
                "check user and password; a password can be given in the environment: \
                 TRUETPS_PASSWORD (an account of the plugin unix_socket or auth_socket belongs to \
                 the system's user of that name; an account that requires TLS is refused with \
                 these words, too: tls=required)"
            }
            1049 => "create the database first: CREATE DATABASE",
            1129 => {
                "the server has counted too many failed logins from this host; run FLUSH HOSTS, or \
                 raise max_connect_errors"
            }
            1130 => "allow the account to connect from this host: CREATE USER user@host",
            1153 => "raise max_allowed_packet in the server, or send smaller statements",
            1251 => "the account has a password in the format before 4.1; reset it with ALTER USER",
            1524 => {
                "the account's plugin is not loaded in the server: INSTALL SONAME, or ALTER USER \
                 to another plugin"
            }
            1820 | 1862 => {
                "the account's password has expired; reset it with ALTER USER ... IDENTIFIED BY"
            }
            2068 => {
                "a server gets only a regular file that a statement of `truetps sysbench` or \
                 `truetps slap` names, sent as text; else use INSERT, or LOAD DATA with a file on \
                 the server"
            }
            3118 | 4151 => "unlock the account: ALTER USER ... ACCOUNT UNLOCK",
            3159 => "the server accepts only encrypted connections; set tls=required",
            _ => return None,
        })
    }
}

/// How to fix an error of PostgreSQL, if that is known.
fn sqlstate_hint(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "28P01" => {
            "check user and password; a password can be given in the environment: TRUETPS_PASSWORD"
        }
        "28000" => {
            "let pg_hba.conf allow this user, database and address (hostssl lines require TLS; a \
             certificate: cert=FILE and key=FILE), or create the role"
        }
        "3D000" => "create the database first: CREATE DATABASE",
        "53300" => "raise max_connections in the server, or use fewer clients",
        "57P03" => "the server is starting or stopping; its log says how far it is",
        "42501" => "give the role privileges: GRANT ALL ON ... TO the role",
        _ => return None,
    })
}

/// A login that truetps aborts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    #[error("the account `{account}` uses the plugin `{plugin}`, which truetps does not support")]
    UnknownPlugin { plugin: String, account: String },
    #[error(
        "the account `{account}` uses the plugin `{plugin}`, which would send the password itself \
         over a connection that others can read or answer"
    )]
    NotSecret { plugin: String, account: String },
    #[error(
        "the account `{account}` uses the plugin `{plugin}`: without TLS the password would be \
         encrypted with the key that the server sends, which may be the key of an attacker"
    )]
    UnknownKey { plugin: String, account: String },
    #[error("the password of the account `{account}` cannot be encrypted without TLS: {problem}")]
    NotEncrypted { account: String, problem: &'static str },
    #[error("the login of `{account}` with the plugin `{plugin}` failed: {problem}")]
    Exchange { plugin: String, account: String, problem: &'static str },
}

impl LoginError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnknownPlugin { .. } => Some(
                "there are mysql_native_password, caching_sha2_password, sha256_password, ed25519, \
                 parsec and mysql_clear_password; make an account for the load with one of them: \
                 ALTER USER ... IDENTIFIED WITH caching_sha2_password BY ... (MariaDB: IDENTIFIED \
                 VIA ed25519 USING PASSWORD(...))",
            ),
            Self::NotSecret { .. } => Some(
                "connect with a checked certificate (tls=verify-identity, ca=FILE) or over a unix \
                 socket, or give the account another plugin",
            ),
            Self::UnknownKey { .. } => Some(
                "connect with TLS (tls=verify-identity, ca=FILE; or tls=required), or accept the \
                 server's key: get_server_public_key=true",
            ),
            Self::NotEncrypted { .. } => Some(
                "connect with TLS (tls=required), or with caching_sha2_password over a unix \
                 socket; a server makes an RSA key at its start with \
                 caching_sha2_password_auto_generate_rsa_keys=ON or \
                 sha256_password_auto_generate_rsa_keys=ON",
            ),
            Self::Exchange { .. } => None,
        }
    }
}

#[derive(Debug, Error)]
pub enum DriverError {
    #[error("cannot connect to {endpoint}: {source}")]
    Connect { endpoint: Endpoint, source: io::Error },
    /// An address that clients cannot connect from: see
    /// [`Target::sources`](crate::Target::sources).
    #[error("cannot connect from {address}: {problem}")]
    Source { address: IpAddr, problem: io::Error },
    #[error("{0}")]
    Server(#[from] ServerError),
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    /// Closed before the login was complete.
    #[error("the server closed the connection {when}")]
    ClosedEarly { when: &'static str, likely: &'static str },
    /// Lost while a long statement was being sent.
    #[error("connection lost while a statement of {statement_bytes} bytes was sent: {problem}")]
    LostSending { statement_bytes: usize, problem: String },
    /// Bytes that violate the server's protocol.
    #[error("the server broke the protocol: {0}")]
    Protocol(&'static str),
    #[error("the server ({version}) speaks a protocol from before MySQL 4.1")]
    TooOld { version: String },
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("{0}")]
    Login(#[from] LoginError),
    /// The server refused a statement that sets sessions up: see
    /// [`Target::setup`](crate::Target::setup).
    #[error("{error}; setup statement: {statement}")]
    Setup { statement: Box<str>, error: Box<ServerError> },
    /// The caller requested something that the session cannot do now. Nothing was sent, and the
    /// session remains usable.
    #[error("{0}")]
    Misuse(&'static str),
    #[error("the server is {}", family(*.is))]
    OtherFamily { is: SqlDialect },
    /// The login lacks what a PostgreSQL server requires.
    #[error("the server asks for {asks_for}")]
    Authentication { asks_for: String, hint: &'static str },
}

/// What PostgreSQL requires if the login has no password.
pub(crate) const A_PASSWORD: &str = "a password";

impl DriverError {
    pub(crate) fn setup(statement: &str, error: ServerError) -> Self {
        Self::Setup { statement: statement.into(), error: Box::new(error) }
    }

    /// Whether a login may be refused because it has no password, or a wrong one.
    pub fn wants_password(&self) -> bool {
        const DENIED: u16 = 1045;
        match self {
            Self::Server(error) => error.code == DENIED || error.sqlstate == "28P01",
            Self::Authentication { asks_for, .. } => asks_for == A_PASSWORD,
            _ => false,
        }
    }

    /// Whether a login failed because of the account, not because of the server.
    pub fn is_refused_login(&self) -> bool {
        /// MySQL's error numbers about accounts whose SQLSTATE is shared with other errors: plugin,
        /// host, lock, age.
        const OF_ACCOUNTS: [u16; 7] = [1130, 1251, 1524, 1820, 1862, 3118, 4151];
        match self {
            Self::Server(error) => {
                error.sqlstate.starts_with("28") || OF_ACCOUNTS.contains(&error.code)
            }
            Self::Authentication { .. } | Self::Login(_) => true,
            _ => false,
        }
    }

    /// Whether a session limit of the server or the account is reached.
    pub fn is_session_limit(&self) -> bool {
        match self {
            Self::Server(error) => error.is_session_limit(),
            Self::Setup { error, .. } => error.is_session_limit(),
            _ => false,
        }
    }

    pub(crate) const NOT_IDLE: Self =
        Self::Misuse("a command is in flight, or the login has not ended");
    pub(crate) const NO_HANDLE: Self = Self::Misuse("no statement is open under this handle");
    pub(crate) const OTHER_PARAMS: Self =
        Self::Misuse("the statement has a different number of parameters");

    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Server(error) => error.class(),
            Self::Io(_) | Self::Closed | Self::LostSending { .. } => ErrorClass::ConnectionLost,
            Self::Connect { .. }
            | Self::Source { .. }
            | Self::ClosedEarly { .. }
            | Self::TooOld { .. }
            | Self::OtherFamily { .. }
            | Self::Tls(_)
            | Self::Login(_)
            | Self::Setup { .. }
            | Self::Authentication { .. } => ErrorClass::ConnectFailed,
            Self::Protocol(_) | Self::Misuse(_) => ErrorClass::Protocol,
        }
    }

    /// How to fix it, if that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Server(error) => error.hint()?,
            Self::Setup { error, .. } => error.hint()?,
            Self::Tls(error) => error.hint()?,
            Self::Login(error) => error.hint()?,
            Self::Authentication { hint, .. } => hint,
            Self::ClosedEarly { likely, .. } => likely,
            Self::Connect { endpoint, source } => connect_hint(endpoint, source)?,
            Self::Source { .. } => "source= takes addresses of this host (`ip address` lists them)",
            Self::LostSending { .. } => {
                "the server's max_allowed_packet may be smaller (SHOW VARIABLES LIKE \
                 'max_allowed_packet')"
            }
            Self::OtherFamily { is: SqlDialect::Mysql } => "give its address as mysql://…",
            Self::OtherFamily { is: SqlDialect::Postgres } => "give its address as postgresql://…",
            Self::TooOld { .. } => "truetps needs MySQL 4.1 or newer",
            Self::Io(_) | Self::Closed | Self::Protocol(_) | Self::Misuse(_) => return None,
        };
        Some(hint.to_owned())
    }

    /// The server's error number; 0 if the error is not the server's.
    pub fn code(&self) -> u16 {
        match self {
            Self::Server(error) => error.code,
            Self::Setup { error, .. } => error.code,
            _ => 0,
        }
    }
}

fn family(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Mysql => "of the MySQL family, not PostgreSQL",
        SqlDialect::Postgres => "PostgreSQL, not of the MySQL family",
    }
}

fn connect_hint(endpoint: &Endpoint, source: &io::Error) -> Option<&'static str> {
    match (source.kind(), endpoint) {
        // The kernel's words for it: "cannot assign requested address", and "address already in
        // use" with a source.
        (io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse, Endpoint::Tcp { .. }) => Some(
            "all local ports for this server are taken (net.ipv4.ip_local_port_range; closed \
             connections hold theirs for a minute): name more addresses of this host with \
             source=A,B in the address, or use the server's socket",
        ),
        (io::ErrorKind::ConnectionRefused, Endpoint::Tcp { .. }) => Some(
            "no server listens at that port; check skip-networking and bind_address in the server",
        ),
        (io::ErrorKind::ConnectionRefused, Endpoint::Unix(_)) => {
            Some("the socket is a leftover: the server is not running")
        }
        (io::ErrorKind::NotFound, Endpoint::Unix(path)) if is_socket_of_postgres(path) => Some(
            "the server is not running, has another port (it is in the socket's name), or has its \
             socket in another folder: SHOW unix_socket_directories",
        ),
        (io::ErrorKind::NotFound, Endpoint::Unix(_)) => Some(
            "the server is not running, or has its socket elsewhere: SHOW VARIABLES LIKE 'socket'",
        ),
        (io::ErrorKind::PermissionDenied, Endpoint::Unix(_)) => {
            Some("this user has no access to the socket's folder")
        }
        (io::ErrorKind::TimedOut, Endpoint::Tcp { .. }) => Some(
            "check the port and the firewalls; connect_timeout=SECONDS in the address waits longer",
        ),
        (_, Endpoint::Tcp { .. }) if source.raw_os_error().is_none() => {
            Some("check the host's name")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_limits_of_server_and_account() {
        let check = |code, sqlstate: &str, expect| {
            let (sqlstate, message) = (sqlstate.to_owned(), String::new());
            let error = DriverError::from(ServerError { code, sqlstate, message, position: 0 });
            assert_eq!(error.is_session_limit(), expect, "{error:?}");
        };
        check(1040, "08004", true);
        // Some servers refuse in place of the greeting, where no SQLSTATE is sent.
        check(1040, "", true);
        check(1203, "42000", true);
        check(1226, "42000", true);
        check(0, "53300", true);
        check(1045, "28000", false);
        check(0, "42501", false);
        assert!(!DriverError::Closed.is_session_limit());
    }

    #[test]
    fn classes_come_from_the_number_or_else_from_the_sqlstate() {
        let check = |code, sqlstate: &str, expect: &str| {
            let error = ServerError {
                code,
                sqlstate: sqlstate.to_owned(),
                message: "m".to_owned(),
                position: 0,
            };
            assert_eq!(error.class().to_string(), expect, "{code} {sqlstate}");
        };
        check(1213, "40001", "deadlock");
        check(1020, "HY000", "serialization_failure");
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

    #[test]
    fn hints_are_the_family_s_own() {
        let hint = |code, sqlstate: &str| {
            ServerError { code, sqlstate: sqlstate.to_owned(), message: String::new(), position: 0 }
                .hint()
        };
        assert!(hint(0, "28000").unwrap().contains("pg_hba.conf"));
        assert!(!hint(1045, "28000").unwrap().contains("pg_hba.conf"));
        assert_eq!(hint(0, "22012"), None);
    }
}
