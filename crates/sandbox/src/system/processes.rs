//! The processes of this system, from /proc.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// After SIGKILL a process ends once its system calls return; with a stuck disk that may take this
/// long.
pub(crate) const KILL_TIME_LIMIT: Duration = Duration::from_mins(1);

/// Start time of a process, in ticks since boot. Together with the pid it identifies a process
/// uniquely; the pid alone is reused. `None` for a process that has ended, also before its exit
/// status was read.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_start_ticks(&stat)
}

/// State and field 22, counted from the closing bracket of the program's name, which may contain
/// blanks and brackets.
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

/// Whether a process with that start time is completely gone. An ending process has no command
/// line, but holds its files until its last thread has ended.
pub(crate) fn has_ended(pid: u32, ticks: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let Some((is_dead, found)) = stat.as_deref().and_then(parse_stat) else { return true };
    found != ticks || (is_dead && thread_count(pid) <= 1)
}

fn thread_count(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
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

pub(crate) fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Arguments of its command line, separated by zeros.
pub(crate) fn arguments(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
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
        let test = "system::processes::tests::no_process_is_signalled_by_the_number_of_another_pid_namespace";
        run_in_pid_namespace(test, &std::process::id().to_string());
    }
}
