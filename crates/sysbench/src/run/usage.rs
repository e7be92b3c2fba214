//! The threads' resource use in the measured time: CPU time, time waiting for a core, and context switches.
//!
//! A thread can only read its own use. The watching thread announces each new period by a number; the others check it
//! between events, and add their use since their last check.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use truetps_measure::{ThreadTime, ThreadUse};

/// Nothing is added before the measured time.
const NOT_MEASURED: u32 = 0;

#[derive(Debug, Default)]
struct WorkerUsage {
    cpu_ns: AtomicU64,
    wait_ns: AtomicU64,
    switches: AtomicU64,
    /// The kernel reports neither waits nor switches.
    is_wait_unknown: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Usage {
    workers: Box<[WorkerUsage]>,
    /// [`NOT_MEASURED`], or a number that grows during the measured time.
    round: AtomicU32,
}

/// Of one thread.
struct ThreadMeter {
    usage: ThreadUse,
    worker: usize,
    round: u32,
}

thread_local! {
    static METER: RefCell<Option<ThreadMeter>> = const { RefCell::new(None) };
}

impl Usage {
    pub(crate) fn new(workers: u32) -> Self {
        Self { workers: (0..workers).map(|_| WorkerUsage::default()).collect(), round: AtomicU32::new(NOT_MEASURED) }
    }

    /// Begins the measured time, or a further period of it.
    pub(crate) fn next_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling thread is this worker.
    pub(crate) fn enter(&self, worker: usize) {
        let round = self.round.load(Ordering::Relaxed);
        METER.set(Some(ThreadMeter { usage: ThreadUse::new(), worker, round }));
    }

    /// Adds the calling thread's use, if a new period has begun. Its cost is close to zero otherwise.
    pub(crate) fn add_if_asked(&self) {
        let round = self.round.load(Ordering::Relaxed);
        METER.with_borrow_mut(|meter| {
            if let Some(meter) = meter.as_mut().filter(|meter| meter.round != round) {
                self.add(meter);
                meter.round = round;
            }
        });
    }

    /// The calling thread ends.
    pub(crate) fn leave(&self) {
        if let Some(mut meter) = METER.take() {
            self.add(&mut meter);
        }
    }

    fn add(&self, meter: &mut ThreadMeter) {
        let used = meter.usage.since_last();
        if meter.round == NOT_MEASURED {
            return;
        }
        if let Some(worker) = self.workers.get(meter.worker) {
            worker.cpu_ns.fetch_add(used.cpu_ns, Ordering::Relaxed);
            match used.wait_ns.zip(used.switches) {
                Some((wait_ns, switches)) => {
                    worker.wait_ns.fetch_add(wait_ns, Ordering::Relaxed);
                    worker.switches.fetch_add(switches, Ordering::Relaxed);
                }
                None => worker.is_wait_unknown.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Times of each worker so far.
    pub(crate) fn read(&self) -> Vec<ThreadTime> {
        let read = |worker: &WorkerUsage| {
            let known = |count: &AtomicU64| {
                (!worker.is_wait_unknown.load(Ordering::Relaxed)).then(|| count.load(Ordering::Relaxed))
            };
            ThreadTime {
                cpu_ns: worker.cpu_ns.load(Ordering::Relaxed),
                wait_ns: known(&worker.wait_ns),
                switches: known(&worker.switches),
            }
        };
        self.workers.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn work() {
        for n in 0..2_000_000_u64 {
            black_box(n);
        }
    }

    #[test]
    fn what_was_used_before_the_measured_time_does_not_count() {
        let usage = Usage::new(2);
        usage.enter(1);
        work();
        usage.add_if_asked();
        usage.next_round();
        usage.add_if_asked();
        assert_eq!(usage.read(), [ThreadTime::ZERO; 2]);
        work();
        usage.add_if_asked();
        assert_eq!(usage.read(), [ThreadTime::ZERO; 2], "the same part still runs");
        usage.leave();
        let used = usage.read();
        assert!(used[0] == ThreadTime::ZERO && used[1].cpu_ns > 0, "{used:?}");
        // A thread that is not a worker is not counted.
        usage.add_if_asked();
        usage.leave();
        assert_eq!(usage.read(), used);
    }
}
