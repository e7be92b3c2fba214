//! One worker's counters: it tallies one interval after the other.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use truetps_record::Phase;

use crate::tally::Tally;
use crate::thread_use::{SplitUse, ThreadTime};
use crate::timeline::{Slice, Timeline};

/// One worker's share of one interval.
#[derive(Debug)]
pub struct WorkerInterval {
    pub(crate) worker: usize,
    pub(crate) slice: Slice,
    pub(crate) ended_ns: u64,
    pub(crate) tally: Tally,
    /// What the worker's thread has used in this interval.
    pub(crate) used: ThreadTime,
}

/// Counts one worker's transactions and delivers each interval when it ends.
pub struct Recorder {
    /// The current interval.
    pub tally: Tally,
    timeline: Arc<Timeline>,
    worker: usize,
    out: Sender<WorkerInterval>,
    slice: Slice,
    usage: SplitUse,
}

impl Recorder {
    /// Belongs to the calling thread.
    pub fn new(
        timeline: Arc<Timeline>,
        worker: usize,
        is_open: bool,
        out: Sender<WorkerInterval>,
    ) -> Self {
        let slice = timeline.next_slice(0, 0);
        let (tally, usage) = (Tally::new(slice.start_ns, is_open), SplitUse::new(slice.start_ns));
        Self { tally, timeline, worker, out, slice, usage }
    }

    #[inline]
    pub fn phase(&self) -> Phase {
        self.slice.phase
    }

    /// When the current interval ends, as known now: the measure phase can be cut short at any
    /// time.
    #[inline]
    pub fn next_end_ns(&self) -> u64 {
        self.timeline.slice_end_ns(&self.slice)
    }

    /// Delivers the last interval, which ends now.
    pub fn finish(mut self, now_ns: u64) {
        let ended_ns = now_ns.max(self.slice.start_ns);
        self.rotate(ended_ns, ended_ns);
    }

    /// Ends the interval, at `now_ns`.
    pub fn rotate(&mut self, ended_ns: u64, now_ns: u64) {
        let used = self.usage.up_to(ended_ns, now_ns);
        let next = self.timeline.next_slice(ended_ns, now_ns);
        let (slice, tally) =
            (std::mem::replace(&mut self.slice, next), self.tally.replace_at(next.start_ns));
        tally.sums.assert_consistent();
        let interval = WorkerInterval { worker: self.worker, slice, ended_ns, tally, used };
        // The receiver is gone only if the run as a whole has already failed.
        let _ = self.out.send(interval);
    }
}
