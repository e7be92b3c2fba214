//! The series of several parts of one load as one: the n-th intervals of all parts are of the same
//! time.
//!
//! Reading is the work: threads read the parts and decode them, and one adds them up. An interval
//! of each part, and a few that were read ahead, are in memory.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use truetps_record::{
    BUCKET_MS, Histogram, Interval, LatencyFigures, OpenLoop, Phase, TransactionGap, new_histogram,
    per_second,
};

use crate::error::{FolderError, MergeError};
use crate::latency_log::LatencyDecoder;
use crate::part_series::{PartInterval, PartSeries};

/// Steps that a reader may be ahead of the sum.
const AHEAD_MAX: usize = 8;
/// More threads would wait for the one that adds up.
const READERS_MAX: usize = 8;
const PHASES: [Phase; 3] = [Phase::WarmUp, Phase::Measure, Phase::Drain];

/// The n-th intervals of a phase, of some parts; empty after the last one of the phase.
type MergeStep = Result<Vec<PartInterval>, FolderError>;

/// The whole load.
pub(crate) struct CommonSeries {
    /// In order of time.
    pub(crate) intervals: Vec<Interval>,
    /// Response times of the measure phase.
    pub(crate) measured: Histogram,
}

/// Adds up the series of all parts, one interval of each at a time. `each` gets the response times
/// of each interval, whose gaps are not known yet.
pub(crate) fn common_series(
    parts: Vec<PartSeries>,
    stop: &AtomicBool,
    mut each: impl FnMut(&Interval, &Histogram) -> Result<(), FolderError>,
) -> Result<CommonSeries, MergeError> {
    let mut sum = SeriesSum::new(parts.iter().map(|part| part.folder().to_owned()).collect());
    thread::scope(|scope| {
        let steps: Vec<_> = reader_groups(parts)
            .into_iter()
            .map(|group| {
                let (to_sum, steps) = sync_channel(AHEAD_MAX);
                // It ends at the latest when nothing more is taken from it.
                scope.spawn(move || read(group, &to_sum));
                steps
            })
            .collect();
        for _ in PHASES {
            let mut open: Vec<&Receiver<MergeStep>> = steps.iter().collect();
            while let Some(step) = next_step(&mut open)? {
                if stop.load(Ordering::Relaxed) {
                    return Err(MergeError::Interrupted);
                }
                let (interval, histogram) = sum.add(step)?;
                each(interval, histogram).map_err(MergeError::Write)?;
            }
        }
        Ok(())
    })?;
    Ok(sum.finish())
}

/// Equally many parts for each thread.
fn reader_groups(parts: Vec<PartSeries>) -> Vec<Vec<PartSeries>> {
    let readers = thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MAX);
    let each = parts.len().div_ceil(readers).max(1);
    let mut parts = parts.into_iter();
    std::iter::from_fn(|| {
        Some(parts.by_ref().take(each).collect::<Vec<_>>()).filter(|group| !group.is_empty())
    })
    .collect()
}

/// Reads the parts of a group, step by step.
fn read(mut group: Vec<PartSeries>, to_sum: &SyncSender<MergeStep>) {
    let mut decoder = LatencyDecoder::new();
    for phase in PHASES {
        loop {
            let read =
                group.iter_mut().filter_map(|part| part.next_of(phase, &mut decoder).transpose());
            let mut step: MergeStep = read.collect();
            let is_last = step.as_ref().is_ok_and(Vec::is_empty);
            if is_last && phase == Phase::Drain {
                step = group
                    .iter_mut()
                    .try_for_each(|part| part.check_ended(&mut decoder))
                    .map(|()| Vec::new());
            }
            let has_failed = step.is_err();
            if to_sum.send(step).is_err() || has_failed {
                return;
            }
            if is_last {
                break;
            }
        }
    }
}

