//! One worker's counters: their cost for each transaction must be close to zero.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use truetps_record::{Counts, ErrorClass, ErrorTally, Histogram, Phase, StartCounts, new_histogram};

use crate::buckets::Buckets;
use crate::thread_use::SplitUse;
use crate::timeline::{Slice, Timeline};

/// An error that ended an attempt.
#[derive(Debug)]
pub struct AttemptFailure {
    pub class: ErrorClass,
    pub code: u16,
    pub message: String,
}

/// One worker's share of one interval.
#[derive(Debug)]
pub struct WorkerInterval {
    pub worker: usize,
    pub slice: Slice,
    pub ended_ns: u64,
    pub counts: Counts,
    pub histogram: Histogram,
    pub buckets: Buckets,
    pub open: Option<Box<OpenCell>>,
    pub errors: ErrorTally,
    /// CPU time of the worker's thread in this interval.
    pub cpu_ns: u64,
    /// Time that the thread was ready to run and waited for a core; 0 if the kernel does not report it.
    pub wait_ns: u64,
}

/// Figures that only an open loop adds.
#[derive(Debug)]
pub struct OpenCell {
    pub starts: StartCounts,
    pub service: Histogram,
    pub lag: Histogram,
    pub late: Histogram,
}

impl OpenCell {
    pub fn new(starts: StartCounts) -> Self {
        Self { starts, service: new_histogram(), lag: new_histogram(), late: new_histogram() }
    }

    /// Adds what another worker, or a later interval, has.
    pub fn add_histograms(&mut self, other: &Self) {
        for (ours, theirs) in
            [(&mut self.service, &other.service), (&mut self.lag, &other.lag), (&mut self.late, &other.late)]
        {
            ours.add(theirs).expect("all histograms have the same bounds");
        }
    }
}

/// Counts one worker's transactions and delivers each interval when it ends.
pub struct Recorder {
    timeline: Arc<Timeline>,
    worker: usize,
    out: Sender<WorkerInterval>,
    slice: Slice,
    counts: Counts,
    histogram: Histogram,
    buckets: Buckets,
    open: Option<Box<OpenCell>>,
    errors: ErrorTally,
    usage: SplitUse,
}

/// Receives a [`Recorder`]'s intervals, for uses that need only the recorder itself.
pub struct IntervalSink(
    #[expect(dead_code, reason = "kept open so that the recorder can deliver")]
    std::sync::mpsc::Receiver<WorkerInterval>,
);

impl Recorder {
    pub fn new(timeline: Arc<Timeline>, worker: usize, is_open: bool, out: Sender<WorkerInterval>) -> Self {
        let slice = timeline.first_slice();
        Self {
            slice,
            timeline,
            worker,
            out,
            counts: Counts::default(),
            histogram: new_histogram(),
            buckets: Buckets::new(slice.start_ns),
            open: is_open.then(|| Box::new(OpenCell::new(StartCounts::default()))),
            errors: ErrorTally::default(),
            usage: SplitUse::new(slice.start_ns),
        }
    }

    /// A recorder without an engine, for benchmarks of its cost.
    pub fn detached(timeline: Arc<Timeline>) -> (Self, IntervalSink) {
        let (out, cells) = std::sync::mpsc::channel();
        (Self::new(timeline, 0, false, out), IntervalSink(cells))
    }

    #[inline]
    pub fn phase(&self) -> Phase {
        self.slice.phase
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.counts.in_flight
    }

    /// Statements that were answered in the current interval.
    pub fn answers(&self) -> u64 {
        self.counts.statements
    }

