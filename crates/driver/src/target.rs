//! Where a server is, and who logs in there.

use std::fmt;
use std::path::PathBuf;

use crate::Dialect;

/// One place to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
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

/// Who logs in, and to which database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub database: Option<String>,
}

/// A server (or several that are alike) and a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub dialect: Dialect,
    /// Never empty. Client number n uses endpoint n modulo their number.
    pub endpoints: Vec<Endpoint>,
    pub login: Login,
}

impl Target {
    /// A server of the MySQL family behind a unix socket, without a password.
    pub fn mysql_unix(socket: impl Into<PathBuf>, user: &str, database: Option<&str>) -> Self {
        Self {
            dialect: Dialect::Mysql,
            endpoints: vec![Endpoint::Unix(socket.into())],
            login: Login { user: user.to_owned(), database: database.map(str::to_owned) },
        }
    }

    /// The endpoint of client number `client`.
    pub fn endpoint(&self, client: u32) -> &Endpoint {
        &self.endpoints[client as usize % self.endpoints.len()]
    }
}
