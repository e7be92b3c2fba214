//! Series over time: which trials belong to which configuration, and their intervals for the
//! script.

use serde::Serialize;
use truetps_analysis::{Figure, LoadedTrial, Stall, StallKind};
use truetps_record::{BUCKET_MS, Interval, Measured, Phase, Trial, TrialRole, Validity};

use super::chart_number::ChartNumber;
use super::labels::{configuration, unbroken};
use super::waits::{self, WaitData};
use crate::ReportInput;
use crate::format;
use crate::generator::{LIMITED, limited_trial};

/// Intervals in the page, of all trials together. A usual experiment has about 1,500; one takes
/// about 25 bytes, so that the largest page has 300 KB of them. Where there are more, neighbours
/// are merged until they fit.
const INTERVALS_MAX: usize = 12_000;

pub(super) struct SeriesSection {
    /// One for each configuration that has a series.
    pub(super) options: Vec<String>,
    pub(super) how_to_read: String,
    /// Whether any trial is one of an open loop.
    pub(super) is_open: bool,
    /// Text about waits; `None` where no trial has any.
    pub(super) waits_to_read: Option<String>,
    pub(super) data: SeriesData,
}

#[derive(Serialize)]
pub(super) struct SeriesData {
    trials: Vec<TrialData>,
    configurations: Vec<ConfigurationData>,
    /// Index of the configuration that is shown first.
    chosen: usize,
}

#[derive(Serialize)]
struct ConfigurationData {
    #[serde(skip)]
    cell: usize,
    label: String,
    /// Indexes into the trials.
    trials: Vec<usize>,
}

/// One trial's intervals as columns.
#[derive(Serialize)]
struct TrialData {
    name: String,
    /// The number of the block, from 1.
    block: u32,
    /// `A/A twin`, `invalid`; empty for the usual trial.
    note: &'static str,
    /// The figures of its measure phase, as text.
    total: String,
    /// Open loop: starts that the schedule had, a second, those that waited at the end of each
    /// interval, and their lag.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenData>,
    /// Start of each interval and end of the last, in milliseconds.
    edges: Vec<ChartNumber>,
    /// `w`, `m` or `d` for each interval.
    phases: String,
    tps: Vec<ChartNumber>,
    /// Throughput in steps of a bucket, where the intervals are too few for a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    fine: Option<FineData>,
    p99: Vec<Option<ChartNumber>>,
    max: Vec<Option<ChartNumber>>,
    /// Start and length of each stall and dip in milliseconds, and whether it is a dip.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stalls: Vec<(ChartNumber, ChartNumber, bool)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<WaitData>,
}

#[derive(Serialize)]
struct FineData {
    edges: Vec<ChartNumber>,
    tps: Vec<ChartNumber>,
}

#[derive(Serialize)]
struct OpenData {
    scheduled: Vec<ChartNumber>,
    queue: Vec<ChartNumber>,
    lag: Vec<Option<ChartNumber>>,
}

/// What is drawn of one interval, or of several neighbours.
#[derive(Clone, Copy)]
struct SeriesStep {
    phase: Phase,
    start_ms: f64,
    length_ms: f64,
    ok: f64,
    p99: Option<f64>,
    max: Option<f64>,
    open: Option<OpenStep>,
}

#[derive(Clone, Copy)]
struct OpenStep {
    scheduled: f64,
    queue: f64,
    lag_p99: Option<f64>,
}

impl SeriesSection {
    pub(super) fn of(input: &ReportInput) -> Self {
        let known: Vec<_> =
            input.run.trials.iter().filter(|one| !one.intervals.is_empty()).collect();
        let intervals: usize = known.iter().map(|one| one.intervals.len()).sum();
        let merged = intervals.div_ceil(INTERVALS_MAX).max(1);
        let waits: Vec<_> =
            input.run.trials.iter().filter_map(|one| one.detail.waits.as_ref()).collect();
        let joined_waits = waits::joined(&waits);
        let trials: Vec<TrialData> =
            known.iter().map(|one| trial_data(one, merged, joined_waits)).collect();
        let configurations = configurations(input, &known);
        let is_open = trials.iter().any(|trial| trial.open.is_some());
        Self {
            options: configurations.iter().map(|one| one.label.clone()).collect(),
            how_to_read: unbroken(&how_to_read(merged, is_open)),
            is_open,
            waits_to_read: waits::how_to_read(&waits, joined_waits).map(|text| unbroken(&text)),
            data: SeriesData { chosen: chosen(input, &configurations), trials, configurations },
        }
    }
}

