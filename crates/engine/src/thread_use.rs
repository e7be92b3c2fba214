//! What a thread of the generator uses: its CPU time, and the time that it waits for a core.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::time::{ClockId, clock_gettime};

/// What the calling thread has used. To be asked by that thread alone.
#[derive(Debug)]
pub struct ThreadUse {
    /// `/proc/thread-self/schedstat`: CPU time, time spent waiting for a core (both in nanoseconds), time slices.
    schedstat: Option<File>,
    cpu_ns: u64,
    wait_ns: u64,
}

impl ThreadUse {
    /// From now on.
    #[expect(clippy::new_without_default, reason = "it begins at a moment, which is no default")]
    pub fn new() -> Self {
        let mut usage = Self { schedstat: File::open("/proc/thread-self/schedstat").ok(), cpu_ns: 0, wait_ns: 0 };
        usage.since_last();
        usage
    }

    /// CPU time and waiting time since the last call, in nanoseconds. The wait is 0 where the kernel does not say.
    pub fn since_last(&mut self) -> (u64, u64) {
        let (cpu_ns, wait_ns) = (thread_cpu_ns(), self.waited_ns().unwrap_or(self.wait_ns));
        let since = (cpu_ns.saturating_sub(self.cpu_ns), wait_ns.saturating_sub(self.wait_ns));
        (self.cpu_ns, self.wait_ns) = (cpu_ns, wait_ns);
        since
    }

    /// Whether the kernel says how long the thread waits for a core.
    pub(crate) fn sees_waits(&self) -> bool {
        self.schedstat.is_some()
    }

    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
