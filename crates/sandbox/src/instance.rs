//! A named server that runs until it is stopped: it outlives the truetps process that started it.
//!
//! It has one datadir, created from the template at its first start and kept. Its process is noted with pid and start
//! ticks, and looked up in /proc each time: a process belongs to the instance if it has exactly that datadir as its
//! argument. Start and stop are in `instance_start.rs` and `instance_end.rs`.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use truetps_driver::{Client, Target};
use truetps_record::{Family, SettingValue};

use crate::error::SandboxError;
use crate::family::{self, ServerPaths};
use crate::instance_note::{Note, Process};
use crate::log_tail::tail;
use crate::named::{NamedServer, NamedServers};
use crate::named_error::NamedError;
use crate::processes::{KILL_TIME_LIMIT, holder_of, running_for};
use crate::readiness::check_listener;
use crate::registry::disk_bytes;

/// Options of a start: other settings are not changed.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    pub settings: IndexMap<String, SettingValue>,
    /// On the loopback address only; `None`: the socket only.
    pub port: Option<u16>,
    pub ready_time_limit: Duration,
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
    pub datadir: PathBuf,
    /// Its size on disk.
    pub data_bytes: u64,
    pub error_log: PathBuf,
}

/// Result of looking up an instance.
#[derive(Debug)]
pub(crate) struct InstanceFinding {
    note: Option<Note>,
    running: Option<Process>,
    /// Whether its last log lines report a clean shutdown; read only if nothing else is known about its end.
    ended_well: bool,
}

impl InstanceFinding {
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
}

/// A named server's instance.
#[derive(Debug, Clone)]
pub struct Instance<'a> {
    pub(crate) named: NamedServers<'a>,
    pub(crate) server: &'a NamedServer,
    pub(crate) folder: PathBuf,
}