fn how_to_read(merged: usize, is_open: bool) -> String {
    let open = " The thin dotted line is the schedule's rate: where throughput is below it, starts \
        wait and the queue grows.";
    let open = if is_open { open } else { "" };
    let reading = "Each line is one trial, each step one interval (intervals under 100 ms have no \
        rate and are left out). It shows what an average hides: a stall, a slow start, an unusual \
        trial. The grey part is not counted; a stall is shaded red, a dip yellow. A trial of at \
        most three intervals has its throughput in steps of 100 ms.";
    if merged == 1 {
        return format!("{reading}{open}");
    }
    format!(
        "{reading}{open} The series are long: each step joins {merged} intervals and shows their \
         mean throughput, the highest of their p99s, and the slowest transaction of all."
    )
}

fn configurations(input: &ReportInput, known: &[&LoadedTrial]) -> Vec<ConfigurationData> {
    let data = input.analysis.cells.iter().enumerate().map(|(index, cell)| {
        let own = known
            .iter()
            .enumerate()
            .filter(|(_, one)| one.trial.configuration == cell.configuration);
        let label = configuration(&cell.configuration);
        ConfigurationData { cell: index, label, trials: own.map(|(index, _)| index).collect() }
    });
    data.filter(|one| !one.trials.is_empty()).collect()
}

/// The one that stalled longest; where none did, the baseline where it is fastest: what all others
/// are compared with.
fn chosen(input: &ReportInput, configurations: &[ConfigurationData]) -> usize {
    let cells = input.analysis.cells.iter().enumerate();
    let stalled = cells.filter_map(|(index, cell)| Some((index, cell.get(Figure::Stalled)?)));
    let worst = stalled
        .filter(|(_, stalled)| *stalled > 0.0)
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    let cell = worst.map(|(index, _)| index).or_else(|| input.analysis.best_of_baseline());
    configurations.iter().position(|one| Some(one.cell) == cell).unwrap_or(0)
}

fn trial_data(loaded: &LoadedTrial, merged: usize, joined_waits: usize) -> TrialData {
    let LoadedTrial { trial, intervals, detail, .. } = loaded;
    let steps = steps(intervals, merged);
    let end = steps.last().map(|step| ChartNumber::whole(step.start_ms + step.length_ms));
    TrialData {
        name: trial.name.clone(),
        block: trial.block.saturating_add(1),
        note: note(trial),
        total: format::or_nothing(trial.measured.as_ref(), |measured| total(trial, measured)),
        open: open_data(&steps),
        edges: steps.iter().map(|step| ChartNumber::whole(step.start_ms)).chain(end).collect(),
        phases: steps.iter().map(|step| letter(step.phase)).collect(),
        tps: steps
            .iter()
            .map(|step| ChartNumber::new(step.ok / step.length_ms.max(1.0) * 1e3))
            .collect(),
        fine: fine_data(intervals),
        p99: steps.iter().map(|step| step.p99.map(ChartNumber::new)).collect(),
        max: steps.iter().map(|step| step.max.map(ChartNumber::new)).collect(),
        stalls: detail.stalls.list.iter().map(span).collect(),
        waits: detail.waits.as_ref().and_then(|waits| WaitData::of(waits, joined_waits)),
    }
}

/// A trial with at most so many measured intervals has its throughput in buckets: of trials of 1 s,
/// steps of a second would show nothing over time.
const FINE_INTERVALS_MAX: usize = 3;

/// `None`: the trial has more intervals, or its record has no buckets.
fn fine_data(intervals: &[Interval]) -> Option<FineData> {
    let measured = intervals.iter().filter(|one| one.phase == Phase::Measure).count();
    let drawn: Vec<_> = intervals.iter().filter(|one| one.length_ms >= BUCKET_MS).collect();
    let has_buckets = drawn.iter().all(|one| one.buckets.len() > 1);
    if !(1..=FINE_INTERVALS_MAX).contains(&measured) || !has_buckets {
        return None;
    }
    let steps: Vec<_> = drawn.iter().flat_map(|one| bucket_steps(one)).collect();
    let end = drawn.last().map(|one| ChartNumber::whole(one.start_ms + one.length_ms));
    Some(FineData {
        edges: steps.iter().map(|(start_ms, _)| ChartNumber::whole(*start_ms)).chain(end).collect(),
        tps: steps.iter().map(|(_, tps)| ChartNumber::new(*tps)).collect(),
    })
}

