//! Starts programs as another user, which end when the test ends.
//!
//! `setpriv` of util-linux requests the kernel's parent-death signal, so that no unsafe code is
//! needed here. Linux sends it when the *thread* that created the child ends; so one thread that
//! never ends creates all children, and several tests may share a server. Without `setpriv`, only
//! dropping the server ends it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::os_user::OsUser;

/// The server's signal for an immediate shutdown: it ends its processes and releases its shared
/// memory.
const DEATH_SIGNAL: &str = "QUIT";

type TestSpawnRequest = (Command, Sender<io::Result<Child>>);

static KEEPER: Mutex<Option<Sender<TestSpawnRequest>>> = Mutex::new(None);

/// A command that runs `program` as `user`, in a process group of its own.
pub(crate) fn command(program: &Path, user: Option<OsUser>) -> Command {
    let mut command = if let Some(setpriv) = setpriv() {
        let mut command = new_command(setpriv);
        if let Some(user) = user {
            command.arg(format!("--reuid={}", user.uid)).arg(format!("--regid={}", user.gid));
            command.arg("--clear-groups");
        }
        command.args(["--pdeathsig", DEATH_SIGNAL, "--"]).arg(program);
        command
    } else {
        let mut command = new_command(program);
        if let Some(user) = user {
            command.gid(user.gid).uid(user.uid);
        }
        command
    };
    command.process_group(0);
    command
}

#[allow(clippy::disallowed_methods, reason = "the servers of tests start here")]
fn new_command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

fn setpriv() -> Option<&'static Path> {
    ["/usr/bin/setpriv", "/bin/setpriv"].into_iter().map(Path::new).find(|path| path.is_file())
}

/// Starts it in a thread that lives as long as this process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let (answer, child) = channel();
    keeper()?.send((command, answer)).map_err(|_| keeper_is_gone())?;
    child.recv().map_err(|_| keeper_is_gone())?
}

fn keeper_is_gone() -> io::Error {
    io::Error::other("the thread that starts servers is gone")
}

fn keeper() -> io::Result<Sender<TestSpawnRequest>> {
    let mut slot = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*slot {
        return Ok(sender.clone());
    }
    let (sender, requests) = channel::<TestSpawnRequest>();
    thread::Builder::new().name("testkit-keeper".to_owned()).spawn(move || {
        // The static keeps one sender for ever, so this loop ends with the process.
        for (mut command, answer) in requests {
            let _ = answer.send(command.spawn());
        }
    })?;
    *slot = Some(sender.clone());
    Ok(sender)
}
