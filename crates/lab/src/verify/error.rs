//! Why rows cannot be verified.

use std::io;

use thiserror::Error;
use truetps_driver::DriverError;
use truetps_record::did_you_mean;

#[derive(Debug, Error)]
pub enum VerifyError {
    #[error("the service does not answer: {0}")]
    Service(DriverError),
    #[error("there is no table `{table}`, or the account may not read it")]
    NoTable { table: String },
    #[error("the table `{table}` has no column `{column}`{}", did_you_mean(.near))]
    NoColumn { table: String, column: String, near: Vec<String> },
    #[error(
        "the table `{table}` has no primary key and no unique key of columns that are NOT NULL"
    )]
    NoKey { table: String },
    #[error(
        "the key of the table `{table}` has the column `{column}` of the type {kind}, by which \
         rows are not read in order"
    )]
    KeyType { table: String, column: String, kind: String },
    #[error(
        "the table `{table}` is not empty: its rows would count as rows that no client has sent"
    )]
    NotEmpty { table: String },
    #[error(
        "the column `{column}` has room for {room} characters, and a payload has {payload_bytes}"
    )]
    NoRoom { column: String, room: u64, payload_bytes: u32 },
    #[error("the account may not {action} `{table}`: {source}")]
    Denied { action: &'static str, table: String, source: DriverError },
    #[error("the table cannot be read: {0}")]
    Read(DriverError),
    #[error("temporary files of the comparison: {0}")]
    Spool(io::Error),
    #[error(
        "--kill needs a server that truetps has started: a private one, or one of `truetps server \
         start`"
    )]
    NothingToKill,
    #[error("the server did not start again after it was killed: {0}")]
    NotRestarted(String),
    #[error("the table was in a private server, which ended with its run")]
    ServerGone,
    #[error("is not a run of `truetps verify`: it has no verification.json")]
    NoVerification,
}

impl VerifyError {
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Service(error) | Self::Read(error) => return error.hint(),
            Self::Denied { source, .. } => return source.hint(),
            Self::NoTable { .. } => {
                "name it as --table schema.table; `truetps verify --help` shows the columns that \
                 it needs"
                    .to_owned()
            }
            Self::NoColumn { .. } => "name the columns with --key and --payload".to_owned(),
            Self::NoKey { table } => {
                format!(
                    "add one: ALTER TABLE {table} ADD COLUMN id BIGINT AUTO_INCREMENT PRIMARY \
                         KEY"
                )
            }
            Self::KeyType { .. } => {
                "a key of integers, texts, binary strings, dates or UUIDs is read in order"
                    .to_owned()
            }
            Self::NotEmpty { table } => format!(
                "empty it, or name an empty copy: CREATE TABLE \
                                                 copy LIKE {table}"
            ),
            Self::NoRoom { room, .. } => format!("use --payload-bytes {room} or less"),
            Self::NothingToKill => "leave --kill out, or name the server with --server".to_owned(),
            Self::ServerGone => {
                "verify a server of `truetps server start`, or one of --dsn: its table remains"
                    .to_owned()
            }
            Self::Spool(_) => "free some space in the folder of --runs".to_owned(),
            Self::NotRestarted(_) | Self::NoVerification => return None,
        })
    }

    /// The user must change something before anything can start.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::Read(_) | Self::Spool(_) | Self::NotRestarted(_) | Self::ServerGone)
    }
}
