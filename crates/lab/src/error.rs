//! Errors that stop an experiment.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;
use truetps_driver::{DriverError, Endpoint};
use truetps_folder::FolderError;
use truetps_record::{CrashStep, Explanation, Flavour};
use truetps_sandbox::{LimitError, SandboxError};
use truetps_workload::WorkloadError;

use crate::external::ExternalError;
use crate::external::parts::PartsError;
use crate::trial::setting::SettingError;
use crate::verify::VerifyError;

#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The server's program does not know a setting or a level.
    #[error(transparent)]
    UnknownSetting(#[from] truetps_sandbox::CatalogueError),
    #[error("prealloc: {problem}")]
    Preallocation { problem: String },
    #[error("server `{server}`: {source}")]
    UnknownSettingOf { server: String, source: truetps_sandbox::CatalogueError },
    /// The running server refuses a level.
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
    #[error("the run folder cannot be written: {0}")]
    NoRecords(FolderError),
    #[error(transparent)]
    Flush(#[from] truetps_probe::FlushProbeError),
    #[error("this experiment was started with {was}, but this server is {is}")]
    BegunWithAnother { was: String, is: String },
    #[error(
        "the plan needs {in_all} prepared statements at once; the limit of a server is 1048576"
    )]
    TooManyStatements { in_all: u64 },
    #[error("this experiment was started under other conditions: {what}")]
    OtherConditions { what: String },
    #[error("cannot bind servers to their cores: {0}")]
    Pin(std::io::Error),
    #[error("the closed-loop trial before the search was invalid: {reason}")]
    NoPilot { reason: String },
    #[error(
        "the search found no rate in the trials that it may run: trials of the same rate \
         contradict each other, or were invalid"
    )]
    SearchUndecided,
    #[error("cannot log in: {0}")]
    ExternalLogin(DriverError),
    #[error(transparent)]
    External(#[from] ExternalError),
    #[error("`{name}` was changed to {found} by another session; left unchanged")]
    SetByOthers { name: String, found: String },
    #[error("`{name}` {reason}: on an external PostgreSQL only session settings can be changed")]
    NotOfSession { name: String, reason: String },
    #[error("the plan requires {}, but this server is {found}", wanted.map_or_else(String::new, |flavour| flavour.to_string()))]
    OtherFlavour { wanted: Option<Flavour>, found: Flavour },
    #[error(
        "{clients} clients would use all sessions of this server and lock out other users: \
         {in_use} of {max} are in use"
    )]
    NoRoom { clients: u64, max: u64, in_use: u64, free: u64 },
    #[error(
        "a client would use the last session of this server and lock out other users: {in_use} of \
         {max} are in use"
    )]
    Full { max: u64, in_use: u64 },
    #[error(
        "the account may have {max} sessions (max_user_connections) and has {in_use}, including \
         the one of truetps: {clients} clients are too many"
    )]
    NoRoomOfAccount { clients: u64, max: u64, in_use: u64 },
    #[error("the schema `{schema}` exists already; truetps creates its own schema")]
    SchemaExists { schema: String },
    #[error("{at} has another schema of that name, not created by truetps; left unchanged")]
    OtherSchema { at: Endpoint },
    #[error(
        "sessions have {variable} = {value} although truetps set it to {wanted}: something between \
         changes statements"
    )]
    SessionNotSet { variable: &'static str, value: String, wanted: &'static str },
    #[error(
        "sessions of this account do not write the binlog (sql_log_bin = 0): the load would not be \
         replicated"
    )]
    NotLogged,
    #[error("trials of the search are invalid, one after the other; the last reason: {reason}")]
    SearchFailed { reason: String },
    #[error(
        "`{name}` is a rate search, which has no blocks: each rate follows from the results before"
    )]
    SearchWithBlocks { name: String },
    #[error("the experiment cannot be extended here: {what}")]
    OtherHost { what: String },
    #[error("the schedule in experiment.json is not as truetps has written it: {what}")]
    OtherSchedule { what: String },
    #[error("{name} is missing or did not end, and the trials after it follow from its result")]
    TrialMissing { name: String },
    /// Nothing has been started.
    #[error("the experiment cannot be resumed: {0}")]
    NotResumed(FolderError),
    #[error("cannot create the schema `{schema}`: {source}")]
    Schema { schema: String, source: DriverError },
    #[error("the server could not be restored: {why}{}", after.as_ref().map_or_else(String::new, |after| format!("\nearlier error: {after}")))]
    NotLeft { why: Box<LabError>, journal: PathBuf, after: Option<Box<LabError>> },
    #[error("crashes are for private servers")]
    CrashOfOthers,
    #[error("crashes are for one server: the plan names several")]
    SeveralCrashed,
    #[error("a crash at the step `{step}` of the binlogs: {source}")]
    CrashStep { step: CrashStep, source: std::io::Error },
    #[error("the server did not stop by itself after a crash ({status})")]
    CrashStop { status: std::process::ExitStatus },
    #[error("explanations are for private servers")]
    ExplainsOthers,
    #[error("A and B do not differ in anything that can be measured")]
    NothingDiffers(Box<Explanation>),
    #[error("{side}: {source}")]
    Side { side: String, source: Box<LabError> },
    #[error("is not an explanation: it has no explanation.json")]
    NoExplanation,
    #[error("is not a search for a pool: it has no pool.json")]
    NoPool,
    #[error(transparent)]
    Parts(#[from] PartsError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
    #[error("interrupted")]
    Interrupted,
}

