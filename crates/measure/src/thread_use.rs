//! CPU time of a generator thread, the time that it waits for a core, and its context switches.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::time::{ClockId, clock_gettime};

/// Times of a thread in some period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTime {
    pub cpu_ns: u64,
    /// The thread was ready to run and waited for a core. `None`: the kernel does not report it.
    pub wait_ns: Option<u64>,
    /// Context switches, of its own will or not: how often it got a core. `None`: the kernel does
    /// not report it.
    pub switches: Option<u64>,
}

impl ThreadTime {
    pub const ZERO: Self = Self { cpu_ns: 0, wait_ns: Some(0), switches: Some(0) };

    /// Unknown where one of both is.
    pub(crate) fn add(&mut self, other: Self) {
        self.cpu_ns += other.cpu_ns;
        self.wait_ns = self.wait_ns.zip(other.wait_ns).map(|(one_ns, other_ns)| one_ns + other_ns);
        self.switches = self.switches.zip(other.switches).map(|(one, other)| one + other);
    }
}

/// CPU use of the calling thread. Only that thread may read it.
#[derive(Debug)]
pub struct ThreadUse {
    /// `/proc/thread-self/schedstat`: CPU time, time spent waiting for a core (both in
    /// nanoseconds), time slices.
    schedstat: Option<File>,
    last: ThreadTime,
}

impl ThreadUse {
    /// Starts now.
    #[expect(clippy::new_without_default, reason = "it begins at a moment, which is no default")]
    pub fn new() -> Self {
        let mut usage = Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            last: ThreadTime::ZERO,
        };
        usage.since_last();
        usage
    }

    /// Since the last call.
    pub fn since_last(&mut self) -> ThreadTime {
        let (wait_ns, switches) = self.waits_and_slices().unzip();
        let now = ThreadTime { cpu_ns: thread_cpu_ns(), wait_ns, switches };
        let last = std::mem::replace(&mut self.last, now);
        ThreadTime {
            cpu_ns: now.cpu_ns.saturating_sub(last.cpu_ns),
            wait_ns: now.wait_ns.zip(last.wait_ns).map(|(now, last)| now.saturating_sub(last)),
            switches: now.switches.zip(last.switches).map(|(now, last)| now.saturating_sub(last)),
        }
    }

    /// Each switch to another thread ends a time slice, so that slices count switches.
    fn waits_and_slices(&self) -> Option<(u64, u64)> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let mut fields =
            std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    }
}

/// Splits a thread's use between periods whose end is noticed late: the use since the last reading
/// is divided by their lengths.
#[derive(Debug)]
pub(crate) struct SplitUse {
    usage: ThreadUse,
    /// Everything before this time has been assigned.
    from_ns: u64,
    unassigned: ThreadTime,
}

impl SplitUse {
    pub(crate) fn new(from_ns: u64) -> Self {
        Self { usage: ThreadUse::new(), from_ns, unassigned: ThreadTime::ZERO }
    }

    /// Times up to `end_ns`, as read at `now_ns`.
    pub(crate) fn up_to(&mut self, end_ns: u64, now_ns: u64) -> ThreadTime {
        self.unassigned.add(self.usage.since_last());
        self.split_at(end_ns, now_ns)
    }

    fn split_at(&mut self, end_ns: u64, now_ns: u64) -> ThreadTime {
        let (length_ns, seen_ns) =
            (end_ns.saturating_sub(self.from_ns), now_ns.saturating_sub(self.from_ns));
        let share = if seen_ns > length_ns { length_ns as f64 / seen_ns as f64 } else { 1.0 };
        self.from_ns = end_ns.max(self.from_ns);
        let ThreadTime { cpu_ns, wait_ns, switches } = &mut self.unassigned;
        // No thread runs or waits for longer than the elapsed time; the kernel's clocks differ by a
        // little.
        ThreadTime {
            cpu_ns: take_share(cpu_ns, share).min(length_ns),
            wait_ns: wait_ns.as_mut().map(|all_ns| take_share(all_ns, share).min(length_ns)),
            switches: switches.as_mut().map(|all| take_share(all, share)),
        }
    }
}

/// Takes a share of a number, and leaves the rest.
fn take_share(all: &mut u64, share: f64) -> u64 {
    let part = ((*all as f64 * share) as u64).min(*all);
    *all -= part;
    part
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that sees the end of a second 4 s late has not waited for a CPU for 5 s of that
    /// second.
    #[test]
    fn what_is_seen_late_goes_to_the_time_that_it_was_used_in() {
        const S: u64 = 1_000_000_000;
        let mut split = SplitUse::new(0);
        let time =
            |cpu_ns, wait_ns| ThreadTime { cpu_ns, wait_ns: Some(wait_ns), switches: Some(0) };
        split.unassigned = ThreadTime { switches: Some(1000), ..time(S / 2, 4 * S) };
        let with = |switches, time: ThreadTime| ThreadTime { switches: Some(switches), ..time };
        assert_eq!(split.split_at(S, 5 * S), with(200, time(S / 10, 4 * S / 5)));
        assert_eq!(split.split_at(3 * S, 5 * S), with(400, time(S / 5, 8 * S / 5)));
        assert_eq!(split.split_at(5 * S, 5 * S), with(400, time(S / 5, 8 * S / 5)));
        assert_eq!(split.split_at(6 * S, 6 * S), ThreadTime::ZERO);
        split.unassigned.wait_ns = Some(2 * S);
        assert_eq!(split.split_at(7 * S, 7 * S), time(0, S), "a share is 1 at most");
    }

    /// Its own count of a thread, which ends with the thread, and the kernel's.
    #[test]
    fn switches_match_the_kernels_count() {
        let counted = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let field = |line: &str| {
                line.split_once("ctxt_switches:").and_then(|(_, n)| n.trim().parse::<u64>().ok())
            };
            status.lines().filter_map(field).sum::<u64>()
        };
        let (before, mut usage) = (counted(), ThreadUse::new());
        for _ in 0..50 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let (found, all) = (usage.since_last().switches.unwrap(), counted() - before);
        assert!(found >= 50 && found <= all + 1 && all <= found + 5, "{found} {all}");
    }

    #[test]
    fn waits_that_the_kernel_does_not_report_are_unknown() {
        let mut usage = ThreadUse { schedstat: None, last: ThreadTime::ZERO };
        let used = usage.since_last();
        assert_eq!((used.wait_ns, used.switches), (None, None));
        let mut split = SplitUse { usage, from_ns: 0, unassigned: ThreadTime::ZERO };
        assert_eq!(split.up_to(10, 10).wait_ns, None);
    }
}
