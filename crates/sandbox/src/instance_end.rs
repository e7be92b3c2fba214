//! How an instance is stopped: asked first, killed where it does not end or where that is wanted.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::children::Children;
use crate::error::SandboxError;
use crate::instance::{Instance, Note};
use crate::named_error::NamedError;
use crate::old_redo;
use crate::processes::{has_ended, signal_server};

/// After SIGKILL a process ends as soon as its system calls do.
const KILL_TIME_LIMIT: Duration = Duration::from_mins(1);

/// How it ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub pid: u32,
    /// It ended by itself and took its pid file with it.
    pub clean: bool,
    /// It had to be killed.
    pub killed: bool,
    pub took: Duration,
}

impl Instance<'_> {
    /// Asks the server to end, and kills it where it has not after `time_limit`; `kill`: kills it at once.
    pub fn stop(&self, kill: bool, time_limit: Duration) -> Result<Ended, SandboxError> {
        let _lock = self.named.lock(&self.server.name)?;
        let status = self.status()?;
        if status.pid.is_none() {
            return Err(self.not_running(status.state).into());
        }
        self.end_running(if kill { "killed" } else { "stopped" }, !kill, time_limit, None)
    }

    /// For one whose data are to be thrown away.
    pub(crate) fn kill_if_running(&self) -> Result<(), SandboxError> {
        if self.status()?.pid.is_some() {
            self.stop(true, KILL_TIME_LIMIT)?;
        }
        Ok(())
    }

    /// `child`: where it was started by this process, which must then ask for its exit status.
    pub(crate) fn end_running(
        &self,
        how: &str,
        politely: bool,
        time_limit: Duration,
        mut child: Option<&mut Child>,
    ) -> Result<Ended, SandboxError> {
        let Some(note) = self.note()? else { return Err(self.not_running(self.status()?.state).into()) };
        let began = Instant::now();
        let mut killed = !politely;
        let first = if politely { self.family().stop_signal() } else { Signal::KILL };
        let mut gone = self.signal_and_wait(&note, first, time_limit, &mut child)?;
        if !gone && politely {
            killed = true;
            gone = self.signal_and_wait(&note, Signal::KILL, KILL_TIME_LIMIT, &mut child)?;
        }
        if !gone {
            return Err(NamedError::DoesNotEnd { name: self.server.name.clone(), pid: note.pid }.into());
        }
        let clean = !killed && !self.pid_file().exists();
        if clean && self.server.keeps_redo_size() {
            old_redo::note_stopped(&self.data())?;
        }
        let pid = note.pid;
        self.write_note(&Note { ended: Some(how.to_owned()), ..note })?;
        Ok(Ended { pid, clean, killed, took: began.elapsed() })
    }

    fn signal_and_wait(
        &self,
        note: &Note,
        signal: Signal,
        time_limit: Duration,
        child: &mut Option<&mut Child>,
    ) -> Result<bool, SandboxError> {
        let began = Instant::now();
        let children = if signal == Signal::KILL { Children::of(note.pid) } else { Children::default() };
        signal_server(note.pid, note.start_ticks, &self.data(), signal)
            .map_err(SandboxError::io("signal the server of", &self.data()))?;
        while !has_ended(note.pid, note.start_ticks) {
            if let Some(child) = child {
                let _ = child.try_wait();
            }
            if began.elapsed() >= time_limit {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(10));
        }
        children.kill(KILL_TIME_LIMIT);
        Ok(true)
    }
}
