//! One worker's counters: what it does for each transaction must cost next to nothing.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use rustix::time::{ClockId, clock_gettime};
use truetps_record::{Counts, ErrorTally, Histogram, Phase, new_histogram};

use crate::timeline::{Slice, Timeline};

/// One worker's share of one interval.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) worker: usize,
    pub(crate) slice: Slice,
    pub(crate) ended_ns: u64,
    pub(crate) counts: Counts,
    pub(crate) histogram: Histogram,
    pub(crate) errors: ErrorTally,
    /// CPU time of the worker's thread in this interval.
    pub(crate) cpu_ns: u64,
}

/// Counts one worker's transactions and hands an interval on when it ends.
pub struct Recorder {
    timeline: Arc<Timeline>,
    worker: usize,
    out: Sender<Cell>,
    slice: Slice,
    counts: Counts,
    histogram: Histogram,
    errors: ErrorTally,
    cpu_ns: u64,
}

/// Receives what a [`Recorder`] hands on, where only the recorder itself is of interest.
pub struct Sink(
    #[expect(dead_code, reason = "kept open so that the recorder can hand on")] std::sync::mpsc::Receiver<Cell>,
);

impl Recorder {
    pub(crate) fn new(timeline: Arc<Timeline>, worker: usize, out: Sender<Cell>) -> Self {
        Self {
            slice: timeline.first_slice(),
            timeline,
            worker,
            out,
            counts: Counts::default(),
            histogram: new_histogram(),
            errors: ErrorTally::default(),
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// A recorder without an engine, for benchmarks of its cost.
    pub fn detached(timeline: Arc<Timeline>) -> (Self, Sink) {
        let (out, cells) = std::sync::mpsc::channel();
        (Self::new(timeline, 0, out), Sink(cells))
    }

    pub(crate) fn phase(&self) -> Phase {
        self.slice.phase
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.counts.in_flight
    }

    /// When the current interval ends, as things stand: the measure phase can be cut short at any time.
    pub(crate) fn next_end_ns(&self) -> u64 {
        self.timeline.slice_end_ns(&self.slice)
    }

    pub fn started(&mut self) {
        self.counts.started += 1;
        self.counts.in_flight += 1;
    }

    /// A transaction ended well at `now_ns`, having started at `started_ns`.
    pub fn ok(&mut self, started_ns: u64, now_ns: u64) {
        self.tick(now_ns);
        self.counts.ok += 1;
        self.counts.statements += 1;
        self.counts.in_flight -= 1;
        self.histogram.saturating_record(now_ns.saturating_sub(started_ns));
    }

    /// A transaction ended with an error. `answered`: the server said so; otherwise the connection broke.
    pub(crate) fn failed(&mut self, now_ns: u64, answered: bool, class: &str, code: u16, message: &str) {
        self.tick(now_ns);
        self.counts.failed += 1;
        self.counts.statements += u64::from(answered);
        self.counts.in_flight -= 1;
        self.errors.add(class, code, message);
    }

    /// Ends all intervals whose time is over.
    pub fn tick(&mut self, now_ns: u64) {
        loop {
            let end_ns = self.next_end_ns();
            if now_ns < end_ns {
                return;
            }
            self.rotate(end_ns);
        }
    }

    /// Hands on what there is; the last interval ends now.
    pub(crate) fn finish(mut self, now_ns: u64) {
        self.tick(now_ns);
        self.rotate(now_ns.max(self.slice.start_ns));
    }

    fn rotate(&mut self, ended_ns: u64) {
        let cpu_ns = thread_cpu_ns();
        let cell = Cell {
            worker: self.worker,
            slice: self.slice,
            ended_ns,
            counts: self.counts,
            histogram: std::mem::replace(&mut self.histogram, new_histogram()),
            errors: std::mem::take(&mut self.errors),
            cpu_ns: cpu_ns.saturating_sub(self.cpu_ns),
        };
        cell.counts.assert_consistent();
        // Nobody listens any more only where the run as a whole has failed already.
        let _ = self.out.send(cell);
        self.cpu_ns = cpu_ns;
        self.slice = self.timeline.next_slice(ended_ns);
        let in_flight = self.counts.in_flight;
        self.counts = Counts { carried_in: in_flight, in_flight, ..Counts::default() };
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
