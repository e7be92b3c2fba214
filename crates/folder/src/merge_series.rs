//! The series of several parts of one load as one: the n-th intervals of all parts are of the same time.

use std::cmp::Ordering;

use truetps_record::{
    BUCKET_MS, Histogram, Interval, LatencyFigures, LatencyInterval, OpenLoop, Phase, TransactionGap, new_histogram,
};

use crate::FolderError;

/// One interval of the load, of all parts that were added.
struct CommonInterval {
    interval: Interval,
    /// Response times in nanoseconds, ascending, and how many transactions had them.
    latencies: Vec<(u64, u64)>,
}

/// The parts of a trial's series, added one after the other: only one part's file is in memory at a time.
#[derive(Default)]
pub(crate) struct CommonSeries {
    /// By phase, in their order: an interrupted part has fewer intervals of a phase than others.
    phases: [Vec<CommonInterval>; 3],
    /// Times in which no part ended a transaction, as start and end; `None` before the first part.
    quiet: Option<Vec<(f64, f64)>>,
}

impl CommonSeries {
    /// Adds one part. An error names what does not fit.
    pub(crate) fn add(
        &mut self,
        part: Vec<Interval>,
        latencies: impl Iterator<Item = Result<LatencyInterval, FolderError>>,
    ) -> Result<(), String> {
        let quiet = part.iter().flat_map(|one| &one.gaps).map(|gap| (gap.start_ms, gap.start_ms + gap.length_ms));
        let quiet = quiet.collect::<Vec<_>>();
        self.quiet = Some(match self.quiet.take() {
            None => quiet,
            Some(of_others) => common_times(&of_others, &quiet),
        });
        let mut latencies = latencies.fuse();
        let mut at = [0; 3];
        for interval in part {
            let counts = match latencies.next() {
                Some(read) => read.map_err(|error| error.to_string())?.counts,
                None => Vec::new(),
            };
            let phase = interval.phase as usize;
            let known = self.phases[phase].get_mut(at[phase]);
            at[phase] += 1;
            match known {
                None => self.phases[phase].push(CommonInterval { interval, latencies: counts }),
                Some(common) => {
                    common.add(&interval)?;
                    common.latencies = added(&common.latencies, &counts);
                }
            }
        }
        Ok(())
    }

    /// The intervals with their histograms, in order of time, and the histogram of the measure phase.
    pub(crate) fn finish<E>(
        self,
        mut each: impl FnMut(&Interval, &Histogram) -> Result<(), E>,
    ) -> Result<(Vec<Interval>, Histogram), E> {
        let mut measured = new_histogram();
        let mut quiet = self.quiet.unwrap_or_default();
        let mut intervals = Vec::with_capacity(self.phases.iter().map(Vec::len).sum());
        for CommonInterval { mut interval, latencies } in self.phases.into_iter().flatten() {
            let mut histogram = new_histogram();
            for (ns, count) in latencies {
                // Written by a histogram with these bounds: every value is within them.
                histogram.saturating_record_n(ns, count);
            }
            let end_ms = interval.start_ms + interval.length_ms;
            let ended = |(_, end): &(f64, f64)| *end <= end_ms;
            interval.gaps = quiet
                .iter()
                .filter(|gap| ended(gap))
                .map(|(start, end)| TransactionGap { start_ms: *start, length_ms: end - start })
                .collect();
            quiet.retain(|gap| !ended(gap));
            interval.response = LatencyFigures::of(&histogram);
            let seconds = interval.length_ms / 1e3;
            interval.tps = if seconds > 0.0 { interval.counts.ok as f64 / seconds } else { 0.0 };
            if interval.phase == Phase::Measure {
                measured.add(&histogram).expect("both have the same bounds");
            }
            each(&interval, &histogram)?;
            intervals.push(interval);
        }
        Ok((intervals, measured))
    }
}

