//! Errors of external servers: why one is not changed, or not restored.

use std::path::PathBuf;

use thiserror::Error;
use truetps_driver::{Client, DriverError, Endpoint, Target};
use truetps_record::{did_you_mean, near_matches};

use super::journal_name::is_journal_name;

/// What to do about a setting that this server does not let be set. A plan that truetps contains is
/// changed in a copy.
pub(crate) const NOT_SETTABLE: &str = "omit --dsn to measure it on a private server, or remove the \
    setting from the plan (of a plan that truetps contains: `truetps plan show NAME > \
    my-plan.toml`, remove it there, and run `truetps sweep my-plan.toml --dsn ...`); or compare \
    levels without a plan: `truetps sweep insert --vary NAME=LEVEL,LEVEL --dsn ...`";

#[derive(Debug, Error)]
pub enum ExternalError {
    #[error("`{name}` cannot be set on a running server: {reason}")]
    NotDynamic { name: String, reason: String },
    #[error("`{name}` identifies the server and is not changed on an external server")]
    Identity { name: String },
    #[error("`{name}` is not changed on an external server: {reason}")]
    Irreversible { name: String, reason: &'static str },
    #[error("`{name}` cannot be set here: {reason}")]
    OfSessions { name: String, reason: &'static str },
    #[error("`{name}` is not changed on an external server: whether it can be restored is unknown")]
    NotKnown { name: String },
    #[error("the server has no variable `{name}`{}", did_you_mean(near))]
    Unknown { name: String, near: Vec<String> },
    #[error("`{name}` is NULL, which no SET can restore")]
    NoOriginal { name: String },
    #[error("`{name} = {value}`: {problem}")]
    Level { name: String, value: String, problem: String },
    #[error("the account may not {what}")]
    Privilege { what: String, grant: String },
    /// In the schema that truetps would create. `in_address`: the schema of the DSN, which is used
    /// only on request.
    #[error("the account may not {what}{}", unused_schema(in_address.as_deref()))]
    MakesNoSchema { what: String, grant: String, in_address: Option<String> },
    #[error("the server accepts no writes: {reason}")]
    ReadOnly { reason: String },
    #[error("another run of truetps is using this server: {}", path.display())]
    InUse { path: PathBuf },
    #[error("another run of truetps, of another user or host, is setting variables of this server")]
    SetElsewhere,
    #[error("a killed run left changes in this server: {what}")]
    Unfinished { what: String, path: PathBuf },
    #[error("this is another server ({found}) than in the journal ({was})")]
    OtherServer { was: String, found: String },
    #[error("this is another server than in the journal, or the same one, moved: {differences}")]
    OtherOrMoved { differences: String, path: PathBuf },
    #[error(
        "this is another server than in the journal ({was}): the run's schema `{schema}` is not here"
    )]
    NoMark { was: String, schema: String },
    #[error("the schema `{schema}` was created by a killed run, when this server, or the original \
             that it is a copy of, had another name, port or folder: {}", path.display())]
    LeftByMoved { schema: String, path: PathBuf },
    #[error(
        "the server was restarted, or is another one: nothing proves that it is the one in the \
         journal"
    )]
    MaybeOther { path: PathBuf },
    #[error(
        "{at} is another server ({found}) than the first address ({first}); settings would be set \
         on one only"
    )]
    SeveralServers { at: Endpoint, first: String, found: String },
    #[error(
        "this address is not one server: {what}; settings could be read from one and set on another"
    )]
    BehindProxy { what: String },
    #[error("{}: {problem}", path.display())]
    Journal { path: PathBuf, problem: String },
    /// Nothing was changed.
    #[error("cannot write a journal, and truetps changes no server without one: {}: {problem}", path.display())]
    NoJournal { path: PathBuf, problem: String },
    #[error("{}: not a readable journal: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error("{}: the journal is not trusted: {problem}", path.display())]
    Untrusted { path: PathBuf, problem: String },
    #[error("the schema `{schema}` does not exist; --i-own-this-schema requires an existing one")]
    NoSchema { schema: String },
    #[error("the schema `{schema}` already has a table `{table}`")]
    TableExists { schema: String, table: String },
    #[error("the schema `{schema}` belongs to the server itself: truetps does not use it")]
    SystemSchema { schema: String },
    #[error(
        "in your schema truetps creates only tables of the workload, their indexes and rows; \
         refused: {sql}"
    )]
    NotOnlyTables { sql: String },
    #[error("session {session} of the run is still running its statement")]
    StillBusy { session: u64 },
    #[error(
        "the table `{table}` in the schema `{schema}` is not the one that the run created; left \
         unchanged"
    )]
    OtherTable { schema: String, table: String },
    #[error("the account no longer sees the tables of the schema `{schema}`")]
    Hidden { schema: String },
    #[error("not everything was restored: {}", what.join("; "))]
    NotAsBefore { what: Vec<String> },
    #[error("the server returned no result for: {sql}")]
    NoAnswer { sql: &'static str },
    #[error("cannot query the server: {0}")]
    Ask(#[from] DriverError),
}

impl ExternalError {
    pub(crate) fn unknown(name: &str) -> Self {
        Self::Unknown { name: name.to_owned(), near: Vec::new() }
    }

    /// Adds similar names of variables that the server has.
    #[must_use]
    pub(crate) fn with_near(self, client: &mut Client) -> Self {
        match self {
            Self::Unknown { name, .. } => {
                let known = truetps_driver::server_settings(client).unwrap_or_default();
                let near = near_matches(&name, known.keys().map(String::as_str));
                Self::Unknown { name, near }
            }
            other => other,
        }
    }

    /// Adds the schema that the address names.
    #[must_use]
    pub(crate) fn in_address(self, target: &Target) -> Self {
        match self {
            Self::MakesNoSchema { what, grant, .. } => {
                Self::MakesNoSchema { what, grant, in_address: target.login.database.clone() }
            }
            other => other,
        }
    }

    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::OfSessions { .. } => "remove it from the plan",
            Self::NotDynamic { .. }
            | Self::Identity { .. }
            | Self::Irreversible { .. }
            | Self::NotKnown { .. } => NOT_SETTABLE,
            Self::Level { .. } => {
                "write a value that it accepts: docs/reference/plan.md, [factors]"
            }
            Self::InUse { .. } | Self::SetElsewhere => "wait until it has ended",
            Self::OtherServer { .. } | Self::NoMark { .. } => {
                "name the server in the journal with --dsn, by an address that leads to no other"
            }
            Self::SeveralServers { .. } | Self::BehindProxy { .. } => {
                "name one server, by an address that leads to no other, or remove the settings \
                 from the plan"
            }
            Self::NoJournal { .. } => {
                "journals are in $XDG_STATE_HOME/truetps/journals, or \
                 ~/.local/state/truetps/journals: point XDG_STATE_HOME to a permanent folder of \
                 yours"
            }
            Self::Damaged { path, .. } if !is_journal_name(path) => {
                "name the file that the run printed at its start, after \"journal for `truetps \
                 server restore`:\""
            }
            Self::NoSchema { .. } => "omit the flag: truetps then creates the schema and drops it",
            Self::SystemSchema { .. } => "name another schema with --schema, or omit the flag",
            Self::TableExists { .. } => {
                "truetps creates and drops its tables itself: name an empty schema"
            }
            Self::NotOnlyTables { .. } => {
                "use one statement in each text, of CREATE TABLE without IF NOT EXISTS, CREATE \
                 INDEX, ALTER TABLE and INSERT; or omit --i-own-this-schema"
            }
            Self::ReadOnly { .. } => {
                "name a server that accepts writes, such as the source of this one, or make this \
                 one writable"
            }
            Self::Unknown { .. } => {
                "SHOW GLOBAL VARIABLES lists the server's variables, SHOW ALL those in PostgreSQL"
            }
            Self::Ask(error) => return error.hint(),
            other => return other.hint_with_details(),
        };
        Some(text.to_owned())
    }

    /// The hints that name a file or a privilege.
    fn hint_with_details(&self) -> Option<String> {
        Some(match self {
            Self::Privilege { grant, .. } => format!("as an administrator: {grant}"),
            Self::MakesNoSchema { grant, in_address, .. } => format!(
                "let the run create its tables in a schema of the account, and drop only these: \
                 --schema {} --i-own-this-schema; or, as an administrator: {grant}",
                in_address.as_deref().unwrap_or("NAME")
            ),
            Self::Unfinished { path, .. } => {
                format!("restore it with: truetps server restore --journal '{}'", path.display())
            }
            Self::OtherOrMoved { path, .. } | Self::LeftByMoved { path, .. } => format!(
                "this server has no unique id. If it is the one in the journal, run: truetps \
                 server restore --journal '{}' --dsn DSN --same-server. After restoring by hand, \
                 remove the file",
                path.display()
            ),
            Self::MaybeOther { path } => format!(
                "if it is the same one, run: truetps server restore --journal '{}'. It restores \
                 what still has a value of the run",
                path.display()
            ),
            Self::Damaged { path, .. } => format!(
                "it may concern another server; read it, and move it away if there is nothing to \
                 restore: {}",
                path.display()
            ),
            Self::Untrusted { path, .. } => format!(
                "check that it has the settings of the run, make yourself its owner, then run: \
                 chmod go-w '{}'",
                path.display()
            ),
            _ => return None,
        })
    }

    /// The user must change something before anything can start; other errors are failures.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Ask(_)
                | Self::Journal { .. }
                | Self::StillBusy { .. }
                | Self::NotAsBefore { .. }
                | Self::Hidden { .. }
                | Self::OtherTable { .. }
                | Self::NoAnswer { .. }
        )
    }
}

fn unused_schema(in_address: Option<&str>) -> String {
    in_address.map_or_else(String::new, |name| {
        format!("; the schema `{name}` of the address is not used by itself")
    })
}
