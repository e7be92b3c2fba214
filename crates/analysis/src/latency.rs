//! The histograms of one trial, reduced for keeping and drawing: all of its measure phase together,
//! and each interval in steps of an eighth of a doubling.

use truetps_record::{Histogram, LatencyInterval, Phase, new_histogram};

/// Steps of each doubling of the response time: 9 % wide.
const STEPS_A_DOUBLING: f64 = 8.0;
/// Start of the first step in nanoseconds: no server answers sooner.
const FIRST_NS: f64 = 256.0;
/// As many as histograms reach: from there to an hour are less than 34 doublings.
const STEPS: u16 = 34 * 8;

/// Points for each further nine (90 %, 99 %, 99.9 % …).
const POINTS_A_NINE: u32 = 10;
/// No run measures more transactions than ten to this power.
const NINES_MAX: u32 = 12;

/// Response times of one trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialLatency {
    /// Response times of the measure phase: nanoseconds and how many transactions took them, by
    /// rising time.
    total: Vec<(u64, u64)>,
    pub intervals: Vec<IntervalSteps>,
}

/// One interval: which steps have how many transactions.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalSteps {
    pub phase: Phase,
    pub start_ms: f64,
    pub length_ms: f64,
    /// By rising step.
    pub counts: Vec<(u16, u64)>,
}

impl TrialLatency {
    pub fn of(intervals: impl IntoIterator<Item = LatencyInterval>) -> Self {
        let starts: Vec<u64> = (0..=STEPS).map(|step| step_start_ns(step) as u64).collect();
        let mut total = new_histogram();
        let mut steps = Vec::new();
        for interval in intervals {
            if interval.phase == Phase::Measure {
                add(&mut total, &interval.counts);
            }
            let LatencyInterval { phase, start_ms, length_ms, counts } = interval;
            steps.push(IntervalSteps {
                phase,
                start_ms,
                length_ms,
                counts: in_steps(&starts, &counts),
            });
        }
        Self {
            total: total
                .iter_recorded()
                .map(|one| (one.value_iterated_to(), one.count_at_value()))
                .collect(),
            intervals: steps,
        }
    }

    /// Microseconds of the fastest transaction of the measure phase, as exact as the histograms
    /// are.
    pub fn fastest_us(&self) -> Option<f64> {
        self.total.first().map(|(ns, _)| *ns as f64 / 1e3)
    }
}

/// All of these trials as one histogram; `None` where none has a transaction.
pub(crate) fn together<'a>(
    trials: impl IntoIterator<Item = &'a TrialLatency>,
) -> Option<Histogram> {
    let mut trials = trials.into_iter().filter(|trial| !trial.total.is_empty()).peekable();
    trials.peek()?;
    let mut histogram = new_histogram();
    for trial in trials {
        add(&mut histogram, &trial.total);
    }
    Some(histogram)
}

/// Microseconds within which this share of the transactions ended. `None` beyond the last
/// transaction, where it would be the maximum again.
pub fn quantile_us(histogram: &Histogram, quantile: f64) -> Option<f64> {
    let is_there = histogram.len() as f64 * (1.0 - quantile) > 1.0 - 1e-9;
    is_there.then(|| histogram.value_at_quantile(quantile) as f64 / 1e3)
}

/// Microseconds at 0, 1, 2 … tenths of a nine (90 %, 99 %, 99.9 % …), as far as there are
/// transactions.
pub fn nines_us(histogram: &Histogram) -> Vec<f64> {
    let transactions = histogram.len() as f64;
    let mut steps = histogram.iter_recorded();
    let (mut counted, mut value) = (0.0, 0);
    let mut points = Vec::new();
    for point in 0..NINES_MAX * POINTS_A_NINE {
        let beyond = 10_f64.powf(-f64::from(point) / f64::from(POINTS_A_NINE));
        if beyond * transactions < 1.0 {
            break;
        }
        let wanted = ((1.0 - beyond) * transactions).max(1.0);
        while counted < wanted {
            let Some(step) = steps.next() else { break };
            counted += step.count_since_last_iteration() as f64;
            value = step.value_iterated_to();
        }
        points.push(value as f64 / 1e3);
    }
    points
}

fn add(histogram: &mut Histogram, counts: &[(u64, u64)]) {
    for (ns, count) in counts {
        histogram.saturating_record_n(*ns, *count);
    }
}

fn in_steps(starts: &[u64], counts: &[(u64, u64)]) -> Vec<(u16, u64)> {
    let mut steps: Vec<(u16, u64)> = Vec::new();
    let mut step: u16 = 0;
    for (ns, count) in counts {
        while step + 1 < STEPS && *ns >= starts[usize::from(step) + 1] {
            step += 1;
        }
        match steps.last_mut() {
            Some((last, sum)) if *last == step => *sum = sum.saturating_add(*count),
            _ => steps.push((step, *count)),
        }
    }
    steps
}

/// Where a step begins, nanoseconds.
pub fn step_start_ns(step: u16) -> f64 {
    FIRST_NS * (f64::from(step) / STEPS_A_DOUBLING).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(phase: Phase, counts: &[(u64, u64)]) -> LatencyInterval {
        LatencyInterval { phase, start_ms: 0.0, length_ms: 1000.0, counts: counts.to_vec() }
    }

    #[test]
    fn only_what_was_measured_is_in_the_total() {
        let trial = TrialLatency::of([
            interval(Phase::WarmUp, &[(1_000_000, 5)]),
            interval(Phase::Measure, &[(1_000_000, 2), (4_000_000, 1)]),
            interval(Phase::Measure, &[(2_000_000, 3)]),
        ]);
        let both = together([&trial, &trial]).unwrap();
        assert_eq!((both.len(), trial.intervals.len()), (12, 3));
        let fastest = trial.fastest_us().unwrap();
        assert!((fastest - 1000.0).abs() < 1.0, "{fastest}");
        assert_eq!(
            (TrialLatency::default().fastest_us(), together([&TrialLatency::default()])),
            (None, None)
        );
    }

    #[test]
    fn steps_hold_what_lies_between_their_starts() {
        let counts = [(0, 1), (255, 1), (256, 1), (512, 2), (513, 3), (1024, 4), (u64::MAX, 5)];
        let trial = TrialLatency::of([interval(Phase::Measure, &counts)]);
        assert_eq!(trial.intervals[0].counts, [(0, 3), (8, 5), (16, 4), (STEPS - 1, 5)]);
        assert_eq!((step_start_ns(8), step_start_ns(16)), (512.0, 1024.0));
    }

    #[test]
    fn nines_are_the_percentiles() {
        let mut histogram = new_histogram();
        for us in 1..=1000_u64 {
            histogram.record(us * 1000).unwrap();
        }
        let points = nines_us(&histogram);
        assert_eq!(points.len(), 31, "three nines");
        let check = |point: usize, quantile: f64| {
            let expect = histogram.value_at_quantile(quantile) as f64 / 1e3;
            assert!(
                (points[point] - expect).abs() <= 0.26 + expect / 500.0,
                "{point}: {} {expect}",
                points[point]
            );
        };
        check(0, 0.0);
        check(10, 0.9);
        check(20, 0.99);
        check(30, 0.999);
        assert_eq!(
            (quantile_us(&histogram, 0.999).is_some(), quantile_us(&histogram, 0.9999)),
            (true, None)
        );
    }
}