impl<'a> Instance<'a> {
    pub fn of(named: NamedServers<'a>, server: &'a NamedServer) -> Self {
        Self { named, server, folder: named.folder(&server.name) }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn family(&self) -> Family {
        self.server.family()
    }

    pub(crate) fn places(&self, port: Option<u16>) -> ServerPaths {
        ServerPaths {
            data: self.data(),
            tmp: self.folder.join("tmp"),
            socket: self.folder.join("run").join(family::socket_name(self.family(), port)),
            pid_file: self.pid_file(),
            error_log: self.error_log(),
            console_log: self.console_log(),
            option_file: self.folder.join("options"),
        }
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.folder.join("run/pid")
    }

    pub fn error_log(&self) -> PathBuf {
        self.folder.join("error.log")
    }

    pub(crate) fn console_log(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// The last lines of its log, or of its program's output if it has no log.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = tail(&self.error_log(), 0, lines);
        if log.is_empty() { tail(&self.console_log(), 0, lines) } else { log }
    }

    /// The note about it, and the running process.
    pub(crate) fn look_at_instance(&self) -> Result<InstanceFinding, SandboxError> {
        let note = self.note()?;
        let running = self.running(note.as_ref());
        let ended_well = running.is_none() && note.as_ref().is_some_and(|note| note.state() == InstanceState::Died);
        Ok(InstanceFinding { note, running, ended_well: ended_well && self.has_ended_well() })
    }

    /// Whether a server whose end was not noted has removed its pid file and logged its shutdown.
    fn has_ended_well(&self) -> bool {
        !self.pid_file().exists() && says_that_it_ended_well(&tail(&self.error_log(), 0, LAST_WORDS))
    }

    /// The process, if it runs; otherwise an error with its state.
    pub(crate) fn check_running(&self, seen: &InstanceFinding) -> Result<Process, SandboxError> {
        if let Some(process) = seen.running {
            return Ok(process);
        }
        if let Some(pid) = holder_of(&self.data()) {
            return Err(SandboxError::Held { path: self.data(), pid });
        }
        let how = match seen.state() {
            InstanceState::NeverStarted => "it was never started",
            InstanceState::Died => "it died, or was killed",
            InstanceState::NotStarted => "its last start failed",
            InstanceState::Killed => "it was killed",
            InstanceState::Ended => "it has ended",
            InstanceState::Running | InstanceState::Stopped => "it was stopped",
        };
        Err(NamedError::NotRunning { name: self.server.name.clone(), how }.into())
    }

    pub fn status(&self) -> Result<Status, SandboxError> {
        let seen = self.look_at_instance()?;
        Ok(Status {
            state: seen.state(),
            pid: seen.running.map(|process| process.pid),
            held_by: if seen.running.is_none() { holder_of(&self.data()) } else { None },
            uptime: seen.running.and_then(|process| running_for(process.start_ticks)),
            port: seen.port(),
            socket: self.places(seen.port()).socket,
            datadir: self.data(),
            data_bytes: disk_bytes(&self.data()),
            error_log: self.error_log(),
            settings: seen.note.map(|note| note.settings).unwrap_or_default(),
        })
    }

    /// The owner's login while it runs.
    pub fn owner(&self) -> Result<Target, SandboxError> {
        let seen = self.look_at_instance()?;
        self.check_running(&seen)?;
        Ok(family::owner(self.family(), &self.places(seen.port()).socket, None))
    }

    /// A connection as the server's owner, which has no password and uses the socket.
    pub fn connect(&self, time_limit: Duration) -> Result<Client, SandboxError> {
        // Not its full status: the size of its data requires a walk through all files.
        let seen = self.look_at_instance()?;
        let pid = self.check_running(&seen)?.pid;
        let socket = self.places(seen.port()).socket;
        let failed = |source| SandboxError::Sql { action: "log in to the server", source };
        let owner = family::owner(self.family(), &socket, None);
        let client = Client::connect(&owner, time_limit).map_err(failed)?;
        check_listener(&socket, pid, client.peer_pid())?;
        Ok(client)
    }

    pub(crate) fn check_stopped(&self) -> Result<(), SandboxError> {
        let InstanceFinding { note, running, .. } = self.look_at_instance()?;
        if let Some(process) = running {
            return Err(NamedError::Runs { name: self.server.name.clone(), pid: process.pid }.into());
        }
        if let Some(process) = note.and_then(|note| note.process) {
            // A server that is ending holds its files for a moment.
            let began = Instant::now();
            while !process.has_ended() && began.elapsed() < KILL_TIME_LIMIT {
                thread::sleep(Duration::from_millis(10));
            }
        }
        // A new server would wait for the running server's lock on the data files, while the running server answered
        // the readiness check.
        holder_of(&self.data()).map_or(Ok(()), |pid| Err(SandboxError::Held { path: self.data(), pid }))
    }
}

/// MySQL 8.4 and later logs one more line after it. PostgreSQL logs the same after an end without a checkpoint.
fn says_that_it_ended_well(log: &str) -> bool {
    let last: Vec<_> = log.lines().rev().take(2).collect();
    let has_ended = |line: &&str| line.contains("Shutdown complete") || line.ends_with("database system is shut down");
    last.iter().any(has_ended) && !log.contains("immediate shutdown request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_log() {
        let mariadb =
            "[Note] InnoDB: Shutdown completed; log sequence number 47\n[Note] /usr/sbin/mariadbd: Shutdown complete";
        let mysql = "[System] [Server] mysqld: Shutdown complete (mysqld 9.7.4)\n[System] [Server] MySQL Server - end.";
        let postgres = "LOG:  checkpoint complete: wrote 3 buffers\nLOG:  database system is shut down";
        for well in [mariadb, mysql, postgres] {
            assert!(says_that_it_ended_well(well), "{well}");
        }
        let immediate = "LOG:  received immediate shutdown request\nLOG:  database system is shut down";
        let started_again = format!("{mariadb}\n[Note] Starting MariaDB\n[Note] InnoDB: Using liburing");
        for other in ["", immediate, &started_again, "[Note] mariadbd: ready for connections."] {
            assert!(!says_that_it_ended_well(other), "{other}");
        }
    }
}