/// Start and rate of each bucket. The last one is longer if an interval does not end with a bucket.
fn bucket_steps(interval: &Interval) -> Vec<(f64, f64)> {
    let whole =
        ((interval.length_ms / BUCKET_MS).floor() as usize).clamp(1, interval.buckets.len());
    let steps = (0..whole).map(|index| {
        let is_last = index + 1 == whole;
        let from_ms = index as f64 * BUCKET_MS;
        let (counted, to_ms) = if is_last {
            (&interval.buckets[index..], interval.length_ms)
        } else {
            (&interval.buckets[index..=index], from_ms + BUCKET_MS)
        };
        let ok: u64 = counted.iter().map(|ok| u64::from(*ok)).sum();
        (interval.start_ms + from_ms, ok as f64 / (to_ms - from_ms) * 1e3)
    });
    steps.collect()
}

fn span(stall: &Stall) -> (ChartNumber, ChartNumber, bool) {
    (
        ChartNumber::whole(stall.start_ms),
        ChartNumber::whole(stall.length_ms),
        stall.kind == StallKind::Dip,
    )
}

/// `None` for a closed loop.
fn open_data(steps: &[SeriesStep]) -> Option<OpenData> {
    let open: Option<Vec<_>> =
        steps.iter().map(|step| Some((step.length_ms, step.open?))).collect();
    let open = open.filter(|open| !open.is_empty())?;
    Some(OpenData {
        scheduled: open
            .iter()
            .map(|(length, step)| ChartNumber::new(step.scheduled / length.max(1.0) * 1e3))
            .collect(),
        queue: open.iter().map(|(_, step)| ChartNumber::new(step.queue)).collect(),
        lag: open.iter().map(|(_, step)| step.lag_p99.map(ChartNumber::new)).collect(),
    })
}

fn note(trial: &Trial) -> &'static str {
    match (&trial.validity, trial.role) {
        (Validity::Invalid(_), _) => "invalid",
        (Validity::Partial(_), _) => "partial",
        (Validity::Valid, TrialRole::AaTwin) => "A/A twin",
        (Validity::Valid, TrialRole::Pilot) => "pilot",
        (Validity::Valid, TrialRole::Cell) => "",
    }
}

/// `trial-0007 (block 2, A/A twin)`.
pub(super) fn name_of(trial: &Trial) -> String {
    let note = note(trial);
    let note = if note.is_empty() { String::new() } else { format!(", {note}") };
    format!("{} (block {}{note})", trial.name, trial.block.saturating_add(1))
}

fn total(trial: &Trial, measured: &Measured) -> String {
    let [p99, max] = [measured.response.response_us_p99, measured.response.response_us_max]
        .map(|us| format::or_nothing(us, format::duration_us));
    let sustained = measured
        .sustained
        .map_or("", |kept_up| if kept_up { " · sustained" } else { " · not sustained" });
    let limited = if limited_trial(trial) { format!(" · {LIMITED}") } else { String::new() };
    format!("{} tps · p99 {p99} · max {max}{sustained}{limited}", format::tps(measured.tps))
}

pub(super) fn letter(phase: Phase) -> char {
    match phase {
        Phase::WarmUp => 'w',
        Phase::Measure => 'm',
        Phase::Drain => 'd',
    }
}

/// Joins up to `merged` neighbours of the same phase into one step.
fn steps(intervals: &[Interval], merged: usize) -> Vec<SeriesStep> {
    let phases = intervals.chunk_by(|one, next| one.phase == next.phase);
    phases.flat_map(|phase| phase.chunks(merged)).filter_map(join).filter(is_drawn).collect()
}

/// A rate of less than a bucket's time is none: 50 transactions that drain within 0.5 ms would be a
/// spike of 100,000 tps.
fn is_drawn(step: &SeriesStep) -> bool {
    step.length_ms >= BUCKET_MS
}

