//! Adds up the workers' tallies, interval by interval, in order of time.

use std::collections::BTreeMap;

use truetps_record::{Histogram, Interval, Phase};

use crate::recorder::WorkerInterval;
use crate::series::{IntervalSeries, MeasuredSums};
use crate::tally::Tally;
use crate::thread_use::ThreadTime;

/// Orders intervals in time. Workers that see an early end at different moments may have different
/// numbers of intervals, so an interval's number cannot be the key.
type IntervalKey = (u64, Phase);

/// One interval of all workers together.
struct MergedInterval {
    ended_ns: u64,
    tally: Tally,
}

pub struct Collector {
    open: BTreeMap<IntervalKey, MergedInterval>,
    /// The last interval that each worker has delivered; `None` before its first.
    last: Vec<Option<IntervalKey>>,
    series: IntervalSeries,
    used: Vec<ThreadTime>,
}

/// The measure phase of all workers.
pub struct CollectedRun {
    pub measured: MeasuredSums,
    /// By each worker.
    pub used: Vec<ThreadTime>,
}

impl Collector {
    pub fn new(workers: usize, is_open: bool) -> Self {
        Self {
            open: BTreeMap::new(),
            last: vec![None; workers],
            series: IntervalSeries::new(0, is_open),
            used: vec![ThreadTime::ZERO; workers],
        }
    }

    pub fn add(&mut self, interval: WorkerInterval) {
        let WorkerInterval { worker, slice, ended_ns, tally, used } = interval;
        let key = (slice.start_ns, slice.phase);
        self.last[worker] = Some(key);
        if slice.phase == Phase::Measure {
            self.used[worker].add(used);
        }
        if let Some(merged) = self.open.get_mut(&key) {
            merged.ended_ns = merged.ended_ns.max(ended_ns);
            merged.tally.merge_worker(&tally);
        } else {
            self.open.insert(key, MergedInterval { ended_ns, tally });
        }
    }

    /// The next interval that every worker has delivered, with its response times.
    pub fn take_complete(&mut self) -> Option<(Interval, Histogram)> {
        let (key, _) = self.open.first_key_value()?;
        if self.last.iter().any(|last| last.is_none_or(|last| last < *key)) {
            return None;
        }
        self.take_first()
    }

    /// The next interval, even if some workers have not delivered it: for the end of a run.
    pub fn take_first(&mut self) -> Option<(Interval, Histogram)> {
        let ((start_ns, phase), MergedInterval { ended_ns, tally }) = self.open.pop_first()?;
        let interval = self.series.append(phase, start_ns, ended_ns, &tally);
        Some((interval, tally.sums.response))
    }

    pub fn finish(self) -> CollectedRun {
        CollectedRun { measured: self.series.measured, used: self.used }
    }
}
