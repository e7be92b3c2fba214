//! Starts a child that dies with truetps, or, for a server that the user wants to keep, one that
//! does not.
//!
//! Linux sends the signal of `PR_SET_PDEATHSIG` when the *thread* that created the child ends, not
//! the process. So every child is created by one keeper thread that never ends while the process
//! lives, and callers may start servers from short-lived threads. However truetps dies, the keeper
//! dies with it and the kernel kills the children.
//!
//! The kernel clears that signal when the child changes its uid, and when it executes a program
//! with the set-user-ID bit or with file capabilities. Because of the first, the uid is changed
//! here, before the signal is requested, and never by the server's own `--user`. The second cannot
//! be avoided here: such a server is cleaned up by the next start.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::system::server_user::ServerUser;

/// What to start, on which cores, and where to send the result.
type SpawnRequest = (Command, CpuSet, Sender<io::Result<Child>>);

static KEEPER: Mutex<Option<Sender<SpawnRequest>>> = Mutex::new(None);

/// Starts `command` as `user`, in a process group of its own (so that Ctrl-C at the terminal does
/// not reach it), to be killed when this process ends. It runs on the cores of the calling thread,
/// as a child of that thread would.
pub(crate) fn spawn_bound_to_us(mut command: Command, user: &ServerUser) -> io::Result<Child> {
    command.process_group(0);
    become_user(&mut command, user);
    before_exec(&mut command, Bond::DiesWith(getpid()));
    let (answer, child) = channel();
    keeper()?.send((command, sched_getaffinity(None)?, answer)).map_err(|_| keeper_is_gone())?;
    child.recv().map_err(|_| keeper_is_gone())?
}

fn keeper_is_gone() -> io::Error {
    io::Error::other("the thread that starts servers is gone")
}

/// Starts `command` as `user` in a session of its own: neither the end of this process nor of the
/// terminal ends it.
pub(crate) fn spawn_detached(mut command: Command, user: &ServerUser) -> io::Result<Child> {
    become_user(&mut command, user);
    before_exec(&mut command, Bond::OwnSession);
    command.spawn()
}

fn become_user(command: &mut Command, user: &ServerUser) {
    if user.switch {
        // The standard library sets the gid, clears the other groups, sets the uid, and only then
        // runs `pre_exec`.
        command.gid(user.gid).uid(user.uid);
    }
}

fn keeper() -> io::Result<Sender<SpawnRequest>> {
    let mut slot = KEEPER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(sender) = &*slot {
        return Ok(sender.clone());
    }
    let (sender, requests) = channel::<SpawnRequest>();
    thread::Builder::new().name("truetps-keeper".to_owned()).spawn(move || {
        // The static keeps one sender for ever, so this loop ends with the process.
        for (mut command, cores, answer) in requests {
            let child =
                sched_setaffinity(None, &cores).map_err(Into::into).and_then(|()| command.spawn());
            let _ = answer.send(child);
        }
    })?;
    *slot = Some(sender.clone());
    Ok(sender)
}

/// What ties a child to truetps.
#[derive(Debug, Clone, Copy)]
enum Bond {
    /// The id of this process: a child with another parent was orphaned before its request took
    /// effect, and exits.
    DiesWith(Pid),
    /// Not tied.
    OwnSession,
}

// Unsafe, because code between fork and exec may only call what is safe in a signal handler. `tie`
// makes one or two system calls and builds an error without allocating; it takes no lock and
// touches no memory of other threads. There is no safe way to request the signal for a child. The
// test `a_child_dies_with_its_parent` verifies it.
#[allow(unsafe_code)]
fn before_exec(command: &mut Command, bond: Bond) {
    // SAFETY: see above.
    unsafe {
        command.pre_exec(move || tie(bond));
    }
}

fn tie(bond: Bond) -> io::Result<()> {
    let Bond::DiesWith(parent) = bond else { return Ok(setsid().map(drop)?) };
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_child_lives_on_when_the_asking_thread_ends() {
        let ask = || {
            #[allow(clippy::disallowed_methods, reason = "this crate is where processes start")]
            let mut command = Command::new("sleep");
            command.arg("30");
            spawn_bound_to_us(command, &ServerUser::ourselves()).unwrap()
        };
        let mut child = thread::spawn(ask).join().unwrap();
        thread::sleep(Duration::from_millis(100));
        assert!(child.try_wait().unwrap().is_none(), "killed with the thread that asked for it");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_child_runs_on_the_cores_of_who_asked_for_it() {
        let all = sched_getaffinity(None).unwrap();
        let last = (0..CpuSet::MAX_CPU).rfind(|core| all.is_set(*core)).unwrap();
        let mut one = CpuSet::new();
        one.set(last);
        // Threads of their own: their core bindings end with them.
        let cores_of_child = |asker: CpuSet| {
            let ask = move || {
                sched_setaffinity(None, &asker).unwrap();
                #[allow(clippy::disallowed_methods, reason = "this crate is where processes start")]
                let mut command = Command::new("sleep");
                command.arg("30");
                let mut child = spawn_bound_to_us(command, &ServerUser::ourselves()).unwrap();
                let cores = sched_getaffinity(Some(Pid::from_child(&child))).unwrap();
                child.kill().unwrap();
                child.wait().unwrap();
                cores
            };
            thread::spawn(ask).join().unwrap()
        };
        for asker in [one, all] {
            assert!(cores_of_child(asker) == asker);
        }
    }

    #[test]
    fn a_child_of_another_parent_gives_up() {
        #[allow(clippy::disallowed_methods, reason = "this crate is where processes start")]
        let mut command = Command::new("true");
        before_exec(&mut command, Bond::DiesWith(Pid::INIT));
        let error = command.spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::SRCH.raw_os_error()));
    }
}
