//! What can stop an experiment.

use std::path::PathBuf;

use thiserror::Error;
use truetps_driver::{DriverError, Endpoint};
use truetps_record::{Flavour, FolderError};
use truetps_sandbox::{LimitError, SandboxError};
use truetps_workload::WorkloadError;

use crate::external::ForeignError;
use crate::setting::SettingError;

#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The server's program does not know a setting or a level.
    #[error(transparent)]
    UnknownSetting(#[from] truetps_sandbox::CatalogueError),
    #[error("server `{server}`: {source}")]
    UnknownSettingOf { server: String, source: truetps_sandbox::CatalogueError },
    /// The running server does not take a level.
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("preparing the tables: {0}")]
    Prepare(#[from] DriverError),
    #[error("{0}")]
    Folder(#[from] FolderError),
    #[error("nothing can be recorded: {0}")]
    NoRecords(FolderError),
    #[error(transparent)]
    Flush(#[from] truetps_probe::FlushProbeError),
    #[error("this experiment was begun with {was}, and this server is {is}")]
    BegunWithAnother { was: String, is: String },
    #[error("the plan needs {in_all} prepared statements at once, and a server holds 1048576")]
    TooManyStatements { in_all: u64 },
    #[error("the server has other settings now than when this experiment was begun")]
    OtherConditions,
    #[error("servers cannot be bound to their cores: {0}")]
    Pin(std::io::Error),
    #[error("the closed loop that comes before a search measured nothing: {reason}")]
    NoPilot { reason: String },
    #[error("the search did not come to an end: trials of the same rate contradict each other")]
    SearchUndecided,
    #[error("cannot log in: {0}")]
    GuestLogin(DriverError),
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    #[error("somebody has set {name} to {found} meanwhile, and it is left so")]
    SetByOthers { name: String, found: String },
    #[error("`{name}` {reason}: on a PostgreSQL that is not private, only what a session sets for itself may differ")]
    NotOfSession { name: String, reason: String },
    #[error("the plan wants {}, and this server is {found}", wanted.map_or_else(String::new, |flavour| flavour.to_string()))]
    OtherFlavour { wanted: Option<Flavour>, found: Flavour },
    #[error(
        "{clients} clients would take all sessions of this server, and nobody else could log in: of {max} there, {in_use} are in use"
    )]
    NoRoom { clients: u64, max: u64, in_use: u64, free: u64 },
    #[error(
        "this server has no session for a client, or nobody else could log in: of {max} there, {in_use} are in use"
    )]
    Full { max: u64, in_use: u64 },
    #[error(
        "the account may have {max} sessions (max_user_connections), {in_use} of which it has already, that of truetps among them: {clients} clients are too many"
    )]
    NoRoomOfAccount { clients: u64, max: u64, in_use: u64 },
    #[error("the schema `{schema}` exists already, and truetps works in a schema that it makes itself")]
    SchemaExists { schema: String },
    #[error("at {at} is another schema of that name, which truetps did not make: nothing there was touched")]
    OtherSchema { at: Endpoint },
    #[error("sessions of this server begin with autocommit = 0: what is measured would never be committed")]
    NoAutocommit,
    #[error("trials of the search failed for reasons that are not the rate's, the last one because: {reason}")]
    SearchFailed { reason: String },
    #[error("the search of {name} cannot be gone on with: which rate comes next depends on those before")]
    ResumedSearch { name: String },
    #[error("the experiment cannot be extended: its plan and seed no longer give the blocks that it has")]
    OtherSchedule,
    #[error("the schema `{schema}` cannot be made: {source}")]
    Schema { schema: String, source: DriverError },
    #[error("the server could not be left as it was: {why}{}", after.as_ref().map_or_else(String::new, |after| format!("\nbefore that: {after}")))]
    NotLeft { why: Box<LabError>, journal: PathBuf, after: Option<Box<LabError>> },
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownSetting(error) | Self::UnknownSettingOf { source: error, .. } => error.hint(),
            Self::Setting(error) => error.hint(),
            Self::Limit(error) => Some(error.hint()),
            Self::Sandbox(error) => error.hint(),
            Self::BegunWithAnother { .. } => {
                Some("name the first one with --basedir (its folder) or --dsn, or start a new experiment".to_owned())
            }
            Self::TooManyStatements { .. } => {
                Some("use fewer tables or connections, or `protocol = \"text\"`".to_owned())
            }
            Self::OtherConditions => Some(
                "experiment.json says what they were; memory, server or truetps may have changed: start a new one"
                    .to_owned(),
            ),
            Self::Folder(error) => error.hint(),
            Self::NoRecords(_) => Some("name a folder that you may write to with --runs (or TRUETPS_RUNS)".to_owned()),
            Self::Flush(_) => Some(
                "free some space (`truetps server clean` removes leftovers), or name another folder with --sandbox-dir"
                    .to_owned(),
            ),
            Self::Workload(_)
            | Self::Prepare(_)
            | Self::Pin(_)
            | Self::NoPilot { .. }
            | Self::OtherFlavour { .. }
            | Self::SearchFailed { .. }
            | Self::SetByOthers { .. }
            | Self::Interrupted => None,
            Self::NotLeft { journal, .. } => {
                Some(format!("when it can: truetps server restore --journal '{}'", journal.display()))
            }
            Self::OtherSchema { .. } => Some("name one server of them, by an address that is its own".to_owned()),
            Self::NoAutocommit => Some("set the account's init_connect, or the server's autocommit, to 1".to_owned()),
            Self::ResumedSearch { .. } => {
                Some("start a new one; `truetps report` shows what this one has found".to_owned())
            }
            Self::OtherSchedule => Some(
                "restore plan.toml and experiment.json as truetps has written them, or start a new experiment"
                    .to_owned(),
            ),
            Self::GuestLogin(error) => login_hint(error).or_else(|| error.hint()),
            Self::Schema { source: error, .. } => error.hint(),
            Self::Foreign(error) => error.hint(),
            Self::NotOfSession { .. } => {
                Some("leave --dsn out to measure it on a private server, or take the setting from the plan".to_owned())
            }
            Self::Full { .. } => Some("wait until others have left, or raise max_connections in the server".to_owned()),
            Self::NoRoom { free, .. } => {
                let fit = if *free == 1 { "1 client leaves".to_owned() } else { format!("up to {free} clients leave") };
                Some(format!("{fit} a few sessions to others; or raise max_connections in the server"))
            }
            Self::NoRoomOfAccount { max, in_use, .. } => {
                let fit = match max.saturating_sub(*in_use) {
                    0 => "wait until its other sessions have ended".to_owned(),
                    free => format!("use {free} at most"),
                };
                Some(format!("{fit}; or raise the limit: ALTER USER ... WITH MAX_USER_CONNECTIONS ..."))
            }
            Self::SchemaExists { schema } => Some(format!(
                "if a killed run left it, drop it with DROP DATABASE {schema}; or name another one with --schema"
            )),
            Self::SearchUndecided => {
                Some("measure longer with --measure, or try rates of your own as a factor".to_owned())
            }
        }
    }

    /// This error, after which a server of the user could not be left as it was, if that is so: that is the worse one.
    #[must_use]
    pub(crate) fn and_not_left(self, not_left: Option<Self>) -> Self {
        match not_left {
            Some(Self::NotLeft { why, journal, .. }) => Self::NotLeft { why, journal, after: Some(Box::new(self)) },
            Some(other) => other,
            None => self,
        }
    }

    /// What a server said, where the sentence around it says what was being done.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Prepare(error) | Self::Foreign(ForeignError::Ask(error)) => error.to_string(),
            other => other.to_string(),
        }
    }

    /// Something that the user has to change before anything can start.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Folder(error) => matches!(error, FolderError::InUse { .. }),
            Self::Foreign(error) => error.is_usage(),
            Self::Prepare(_)
            | Self::Pin(_)
            | Self::NoPilot { .. }
            | Self::SearchUndecided
            | Self::NotLeft { .. }
            | Self::SearchFailed { .. }
            | Self::Interrupted => false,
            Self::Workload(_)
            | Self::NoRecords(_)
            | Self::UnknownSetting(_)
            | Self::UnknownSettingOf { .. }
            | Self::Setting(_)
            | Self::Limit(_)
            | Self::Sandbox(_)
            | Self::Flush(_)
            | Self::OtherConditions
            | Self::GuestLogin(_)
            | Self::SetByOthers { .. }
            | Self::NotOfSession { .. }
            | Self::OtherFlavour { .. }
            | Self::NoRoom { .. }
            | Self::Full { .. }
            | Self::NoRoomOfAccount { .. }
            | Self::SchemaExists { .. }
            | Self::Schema { .. }
            | Self::OtherSchema { .. }
            | Self::NoAutocommit
            | Self::ResumedSearch { .. }
            | Self::OtherSchedule
            | Self::TooManyStatements { .. }
            | Self::BegunWithAnother { .. } => true,
        }
    }
}

/// Where the password of a server of the user comes from, where it is that or the account that is wrong.
fn login_hint(error: &DriverError) -> Option<String> {
    const DENIED: [u16; 2] = [1045, 1698];
    const DENIED_POSTGRES: &str = "28P01";
    let DriverError::Server(error) = error else { return None };
    if DENIED.contains(&error.code) {
        return Some(
            "check user and password: TRUETPS_PASSWORD, --defaults-file, ~/.my.cnf or --ask-password gives it (an account \
             of the plugin unix_socket or auth_socket belongs to the system's user of that name)"
                .to_owned(),
        );
    }
    (error.sqlstate == DENIED_POSTGRES)
        .then(|| "check user and password: TRUETPS_PASSWORD or --ask-password gives it".to_owned())
}