fn join(intervals: &[Interval]) -> Option<SeriesStep> {
    let mut intervals = intervals.iter().map(step);
    let first = intervals.next()?;
    Some(intervals.fold(first, |joined, next| SeriesStep {
        length_ms: next.start_ms + next.length_ms - joined.start_ms,
        ok: joined.ok + next.ok,
        p99: larger(joined.p99, next.p99),
        max: larger(joined.max, next.max),
        open: join_open(joined.open, next.open),
        ..joined
    }))
}

/// Starts add up; of queue and lag the largest is shown.
fn join_open(one: Option<OpenStep>, next: Option<OpenStep>) -> Option<OpenStep> {
    let (one, next) = (one?, next?);
    Some(OpenStep {
        scheduled: one.scheduled + next.scheduled,
        queue: one.queue.max(next.queue),
        lag_p99: larger(one.lag_p99, next.lag_p99),
    })
}

fn step(interval: &Interval) -> SeriesStep {
    SeriesStep {
        phase: interval.phase,
        start_ms: interval.start_ms,
        length_ms: interval.length_ms,
        ok: interval.counts.ok as f64,
        p99: interval.response.response_us_p99,
        max: interval.response.response_us_max,
        open: interval.open_loop.map(|open| OpenStep {
            scheduled: open.starts.scheduled as f64,
            queue: open.starts.queued as f64,
            lag_p99: open.lag_us_p99,
        }),
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    [one, other].into_iter().flatten().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use truetps_record::{Counts, LatencyFigures};

    use super::*;

    fn interval(phase: Phase, start_ms: f64, ok: u64, max: Option<f64>) -> Interval {
        let response = LatencyFigures { response_us_max: max, ..LatencyFigures::default() };
        let counts = Counts { ok, ..Counts::default() };
        Interval { response, ..Interval::of_counts(phase, start_ms, 1000.0, counts) }
    }

    #[test]
    fn a_moment_is_no_rate() {
        let drained = Interval { length_ms: 0.48, ..interval(Phase::Drain, 1000.0, 50, Some(5.0)) };
        let found: Vec<_> = steps(&[interval(Phase::Measure, 0.0, 20, None), drained], 1)
            .iter()
            .map(|one| one.ok)
            .collect();
        assert_eq!(found, [20.0]);
    }

    #[test]
    fn a_short_trial_has_its_throughput_in_buckets() {
        let with = |buckets: &[u32], length_ms| Interval {
            buckets: buckets.to_vec(),
            length_ms,
            ..interval(Phase::Measure, 2000.0, buckets.iter().map(|ok| u64::from(*ok)).sum(), None)
        };
        assert_eq!(
            bucket_steps(&with(&[5, 0, 7], 300.0)),
            [(2000.0, 50.0), (2100.0, 0.0), (2200.0, 70.0)]
        );
        // 250 ms: the last half of a bucket is no step of its own, and nothing of it is lost.
        assert_eq!(bucket_steps(&with(&[5, 10, 5], 250.0)), [(2000.0, 50.0), (2100.0, 100.0)]);
        let short = [with(&[5, 5], 200.0)];
        let long: Vec<_> = (0..4).map(|_| with(&[5, 5], 200.0)).collect();
        assert!(fine_data(&short).is_some() && fine_data(&long).is_none());
        assert!(fine_data(&[with(&[], 200.0)]).is_none(), "an older record has no buckets");
    }

    #[test]
    fn merging_keeps_transactions_maxima_and_phases() {
        let series = [
            interval(Phase::WarmUp, 0.0, 10, Some(5.0)),
            interval(Phase::Measure, 1000.0, 20, None),
            interval(Phase::Measure, 2000.0, 0, Some(900.0)),
            interval(Phase::Measure, 3000.0, 30, Some(7.0)),
        ];
        let steps = steps(&series, 2);
        let found: Vec<_> =
            steps.iter().map(|step| (step.start_ms, step.length_ms, step.ok, step.max)).collect();
        let expect = [
            (0.0, 1000.0, 10.0, Some(5.0)),
            (1000.0, 2000.0, 20.0, Some(900.0)),
            (3000.0, 1000.0, 30.0, Some(7.0)),
        ];
        assert_eq!(found, expect);
    }
}
