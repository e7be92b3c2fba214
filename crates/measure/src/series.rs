//! The intervals of a run in order of time, and the sums of its measure phase.

use truetps_record::{ErrorTally, Interval, LatencyFigures, Phase};

use crate::buckets::Gaps;
use crate::sums::PeriodSums;
use crate::tally::Tally;

/// Sums of the measure phase.
#[derive(Debug)]
pub struct MeasuredSums {
    pub sums: PeriodSums,
    /// Whether the phase was reached.
    pub has_begun: bool,
    pub length_ns: u64,
    /// Errors outside the measure phase.
    pub errors_elsewhere: ErrorTally,
}

/// Turns the tallies of all workers into the intervals of a record.
#[derive(Debug)]
pub struct IntervalSeries {
    /// When the run began.
    zero_ns: u64,
    gaps: Gaps,
    pub measured: MeasuredSums,
}

impl IntervalSeries {
    pub fn new(zero_ns: u64, is_open: bool) -> Self {
        let measured = MeasuredSums {
            sums: PeriodSums::new(is_open),
            has_begun: false,
            length_ns: 0,
            errors_elsewhere: ErrorTally::default(),
        };
        Self { zero_ns, gaps: Gaps::after(zero_ns), measured }
    }

    /// The next interval.
    pub fn append(
        &mut self,
        phase: Phase,
        start_ns: u64,
        ended_ns: u64,
        tally: &Tally,
    ) -> Interval {
        let length_ns = ended_ns.saturating_sub(start_ns);
        self.measured.append(phase, length_ns, &tally.sums);
        let PeriodSums { counts, response, .. } = &tally.sums;
        let start_ms = start_ns.saturating_sub(self.zero_ns) as f64 / 1e6;
        Interval {
            response: LatencyFigures::of(response),
            open_loop: tally.sums.open_loop(),
            buckets: tally.buckets.counts(length_ns),
            gaps: self.gaps.follow(&tally.buckets, self.zero_ns),
            ..Interval::of_counts(phase, start_ms, length_ns as f64 / 1e6, *counts)
        }
    }
}

impl MeasuredSums {
    fn append(&mut self, phase: Phase, length_ns: u64, sums: &PeriodSums) {
        if phase != Phase::Measure {
            self.errors_elsewhere.merge(&sums.errors);
        } else if self.has_begun {
            self.sums.append(sums);
            self.length_ns += length_ns;
        } else {
            self.sums.merge_worker(sums);
            self.length_ns = length_ns;
            self.has_begun = true;
        }
    }
}
