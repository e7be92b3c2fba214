//! Stopping an instance: by request first, by a kill if it does not end or on demand.
//!
//! The lock of its name is held for the decision and the signal, and again for the note about the result. It is not
//! held during the wait, so that another command can kill a server that does not end.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::children::Children;
use crate::error::SandboxError;
use crate::family;
use crate::instance::Instance;
use crate::instance_note::{InstanceEnd, Note, Process, marks};
use crate::named::LOCK_TIME_LIMIT;
use crate::named_error::NamedError;
use crate::old_redo;
use crate::processes::{KILL_TIME_LIMIT, kill_marked};
use crate::run::wait_for;

/// How it ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub pid: u32,
    /// It ended by itself and removed its pid file.
    pub clean: bool,
    /// It had to be killed.
    pub killed: bool,
    pub took: Duration,
}

impl Instance<'_> {
    /// Asks the server to end, and kills it if it has not ended after `time_limit`; `kill`: kills it at once.
    pub fn stop(&self, kill: bool, time_limit: Duration) -> Result<Ended, SandboxError> {
        let began = Instant::now();
        let first = if kill { Signal::KILL } else { family::stop_signal(self.family()) };
        let (process, mut children) = self.signal_running(first)?;
        let mut killed = kill;
        let mut gone = wait_for_end(process, if kill { KILL_TIME_LIMIT } else { time_limit });
        if !gone && !kill {
            killed = true;
            children = process.children();
            process.signal(&self.data(), Signal::KILL)?;
            gone = wait_for_end(process, KILL_TIME_LIMIT);
        }
        if !gone {
            return Err(NamedError::DoesNotEnd { name: self.server.name.clone(), pid: process.pid }.into());
        }
        children.kill(KILL_TIME_LIMIT);
        let clean = self.note_end(process, killed)?;
        Ok(Ended { pid: process.pid, clean, killed, took: began.elapsed() })
    }

    /// Including the processes that a killed one leaves.
    fn signal_running(&self, signal: Signal) -> Result<(Process, Children), SandboxError> {
        let _lock = self.named.lock_within(&self.server.name, LOCK_TIME_LIMIT)?;
        let process = self.check_running(&self.look_at_instance()?)?;
        let children = if signal == Signal::KILL { process.children() } else { Children::default() };
        process.signal(&self.data(), signal)?;
        Ok((process, children))
    }

    /// Returns whether it ended cleanly. It may have been removed, or started again, since then.
    fn note_end(&self, process: Process, killed: bool) -> Result<bool, SandboxError> {
        let clean = !killed && !self.pid_file().exists();
        let Some(_lock) = self.named.lock_existing(&self.server.name)? else { return Ok(clean) };
        let note = self.note()?.unwrap_or_else(|| Note::of(process));
        if !note.is_of(process) {
            return Ok(clean);
        }
        if clean && self.server.keeps_redo_size() {
            old_redo::note_stopped(&self.data())?;
        }
        let ended = Some(if killed { InstanceEnd::Killed } else { InstanceEnd::Stopped });
        self.write_note(&Note { process: Some(process), ended, ..note })?;
        Ok(clean)
    }

    /// Ends a child that did not become the requested server, including background processes that it may have started.
    /// Another server started here since then is left alone.
    pub(crate) fn give_up(&self, child: &mut Child, process: Process) {
        // The first error is reported.
        let lock = self.named.lock_existing(&self.server.name).ok().flatten();
        let note = self.note().ok().flatten().filter(|note| lock.is_some() && note.is_of(process));
        self.end_child(child, note.is_some());
        if let Some(note) = note {
            let _ = self.write_note(&Note { process: Some(process), ended: Some(InstanceEnd::GaveUp), ..note });
        }
    }

    pub(crate) fn end_child(&self, child: &mut Child, with_strays: bool) {
        let children = Children::of_child(child);
        let _ = child.kill();
        if with_strays {
            let _ = kill_marked(&self.data(), &marks(&self.folder), KILL_TIME_LIMIT);
        }
        let _ = wait_for(child, KILL_TIME_LIMIT);
        children.kill(KILL_TIME_LIMIT);
    }
}

fn wait_for_end(process: Process, time_limit: Duration) -> bool {
    let began = Instant::now();
    while !process.has_ended() {
        if began.elapsed() >= time_limit {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}
