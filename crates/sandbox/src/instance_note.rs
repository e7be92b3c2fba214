//! The note about an instance, and the process that it is about.
//!
//! A note is written before the process starts and again when its pid is known, so that there is never a server without
//! a note. truetps may be killed in between: if no pid is noted, a process with this datadir and with arguments that
//! only truetps uses (see [`marks`]) is the instance, too. A server started on the data by hand never is.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use indexmap::IndexMap;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use truetps_record::{FolderError, SettingValue, write_atomically};

use crate::children::Children;
use crate::error::SandboxError;
use crate::instance::{Instance, InstanceOptions, InstanceState};
use crate::processes::{has_ended, is_server, server_marked, signal_server};
use crate::settings::Settings;

const SCHEMA_VERSION: u32 = 1;

/// `instance.json`: the process that was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) schema_version: u32,
    /// `None` from just before its start until its pid is known.
    pub(crate) process: Option<Process>,
    pub(crate) port: Option<u16>,
    pub(crate) settings: IndexMap<String, SettingValue>,
    /// `None`: not ended by truetps.
    pub(crate) ended: Option<InstanceEnd>,
}

/// Identifies a process uniquely: a pid alone is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
}

/// How truetps ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InstanceEnd {
    Stopped,
    Killed,
    /// It did not become the requested server.
    GaveUp,
}

impl Process {
    pub(crate) fn has_ended(self) -> bool {
        has_ended(self.pid, self.start_ticks)
    }

    /// The processes that it started.
    pub(crate) fn children(self) -> Children {
        Children::of(self.pid, self.start_ticks)
    }

    pub(crate) fn signal(self, data: &Path, signal: Signal) -> Result<(), SandboxError> {
        signal_server(self.pid, self.start_ticks, data, signal).map_err(SandboxError::io("signal the server of", data))
    }
}

impl Note {
    pub(crate) fn starting(options: &InstanceOptions) -> Self {
        let (port, settings) = (options.port, options.settings.clone());
        Self { schema_version: SCHEMA_VERSION, process: None, port, settings, ended: None }
    }

    /// For an instance whose own note is gone.
    pub(crate) fn of(process: Process) -> Self {
        let settings = IndexMap::new();
        Self { schema_version: SCHEMA_VERSION, process: Some(process), port: None, settings, ended: None }
    }

    /// Whether it is about this process and notes no end.
    pub(crate) fn is_of(&self, process: Process) -> bool {
        self.ended.is_none() && self.process.is_none_or(|noted| noted == process)
    }

    /// Its state, if it does not run.
    pub(crate) fn state(&self) -> InstanceState {
        match self.ended {
            Some(InstanceEnd::Stopped) => InstanceState::Stopped,
            Some(InstanceEnd::Killed) => InstanceState::Killed,
            Some(InstanceEnd::GaveUp) => InstanceState::NotStarted,
            None if self.process.is_none() => InstanceState::NotStarted,
            None => InstanceState::Died,
        }
    }
}

impl Instance<'_> {
    pub(crate) fn note(&self) -> Result<Option<Note>, SandboxError> {
        let path = self.folder.join("instance.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(SandboxError::io("read", &path))?,
        };
        let wrong = |problem: String| SandboxError::Content { path: path.clone(), problem };
        let note: Note = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if note.schema_version > SCHEMA_VERSION {
            return Err(wrong("was written by a newer version of truetps".to_owned()));
        }
        Ok(Some(note))
    }

    pub(crate) fn write_note(&self, note: &Note) -> Result<(), SandboxError> {
        write_json(&self.folder.join("instance.json"), note)
    }

    /// The process of the instance, if it runs.
    pub(crate) fn running(&self, note: Option<&Note>) -> Option<Process> {
        let data = self.data();
        match note.and_then(|note| note.process) {
            Some(noted) => Some(noted).filter(|process| is_server(process.pid, process.start_ticks, &data)),
            None => server_marked(&data, &marks(&self.folder)).map(|(pid, start_ticks)| Process { pid, start_ticks }),
        }
    }

    /// The settings with which its datadir was created.
    pub(crate) fn initial(&self) -> Result<Settings, SandboxError> {
        let path = self.folder.join("initial.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
            other => other.map_err(SandboxError::io("read", &path))?,
        };
        let pairs: IndexMap<String, SettingValue> = serde_json::from_slice(&text)
            .map_err(|error| SandboxError::Content { path, problem: error.to_string() })?;
        Ok(Settings::default().with(pairs.iter().map(|(name, value)| (name.as_str(), value))))
    }

    /// Written before the data exist: data without it would be taken for data created without settings.
    pub(crate) fn write_initial(&self, initial: &Settings) -> Result<(), SandboxError> {
        let pairs: IndexMap<&str, &SettingValue> = initial.iter().collect();
        write_json(&self.folder.join("initial.json"), &pairs)
    }
}

/// Arguments of servers started in this folder, of one family each.
pub(crate) fn marks(folder: &Path) -> [OsString; 2] {
    [("--pid-file=", "run/pid"), ("--config-file=", "options")].map(|(option, name)| {
        let mut argument = OsString::from(option);
        argument.push(folder.join(name));
        argument
    })
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), SandboxError> {
    let wrong = |problem: String| SandboxError::Content { path: path.to_owned(), problem };
    let text = serde_json::to_vec_pretty(value).map_err(|error| wrong(error.to_string()))?;
    write_atomically(path, &text).map_err(|error| match error {
        FolderError::Io { path, source } => SandboxError::io("write", &path)(source),
        other => wrong(other.to_string()),
    })
}
