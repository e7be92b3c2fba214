//! The servers on a datadir, found by their arguments in /proc.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::children::Children;
use super::processes::{arguments, has_ended, processes, signal_if, start_ticks};
use super::tree::read_text;
use crate::error::SandboxError;

/// Servers that hold `datadir`: processes with exactly the argument that truetps uses. Zombies have
/// none.
pub(crate) fn servers_on(datadir: &Path) -> Vec<u32> {
    processes().filter(|pid| holds(*pid, datadir)).collect()
}

/// Arguments of servers started in this folder, of one family each.
pub(crate) fn marks(folder: &Path) -> [OsString; 2] {
    [("--pid-file=", "run/pid"), ("--config-file=", "options")]
        .map(|(option, name)| option_with(option, &folder.join(name)))
}

/// A path as the end of an argument.
pub(crate) fn option_with(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}

/// A server with the datadir and one of `marks` as arguments, and its start time. Only truetps uses
/// the marks, so that a server started by hand on the same data does not match. The start time is
/// read first, so that the arguments belong to the process with that start time.
pub(crate) fn server_marked(datadir: &Path, marks: &[OsString]) -> Option<(u32, u64)> {
    processes().filter(|pid| is_marked(*pid, datadir, marks)).find_map(|pid| {
        let ticks = start_ticks(pid)?;
        (is_marked(pid, datadir, marks) && start_ticks(pid) == Some(ticks)).then_some((pid, ticks))
    })
}

fn is_marked(pid: u32, datadir: &Path, marks: &[OsString]) -> bool {
    let arguments = arguments(pid);
    names_datadir(&arguments, datadir) && has_any(&arguments, marks)
}

/// A process that runs a server in `datadir`, however it was started: it has the folder as an
/// argument, or works there with the system tablespace open, or its pid is in the pid file there.
pub(crate) fn holder_of(datadir: &Path) -> Option<u32> {
    let noted = read_text(&datadir.join("postmaster.pid"))
        .and_then(|text| text.lines().next()?.parse().ok());
    processes().find(|pid| {
        holds(*pid, datadir)
            || works_in(*pid, datadir)
                && (noted == Some(*pid) || has_open(*pid, &datadir.join("ibdata1")))
    })
}

fn works_in(pid: u32, folder: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|to| to == folder)
}

fn has_open(pid: u32, file: &Path) -> bool {
    let mut open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == file))
}

/// Refuses data on which a server runs.
pub(crate) fn check_not_held(datadir: &Path) -> Result<(), SandboxError> {
    holder_of(datadir)
        .map_or(Ok(()), |pid| Err(SandboxError::Held { path: datadir.to_owned(), pid }))
}

fn holds(pid: u32, datadir: &Path) -> bool {
    names_datadir(&arguments(pid), datadir)
}

/// The argument in each family; child processes of a PostgreSQL show other titles.
fn names_datadir(arguments: &[u8], datadir: &Path) -> bool {
    has_any(arguments, &["--datadir=", "-D"].map(|option| option_with(option, datadir)))
}

fn has_any(arguments: &[u8], wanted: &[OsString]) -> bool {
    arguments
        .split(|byte| *byte == 0)
        .any(|argument| wanted.iter().any(|wanted| argument == wanted.as_bytes()))
}

/// Kills the servers that hold `datadir` and waits until they are gone: an ending process has no
/// command line, but holds its files for a moment longer.
pub(crate) fn kill_servers_on(datadir: &Path, time_limit: Duration) -> io::Result<u32> {
    kill_where(|pid| holds(pid, datadir), time_limit)
}

/// Like [`kill_servers_on`], for servers that [`server_marked`] finds.
pub(crate) fn kill_marked(
    datadir: &Path,
    marks: &[OsString],
    time_limit: Duration,
) -> io::Result<u32> {
    kill_where(|pid| is_marked(pid, datadir, marks), time_limit)
}

