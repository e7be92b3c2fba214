//! The address of a server, and the login.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::pbkdf2;
use truetps_record::SqlDialect;

/// One address to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
}

impl Endpoint {
    /// Whether data sent there stay on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                host.eq_ignore_ascii_case("localhost")
                    || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
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

/// What OWASP recommends in 2023: about 0.2 s.
const KEY_STEPS: NonZeroU32 = NonZeroU32::new(600_000).expect("not 0");

/// A password. Printing it does not show it.
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

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A key that the password and the salt give, by PBKDF2 with HMAC-SHA256. Who sees something
    /// that was made with it needs as many steps for each password to be guessed.
    pub fn derive_key(&self, salt: &[u8]) -> [u8; 32] {
        let mut key = [0; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, KEY_STEPS, salt, self.0.as_bytes(), &mut key);
        key
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Whether and how the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    #[default]
    Off,
    /// Encrypted if the server supports it, with any certificate.
    Preferred,
    /// Encrypted, with any certificate.
    Required,
    /// The certificate is signed by a known authority.
    VerifyCa,
    /// Also, the certificate is for the requested host.
    VerifyIdentity,
}

impl TlsMode {
    /// The words of MySQL's `--ssl-mode`.
    pub const MYSQL_WORDS: [(&str, Self); 5] = [
        ("disabled", Self::Off),
        ("preferred", Self::Preferred),
        ("required", Self::Required),
        ("verify_ca", Self::VerifyCa),
        ("verify_identity", Self::VerifyIdentity),
    ];

    /// Whether a server that does not offer TLS is an error.
    pub fn is_required(self) -> bool {
        !matches!(self, Self::Off | Self::Preferred)
    }

    /// The mode of one of these words, in any letter case.
    pub fn of_mysql_word(text: &str) -> Option<Self> {
        Self::MYSQL_WORDS
            .into_iter()
            .find(|(word, _)| text.eq_ignore_ascii_case(word))
            .map(|(_, mode)| mode)
    }
}

/// TLS of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    pub mode: TlsMode,
    /// PEM file with the trusted authorities; default: the system's.
    pub ca: Option<PathBuf>,
    /// PEM file with the client's own certificate and its intermediate certificates. It needs
    /// `key`.
    pub cert: Option<PathBuf>,
    /// PEM file with the certificate's private key, unencrypted.
    pub key: Option<PathBuf>,
    /// Whether the password may be encrypted with the public key that a server of the MySQL family
    /// sends without TLS. The key's owner is not verified.
    pub takes_server_key: bool,
}

/// The account of the login, and its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub password: Option<Password>,
    pub database: Option<String>,
}

/// The server's IDs of connections: open and closed ones.
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
            // One write each, so that a killed process leaves complete lines. A full disk only
            // makes the copy shorter.
            let _ = file.write_all(format!("{id}\n").as_bytes());
        }
    }

    pub fn contains(&self, id: u32) -> bool {
        self.list().ids.contains(&id)
    }

    /// The server was restarted: it counts from the start again, and known IDs now belong to other
    /// sessions.
    pub fn clear(&self) {
        let mut list = self.list();
        list.ids.clear();
        if let Some(file) = &list.file {
            let _ = file.set_len(0);
        }
    }

    /// Copies all IDs to a file opened for appending, so that the sessions can be ended after this
    /// process was killed.
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

/// Equal only if they are the same list, not lists with equal contents.
impl PartialEq for ConnectionIds {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ConnectionIds {}

/// A server (or several equal ones) and a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub dialect: SqlDialect,
    /// Never empty. Client number n uses endpoint n modulo their number.
    pub endpoints: Vec<Endpoint>,
    /// Addresses of this host that clients connect from, in turn; empty: the system chooses. Each
    /// has ports of its own, of which one connection to an endpoint takes one.
    pub sources: Vec<IpAddr>,
    pub login: Login,
    pub tls: Tls,
    /// SQL that every session sends after its login and before it is ready (and before any
    /// prepare): SET AUTOCOMMIT=0, an init command. Each is one text, sent unchanged; its rows are
    /// ignored. If the server refuses one, the login fails, and the error shows the statement: do
    /// not put passwords here.
    pub setup: Vec<String>,
    /// Receives the ID of each connection to a server of the MySQL family, to end its statements
    /// later.
    pub connections: Option<ConnectionIds>,
    /// Settings that a PostgreSQL session begins with, and `options`; they come before the driver's
    /// application_name.
    pub startup_settings: Vec<(String, String)>,
    /// Whether a server of the MySQL family gets the files that a statement itself names (LOAD DATA
    /// LOCAL INFILE).
    pub sends_local_files: bool,
    /// How long a [`Client`](crate::Client) waits for a connection and for its login, if different
    /// from [`LOGIN_TIMEOUT`](crate::LOGIN_TIMEOUT).
    pub connect_timeout: Option<Duration>,
}

impl Target {
    /// A server of the MySQL family behind a unix socket, without a password.
    pub fn mysql_unix(socket: impl Into<PathBuf>, user: &str, database: Option<&str>) -> Self {
        let login =
            Login { user: user.to_owned(), password: None, database: database.map(str::to_owned) };
        Self::new(SqlDialect::Mysql, vec![Endpoint::Unix(socket.into())], login, Tls::default())
    }

    /// A server whose sessions begin with nothing but their login.
    pub fn new(dialect: SqlDialect, endpoints: Vec<Endpoint>, login: Login, tls: Tls) -> Self {
        Self {
            dialect,
            endpoints,
            sources: Vec::new(),
            login,
            tls,
            setup: Vec::new(),
            connections: None,
            startup_settings: Vec::new(),
            sends_local_files: false,
            connect_timeout: None,
        }
    }

    /// A PostgreSQL behind a unix socket, without a password.
    pub fn postgres_unix(socket: impl Into<PathBuf>, user: &str, database: &str) -> Self {
        Self { dialect: SqlDialect::Postgres, ..Self::mysql_unix(socket, user, Some(database)) }
    }

    /// The target, whose sessions first send this statement; see [`Target::setup`].
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's `hashlib.pbkdf2_hmac("sha256", …, 600000)` has it.
    #[test]
    fn a_key_is_the_one_of_the_standard() {
        let key = Password::new("p\u{e4}ss").derive_key(b"salt");
        let [first, second] =
            [0, 16].map(|at| u128::from_be_bytes(*key[at..].first_chunk().unwrap()));
        assert_eq!(first, 0x6451_63f2_7a89_724e_054b_8b6e_20a2_6845);
        assert_eq!(second, 0x251c_e7dd_8b17_e281_e2e6_b467_d38d_8040);
    }
}