/// The sum of two lists that are in order.
fn added(ours: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sum = Vec::with_capacity(ours.len() + others.len());
    let (mut ours, mut others) = (ours.iter().copied().peekable(), others.iter().copied().peekable());
    loop {
        let next = match (ours.peek(), others.peek()) {
            (Some((one, _)), Some((other, _))) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let one = if next.is_le() { ours.next() } else { None };
        let other = if next.is_ge() { others.next() } else { None };
        let ns = one.or(other).map_or(0, |(ns, _)| ns);
        sum.push((ns, one.map_or(0, |(_, count)| count) + other.map_or(0, |(_, count)| count)));
    }
    sum.shrink_to_fit();
    sum
}

impl CommonInterval {
    fn add(&mut self, other: &Interval) -> Result<(), String> {
        let ours = &mut self.interval;
        // The parts of an interrupted load have ended one after the other. A script's run ends an interval when it has time
        // for it.
        if ours.phase != Phase::Drain && (ours.start_ms - other.start_ms).abs() >= BUCKET_MS {
            return Err(format!(
                "an interval of the phase {} begins at {:.0} ms in one part, and at {:.0} ms in another",
                ours.phase.tag(),
                ours.start_ms,
                other.start_ms
            ));
        }
        ours.length_ms = ours.length_ms.max(other.length_ms);
        ours.counts.merge_worker(&other.counts);
        ours.open_loop = common_open_loop(ours.open_loop, other.open_loop);
        let length = ours.buckets.len().max(other.buckets.len());
        ours.buckets.resize(length, 0);
        for (bucket, more) in ours.buckets.iter_mut().zip(&other.buckets) {
            *bucket += more;
        }
        Ok(())
    }
}

/// Starts add up, and the largest of all is the largest. Quantiles of several parts have no common quantile.
pub(crate) fn common_open_loop(ours: Option<OpenLoop>, other: Option<OpenLoop>) -> Option<OpenLoop> {
    let (Some(ours), Some(other)) = (ours, other) else { return ours.or(other) };
    let max = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
    let mut starts = ours.starts;
    starts.merge_worker(&other.starts);
    Some(OpenLoop {
        starts,
        service_us_max: max(ours.service_us_max, other.service_us_max),
        lag_us_max: max(ours.lag_us_max, other.lag_us_max),
        late_us_max: max(ours.late_us_max, other.late_us_max),
        ..OpenLoop::default()
    })
}

/// Times of at least a bucket that are in both lists. Each list is in order, and its times do not overlap.
fn common_times(ours: &[(f64, f64)], others: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (mut common, mut a, mut b) = (Vec::new(), 0, 0);
    while let (Some(one), Some(other)) = (ours.get(a), others.get(b)) {
        let (start, end) = (one.0.max(other.0), one.1.min(other.1));
        if end - start >= BUCKET_MS {
            common.push((start, end));
        }
        if one.1 < other.1 { a += 1 } else { b += 1 }
    }
    common
}

#[cfg(test)]
mod tests {
    use truetps_record::{Counts, StartCounts};

    use super::*;

    fn second(at: u32, ok: u64, gaps: &[(f64, f64)]) -> Interval {
        let counts = Counts { started: ok, ok, statements: ok, ..Counts::default() };
        let gaps =
            gaps.iter().map(|(start_ms, length_ms)| TransactionGap { start_ms: *start_ms, length_ms: *length_ms });
        let buckets = vec![ok as u32, 1];
        Interval {
            gaps: gaps.collect(),
            buckets,
            ..Interval::of_counts(Phase::Measure, f64::from(at) * 1e3, 1e3, counts)
        }
    }

    fn latencies(counts: &[(u64, u64)]) -> LatencyInterval {
        LatencyInterval { phase: Phase::Measure, start_ms: 0.0, length_ms: 1e3, counts: counts.to_vec() }
    }

    #[test]
    fn intervals_of_parts_add_up() {
        let mut series = CommonSeries::default();
        series.add(vec![second(0, 3, &[(100.0, 400.0)])], [latencies(&[(1_000_000, 3)])].into_iter().map(Ok)).unwrap();
        let of_other = [latencies(&[(1_000_000, 1), (8_000_000, 4)]), latencies(&[(2_000_000, 7)])];
        series.add(vec![second(0, 5, &[(300.0, 600.0)]), second(1, 7, &[])], of_other.into_iter().map(Ok)).unwrap();
        let mut written = Vec::new();
        let (intervals, measured) = series
            .finish(|interval, histogram| {
                written.push((interval.counts.ok, histogram.len()));
                Ok::<_, ()>(())
            })
            .unwrap();
        assert_eq!(written, [(8, 8), (7, 7)]);
        assert_eq!((measured.len(), measured.count_at(1_000_000), measured.count_at(8_000_000)), (15, 4, 4));
        assert_eq!(intervals[0].gaps, [TransactionGap { start_ms: 300.0, length_ms: 200.0 }]);
        assert_eq!((intervals[0].buckets.as_slice(), intervals[0].tps), (&[8, 2][..], 8.0));
        let p99 = intervals[0].response.response_us_p99.unwrap();
        assert!((p99 - 8000.0).abs() < 8.0, "not the mean of two quantiles: {p99}");
    }

    #[test]
    fn intervals_of_other_times_are_refused() {
        let mut series = CommonSeries::default();
        series.add(vec![second(0, 3, &[])], std::iter::empty()).unwrap();
        let refused = series.add(vec![second(1, 3, &[])], std::iter::empty()).unwrap_err();
        assert!(refused.contains("begins at 0 ms in one part, and at 1000 ms in another"), "{refused}");
    }

    #[test]
    fn an_interrupted_part_has_fewer_intervals() {
        let drain = |at: f64| Interval::of_counts(Phase::Drain, at, 10.0, Counts { ok: 1, ..Counts::default() });
        let mut series = CommonSeries::default();
        series.add(vec![second(0, 3, &[]), drain(1_000.0)], std::iter::empty()).unwrap();
        series.add(vec![second(0, 5, &[]), second(1, 7, &[]), drain(1_900.0)], std::iter::empty()).unwrap();
        let (intervals, _) = series.finish(|_, _| Ok::<_, ()>(())).unwrap();
        let found: Vec<_> = intervals.iter().map(|one| (one.phase, one.counts.ok)).collect();
        assert_eq!(found, [(Phase::Measure, 8), (Phase::Measure, 7), (Phase::Drain, 2)]);
    }

    #[test]
    fn quantiles_of_parts_are_not_averaged() {
        let starts = StartCounts { scheduled: 5, queued: 1, ..StartCounts::default() };
        let one = OpenLoop { starts, late_us_p99: Some(3.0), late_us_max: Some(4.0), ..OpenLoop::default() };
        let other = OpenLoop { late_us_max: Some(9.0), ..one };
        let common = common_open_loop(Some(one), Some(other)).unwrap();
        assert_eq!((common.starts.scheduled, common.starts.queued), (10, 2));
        assert_eq!((common.late_us_p99, common.late_us_max), (None, Some(9.0)));
    }
}