/// What all readers have of the next step. A reader whose parts have no more intervals of this
/// phase leaves the list.
fn next_step(
    open: &mut Vec<&Receiver<MergeStep>>,
) -> Result<Option<Vec<PartInterval>>, FolderError> {
    let mut all = Vec::new();
    let mut failure = None;
    open.retain(|steps| {
        match steps.recv().expect("a reader ends after the last phase or an error") {
            Ok(step) => {
                let goes_on = !step.is_empty();
                all.extend(step);
                goes_on
            }
            Err(error) => {
                failure.get_or_insert(error);
                false
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok((!all.is_empty()).then_some(all)),
    }
}

/// What was added up.
struct SeriesSum {
    /// Folders of the parts.
    folders: Vec<PathBuf>,
    intervals: Vec<Interval>,
    /// Response times of the last interval.
    histogram: Histogram,
    measured: Histogram,
    /// Times in which a part ended no transaction, as start and end. Common ones are known at the
    /// end: a part reports a gap when it is over.
    quiet: Vec<Vec<(f64, f64)>>,
}

impl SeriesSum {
    fn new(folders: Vec<PathBuf>) -> Self {
        let quiet = vec![Vec::new(); folders.len()];
        Self {
            folders,
            intervals: Vec::new(),
            histogram: new_histogram(),
            measured: new_histogram(),
            quiet,
        }
    }

    /// Adds an interval of all parts that have it.
    fn add(&mut self, step: Vec<PartInterval>) -> Result<(&Interval, &Histogram), MergeError> {
        self.histogram.reset();
        let mut common: Option<Interval> = None;
        for PartInterval { part, interval, latencies } in step {
            for (ns, count) in latencies {
                // Written by a histogram with these bounds: every value is within them.
                self.histogram.saturating_record_n(ns, count);
            }
            let gaps = interval.gaps.iter().map(|gap| (gap.start_ms, gap.start_ms + gap.length_ms));
            self.quiet[part].extend(gaps);
            match &mut common {
                None => common = Some(interval),
                Some(common) => {
                    let path = &self.folders[part];
                    add_interval(common, &interval).map_err(|problem| MergeError::DoesNotFit {
                        path: path.clone(),
                        problem,
                    })?;
                }
            }
        }
        let mut common = common.expect("a step has an interval");
        common.response = LatencyFigures::of(&self.histogram);
        common.tps = per_second(common.counts.ok, common.length_ms);
        if common.phase == Phase::Measure {
            self.measured.add(&self.histogram).expect("both have the same bounds");
        }
        Ok((self.intervals.push_mut(common), &self.histogram))
    }

    /// With the gaps that all parts have in common, each in the interval in which it ends.
    fn finish(self) -> CommonSeries {
        let Self { mut intervals, measured, quiet, .. } = self;
        let common = quiet.into_iter().reduce(|ours, others| common_times(&ours, &others));
        let mut quiet = common.unwrap_or_default();
        for interval in &mut intervals {
            let end_ms = interval.start_ms + interval.length_ms;
            let ended = quiet.extract_if(.., |(_, end)| *end <= end_ms);
            let gaps =
                ended.map(|(start_ms, end)| TransactionGap { start_ms, length_ms: end - start_ms });
            interval.gaps = gaps.collect();
        }
        CommonSeries { intervals, measured }
    }
}

/// Adds the same interval of another part. An error says what does not fit.
fn add_interval(ours: &mut Interval, other: &Interval) -> Result<(), String> {
    // The parts of an interrupted load have ended one after the other. A script's run ends an
    // interval when it has time for it.
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

/// Starts add up, and the largest of all is the largest. Quantiles of several parts have no common
/// quantile.
pub(crate) fn common_open_loop(
    ours: Option<OpenLoop>,
    other: Option<OpenLoop>,
) -> Option<OpenLoop> {
    let (Some(ours), Some(other)) = (ours, other) else { return ours.or(other) };
    let mut starts = ours.starts;
    starts.merge_worker(&other.starts);
    Some(OpenLoop {
        starts,
        service_us_max: larger(ours.service_us_max, other.service_us_max),
        lag_us_max: larger(ours.lag_us_max, other.lag_us_max),
        late_us_max: larger(ours.late_us_max, other.late_us_max),
        ..OpenLoop::default()
    })
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// Times of at least a bucket that are in both lists. Each list is in order, and its times do not
/// overlap.
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
    use tempfile::TempDir;
    use truetps_record::{Counts, StartCounts};

    use super::*;
    use crate::ExperimentFolder;
    use crate::damage::tests::trial;

    fn second(at: u32, ok: u64, gaps: &[(f64, f64)]) -> Interval {
        let counts = Counts { started: ok, ok, statements: ok, ..Counts::default() };
        let gaps = gaps.iter().map(|(start_ms, length_ms)| TransactionGap {
            start_ms: *start_ms,
            length_ms: *length_ms,
        });
        let buckets = vec![ok as u32, 1];
        Interval {
            gaps: gaps.collect(),
            buckets,
            ..Interval::of_counts(Phase::Measure, f64::from(at) * 1e3, 1e3, counts)
        }
    }

    /// A folder with a trial of these intervals.
    fn part(part: usize, intervals: &[(Interval, &[(u64, u64)])]) -> (TempDir, PartSeries) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("experiment.json"), "{}").unwrap();
        let folder = ExperimentFolder::open(dir.path()).unwrap();
        let mut writer = folder.begin_trial(&trial()).unwrap();
        for (interval, latencies) in intervals {
            let mut histogram = new_histogram();
            for (ns, count) in *latencies {
                histogram.record_n(*ns, *count).unwrap();
            }
            writer.append(interval, &histogram).unwrap();
        }
        let series = PartSeries::open(part, &folder, "trial-0001").unwrap();
        (dir, series)
    }

    type Written = Vec<(u64, u64)>;

    /// An interval, and the counts of its response times.
    type PartInterval = (Interval, &'static [(u64, u64)]);

    /// The sum of these parts, and counts and response times of each interval as they were given
    /// on.
    fn sum(parts: &[&[PartInterval]]) -> Result<(CommonSeries, Written), MergeError> {
        let (_dirs, series): (Vec<_>, _) =
            parts.iter().enumerate().map(|(at, intervals)| part(at, intervals)).unzip();
        let mut written = Vec::new();
        let common = common_series(series, &AtomicBool::new(false), |interval, histogram| {
            written.push((interval.counts.ok, histogram.len()));
            Ok(())
        })?;
        Ok((common, written))
    }

    #[test]
    fn intervals_of_parts_add_up() {
        let (common, written) = sum(&[
            &[(second(0, 3, &[(100.0, 400.0)]), &[(1_000_000, 3)])],
            &[
                (second(0, 5, &[(300.0, 600.0)]), &[(1_000_000, 1), (8_000_000, 4)]),
                (second(1, 7, &[]), &[(2_000_000, 7)]),
            ],
        ])
        .unwrap();
        let CommonSeries { intervals, measured } = common;
        assert_eq!(written, [(8, 8), (7, 7)]);
        assert_eq!(
            (measured.len(), measured.count_at(1_000_000), measured.count_at(8_000_000)),
            (15, 4, 4)
        );
        assert_eq!(intervals[0].gaps, [TransactionGap { start_ms: 300.0, length_ms: 200.0 }]);
        assert_eq!((intervals[0].buckets.as_slice(), intervals[0].tps), (&[8, 2][..], 8.0));
        let p99 = intervals[0].response.response_us_p99.unwrap();
        assert!((p99 - 8000.0).abs() < 8.0, "not the mean of two quantiles: {p99}");
    }

    #[test]
    fn a_common_gap_is_in_the_interval_in_which_it_ends() {
        // The second part reports its gap two intervals later.
        let first: [PartInterval; 3] = [
            (second(0, 1, &[(500.0, 400.0)]), &[]),
            (second(1, 1, &[]), &[]),
            (second(2, 1, &[(2_100.0, 300.0)]), &[]),
        ];
        let other: [PartInterval; 3] = [
            (second(0, 1, &[]), &[]),
            (second(1, 0, &[]), &[]),
            (second(2, 1, &[(600.0, 1_700.0)]), &[]),
        ];
        let (common, _) = sum(&[&first, &other]).unwrap();
        let gaps: Vec<Vec<_>> = common
            .intervals
            .iter()
            .map(|interval| interval.gaps.iter().map(|gap| (gap.start_ms, gap.length_ms)).collect())
            .collect();
        assert_eq!(gaps, [vec![(600.0, 300.0)], vec![], vec![(2_100.0, 200.0)]]);
    }

    #[test]
    fn intervals_of_other_times_are_refused() {
        let refused =
            sum(&[&[(second(0, 3, &[]), &[])], &[(second(1, 3, &[]), &[])]]).err().unwrap();
        let words = "trial-0001: an interval of the phase measure begins at 0 ms in one part, and \
                     at 1000 ms in another";
        assert!(refused.to_string().ends_with(words), "{refused}");
    }

    #[test]
    fn phases_in_another_order_are_refused() {
        let drain = Interval::of_counts(Phase::Drain, 0.0, 10.0, Counts::default());
        let refused =
            sum(&[&[(second(0, 3, &[]), &[])], &[(drain, &[]), (second(1, 3, &[]), &[])]])
                .err()
                .unwrap();
        assert!(
            refused.to_string().contains("intervals.jsonl: its intervals are not in the order"),
            "{refused}"
        );
    }

    #[test]
    fn an_interrupted_part_has_fewer_intervals() {
        let drain = |at: f64| {
            Interval::of_counts(Phase::Drain, at, 10.0, Counts { ok: 1, ..Counts::default() })
        };
        let (common, _) = sum(&[
            &[(second(0, 3, &[]), &[]), (drain(1_000.0), &[])],
            &[(second(0, 5, &[]), &[]), (second(1, 7, &[]), &[]), (drain(1_900.0), &[])],
        ])
        .unwrap();
        let found: Vec<_> = common.intervals.iter().map(|one| (one.phase, one.counts.ok)).collect();
        assert_eq!(found, [(Phase::Measure, 8), (Phase::Measure, 7), (Phase::Drain, 2)]);
    }

    #[test]
    fn an_interrupted_sum_ends() {
        let (_dir, series) = part(0, &[(second(0, 3, &[]), &[])]);
        let stopped =
            common_series(vec![series], &AtomicBool::new(true), |_, _| Ok(())).err().unwrap();
        assert!(matches!(stopped, MergeError::Interrupted), "{stopped}");
    }

    #[test]
    fn quantiles_of_parts_are_not_averaged() {
        let starts = StartCounts { scheduled: 5, queued: 1, ..StartCounts::default() };
        let one = OpenLoop {
            starts,
            late_us_p99: Some(3.0),
            late_us_max: Some(4.0),
            ..OpenLoop::default()
        };
        let other = OpenLoop { late_us_max: Some(9.0), ..one };
        let common = common_open_loop(Some(one), Some(other)).unwrap();
        assert_eq!((common.starts.scheduled, common.starts.queued), (10, 2));
        assert_eq!((common.late_us_p99, common.late_us_max), (None, Some(9.0)));
    }
}
