//! Finds the processes that hold a datadir, from /proc.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::children::Children;
use crate::error::SandboxError;
use crate::tree::read_text;

/// After SIGKILL a process ends once its system calls return; with a stuck disk that may take this long.
pub(crate) const KILL_TIME_LIMIT: Duration = Duration::from_mins(1);

/// Start time of a process, in ticks since boot. Together with the pid it identifies a process uniquely; the pid alone
/// is reused. `None` for a process that has ended, also before its exit status was read.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_start_ticks(&stat)
}

/// State and field 22, counted from the closing bracket of the program's name, which may contain blanks and brackets.
fn parse_start_ticks(stat: &str) -> Option<u64> {
    parse_stat(stat).filter(|(is_dead, _)| !is_dead).map(|(_, ticks)| ticks)
}

/// Whether its first thread has ended, and its start time.
fn parse_stat(stat: &str) -> Option<(bool, u64)> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?;
    Some((["Z", "X"].contains(&state), fields.nth(18)?.parse().ok()?))
}

/// Whether a process with that start time is completely gone. An ending process has no command line, but holds its
/// files until its last thread has ended.
fn has_ended(pid: u32, ticks: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let Some((is_dead, found)) = stat.as_deref().and_then(parse_stat) else { return true };
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    found != ticks || (is_dead && threads() <= 1)
}

/// Waits at most `time_limit` until it is. Returns whether it is.
pub(crate) fn wait_until_ended(pid: u32, ticks: u64, time_limit: Duration) -> bool {
    let end = Instant::now() + time_limit;
    while !has_ended(pid, ticks) {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Servers that hold `datadir`: processes with exactly the argument that truetps uses. Zombies have none.
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

/// A server with the datadir and one of `marks` as arguments, and its start time. Only truetps uses the marks, so that
/// a server started by hand on the same data does not match. The start time is read first, so that the arguments belong
/// to the process with that start time.
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

pub(crate) fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// A process that runs a server in `datadir`, however it was started: it has the folder as an argument, or works there
/// with the system tablespace open, or its pid is in the pid file there.
pub(crate) fn holder_of(datadir: &Path) -> Option<u32> {
    let tablespace = datadir.join("ibdata1");
    let noted = read_text(&datadir.join("postmaster.pid"))
        .and_then(|text| text.lines().next()?.parse().ok());
    let works_there = |pid: &u32| {
        let is = |link: &str, path: &Path| {
            fs::read_link(format!("/proc/{pid}/{link}")).is_ok_and(|to| to == path)
        };
        let open =
            || fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().filter_map(Result::ok);
        is("cwd", datadir)
            && (noted == Some(*pid)
                || open().any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == tablespace)))
    };
    processes().find(|pid| holds(*pid, datadir) || works_there(pid))
}

/// Refuses data on which a server runs.
pub(crate) fn check_not_held(datadir: &Path) -> Result<(), SandboxError> {
    holder_of(datadir)
        .map_or(Ok(()), |pid| Err(SandboxError::Held { path: datadir.to_owned(), pid }))
}

fn holds(pid: u32, datadir: &Path) -> bool {
    names_datadir(&arguments(pid), datadir)
}

/// Arguments of its command line, separated by zeros.
pub(crate) fn arguments(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
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

/// Kills the servers that hold `datadir` and waits until they are gone: an ending process has no command line, but
/// holds its files for a moment longer.
pub(crate) fn kill_servers_on(datadir: &Path, time_limit: Duration) -> io::Result<u32> {
    kill_where(|pid| holds(pid, datadir), time_limit)
}

/// The same for servers found by [`server_marked`] only.
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
            // The process is checked again after its handle is opened: a pid that has been reused is never signalled.
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

pub(crate) fn signal_if(pid: u32, signal: Signal, is_it: impl Fn() -> bool) -> io::Result<()> {
    // In another pid namespace a pid in /proc is not the pid that a signal would reach.
    if fs::read_link("/proc/self").ok() != Some(std::process::id().to_string().into()) {
        return Err(io::Error::other(
            "/proc shows the processes of another pid namespace: nothing is signalled",
        ));
    }
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let sent = match pidfd_open(raw, PidfdFlags::empty()) {
        Ok(handle) if is_it() => pidfd_send_signal(&handle, signal),
        Ok(_) | Err(rustix::io::Errno::SRCH) => return Ok(()),
        // Kernels before 5.3 have no such handle.
        Err(_) if is_it() => kill_process(raw, signal),
        Err(_) => return Ok(()),
    };
    match sent {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Run time of a process that started at this tick.
pub(crate) fn running_for(ticks: u64) -> Option<Duration> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let now: f64 = text.split_whitespace().next()?.parse().ok()?;
    let began = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    Duration::try_from_secs_f64(now - began).ok()
}

#[cfg(test)]
mod tests {
    use truetps_testkit::{inside_pid_namespace, run_in_pid_namespace};

    use super::*;

    #[test]
    fn start_time_behind_a_strange_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        assert_eq!(parse_start_ticks(stat), Some(98_765));
        assert_eq!(parse_start_ticks(&stat.replace(" S ", " Z ")), None, "a zombie has ended");
        assert_eq!(parse_start_ticks(""), None);
        assert!(start_ticks(std::process::id()).is_some());
    }

    /// A process with the argument of a server. It waits for a line that never comes, and starts no process that also
    /// matches. It is killed also after a failed assertion.
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

    /// /proc there shows the outer namespace: its pids are other processes inside.
    #[test]
    fn no_process_is_signalled_by_the_number_of_another_pid_namespace() {
        if let Some(outer) = inside_pid_namespace() {
            let outer: u32 = outer.parse().unwrap();
            assert!(start_ticks(outer).is_some(), "seen, but not in this namespace");
            let ours = std::process::id();
            let error = signal_if(ours, Signal::CONT, || true).unwrap_err();
            assert!(error.to_string().contains("another pid namespace"), "{error}");
            return;
        }
        let test =
            "processes::tests::no_process_is_signalled_by_the_number_of_another_pid_namespace";
        run_in_pid_namespace(test, &std::process::id().to_string());
    }

    #[test]
    fn an_unknown_folder_has_no_holder() {
        assert_eq!(servers_on(Path::new("/no/such/data")), Vec::<u32>::new());
    }
}