fn kill_where(is_one: impl Fn(u32) -> bool, time_limit: Duration) -> io::Result<u32> {
    let end = Instant::now() + time_limit;
    let mut killed: Vec<(u32, u64)> = Vec::new();
    let mut was_quiet = false;
    loop {
        let alive: Vec<_> = processes().filter(|pid| is_one(*pid)).collect();
        let is_quiet =
            alive.is_empty() && killed.iter().all(|(pid, ticks)| has_ended(*pid, *ticks));
        // Two checks: during exec a process has no arguments for a moment.
        if is_quiet && was_quiet {
            return Ok(killed.len() as u32);
        }
        was_quiet = is_quiet;
        for pid in alive {
            let Some(ticks) = start_ticks(pid) else { continue };
            let children = Children::of(pid, ticks);
            // The process is checked again after its handle is opened: a pid that has been reused
            // is never signalled.
            signal_if(pid, Signal::KILL, || is_one(pid))?;
            children.kill(end.saturating_duration_since(Instant::now()));
            if !killed.contains(&(pid, ticks)) {
                killed.push((pid, ticks));
            }
        }
        if Instant::now() >= end {
            let pids: Vec<_> = killed.iter().map(|(pid, _)| pid).collect();
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("process {pids:?} did not end"),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process with that start time is alive, and is a server on this datadir.
pub(crate) fn is_server(pid: u32, ticks: u64, datadir: &Path) -> bool {
    start_ticks(pid) == Some(ticks) && holds(pid, datadir)
}

/// Signals the process checked by [`is_server`], and no other.
pub(crate) fn signal_server(
    pid: u32,
    ticks: u64,
    datadir: &Path,
    signal: Signal,
) -> io::Result<()> {
    signal_if(pid, signal, || is_server(pid, ticks, datadir))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process with the argument of a server. It waits for a line that never comes, and starts no
    /// process that also matches. It is killed also after a failed assertion.
    struct LooksLikeOne(std::process::Child);

    impl LooksLikeOne {
        fn on(datadir: &str) -> Self {
            #[allow(clippy::disallowed_methods, reason = "a process to look at")]
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "read line; :", "sh", &format!("--datadir={datadir}")]);
            Self(command.stdin(std::process::Stdio::piped()).spawn().unwrap())
        }
    }

    impl Drop for LooksLikeOne {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_is_a_server_by_number_moment_and_folder() {
        let mut server = LooksLikeOne::on("/no/such/data-of-a-test");
        let (pid, datadir, other) =
            (server.0.id(), Path::new("/no/such/data-of-a-test"), Path::new("/no/such/data-of-a"));
        let ticks = start_ticks(pid).unwrap();
        let began = Instant::now();
        while !is_server(pid, ticks, datadir) {
            assert!(began.elapsed() < Duration::from_mins(1), "its arguments are not there");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (mark, another) = ([OsString::from("sh")], [OsString::from("--pid-file=/no/such/pid")]);
        assert_eq!(server_marked(datadir, &mark), Some((pid, ticks)));
        assert_eq!((server_marked(datadir, &another), server_marked(other, &mark)), (None, None));
        assert_eq!((holder_of(datadir), holder_of(other)), (Some(pid), None));
        assert!(!is_server(pid, ticks + 1, datadir) && !is_server(pid, ticks, other));
        assert!(!has_ended(pid, ticks) && has_ended(pid, ticks + 1));
        for (ticks, datadir) in [(ticks + 1, datadir), (ticks, other)] {
            signal_server(pid, ticks, datadir, Signal::KILL).unwrap();
        }
        assert_eq!(kill_servers_on(other, Duration::from_secs(1)).unwrap(), 0);
        assert_eq!(kill_marked(datadir, &another, Duration::from_secs(1)).unwrap(), 0);
        assert!(server.0.try_wait().unwrap().is_none(), "signalled, though it is another one");
        signal_server(pid, ticks, datadir, Signal::KILL).unwrap();
        server.0.wait().unwrap();
        assert!(
            has_ended(pid, ticks)
                && !is_server(pid, ticks, datadir)
                && holder_of(datadir).is_none()
        );
        signal_server(pid, ticks, datadir, Signal::KILL).unwrap();
    }

    #[test]
    fn an_unknown_folder_has_no_holder() {
        assert_eq!(servers_on(Path::new("/no/such/data")), Vec::<u32>::new());
    }
}
