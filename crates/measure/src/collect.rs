//! Adds up the workers' counts, interval by interval, in order of time.

use std::collections::BTreeMap;

use truetps_record::{
    Counts, ErrorTally, Histogram, Interval, LatencyFigures, OpenLoop, Phase, StartCounts, new_histogram,
};

use crate::buckets::{Buckets, Gaps};
use crate::recorder::{OpenCell, WorkerInterval};

/// Orders intervals in time. Workers that see an early end at different moments may have different numbers of
/// intervals, so an interval's number cannot be the key.
type IntervalKey = (u64, Phase);

/// One interval of all workers together.
pub struct MergedInterval {
    ended_ns: u64,
    counts: Counts,
    pub histogram: Histogram,
    buckets: Buckets,
    open: Option<OpenCell>,
    errors: ErrorTally,
}

/// Sums of the measure phase.
pub struct Totals {
    pub counts: Option<Counts>,
    pub histogram: Histogram,
    open: Option<OpenCell>,
    pub errors: ErrorTally,
    pub length_ns: u64,
    /// CPU time of each worker.
    pub cpu_ns: Vec<u64>,
    /// Time that each worker was ready to run and waited for a core.
    pub wait_ns: Vec<u64>,
    /// Errors outside the measure phase.
    pub errors_elsewhere: ErrorTally,
}

pub struct Collector {
    open: BTreeMap<IntervalKey, MergedInterval>,
    /// The last interval that each worker has delivered; `None` before its first.
    last: Vec<Option<IntervalKey>>,
    gaps: Gaps,
    pub totals: Totals,
}

impl Collector {
    pub fn new(workers: usize) -> Self {
        let totals = Totals {
            counts: None,
            histogram: new_histogram(),
            open: None,
            errors: ErrorTally::default(),
            length_ns: 0,
            cpu_ns: vec![0; workers],
            wait_ns: vec![0; workers],
            errors_elsewhere: ErrorTally::default(),
        };
        Self { open: BTreeMap::new(), last: vec![None; workers], gaps: Gaps::default(), totals }
    }

    pub fn add(&mut self, cell: &WorkerInterval) {
        let key = (cell.slice.start_ns, cell.slice.phase);
        self.last[cell.worker] = Some(key);
        if cell.slice.phase == Phase::Measure {
            self.totals.cpu_ns[cell.worker] += cell.cpu_ns;
            self.totals.wait_ns[cell.worker] += cell.wait_ns;
        }
        let whole = self.open.entry(key).or_insert_with(|| MergedInterval {
            ended_ns: cell.ended_ns,
            counts: Counts::default(),
            histogram: new_histogram(),
            buckets: Buckets::new(cell.slice.start_ns),
            open: cell.open.as_ref().map(|_| OpenCell::new(StartCounts::default())),
            errors: ErrorTally::default(),
        });
        whole.ended_ns = whole.ended_ns.max(cell.ended_ns);
        whole.counts.merge_worker(&cell.counts);
        whole.histogram.add(&cell.histogram).expect("all histograms have the same bounds");
        whole.buckets.merge(&cell.buckets);
        if let (Some(ours), Some(theirs)) = (&mut whole.open, &cell.open) {
            ours.starts.merge_worker(&theirs.starts);
            ours.add_histograms(theirs);
        }
        whole.errors.merge(&cell.errors);
    }

    /// The next interval that every worker has delivered.
    pub fn take_complete(&mut self) -> Option<(Interval, MergedInterval)> {
        let (key, _) = self.open.first_key_value()?;
        if self.last.iter().any(|last| last.is_none_or(|last| last < *key)) {
            return None;
        }
        self.take_first()
    }

    /// The next interval, even if some workers have not delivered it: for the end of a run.
    pub fn take_first(&mut self) -> Option<(Interval, MergedInterval)> {
        let ((start_ns, phase), whole) = self.open.pop_first()?;
        let length_ns = whole.ended_ns.saturating_sub(start_ns);
        if phase == Phase::Measure {
            match &mut self.totals.counts {
                None => self.totals.counts = Some(whole.counts),
                Some(total) => total.append(&whole.counts),
            }
            if let Some(open) = &whole.open {
                self.totals.add_open(open);
            }
            self.totals.histogram.add(&whole.histogram).expect("all histograms have the same bounds");
            self.totals.errors.merge(&whole.errors);
            self.totals.length_ns += length_ns;
        } else {
            self.totals.errors_elsewhere.merge(&whole.errors);
        }
        let interval = Interval {
            phase,
            start_ms: start_ns as f64 / 1e6,
            length_ms: length_ns as f64 / 1e6,
            counts: whole.counts,
            tps: if length_ns > 0 { whole.counts.ok as f64 / (length_ns as f64 / 1e9) } else { 0.0 },
            response: LatencyFigures::of(&whole.histogram),
            open_loop: whole.open.as_ref().map(OpenCell::figures),
            buckets: whole.buckets.counts(length_ns),
            gaps: self.gaps.follow(&whole.buckets),
        };
        Some((interval, whole))
    }
}

impl Totals {
    fn add_open(&mut self, open: &OpenCell) {
        let Some(total) = &mut self.open else {
            let mut first = OpenCell::new(open.starts);
            first.add_histograms(open);
            self.open = Some(first);
            return;
        };
        total.starts.append(&open.starts);
        total.add_histograms(open);
    }

    /// Figures of an open loop; `None` in a closed one.
    pub fn open_loop(&self) -> Option<OpenLoop> {
        self.open.as_ref().map(OpenCell::figures)
    }
}

impl OpenCell {
    fn figures(&self) -> OpenLoop {
        OpenLoop::of(self.starts, &self.service, &self.lag, &self.late)
    }
}
