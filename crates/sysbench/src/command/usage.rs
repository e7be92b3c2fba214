//! The threads' resource use in the measured time: CPU time, time waiting for a core, and context
//! switches; and how long answers waited for the turn of their client.
//!
//! A thread can only read its own use. The watching thread announces each new period by a number;
//! the others check it between events, and add their use since their last check.

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
    ready_least_ns: AtomicU64,
    ready_most_ns: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Usage {
    workers: Box<[WorkerUsage]>,
    /// [`NOT_MEASURED`], or a number that grows during the measured time.
    round: AtomicU32,
}

/// The meter of one thread.
struct ThreadMeter {
    usage: ThreadUse,
    worker: usize,
    round: u32,
    /// Shortest and longest time that answers lay ready, since the last check.
    ready_ns: (u64, u64),
}

thread_local! {
    static METER: RefCell<Option<ThreadMeter>> = const { RefCell::new(None) };
}

impl Usage {
    pub(crate) fn new(workers: u32) -> Self {
        Self {
            workers: (0..workers).map(|_| WorkerUsage::default()).collect(),
            round: AtomicU32::new(NOT_MEASURED),
        }
    }

    /// Begins the measured time, or a further period of it.
    pub(crate) fn next_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling thread is this worker.
    pub(crate) fn enter(&self, worker: usize) {
        let round = self.round.load(Ordering::Relaxed);
        METER.set(Some(ThreadMeter { usage: ThreadUse::new(), worker, round, ready_ns: (0, 0) }));
    }

    /// Adds the calling thread's use, if a new period has begun. Its cost is close to zero
    /// otherwise.
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
        let (ready_least_ns, ready_most_ns) = std::mem::take(&mut meter.ready_ns);
        if meter.round == NOT_MEASURED {
            return;
        }
        if let Some(worker) = self.workers.get(meter.worker) {
            worker.cpu_ns.fetch_add(used.cpu_ns, Ordering::Relaxed);
            worker.ready_least_ns.fetch_add(ready_least_ns, Ordering::Relaxed);
            worker.ready_most_ns.fetch_add(ready_most_ns, Ordering::Relaxed);
            match used.wait_ns.zip(used.switches) {
                Some((wait_ns, switches)) => {
                    worker.wait_ns.fetch_add(wait_ns, Ordering::Relaxed);
                    worker.switches.fetch_add(switches, Ordering::Relaxed);
                }
                None => worker.is_wait_unknown.store(true, Ordering::Relaxed),
            }
        }
    }

    /// The shortest and the longest time that answers of all clients lay ready together.
    pub(crate) fn answers_ready_ns(&self) -> (u64, u64) {
        self.workers.iter().fold((0, 0), |(least_ns, most_ns), worker| {
            (
                least_ns + worker.ready_least_ns.load(Ordering::Relaxed),
                most_ns + worker.ready_most_ns.load(Ordering::Relaxed),
            )
        })
    }

    /// Times of each worker so far.
    pub(crate) fn read(&self) -> Vec<ThreadTime> {
        self.workers.iter().map(WorkerUsage::read).collect()
    }
}

impl WorkerUsage {
    fn read(&self) -> ThreadTime {
        let is_known = !self.is_wait_unknown.load(Ordering::Relaxed);
        ThreadTime {
            cpu_ns: self.cpu_ns.load(Ordering::Relaxed),
            wait_ns: is_known.then(|| self.wait_ns.load(Ordering::Relaxed)),
            switches: is_known.then(|| self.switches.load(Ordering::Relaxed)),
        }
    }
}

/// An answer to a client of the calling thread lay ready for so long, at least and at most.
pub(crate) fn answer_was_ready(ready_ns: (u64, u64)) {
    METER.with_borrow_mut(|meter| {
        if let Some(meter) = meter {
            meter.ready_ns.0 += ready_ns.0;
            meter.ready_ns.1 += ready_ns.1;
        }
    });
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
        answer_was_ready((1, 2));
        usage.add_if_asked();
        usage.next_round();
        usage.add_if_asked();
        assert_eq!(
            (usage.read().as_slice(), usage.answers_ready_ns()),
            (&[ThreadTime::ZERO; 2][..], (0, 0))
        );
        work();
        answer_was_ready((10, 20));
        answer_was_ready((100, 200));
        usage.add_if_asked();
        assert_eq!(usage.read(), [ThreadTime::ZERO; 2], "the same part still runs");
        usage.leave();
        let used = usage.read();
        assert!(used[0] == ThreadTime::ZERO && used[1].cpu_ns > 0, "{used:?}");
        assert_eq!(usage.answers_ready_ns(), (110, 220));
        // A thread that is not a worker is not counted.
        usage.add_if_asked();
        usage.leave();
        assert_eq!(usage.read(), used);
    }
}
