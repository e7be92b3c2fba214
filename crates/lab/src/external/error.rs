//! Why a server that is somebody's is not touched, or is not as it was.

use std::path::PathBuf;

use thiserror::Error;
use truetps_driver::{Client, DriverError, Endpoint};
use truetps_record::near_matches;

use super::identity::differences;
use super::journal_file::is_journal_name;

#[derive(Debug, Error)]
pub enum ForeignError {
    #[error("`{name}` cannot be set on a server that runs: {reason}")]
    NotDynamic { name: String, reason: String },
    #[error("`{name}` says which server this is, and is not changed on one that is not private")]
    Identity { name: String },
    #[error("`{name}` is not changed on a server that is not private: {reason}")]
    Irreversible { name: String, reason: &'static str },
    #[error("`{name}` is not changed on a server that is not private: whether it could be put back is not known")]
    NotKnown { name: String },
    #[error("the server has no variable `{name}`{}", did_you_mean(near))]
    Unknown { name: String, near: Vec<String> },
    #[error("`{name}` is NULL here, which no SET could put back")]
    NoOriginal { name: String },
    #[error("the account may not {what}")]
    Privilege { what: String, grant: String },
    #[error("the server takes no writes: {reason}")]
    ReadOnly { reason: String },
    #[error("another run of truetps is using this server: {}", path.display())]
    InUse { path: PathBuf },
    #[error("another run of truetps, of another user or host, is setting variables of this server")]
    SetElsewhere,
    #[error("a run that was killed has left something in this server: {what}")]
    Unfinished { what: String, path: PathBuf },
    #[error("this is another server ({found}) than the one that the journal is about ({was})")]
    OtherServer { was: String, found: String },
    #[error(
        "this is another server than the one that the journal is about, or the same one, moved: {}",
        differences(was, found)
    )]
    OtherOrMoved { was: String, found: String, path: PathBuf },
    #[error(
        "this is another server than that of the journal ({was}): what the run has left in its schema `{schema}` is not here"
    )]
    NoMark { was: String, schema: String },
    #[error("the schema `{schema}` was made by a run that was killed, when this server, or the one that it is a copy of, was known by another name, port or folder: {}", path.display())]
    LeftByMoved { schema: String, path: PathBuf },
    #[error(
        "the server was restarted, or is another one: nothing in it says for sure that it is the one of the journal"
    )]
    MaybeOther { path: PathBuf },
    #[error(
        "at {at} is another server ({found}) than at the first address ({first}), and settings would be set on one only"
    )]
    SeveralServers { at: Endpoint, first: String, found: String },
    #[error(
        "what answers at this address is not one server: {what}; settings could be read from one and set on another"
    )]
    BehindProxy { what: String },
    #[error("{}: {problem}", path.display())]
    Journal { path: PathBuf, problem: String },
    /// Nothing was changed yet.
    #[error("no journal can be written, and without one nothing is changed in a server: {}: {problem}", path.display())]
    NoJournal { path: PathBuf, problem: String },
    #[error("{}: no journal that can be read: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error("{}: a journal that is not trusted: {problem}", path.display())]
    Untrusted { path: PathBuf, problem: String },
    #[error("the schema `{schema}` is not there, and --i-own-this-schema is for one that is")]
    NoSchema { schema: String },
    #[error("the schema `{schema}` has a table `{table}` already")]
    TableExists { schema: String, table: String },
    #[error("the schema `{schema}` belongs to the server itself: truetps makes nothing in it")]
    SystemSchema { schema: String },
    #[error("in a schema that is yours only tables of the workload are made, their indexes and rows, and not: {sql}")]
    NotOnlyTables { sql: String },
    #[error("session {session} of the run is still busy with what it was told")]
    StillBusy { session: u64 },
    #[error("the table `{table}` in the schema `{schema}` is not the one that the run made, and is not emptied")]
    OtherTable { schema: String, table: String },
    #[error("the account does not see the tables of the schema `{schema}` any more")]
    Hidden { schema: String },
    #[error("not everything is as it was: {}", what.join("; "))]
    NotAsBefore { what: Vec<String> },
    #[error("the server has no answer to: {sql}")]
    NoAnswer { sql: &'static str },
    #[error("asking the server: {0}")]
    Ask(#[from] DriverError),
}

impl ForeignError {
    pub(crate) fn unknown(name: &str) -> Self {
        Self::Unknown { name: name.to_owned(), near: Vec::new() }
    }

    /// The same, with names that the server has and that are like the one that it has not.
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

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotDynamic { .. } | Self::Identity { .. } | Self::Irreversible { .. } | Self::NotKnown { .. } => {
                "leave --dsn out to measure it on a private server, or take the setting from the plan".to_owned()
            }
            Self::Privilege { grant, .. } => format!("as an administrator: {grant}"),
            Self::Unfinished { path, .. } => {
                format!("put it back with: truetps server restore --journal '{}'", path.display())
            }
            Self::InUse { .. } | Self::SetElsewhere => "wait for its end".to_owned(),
            Self::OtherServer { .. } | Self::NoMark { .. } => {
                "name the server of the journal with --dsn, by an address that is its own".to_owned()
            }
            Self::OtherOrMoved { path, .. } | Self::LeftByMoved { path, .. } => format!(
                "this server has no id of its own that would say which. If it is the one of the journal: truetps server restore \
                 --journal '{}' --dsn DSN --same-server. What is put back by hand needs the file no more: then remove it",
                path.display()
            ),
            Self::MaybeOther { path } => format!(
                "if it is the same one: truetps server restore --journal '{}' puts back what still has a value of the run",
                path.display()
            ),
            Self::SeveralServers { .. } | Self::BehindProxy { .. } => {
                "name one server, by an address that is its own, or leave the settings out".to_owned()
            }
            Self::NoJournal { .. } => {
                "journals are in $XDG_STATE_HOME/truetps/journals, or ~/.local/state/truetps/journals: point XDG_STATE_HOME to \
                 a folder of yours that stays"
                    .to_owned()
            }
            Self::Damaged { path, .. } if is_journal_name(path) => format!(
                "it may be about another server; see what it says, and move it away when nothing is to be put back: {}",
                path.display()
            ),
            Self::Damaged { .. } => {
                "name the file that the run told of when it began: \"original settings saved to\"".to_owned()
            }
            Self::Untrusted { path, .. } => format!(
                "see whether it says what the run has set, make it yours, and then: chmod go-w '{}'",
                path.display()
            ),
            Self::NoSchema { .. } => "leave the flag out, and truetps makes the schema and drops it".to_owned(),
            Self::SystemSchema { .. } => "name another one with --schema, or leave it out".to_owned(),
            Self::TableExists { .. } => {
                "truetps makes its tables itself and drops them: name an empty schema".to_owned()
            }
            Self::NotOnlyTables { .. } => {
                "one statement in each text: CREATE TABLE without IF NOT EXISTS, CREATE INDEX, ALTER TABLE and INSERT; or leave --i-own-this-schema out"
                    .to_owned()
            }
            Self::ReadOnly { .. } => {
                "name a server that takes writes, such as the source of this one, or let this one take them".to_owned()
            }
            Self::Ask(error) => return error.hint(),
            Self::Unknown { .. } => {
                "the server lists what it has with SHOW GLOBAL VARIABLES, or SHOW ALL in PostgreSQL".to_owned()
            }
            Self::NoOriginal { .. }
            | Self::Journal { .. }
            | Self::StillBusy { .. }
            | Self::NotAsBefore { .. }
            | Self::Hidden { .. }
            | Self::OtherTable { .. }
            | Self::NoAnswer { .. } => return None,
        })
    }

    /// Something that the user has to change before anything can start; the rest went wrong by itself.
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

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" (did you mean `{}`?)", near.join("` or `")) }
}
