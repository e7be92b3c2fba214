//! Differences between the two drivers of scripts: their servers, their messages, and which errors
//! are ignored.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use truetps_driver::{DriverError, Endpoint, ServerError, Target};
use truetps_record::SqlDialect;

use crate::options::IgnoredErrors;
use crate::output::system_words;

/// The number that client libraries use for an error that no server reports.
const SERVER_LOST: i32 = 2013;
/// ETIMEDOUT.
const TIMED_OUT: i32 = 110;

/// Errors after which a connection is reopened.
const LOST: [i32; 4] = [2006, 2011, 2013, 2055];

/// An error as a script sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqlError {
    pub(crate) number: i32,
    pub(crate) state: String,
    pub(crate) message: String,
}

impl SqlError {
    pub(crate) fn of_server(error: &ServerError) -> Self {
        Self {
            number: error.code.into(),
            state: error.sqlstate.clone(),
            message: primary(error).to_owned(),
        }
    }

    /// The connection is lost; `dialect` selects the message.
    pub(crate) fn of_driver(error: &DriverError, dialect: SqlDialect) -> Self {
        if let DriverError::Server(error) = error {
            return Self::of_server(error);
        }
        match dialect {
            SqlDialect::Mysql => {
                let state = "HY000".to_owned();
                Self {
                    number: SERVER_LOST,
                    state,
                    message: "Lost connection to server during query".to_owned(),
                }
            }
            SqlDialect::Postgres => {
                Self { number: 0, state: "08006".to_owned(), message: error.to_string() }
            }
        }
    }

    /// Whether the connection is lost, and not only the statement.
    pub(crate) fn is_loss(&self) -> bool {
        LOST.contains(&self.number) || self.state.starts_with("08") || self.state == "57P01"
    }
}

/// The message without the parts that truetps appends for PostgreSQL, which scripts do not expect.
fn primary(error: &ServerError) -> &str {
    let message = &error.message;
    if error.code != 0 {
        return message;
    }
    let end = ["; detail: ", "; hint: "].iter().filter_map(|mark| message.find(mark)).min();
    &message[..end.unwrap_or(message.len())]
}

impl IgnoredErrors {
    pub(crate) fn has(&self, error: &SqlError) -> bool {
        match self {
            Self::All => true,
            Self::Numbers(numbers) => {
                numbers.iter().any(|number| i32::from(*number) == error.number)
            }
            Self::States(states) => states.contains(&error.state),
        }
    }
}

/// A driver as scripts see it: `sysbench.sql.driver`.
pub(crate) struct Driver {
    pub(crate) target: Target,
    /// Errors that restart the event.
    pub(crate) ignored: IgnoredErrors,
    pub(crate) is_dry_run: bool,
    /// Instead of the run's own limit.
    pub(crate) connect_timeout: Option<Duration>,
}

impl Driver {
    /// Its servers, without what only clients need.
    pub(crate) fn bare_target(&self) -> Target {
        let target = self.target.clone();
        Target {
            setup: Vec::new(),
            connections: None,
            sends_local_files: false,
            connect_timeout: None,
            ..target
        }
    }
}

/// Open files besides the clients' connections: records, and files that the script opens.
const FILES_SPARE: u64 = 128;

/// Where distributions put the socket of a server called `localhost`.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
    "/var/run/mysql/mysql.sock",
];

pub(crate) fn local_socket() -> PathBuf {
    let found = SOCKETS.iter().map(Path::new).find(|path| path.exists());
    found.unwrap_or(Path::new(SOCKETS[0])).to_owned()
}

/// Why a connection failed, in the lines that sysbench prints.
pub(crate) fn connect_failure(
    dialect: SqlDialect,
    endpoint: &Endpoint,
    error: &DriverError,
) -> Vec<String> {
    match dialect {
        SqlDialect::Mysql => {
            let address = match endpoint {
                Endpoint::Unix(path) => format!("socket '{}'", path.display()),
                Endpoint::Tcp { host, port } => format!("host '{host}', port {port}"),
            };
            vec![
                format!("unable to connect to MySQL server on {address}, aborting..."),
                format!("error {}", mysql_reason(endpoint, error)),
            ]
        }
        SqlDialect::Postgres => {
            vec![format!("Connection to database failed: {}", pgsql_reason(endpoint, error))]
        }
    }
}

