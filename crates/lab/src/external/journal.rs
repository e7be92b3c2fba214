//! The journal of an external run: the original settings of a server, and what was created in it.
//! It is on disk before the first change, and is deleted once everything is restored.
//!
//! One file for each server and schema, beside a lock that the operating system releases however a
//! process ends: a journal whose lock is free was left by a killed run. Journals contain no
//! passwords.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::error::ExternalError;
use super::identity::Identity;

const VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub schema_version: u32,
    pub tool_version: String,
    pub begun_at: String,
    /// Where it was created: its lock stays there, whatever happens to the file.
    pub home: PathBuf,
    pub server: Identity,
    /// The server's address, without a password.
    pub address: String,
    /// Number of the session that sets variables: it may outlive the run and finish its statement.
    pub session: Option<u64>,
    pub schema: LeftSchema,
    /// In the order in which they were set.
    pub settings: Vec<JournalEntry>,
    /// All variables visible to other sessions, as they were before the first was set.
    pub before: BTreeMap<String, String>,
}

/// A schema that was created, or a user's schema in which tables were created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftSchema {
    pub name: String,
    /// The contents of the mark in it: without the mark, nothing there belongs to the run.
    pub mark: String,
    /// The schema belongs to the user, and only the tables to the run.
    pub is_theirs: bool,
    /// The PostgreSQL schema, inside the user's database, that has the tables.
    pub namespace: Option<String>,
    /// All tables and views that the run creates, listed before the first: other tables in a schema
    /// of the run belong to other users.
    pub planned: Vec<String>,
    /// In a user's schema, tables that are being created: they may exist and be empty. In a schema
    /// of the run, the mark: the schema itself is being created.
    pub making: Vec<String>,
    /// In a user's schema, tables that were created; in a schema of the run, the mark.
    pub made: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub name: String,
    pub original: String,
    /// The value last set, the value about to be set, and the value that the server adjusted it to.
    pub ours: Vec<String>,
    /// A SET is in progress: any value found may be the server's adjustment of it.
    pub pending: bool,
    /// The value at the start of the run, if the server was restarted since with another value of
    /// its own.
    pub earlier: Vec<String>,
}

impl JournalEntry {
    pub(crate) fn new(name: &str, original: String) -> Self {
        Self {
            name: name.to_owned(),
            original,
            ours: Vec::new(),
            pending: false,
            earlier: Vec::new(),
        }
    }
}

impl Journal {
    pub(crate) fn new(
        tool_version: &str,
        server: Identity,
        address: String,
        schema: LeftSchema,
    ) -> Self {
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

    pub fn read(path: &Path) -> Result<Self, ExternalError> {
        Self::read_if_there(path)?.ok_or_else(|| ExternalError::Journal {
            path: path.to_owned(),
            problem: "the file does not exist".to_owned(),
        })
    }

    /// `None` if it is gone: another process may have restored everything.
    pub(crate) fn read_if_there(path: &Path) -> Result<Option<Self>, ExternalError> {
        let damaged = |problem: String| ExternalError::Damaged { path: path.to_owned(), problem };
        let unread = |error: io::Error| ExternalError::Journal {
            path: path.to_owned(),
            problem: error.to_string(),
        };
        let Some(metadata) = if_there(fs::metadata(path)).map_err(unread)? else { return Ok(None) };
        // Reading anything but a regular file may never end, or block.
        if !metadata.is_file() {
            return Err(damaged("it is not a regular file".to_owned()));
        }
        let Some(mut file) = if_there(File::open(path)).map_err(unread)? else { return Ok(None) };
        if let Some(problem) = distrust(&file.metadata().map_err(unread)?) {
            return Err(ExternalError::Untrusted { path: path.to_owned(), problem });
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unread)?;
        let journal: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if journal.schema_version != VERSION {
            return Err(damaged(format!(
                "written by another version of truetps ({})",
                journal.tool_version
            )));
        }
        Ok(Some(journal))
    }

    /// What may be left in the server.
    pub fn contents_text(&self) -> String {
        let names: Vec<_> = self.settings.iter().map(|entry| entry.name.as_str()).collect();
        let what = if self.schema.is_theirs { "tables in the schema" } else { "the schema" };
        let schema = format!("{what} `{}`", self.schema.name);
        if names.is_empty() {
            schema
        } else {
            format!("settings ({}) and {schema}", names.join(", "))
        }
    }
}

/// `None` where there is no such file.
pub(super) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Why a journal may have been written by another user. Its contents are sent to a server with
/// administrator privileges.
pub(super) fn distrust(file: &Metadata) -> Option<String> {
    let us = geteuid().as_raw();
    if ![0, us].contains(&file.uid()) {
        return Some(format!("its owner is uid {}, not this user (uid {us})", file.uid()));
    }
    let is_writable = file.mode() & 0o022 != 0;
    is_writable.then(|| format!("others may write to it (mode {:04o})", file.mode() & 0o7777))
}
