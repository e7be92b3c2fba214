//! Processes that a server has started: PostgreSQL has one for each session. They are in groups of their own, so that no
//! signal to the server's group reaches them. When the server is killed they notice it and end, one that computes when it
//! next waits; here nothing is left to chance.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::processes::{has_ended, processes, signal_if, start_ticks};

/// Process numbers with their start ticks.
#[derive(Debug, Default)]
pub(crate) struct Children(Vec<(u32, u64)>);

impl Children {
    /// To be asked while the server lives: afterwards nobody knows whose they were.
    pub(crate) fn of(server: u32) -> Self {
        let is_child = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            parent(&stat) == Some(server)
        };
        Self(processes().filter(is_child).filter_map(|pid| Some((pid, start_ticks(pid)?))).collect())
    }

    /// Kills those that are left and waits until they are gone, for a bounded time: a server that starts on data which one
    /// of them still holds says so itself.
    pub(crate) fn kill(&self, time_limit: Duration) {
        for (pid, ticks) in &self.0 {
            let _ = signal_if(*pid, Signal::KILL, || start_ticks(*pid) == Some(*ticks));
        }
        let began = Instant::now();
        while self.0.iter().any(|(pid, ticks)| !has_ended(*pid, *ticks)) && began.elapsed() < time_limit {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Field 4, counted from the closing bracket of the program's name.
fn parent(stat: &str) -> Option<u32> {
    stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_and_killed() {
        assert_eq!(parent("42 (a) b (c) S 7 42 42"), Some(7));
        #[allow(clippy::disallowed_methods, reason = "this crate is where processes start")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let children = Children::of(std::process::id());
        assert!(children.0.iter().any(|(pid, _)| *pid == child.id()), "{children:?}");
        // Others of this process are those of other tests.
        let ours = Children(children.0.into_iter().filter(|(pid, _)| *pid == child.id()).collect());
        ours.kill(Duration::from_secs(10));
        assert!(!child.wait().unwrap().success());
    }
}
