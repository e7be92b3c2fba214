//! What is found out about an instance at one moment: its note, and its process in /proc.

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use truetps_disk::DiskProfile;
use truetps_record::SettingValue;

use super::files::InstanceFiles;
use super::note::{InstanceState, Note, Process};
use crate::error::{NamedError, SandboxError};
use crate::home::server_paths::ServerPaths;
use crate::home::sizes::disk_bytes;
use crate::program::variables::Mismatch;
use crate::system::datadir_servers::{check_not_held, holder_of};
use crate::system::log_tail::tail;
use crate::system::processes::{KILL_TIME_LIMIT, running_for};

/// Number of log lines that are searched for how it ended.
const LAST_WORDS: usize = 8;

/// Description of an instance.
#[derive(Debug, Clone)]
pub struct Status {
    pub state: InstanceState,
    pub pid: Option<u32>,
    /// A process not started by truetps that runs a server on its data.
    pub held_by: Option<u32>,
    pub uptime: Option<Duration>,
    pub socket: PathBuf,
    pub port: Option<u16>,
    pub settings: IndexMap<String, SettingValue>,
    /// Values of its option file that the server has otherwise, as its start has found.
    pub adjusted: Vec<Mismatch>,
    pub datadir: PathBuf,
    /// Its size on disk.
    pub data_bytes: u64,
    pub error_log: PathBuf,
    /// `None`: the host's own.
    pub disk: Option<DiskStatus>,
}

/// The emulated disk of an instance.
#[derive(Debug, Clone)]
pub struct DiskStatus {
    pub profile: DiskProfile,
    /// The process that serves it; `None`: it is not mounted, or its process was killed.
    pub pid: Option<u32>,
}

#[derive(Debug)]
pub(super) struct InstanceFinding<'a> {
    name: &'a str,
    files: &'a InstanceFiles,
    note: Option<Note>,
    running: Option<Process>,
    disk: Option<DiskProfile>,
    /// Whether its last log lines report a clean shutdown; read only if nothing else is known about
    /// its end.
    ended_well: bool,
}

impl<'a> InstanceFinding<'a> {
    pub(super) fn look(name: &'a str, files: &'a InstanceFiles) -> Result<Self, SandboxError> {
        let note = files.note()?;
        let (running, disk) = (files.running(note.as_ref()), files.disk.profile()?);
        let is_unknown = running.is_none()
            && note.as_ref().is_some_and(|note| note.state() == InstanceState::Died);
        Ok(Self {
            name,
            files,
            note,
            running,
            disk,
            ended_well: is_unknown && has_ended_well(files),
        })
    }

    fn state(&self) -> InstanceState {
        match (self.running, &self.note) {
            (Some(_), _) => InstanceState::Running,
            (None, None) => InstanceState::NeverStarted,
            (None, Some(note)) => match note.state() {
                InstanceState::Died if self.ended_well => InstanceState::Ended,
                state => state,
            },
        }
    }

    /// The note of the running process, if the note is about it.
    fn port(&self) -> Option<u16> {
        let (note, running) = (self.note.as_ref()?, self.running?);
        note.port.filter(|_| note.is_of(running))
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.files.paths_with(self.port()).socket
    }

    /// The process, if it runs; otherwise an error with its state.
    pub(super) fn check_running(&self) -> Result<Process, SandboxError> {
        if let Some(process) = self.running {
            return Ok(process);
        }
        check_not_held(&self.files.paths.datadir)?;
        let how = match self.state() {
            InstanceState::NeverStarted => "it was never started",
            InstanceState::Died => "it died, or was killed",
            InstanceState::NotStarted => "its last start failed",
            InstanceState::Killed => "it was killed",
            InstanceState::Ended => "it has ended",
            InstanceState::Running | InstanceState::Stopped => "it was stopped",
        };
        Err(NamedError::NotRunning { name: self.name.to_owned(), how }.into())
    }

    pub(super) fn check_stopped(&self) -> Result<(), SandboxError> {
        if let Some(process) = self.running {
            return Err(NamedError::Runs { name: self.name.to_owned(), pid: process.pid }.into());
        }
        if let Some(process) = self.note.as_ref().and_then(|note| note.process) {
            // A server that is ending holds its files for a moment.
            process.wait(KILL_TIME_LIMIT);
        }
        // A new server would wait for the running server's lock on the data files, while the
        // running server answered the readiness check.
        check_not_held(&self.files.paths.datadir)
    }

    pub(super) fn status(self) -> Status {
        let ServerPaths { datadir, error_log, .. } = self.files.paths.clone();
        let data_bytes =
            if self.disk.is_some() { self.files.disk.bytes() } else { disk_bytes(&datadir) };
        Status {
            state: self.state(),
            pid: self.running.map(|process| process.pid),
            held_by: if self.running.is_none() { holder_of(&datadir) } else { None },
            uptime: self.running.and_then(|process| running_for(process.start_ticks)),
            port: self.port(),
            socket: self.socket(),
            data_bytes,
            disk: self
                .disk
                .map(|profile| DiskStatus { profile, pid: self.files.disk.helper_pid() }),
            datadir,
            error_log,
            adjusted: Vec::new(),
            settings: self.note.map(|note| note.settings).unwrap_or_default(),
        }
    }
}

/// Whether a server whose end was not noted has removed its pid file and logged its shutdown.
fn has_ended_well(files: &InstanceFiles) -> bool {
    !files.paths.pid_file.exists()
        && says_that_it_ended_well(&tail(&files.paths.error_log, 0, LAST_WORDS))
}

/// MySQL 8.4 and later logs one more line after it. PostgreSQL logs the same after an end without a
/// checkpoint.
fn says_that_it_ended_well(log: &str) -> bool {
    let has_ended = log.lines().rev().take(2).any(|line| {
        line.contains("Shutdown complete") || line.ends_with("database system is shut down")
    });
    has_ended && !log.contains("immediate shutdown request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_log() {
        let mariadb = "[Note] InnoDB: Shutdown completed; log sequence number 47\n[Note] \
                       /usr/sbin/mariadbd: Shutdown complete";
        let mysql = "[System] [Server] mysqld: Shutdown complete (mysqld 9.7.4)\n[System] [Server] \
                     MySQL Server - end.";
        let postgres =
            "LOG:  checkpoint complete: wrote 3 buffers\nLOG:  database system is shut down";
        for well in [mariadb, mysql, postgres] {
            assert!(says_that_it_ended_well(well), "{well}");
        }
        let immediate =
            "LOG:  received immediate shutdown request\nLOG:  database system is shut down";
        let started_again =
            format!("{mariadb}\n[Note] Starting MariaDB\n[Note] InnoDB: Using liburing");
        for other in ["", immediate, &started_again, "[Note] mariadbd: ready for connections."] {
            assert!(!says_that_it_ended_well(other), "{other}");
        }
    }
}
