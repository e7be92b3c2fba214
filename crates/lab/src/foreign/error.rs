//! Why a server that is somebody's is not touched.

use std::path::PathBuf;

use thiserror::Error;
use truetps_driver::DriverError;

#[derive(Debug, Error)]
pub enum ForeignError {
    #[error("`{name}` cannot be set on a server that runs: {reason}")]
    NotDynamic { name: String, reason: String },
    #[error("`{name}` says which server this is, and is not changed on one that is not private")]
    Identity { name: String },
    #[error("the server has no variable `{name}`")]
    Unknown { name: String },
    #[error("`{name}` is NULL here, which no SET could put back")]
    NoOriginal { name: String },
    #[error("the account may not {what}")]
    Privilege { what: String, grant: String },
    #[error("the server takes no writes: {reason}")]
    ReadOnly { reason: String },
    #[error("another run of truetps is using this server: {}", path.display())]
    InUse { path: PathBuf },
    #[error("a run that was killed has left something in this server: {what}")]
    Unfinished { what: String, path: PathBuf },
    #[error("the journal was written for another server: {was}, and this one is {found}")]
    OtherServer { was: String, found: String },
    #[error("{}: {problem}", path.display())]
    Journal { path: PathBuf, problem: String },
    #[error("the schema `{schema}` is not there, and --i-own-this-schema is for one that is")]
    NoSchema { schema: String },
    #[error("the schema `{schema}` has a table `{table}` already")]
    TableExists { schema: String, table: String },
    #[error("asking the server: {0}")]
    Ask(#[from] DriverError),
}

impl ForeignError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotDynamic { .. } | Self::Identity { .. } => {
                Some("leave --dsn out to measure it on a private server, or take the setting from the plan".to_owned())
            }
            Self::Privilege { grant, .. } => Some(format!("as an administrator: {grant}")),
            Self::Unfinished { path, .. } => {
                Some(format!("put it back with: truetps server restore --journal '{}'", path.display()))
            }
            Self::InUse { .. } => Some("wait for its end".to_owned()),
            Self::OtherServer { .. } => Some("name the server of the journal with --dsn".to_owned()),
            Self::NoSchema { .. } => Some("leave the flag out, and truetps makes the schema and drops it".to_owned()),
            Self::TableExists { .. } => {
                Some("truetps makes its tables itself and drops them: name an empty schema".to_owned())
            }
            Self::Ask(error) => error.hint(),
            Self::Unknown { .. } | Self::NoOriginal { .. } | Self::ReadOnly { .. } | Self::Journal { .. } => None,
        }
    }
}
