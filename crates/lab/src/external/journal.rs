//! The journal of a guest: what a server was set to before, and what was made in it. It is on disk before anything is
//! changed, and is gone when everything is as it was.
//!
//! One file for each server and schema, beside a lock that the system gives back however a process ends: a journal whose
//! lock is free is what a killed run has left. Passwords are in none.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::error::ForeignError;
use super::identity::Identity;

const VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub schema_version: u32,
    pub tool_version: String,
    pub begun_at: String,
    /// Where it was begun: its lock stays there, whatever becomes of the file.
    pub home: PathBuf,
    pub server: Identity,
    /// Where it was reached, without a password.
    pub address: String,
    /// Number of the session that sets variables: it may outlive the run, and finish what it was told.
    pub session: Option<u64>,
    pub schema: LeftSchema,
    /// In the order in which they were set.
    pub settings: Vec<JournalEntry>,
    /// All variables that may be known to others, as they were before the first was set.
    pub before: BTreeMap<String, String>,
}

/// A schema that was made, or one of the user's with tables that were made in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftSchema {
    pub name: String,
    /// What our table in it says: without that, nothing there is ours.
    pub mark: String,
    /// The schema is the user's, and only the tables are ours.
    pub is_theirs: bool,
    /// What PostgreSQL calls a schema, in the user's database: where the tables are.
    pub namespace: Option<String>,
    /// All tables and views that the run makes, listed before the first: in a schema of ours, others belong to other users.
    pub planned: Vec<String>,
    /// In a schema of the user's, tables that are being made just now: they may be there, and be empty. In one of ours the
    /// mark: the schema itself is being made.
    pub making: Vec<String>,
    /// In a schema of the user's, tables that were made; in one of ours the mark.
    pub made: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub name: String,
    pub original: String,
    /// What it was set to last, what it is about to be set to, and what the server has made of that.
    pub ours: Vec<String>,
    /// It is being set just now: whatever stands there may be what the server has made of it.
    pub pending: bool,
    /// What it was at first, where the server was restarted since and has had another value of its own.
    pub earlier: Vec<String>,
}

impl JournalEntry {
    pub(crate) fn new(name: &str, original: String) -> Self {
        Self { name: name.to_owned(), original, ours: Vec::new(), pending: false, earlier: Vec::new() }
    }
}

impl Journal {
    pub(crate) fn new(tool_version: &str, server: Identity, address: String, schema: LeftSchema) -> Self {
        Self {
            schema_version: VERSION,
            tool_version: tool_version.to_owned(),
            begun_at: truetps_probe::clock::now_rfc3339(),
            home: PathBuf::new(),
            server,
            address,
            session: None,
            schema,
            settings: Vec::new(),
            before: BTreeMap::new(),
        }
    }

    pub fn read(path: &Path) -> Result<Self, ForeignError> {
        Self::read_if_there(path)?
            .ok_or_else(|| ForeignError::Journal { path: path.to_owned(), problem: "it is not there".to_owned() })
    }

    /// `None` where it is gone: another process may have put everything back.
    pub(crate) fn read_if_there(path: &Path) -> Result<Option<Self>, ForeignError> {
        let damaged = |problem: String| ForeignError::Damaged { path: path.to_owned(), problem };
        let unread = |error: io::Error| ForeignError::Journal { path: path.to_owned(), problem: error.to_string() };
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unread(error)),
        };
        // What is no file may have no end, or wait for somebody.
        if !metadata.is_file() {
            return Err(damaged("it is no regular file".to_owned()));
        }
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unread(error)),
        };
        if let Some(problem) = distrust(&file.metadata().map_err(unread)?) {
            return Err(ForeignError::Untrusted { path: path.to_owned(), problem });
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unread)?;
        let journal: Self = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if journal.schema_version != VERSION {
            return Err(damaged(format!("written by another truetps ({})", journal.tool_version)));
        }
        Ok(Some(journal))
    }

    /// What may be left in the server.
    pub fn contents_text(&self) -> String {
        let names: Vec<_> = self.settings.iter().map(|entry| entry.name.as_str()).collect();
        let what = if self.schema.is_theirs { "tables in the schema" } else { "the schema" };
        let schema = format!("{what} `{}`", self.schema.name);
        if names.is_empty() { schema } else { format!("settings ({}) and {schema}", names.join(", ")) }
    }
}

/// Why what a journal says may be somebody else's word. It is sent to a server with the rights of an administrator there.
pub(super) fn distrust(file: &Metadata) -> Option<String> {
    let us = geteuid().as_raw();
    if ![0, us].contains(&file.uid()) {
        return Some(format!("it belongs to uid {}, not to us (uid {us})", file.uid()));
    }
    let is_writable = file.mode() & 0o022 != 0;
    is_writable.then(|| format!("others may write to it (mode {:04o})", file.mode() & 0o7777))
}