/// Nothing more is begun once the user has ended the run.
pub(crate) fn unless_stopped(stop: &AtomicBool) -> Result<(), LabError> {
    if stop.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
}

impl LabError {
    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::BegunWithAnother { .. } => {
                "name the original server with --basedir (its folder) or --dsn, or start a new \
                 experiment"
            }
            Self::TooManyStatements { .. } => {
                "use fewer tables or connections, or `protocol = \"text\"`"
            }
            Self::OtherConditions { .. } => {
                "restore what has changed (plan, option file, memory, server, version), or start a \
                 new experiment: `truetps report` still shows the results of this one"
            }
            Self::NoRecords(_) => "name a writable folder with --runs (or TRUETPS_RUNS)",
            Self::Flush(_) => {
                "free some space (`truetps server clean` removes leftovers), or name another \
                 folder with --sandbox-dir"
            }
            Self::OtherSchema { .. } => "name one server, by an address that leads to no other",
            Self::SessionNotSet { .. } => "name the server itself, without a proxy",
            Self::NotLogged => {
                "remove it from the server's init_connect, or use an account that does not have it"
            }
            Self::SearchWithBlocks { .. } => "leave --blocks, --add-blocks and --until-decided out",
            Self::OtherHost { .. } => {
                "start a new experiment, or extend it on the host where it was begun"
            }
            Self::TrialMissing { .. } => {
                "restore its folder, or start a new experiment: `truetps report` still shows the \
                 results of this one"
            }
            Self::OtherSchedule { .. } => {
                "restore plan.toml and experiment.json as written by truetps, or start a new \
                 experiment: `truetps report` still shows the results of this one"
            }
            Self::NotOfSession { .. } => crate::external::NOT_SETTABLE,
            Self::Full { .. } => {
                "wait until other sessions have ended, or raise max_connections in the server"
            }
            Self::SearchUndecided => "measure longer with --measure, or list rates as a factor",
            other => return other.hint_with_details(),
        };
        Some(text.to_owned())
    }

    /// The hints that have numbers, names and paths, and the hints of other errors.
    fn hint_with_details(&self) -> Option<String> {
        match self {
            Self::UnknownSetting(error) | Self::UnknownSettingOf { source: error, .. } => {
                error.hint()
            }
            Self::Setting(error) => error.hint(),
            Self::Side { source, .. } => source.hint(),
            Self::Verify(error) => error.hint(),
            Self::Limit(error) => Some(error.hint()),
            Self::Sandbox(error) => error.hint(),
            Self::Folder(error) => error.hint(),
            Self::NotResumed(error) => error.hint().or_else(|| {
                let hint = "the folder must be writable, with its files as written by truetps";
                Some(hint.to_owned())
            }),
            Self::External(error) => error.hint(),
            Self::Parts(error) => error.hint(),
            Self::Schema { source: error, .. } => error.hint(),
            Self::ExternalLogin(error) => {
                login_hint(error).map(str::to_owned).or_else(|| error.hint())
            }
            Self::NotLeft { journal, .. } => Some(format!(
                "once the server can be reached, run: truetps server restore --journal '{}'",
                journal.display()
            )),
            Self::NoRoom { free, .. } => {
                let fit = if *free == 1 {
                    "1 client leaves".to_owned()
                } else {
                    format!("up to {free} clients leave")
                };
                Some(format!(
                    "{fit} a few sessions for other users; or raise max_connections in the server"
                ))
            }
            Self::NoRoomOfAccount { max, in_use, .. } => {
                let fit = match max.saturating_sub(*in_use) {
                    0 => "wait until its other sessions have ended".to_owned(),
                    free => format!("use at most {free} clients"),
                };
                Some(format!(
                    "{fit}; or raise the limit: ALTER USER ... WITH MAX_USER_CONNECTIONS ..."
                ))
            }
            Self::SchemaExists { schema } => Some(format!(
                "name another one with --schema; or let the run create its tables in this one and \
                 drop only these: --schema {schema} --i-own-this-schema. What a killed run left, \
                 `truetps server restore` drops"
            )),
            _ => None,
        }
    }

    /// This error, wrapped if the external server could not be restored: that failure is the more
    /// serious one.
    #[must_use]
    pub(crate) fn and_not_left(self, not_left: Option<Self>) -> Self {
        match not_left {
            Some(Self::NotLeft { why, journal, .. }) => {
                Self::NotLeft { why, journal, after: Some(Box::new(self)) }
            }
            Some(other) => other,
            None => self,
        }
    }

    /// The server's message, where the surrounding sentence says what was being done.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Prepare(error) | Self::External(ExternalError::Ask(error)) => error.to_string(),
            other => other.to_string(),
        }
    }

    /// Whether one server failed, or does not know what it is started with: others may go on.
    pub(crate) fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::Sandbox(_)
                | Self::Prepare(_)
                | Self::Preallocation { .. }
                | Self::Setting(_)
                | Self::CrashStep { .. }
                | Self::CrashStop { .. }
        )
    }

    /// The user must change something before anything can start. True for a new variant, unless it
    /// is listed here.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Folder(error) => matches!(error, FolderError::InUse { .. }),
            Self::External(error) => error.is_usage(),
            Self::Sandbox(SandboxError::Disk(error)) => !error.is_failure(),
            Self::Verify(error) => error.is_usage(),
            other => !matches!(
                other,
                Self::Prepare(_)
                    | Self::Pin(_)
                    | Self::NoPilot { .. }
                    | Self::SearchUndecided
                    | Self::NotLeft { .. }
                    | Self::SearchFailed { .. }
                    | Self::Parts(PartsError::Apart(_))
                    | Self::Interrupted
            ),
        }
    }
}

/// Where the password of an external server comes from, if the password or the account is wrong.
fn login_hint(error: &DriverError) -> Option<&'static str> {
    const DENIED: [u16; 2] = [1045, 1698];
    const DENIED_POSTGRES: &str = "28P01";
    match error {
        DriverError::Server(error) if DENIED.contains(&error.code) => Some(
            "check user and password: TRUETPS_PASSWORD, --defaults-file, ~/.my.cnf or \
             --ask-password supplies it (an account with the plugin unix_socket or auth_socket is \
             for the operating-system user of that name; an account that requires TLS is refused \
             with these words, too: tls=required)",
        ),
        DriverError::Server(error) if error.sqlstate == DENIED_POSTGRES => {
            Some("check user and password: TRUETPS_PASSWORD or --ask-password supplies it")
        }
        _ => None,
    }
}

pub(crate) fn other_schedule(what: String) -> LabError {
    LabError::OtherSchedule { what }
}
