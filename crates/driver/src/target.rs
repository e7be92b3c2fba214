//! Where a server is, and who logs in there.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Dialect;

/// One place to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
}

impl Endpoint {
    /// What is sent there does not leave this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// A password. It shows itself to nobody who prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself: for the handshake only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Whether and how the connection is encrypted: the words of MySQL's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    #[default]
    Off,
    /// Encrypted where the server can, with any certificate.
    Preferred,
    /// Encrypted, with any certificate.
    Required,
    /// The certificate is signed by a known authority.
    VerifyCa,
    /// The same, and it is for the host that was asked for.
    VerifyIdentity,
}

/// TLS of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    pub mode: TlsMode,
    /// PEM file with the authorities to trust; the system's where there is none.
    pub ca: Option<PathBuf>,
    /// PEM file with the client's own certificate, and those between it and its authority. It goes with `key`.
    pub cert: Option<PathBuf>,
    /// PEM file with the certificate's private key, which is not encrypted.
    pub key: Option<PathBuf>,
    /// A public key that a server of the MySQL family sends over a network without TLS may encrypt the password: the key
    /// of whoever answers.
    pub takes_server_key: bool,
}

impl Tls {
    /// Whether a server that does not offer TLS is an error.
    pub fn is_required(&self) -> bool {
        !matches!(self.mode, TlsMode::Off | TlsMode::Preferred)
    }
}

/// Who logs in, and to which database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub password: Option<Password>,
    pub database: Option<String>,
}

/// Numbers of connections, as their server counts them: those that are open, and those that were.
#[derive(Debug, Clone, Default)]
pub struct ConnectionIds(Arc<Mutex<IdList>>);

#[derive(Debug, Default)]
struct IdList {
    ids: HashSet<u32>,
    /// A copy, one number a line.
    file: Option<File>,
}

impl ConnectionIds {
    pub fn add(&self, id: u32) {
        let mut list = self.list();
        if list.ids.insert(id)
            && let Some(file) = &mut list.file
        {
            // One write for each: a process that is killed leaves whole lines. A full disk only leaves a shorter copy.
            let _ = file.write_all(format!("{id}\n").as_bytes());
        }
    }

    pub fn contains(&self, id: u32) -> bool {
        self.list().ids.contains(&id)
    }

    /// The server was restarted: its numbers begin anew, and those that are known are other sessions' now.
    pub fn clear(&self) {
        let mut list = self.list();
        list.ids.clear();
        if let Some(file) = &list.file {
            let _ = file.set_len(0);
        }
    }

    /// Copies all numbers to a file, which is open for appending: for whoever ends sessions after this process was killed.
    pub fn copy_to(&self, mut file: File) {
        let mut list = self.list();
        let ids: Vec<_> = list.ids.iter().map(u32::to_string).collect();
        let _ = file.write_all((ids.join("\n") + "\n").as_bytes());
        list.file = Some(file);
    }

    fn list(&self) -> MutexGuard<'_, IdList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same list, and not one that is alike.
impl PartialEq for ConnectionIds {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ConnectionIds {}

/// A server (or several that are alike) and a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub dialect: Dialect,
    /// Never empty. Client number n uses endpoint n modulo their number.
    pub endpoints: Vec<Endpoint>,
    pub login: Login,
    pub tls: Tls,
    /// SQL that every session sends after its login and before it is ready (and before anything is prepared): SET
    /// AUTOCOMMIT=0, an init command. Each is one text, sent as it is; its rows are passed over. One that the server
    /// refuses is a login that failed, and the error shows it: no place for passwords.
    pub setup: Vec<String>,
    /// Gets the number of each connection that a server of the MySQL family takes, for whoever wants to end statements.
    pub connections: Option<ConnectionIds>,
    /// How long a [`Client`](crate::Client) waits for a connection and for its login, where that is not
    /// [`LOGIN_TIMEOUT`](crate::LOGIN_TIMEOUT).
    pub connect_timeout: Option<Duration>,
}

impl Target {
    /// A server of the MySQL family behind a unix socket, without a password.
    pub fn mysql_unix(socket: impl Into<PathBuf>, user: &str, database: Option<&str>) -> Self {
        Self {
            dialect: Dialect::Mysql,
            endpoints: vec![Endpoint::Unix(socket.into())],
            login: Login { user: user.to_owned(), password: None, database: database.map(str::to_owned) },
            tls: Tls::default(),
            setup: Vec::new(),
            connections: None,
            connect_timeout: None,
        }
    }

    /// A PostgreSQL behind a unix socket, without a password.
    pub fn postgres_unix(socket: impl Into<PathBuf>, user: &str, database: &str) -> Self {
        Self { dialect: Dialect::Postgres, ..Self::mysql_unix(socket, user, Some(database)) }
    }

    /// The same target, whose sessions send this first; see [`Target::setup`].
    #[must_use]
    pub fn with_setup(mut self, setup: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.setup = setup.into_iter().map(Into::into).collect();
        self
    }

    /// The endpoint of client number `client`.
    pub fn endpoint(&self, client: u32) -> &Endpoint {
        &self.endpoints[client as usize % self.endpoints.len()]
    }
}