    /// Waiting starts.
    #[inline]
    pub fn queued(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.starts.queued)
    }

    /// When the current interval ends, as known now: the measure phase can be cut short at any time.
    #[inline]
    pub fn next_end_ns(&self) -> u64 {
        self.timeline.slice_end_ns(&self.slice)
    }

    /// Counts scheduled starts.
    pub fn scheduled(&mut self, starts: u64) {
        if let Some(open) = &mut self.open {
            open.starts.scheduled += starts;
            open.starts.queued += starts;
        }
    }

    /// Counts skipped starts.
    #[inline]
    pub fn skipped(&mut self, starts: u64) {
        if let Some(open) = &mut self.open {
            open.starts.skipped += starts;
            open.starts.queued -= starts;
        }
    }

    #[inline]
    pub fn started(&mut self) {
        self.counts.started += 1;
        self.counts.in_flight += 1;
    }

    /// A scheduled start of an open loop was made at `now_ns`, by a client that was free since `free_since_ns`.
    #[inline]
    pub fn started_late(&mut self, scheduled_ns: u64, free_since_ns: u64, now_ns: u64) {
        if let Some(open) = &mut self.open {
            open.starts.queued -= 1;
            open.lag.saturating_record(now_ns.saturating_sub(scheduled_ns));
            open.late.saturating_record(now_ns.saturating_sub(scheduled_ns.max(free_since_ns)));
        }
    }

    /// A statement was answered.
    #[inline]
    pub fn answered(&mut self) {
        self.counts.statements += 1;
    }

    /// A transaction succeeded at `now_ns`. It was scheduled for `scheduled_ns` and started at `started_ns`.
    #[inline]
    pub fn ok(&mut self, scheduled_ns: u64, started_ns: u64, now_ns: u64, rows_changed: u64) {
        self.counts.ok += 1;
        self.counts.rows_changed += rows_changed;
        self.counts.in_flight -= 1;
        self.histogram.saturating_record(now_ns.saturating_sub(scheduled_ns));
        self.buckets.ok(now_ns);
        if let Some(open) = &mut self.open {
            open.service.saturating_record(now_ns.saturating_sub(started_ns));
        }
    }

    /// A transaction ended with an error.
    pub fn failed(&mut self, failure: &AttemptFailure, is_ignored: bool) {
        self.counts.failed += 1;
        self.counts.ignored += u64::from(is_ignored);
        self.counts.in_flight -= 1;
        self.errors.add(failure.class, failure.code, &failure.message);
    }

    /// An attempt ended with an error and is retried.
    pub fn retried(&mut self, failure: &AttemptFailure) {
        self.counts.retried += 1;
        self.note(failure);
    }

    /// An operation that is not a transaction failed, and is retried.
    pub fn note(&mut self, failure: &AttemptFailure) {
        self.errors.add_retried(failure.class, failure.code, &failure.message);
    }

    /// Delivers the last interval, which ends now.
    pub fn finish(mut self, now_ns: u64) {
        let ended_ns = now_ns.max(self.slice.start_ns);
        self.rotate(ended_ns, ended_ns);
    }

    /// Ends the interval, at `now_ns`.
    pub fn rotate(&mut self, ended_ns: u64, now_ns: u64) {
        let (cpu_ns, wait_ns) = self.usage.up_to(ended_ns, now_ns);
        let open = self.open.take();
        let queued = open.as_ref().map(|open| open.starts.queued);
        let slice = self.timeline.next_slice(ended_ns, now_ns);
        let cell = WorkerInterval {
            worker: self.worker,
            slice: self.slice,
            ended_ns,
            counts: self.counts,
            histogram: std::mem::replace(&mut self.histogram, new_histogram()),
            buckets: std::mem::replace(&mut self.buckets, Buckets::new(slice.start_ns)),
            open,
            errors: std::mem::take(&mut self.errors),
            cpu_ns,
            wait_ns,
        };
        cell.counts.assert_consistent();
        if let Some(open) = &cell.open {
            open.starts.assert_consistent(cell.counts.started);
        }
        // The receiver is gone only if the run as a whole has already failed.
        let _ = self.out.send(cell);
        self.slice = slice;
        let in_flight = self.counts.in_flight;
        self.counts = Counts { carried_in: in_flight, in_flight, ..Counts::default() };
        self.open = queued
            .map(|queued| Box::new(OpenCell::new(StartCounts { queued_in: queued, queued, ..StartCounts::default() })));
    }
}
