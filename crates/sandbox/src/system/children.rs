//! Processes started by a server: PostgreSQL has one for each session. Each is in a process group
//! of its own, so that a signal to the server's group does not reach it. When the server is killed,
//! a child ends as soon as it notices, which for a busy one is its next wait; therefore truetps
//! kills them.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::system::processes::{processes, signal_if, start_ticks, wait_until_ended};

/// Process ids with their start ticks.
#[derive(Debug, Default)]
pub(crate) struct Children(Vec<(u32, u64)>);

impl Children {
    /// The list must be read while the server lives: afterwards the parent is unknown. Empty if the
    /// server ended and another process has its pid.
    pub(crate) fn of(pid: u32, ticks: u64) -> Self {
        let children = Self::of_number(pid);
        // Read after the list: if the pid belongs to another process now, the list may be that
        // process's.
        let is_another = start_ticks(pid).is_some_and(|found| found != ticks);
        if is_another { Self::default() } else { children }
    }

    /// Children of a process started by truetps: its pid is not reused until it has been waited
    /// for.
    pub(crate) fn of_child(child: &mut Child) -> Self {
        if matches!(child.try_wait(), Ok(None)) {
            Self::of_number(child.id())
        } else {
            Self::default()
        }
    }

    fn of_number(server: u32) -> Self {
        let children = processes().filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            parent(&stat) == Some(server)
        });
        Self(children.filter_map(|pid| Some((pid, start_ticks(pid)?))).collect())
    }

    /// Kills the remaining ones and waits until they are gone, for a limited time: a server that
    /// starts on data which a process still holds reports that itself.
    pub(crate) fn kill(&self, time_limit: Duration) {
        for (pid, ticks) in &self.0 {
            let _ = signal_if(*pid, Signal::KILL, || start_ticks(*pid) == Some(*ticks));
        }
        let end = Instant::now() + time_limit;
        for (pid, ticks) in &self.0 {
            wait_until_ended(*pid, *ticks, end.saturating_duration_since(Instant::now()));
        }
    }
}

/// Field 4, counted from the closing bracket of the program's name.
fn parent(stat: &str) -> Option<u32> {
    stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn children_are_found_and_killed() {
        assert_eq!(parent("42 (a) b (c) S 7 42 42"), Some(7));
        #[allow(clippy::disallowed_methods, reason = "this crate is where processes start")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let us = std::process::id();
        let ticks = start_ticks(us).unwrap();
        assert!(
            Children::of(us, ticks + 1).0.is_empty(),
            "of another process that had this number"
        );
        let children = Children::of(us, ticks);
        assert!(children.0.iter().any(|(pid, _)| *pid == child.id()), "{children:?}");
        // Other children of this process belong to other tests.
        let ours = Children(children.0.into_iter().filter(|(pid, _)| *pid == child.id()).collect());
        ours.kill(Duration::from_secs(10));
        assert!(!child.wait().unwrap().success());
    }
    #[test]
    fn a_child_that_was_waited_for_has_no_number_any_more() {
        #[allow(clippy::disallowed_methods, reason = "this crate is where processes start")]
        let shell =
            |script: &str| std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        // A child that it has not waited for keeps its pid, so that no other process can have it.
        let mut child = shell("sleep 60; :");
        let began = Instant::now();
        while Children::of_child(&mut child).0.is_empty()
            && began.elapsed() < Duration::from_mins(1)
        {
            thread::sleep(Duration::from_millis(1));
        }
        let children = Children::of_child(&mut child);
        assert_eq!(children.0.len(), 1, "{children:?}");
        children.kill(Duration::from_mins(1));
        child.wait().unwrap();
        assert!(Children::of_child(&mut child).0.is_empty());
    }
}
