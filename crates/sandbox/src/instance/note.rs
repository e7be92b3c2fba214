//! The note about an instance, and the process that it is about.
//!
//! A note is written before the process starts and again when its pid is known, so that there is
//! never a server without a note. truetps may be killed in between: if no pid is noted, a process
//! with this datadir and with arguments that only truetps uses (see `processes::marks`) is the
//! instance, too. A server started on the data by hand never is.

use std::path::Path;
use std::time::Duration;

use indexmap::IndexMap;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use truetps_record::SettingValue;

use crate::error::SandboxError;
use crate::system::children::Children;
use crate::system::datadir_servers::signal_server;
use crate::system::json_file::{check_schema_version, read_json_file};
use crate::system::processes::wait_until_ended;

const SCHEMA_VERSION: u32 = 1;

/// `instance.json`: the process that was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    schema_version: u32,
    /// `None` from just before its start until its pid is known.
    pub(super) process: Option<Process>,
    pub(super) port: Option<u16>,
    pub(super) settings: IndexMap<String, SettingValue>,
    /// `None`: not ended by truetps.
    ended: Option<InstanceEnd>,
}

/// Identifies a process uniquely: a pid alone is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) start_ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceState {
    NeverStarted,
    Running,
    /// It was asked to end, and ended.
    Stopped,
    /// It was killed by `stop`.
    Killed,
    /// Its last start failed.
    NotStarted,
    /// It ended cleanly, but not by `stop`: another program asked it to.
    Ended,
    /// It ended unexpectedly.
    Died,
}

/// How truetps ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InstanceEnd {
    Stopped,
    Killed,
    /// It did not become the requested server.
    GaveUp,
}

impl Process {
    /// Whether it ends within this time.
    pub(super) fn wait(self, time_limit: Duration) -> bool {
        wait_until_ended(self.pid, self.start_ticks, time_limit)
    }

    /// The processes that it started.
    pub(super) fn children(self) -> Children {
        Children::of(self.pid, self.start_ticks)
    }

    pub(super) fn signal(self, datadir: &Path, signal: Signal) -> Result<(), SandboxError> {
        signal_server(self.pid, self.start_ticks, datadir, signal)
            .map_err(SandboxError::io("signal the server of", datadir))
    }
}

impl Note {
    /// `None`: it was never started.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, SandboxError> {
        let Some(note) = read_json_file::<Self>(path)? else { return Ok(None) };
        check_schema_version(path, note.schema_version, SCHEMA_VERSION)?;
        Ok(Some(note))
    }

    pub(super) fn starting(port: Option<u16>, settings: IndexMap<String, SettingValue>) -> Self {
        Self { schema_version: SCHEMA_VERSION, process: None, port, settings, ended: None }
    }

    /// For an instance whose own note is gone.
    pub(super) fn of(process: Process) -> Self {
        let settings = IndexMap::new();
        Self {
            schema_version: SCHEMA_VERSION,
            process: Some(process),
            port: None,
            settings,
            ended: None,
        }
    }

    pub(super) fn with_process(self, process: Process) -> Self {
        Self { process: Some(process), ..self }
    }

    pub(super) fn with_end(self, process: Process, ended: InstanceEnd) -> Self {
        Self { process: Some(process), ended: Some(ended), ..self }
    }

    /// Whether it is about this process and notes no end.
    pub(super) fn is_of(&self, process: Process) -> bool {
        self.ended.is_none() && self.process.is_none_or(|noted| noted == process)
    }

    /// Its state, if it does not run.
    pub(super) fn state(&self) -> InstanceState {
        match self.ended {
            Some(InstanceEnd::Stopped) => InstanceState::Stopped,
            Some(InstanceEnd::Killed) => InstanceState::Killed,
            Some(InstanceEnd::GaveUp) => InstanceState::NotStarted,
            None if self.process.is_none() => InstanceState::NotStarted,
            None => InstanceState::Died,
        }
    }
}
