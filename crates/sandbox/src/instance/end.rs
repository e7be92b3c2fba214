//! Stopping an instance: by request first, by a kill if it does not end or on demand.
//!
//! The lock of its name is held for the decision and the signal, and again for the note about the
//! result. It is not held during the wait, so that another command can kill a server that does not
//! end.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::files::InstanceFiles;
use super::handle::Instance;
use super::note::{InstanceEnd, Note, Process};
use crate::data::old_redo;
use crate::error::{NamedError, SandboxError};
use crate::named::NameLocks;
use crate::server::family;
use crate::system::children::Children;
use crate::system::processes::KILL_TIME_LIMIT;
use crate::system::run::wait_for;

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
    /// Asks the server to end, and kills it if it has not ended after `time_limit`; `kill`: kills
    /// it at once.
    pub fn stop(&self, kill: bool, time_limit: Duration) -> Result<Ended, SandboxError> {
        let began = Instant::now();
        let first = if kill { Signal::KILL } else { family::stop_signal(self.server.family()) };
        let (process, mut children) = signal_running(self, first)?;
        let mut killed = kill;
        let mut gone = process.wait(if kill { KILL_TIME_LIMIT } else { time_limit });
        if !gone && !kill {
            killed = true;
            children = process.children();
            process.signal(&self.files.paths.datadir, Signal::KILL)?;
            gone = process.wait(KILL_TIME_LIMIT);
        }
        if !gone {
            return Err(NamedError::DoesNotEnd {
                name: self.server.name.clone(),
                pid: process.pid,
            }
            .into());
        }
        children.kill(KILL_TIME_LIMIT);
        let clean = note_end(self, process, killed, kill)?;
        Ok(Ended { pid: process.pid, clean, killed, took: began.elapsed() })
    }
}

/// Including the processes that a killed one leaves.
fn signal_running(
    instance: &Instance<'_>,
    signal: Signal,
) -> Result<(Process, Children), SandboxError> {
    let _lock = instance.locks.wait()?;
    let process = instance.look()?.check_running().inspect_err(|error| {
        // The disk of a server that has ended by itself is still mounted.
        if matches!(error, SandboxError::Named(NamedError::NotRunning { .. })) {
            let _ = instance.files.disk.unmount();
        }
    })?;
    let children = if signal == Signal::KILL { process.children() } else { Children::default() };
    process.signal(&instance.files.paths.datadir, signal)?;
    Ok((process, children))
}

/// Returns whether it ended cleanly. It may have been removed, or started again, since then.
///
/// Its disk is unmounted, `by_force` if necessary.
fn note_end(
    instance: &Instance<'_>,
    process: Process,
    killed: bool,
    by_force: bool,
) -> Result<bool, SandboxError> {
    let files = &instance.files;
    // A server without its disk has written nothing at its end.
    let lost_disk = files.disk.exists() && files.disk.helper_pid().is_none();
    let clean = !killed && !lost_disk && !files.paths.pid_file.exists();
    let Some(_lock) = instance.locks.wait_if_registered()? else { return Ok(clean) };
    let note = files.note()?.unwrap_or_else(|| Note::of(process));
    if !note.is_of(process) {
        return Ok(clean);
    }
    if clean && instance.server.keeps_redo_size() {
        old_redo::note_stopped(&files.paths.datadir)?;
    }
    let ended = if killed { InstanceEnd::Killed } else { InstanceEnd::Stopped };
    files.write_note(&note.with_end(process, ended))?;
    if by_force { files.disk.unmount_by_force() } else { files.disk.unmount() }?;
    Ok(clean)
}

/// Ends a child that did not become the requested server, including background processes that it
/// may have started. Another server started here since then is left alone.
pub(super) fn give_up(
    files: &InstanceFiles,
    locks: NameLocks<'_>,
    child: &mut Child,
    process: Process,
) {
    // The first error is reported.
    let lock = locks.wait_if_registered().ok().flatten();
    let note = files.note().ok().flatten().filter(|note| lock.is_some() && note.is_of(process));
    end_child(files, child, note.is_some());
    if let Some(note) = note {
        let _ = files.write_note(&note.with_end(process, InstanceEnd::GaveUp));
        let _ = files.disk.unmount_by_force();
    }
}

pub(super) fn end_child(files: &InstanceFiles, child: &mut Child, with_strays: bool) {
    let children = Children::of_child(child);
    let _ = child.kill();
    if with_strays {
        files.kill_strays();
    }
    let _ = wait_for(child, KILL_TIME_LIMIT);
    children.kill(KILL_TIME_LIMIT);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::housekeeping::tests::{home, put};
    use crate::named::NamedServers;

    #[test]
    fn who_gives_up_on_a_server_that_was_removed_leaves_no_lock_of_it() {
        let (_dir, home) = home();
        let named = NamedServers::of(&home);
        let server = put(named, "a");
        let instance = Instance::of(named, &server);
        assert!(instance.locks.wait_if_registered().unwrap().is_some());
        named.remove("a", true).unwrap();
        #[allow(clippy::disallowed_methods, reason = "stands for a server that never answers")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process { pid: child.id(), start_ticks: 0 };
        give_up(&instance.files, instance.locks, &mut child, process);
        assert!(child.try_wait().unwrap().is_some());
        assert_eq!(fs::read_dir(home.named()).unwrap().count(), 0, "an unused lock");
    }
}