/// Whether the process may open no more files.
pub(crate) fn is_out_of_files(error: &DriverError) -> bool {
    matches!(error, DriverError::Connect { source, .. } if Errno::from_io_error(source) == Some(Errno::MFILE))
}

/// The hint for a large number of clients. The soft limit has already been raised.
pub(crate) fn files_advice(clients: u32) -> String {
    let limit = getrlimit(Resource::Nofile)
        .current
        .map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    // A client may have its own thread, which watches its socket through a file of its own.
    let needed = u64::from(clients) * 2 + FILES_SPARE;
    format!(
        "the limit of open files (`ulimit -n`) is {limit}, and {clients} clients need up to \
         {needed}; hint: run `ulimit -n {needed}` first (as root), or set LimitNOFILE={needed} for \
         the service, or use fewer threads"
    )
}

/// No server answers at the address: the first write to a socket may report it.
fn unreachable(error: &DriverError) -> Option<&io::Error> {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    match error {
        DriverError::Connect { source, .. } => Some(source),
        DriverError::Io(source) => Some(source).filter(|e| {
            matches!(e.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable | TimedOut)
        }),
        _ => None,
    }
}

fn mysql_reason(endpoint: &Endpoint, error: &DriverError) -> String {
    if let Some(source) = unreachable(error) {
        let timed_out = source.kind() == io::ErrorKind::TimedOut;
        let number = source.raw_os_error().or(timed_out.then_some(TIMED_OUT));
        return match (endpoint, number) {
            (Endpoint::Unix(_), _) if is_out_of_files(error) => {
                format!("2001: Can't create UNIX socket ({})", number.unwrap_or(0))
            }
            (Endpoint::Unix(path), _) => {
                let (path, number) = (path.display(), number.unwrap_or(0));
                format!("2002: Can't connect to local server through socket '{path}' ({number})")
            }
            (Endpoint::Tcp { host, .. }, Some(number)) => {
                format!("2002: Can't connect to server on '{host}' ({number})")
            }
            // The system's number for an unknown name, which the standard library does not expose.
            (Endpoint::Tcp { host, .. }, None) => {
                format!("2005: Unknown server host '{host}' (-2)")
            }
        };
    }
    match error {
        DriverError::Server(error) => format!("{}: {}", error.code, error.message),
        DriverError::Io(_) | DriverError::Closed | DriverError::ClosedEarly { .. } => {
            format!("2013: Lost connection to server at 'handshake' ({error})")
        }
        _ => format!("2000: {error}"),
    }
}

fn pgsql_reason(endpoint: &Endpoint, error: &DriverError) -> String {
    if let (DriverError::Connect { source, .. }, Endpoint::Tcp { host, .. }) = (error, endpoint)
        && source.raw_os_error().is_none()
        && source.kind() != std::io::ErrorKind::TimedOut
    {
        return format!(
            "could not translate host name \"{host}\" to address: Name or service not known\n"
        );
    }
    let address = match endpoint {
        Endpoint::Unix(path) => format!("on socket \"{}\"", path.display()),
        Endpoint::Tcp { host, port } => format!("at \"{host}\", port {port}"),
    };
    if let Some(source) = unreachable(error) {
        let what = match endpoint {
            Endpoint::Unix(_) => {
                "Is the server running locally and accepting connections on that socket?"
            }
            Endpoint::Tcp { .. } => {
                "Is the server running on that host and accepting TCP/IP connections?"
            }
        };
        let reason = system_words(source);
        return format!("connection to server {address} failed: {reason}\n\t{what}\n");
    }
    match error {
        DriverError::Server(error) => {
            format!("connection to server {address} failed: FATAL:  {}\n", error.message)
        }
        other => format!("connection to server {address} failed: {other}\n"),
    }
}
