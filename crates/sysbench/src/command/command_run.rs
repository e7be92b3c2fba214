//! The data that all threads of a run share.

use std::sync::{Arc, Mutex, OnceLock};

use truetps_driver::Target;
use truetps_record::NoEvidence;

use crate::interrupt::Interrupt;
use crate::options::{LuaIsolation, RunSettings};
use crate::output::{MessageLevel, MessageLog};
use crate::rand::{RandomDistributions, Unique};

use super::control::Control;
use super::counters::Counters;
use super::usage::Usage;

/// A running command: `run`, or any other one.
pub(crate) struct CommandRun {
    pub(crate) settings: RunSettings,
    /// The seed of all random numbers.
    pub(crate) seed: u64,
    pub(crate) interrupt: Interrupt,
    pub(crate) log: Arc<MessageLog>,
    pub(crate) counters: Counters,
    pub(crate) control: Control,
    pub(crate) unique: Arc<Unique>,
    /// Notes for the run folder.
    pub(crate) notes: Mutex<Vec<String>>,
    /// Resource use of the threads.
    pub(crate) usage: Usage,
    /// The server of the first login that succeeded.
    pub(crate) server: OnceLock<ServerSeen>,
    /// Called as soon as the server is known; `None`: later, or not at all.
    pub(crate) server_warning: Option<ServerWarning>,
    /// RFC 3339, UTC.
    pub(crate) started_at: String,
}

/// Facts that a server reported, and its address.
#[derive(Debug, Clone)]
pub(crate) struct ServerSeen {
    pub(crate) version: String,
    /// With only its own endpoint.
    pub(crate) target: Target,
    /// With the endpoints of all clients.
    pub(crate) load_target: Target,
}

/// Queries a server for a warning to the user before it is written to. `None`: no warning, or it
/// cannot be queried.
pub type ServerWarning = fn(&Target) -> Option<String>;

/// One line on stderr: the standard output is sysbench's.
pub(crate) fn tell(text: &str) {
    let line = format!("truetps: {}\n", truetps_record::printable(text));
    // A failed write is ignored.
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}

impl CommandRun {
    /// Skipped if no client has connected.
    pub(crate) fn warn_of_server(&self, ask: ServerWarning) {
        if let Some(warning) = self.server.get().and_then(|server| ask(&server.target)) {
            tell(&warning);
        }
    }

    /// Says why the figures are not to be used.
    pub(crate) fn say_no_evidence(&self, reason: &NoEvidence) {
        self.log.text(MessageLevel::Alert, &format!("this run is no evidence: {reason}"));
    }

    /// The distributions of `sysbench.rand`; each thread has its own.
    pub(crate) fn distribution(&self) -> RandomDistributions {
        RandomDistributions::new(self.settings.rand.kind, &self.settings.rand.parameters)
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// A note that is shown, too, where the user has not chosen that clients share states.
    pub(crate) fn warn_of_sharing(&self, text: &str) {
        if self.note(text.to_owned()) && self.settings.ours.lua_isolation == LuaIsolation::Auto {
            self.log.text(MessageLevel::Warning, text);
        }
    }

    /// `false`: it has been noted before, or there are too many.
    pub(crate) fn note(&self, text: String) -> bool {
        const NOTES_MAX: usize = 100;
        let mut notes = self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_new = notes.len() < NOTES_MAX && !notes.contains(&text);
        if is_new {
            notes.push(text);
        }
        is_new
    }
}
