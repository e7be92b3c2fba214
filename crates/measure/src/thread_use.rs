//! CPU time of a generator thread, and the time that it waits for a core.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::time::{ClockId, clock_gettime};

/// CPU use of the calling thread. Only that thread may read it.
#[derive(Debug)]
pub struct ThreadUse {
    /// `/proc/thread-self/schedstat`: CPU time, time spent waiting for a core (both in nanoseconds), time slices.
    schedstat: Option<File>,
    cpu_ns: u64,
    wait_ns: u64,
}

impl ThreadUse {
    /// Starts now.
    #[expect(clippy::new_without_default, reason = "it begins at a moment, which is no default")]
    pub fn new() -> Self {
        let mut usage = Self { schedstat: File::open("/proc/thread-self/schedstat").ok(), cpu_ns: 0, wait_ns: 0 };
        usage.since_last();
        usage
    }

    /// CPU time and waiting time since the last call, in nanoseconds. The wait is 0 if the kernel does not report it.
    pub fn since_last(&mut self) -> (u64, u64) {
        let (cpu_ns, wait_ns) = (thread_cpu_ns(), self.waited_ns().unwrap_or(self.wait_ns));
        let since = (cpu_ns.saturating_sub(self.cpu_ns), wait_ns.saturating_sub(self.wait_ns));
        (self.cpu_ns, self.wait_ns) = (cpu_ns, wait_ns);
        since
    }

    /// Whether the kernel reports how long the thread waits for a core.
    pub fn sees_waits(&self) -> bool {
        self.schedstat.is_some()
    }

    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

/// Splits a thread's use between periods whose end is noticed late: the use since the last reading is divided by their
/// lengths.
#[derive(Debug)]
pub(crate) struct SplitUse {
    usage: ThreadUse,
    /// Everything before this time has been assigned.
    from_ns: u64,
    cpu_ns: u64,
    wait_ns: u64,
}

impl SplitUse {
    pub(crate) fn new(from_ns: u64) -> Self {
        Self { usage: ThreadUse::new(), from_ns, cpu_ns: 0, wait_ns: 0 }
    }

    /// CPU time and waiting time up to `end_ns`, in nanoseconds, as read at `now_ns`.
    pub(crate) fn up_to(&mut self, end_ns: u64, now_ns: u64) -> (u64, u64) {
        let (cpu_ns, wait_ns) = self.usage.since_last();
        self.cpu_ns += cpu_ns;
        self.wait_ns += wait_ns;
        self.split_at(end_ns, now_ns)
    }

    fn split_at(&mut self, end_ns: u64, now_ns: u64) -> (u64, u64) {
        let (length_ns, seen_ns) = (end_ns.saturating_sub(self.from_ns), now_ns.saturating_sub(self.from_ns));
        let share = if seen_ns > length_ns { length_ns as f64 / seen_ns as f64 } else { 1.0 };
        // No thread runs or waits for longer than the elapsed time; the kernel's clocks differ by a little.
        let part = |all_ns: &mut u64| {
            let part_ns = ((*all_ns as f64 * share) as u64).min(*all_ns);
            *all_ns -= part_ns;
            part_ns.min(length_ns)
        };
        self.from_ns = end_ns.max(self.from_ns);
        (part(&mut self.cpu_ns), part(&mut self.wait_ns))
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that sees the end of a second 4 s late has not waited for a CPU for 5 s of that second.
    #[test]
    fn what_is_seen_late_goes_to_the_time_that_it_was_used_in() {
        const S: u64 = 1_000_000_000;
        let mut split = SplitUse::new(0);
        (split.cpu_ns, split.wait_ns) = (S / 2, 4 * S);
        assert_eq!(split.split_at(S, 5 * S), (S / 10, 4 * S / 5));
        assert_eq!(split.split_at(3 * S, 5 * S), (S / 5, 8 * S / 5));
        assert_eq!(split.split_at(5 * S, 5 * S), (S / 5, 8 * S / 5));
        assert_eq!(split.split_at(6 * S, 6 * S), (0, 0));
        split.wait_ns = 2 * S;
        assert_eq!(split.split_at(7 * S, 7 * S), (0, S), "a share is 1 at most");
    }
}
