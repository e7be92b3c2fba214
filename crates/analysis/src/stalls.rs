//! Where throughput broke down: stalls and dips, from the steps of 100 ms that an average hides.

use serde::Serialize;
use truetps_record::{BUCKET_MS, Interval, Phase, TransactionGap};

use crate::coincident::Coincident;
use crate::order_stats::{largest, median};
use crate::stall_rule::{EXPECTED_MIN, JOINED, MERGE_MS, STALL_SHARE, STALL_STEPS, STEPS_MIN};

/// A dip has less than this share of its baseline, and less than chance explains, in the mean of so many steps.
const DIP_SHARE: f64 = 0.7;
const DIP_STEPS: usize = 5;
const DIP_SIGMAS: f64 = 4.0;
/// Nothing ended for so long, and for so many times the median response time: a stall whatever the steps say.
const GAP_MS: f64 = 250.0;
const GAP_RESPONSES: f64 = 20.0;
/// The baseline is the median of the steps this near on either side: what lasts longer is another level, not a stall.
const NEAR_MS: f64 = 15_000.0;
/// From a median absolute deviation to a standard deviation, for a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// What the measure phase of one trial had of stalls and dips.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// By their start.
    pub list: Vec<Stall>,
    /// Length of the measure phase that was looked at.
    pub watched_ms: f64,
    /// All stalls together; dips are not in it.
    pub stalled_ms: f64,
    /// `None` where there was no stall.
    #[serde(rename = "longest_stall_ms")]
    pub longest_ms: Option<f64>,
    /// Longest stretch in which no transaction ended well. `None`: none was as long as 100 ms.
    pub max_gap_ms: Option<f64>,
    /// Why nothing can be said of stalls.
    pub unknown: Option<StallsUnknown>,
}

impl Stalls {
    pub(crate) fn unknown(why: StallsUnknown) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// Stalls without dips.
    pub fn stalls(&self) -> impl Iterator<Item = &Stall> {
        self.list.iter().filter(|one| one.kind == StallKind::Stall)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StallsUnknown {
    /// A record of an older version, or of a script's run: it has seconds only.
    NoBuckets,
    /// The measure phase has fewer than ten buckets.
    TooShort,
    /// The load generator was suspended: what looks like a stall is its own.
    Suspended,
    /// Something was measured, and there is no record of its intervals any more.
    NotRead,
    /// Fewer than 20 transactions a second: a second without any may be chance, and no gap was long enough to be none.
    TooFew,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// Under 30 % of the baseline.
    Stall,
    /// Under 70 % of it, and further below than its usual scatter.
    Dip,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stall {
    pub kind: StallKind,
    /// On the trial's clock: 0 is its first transaction.
    pub start_ms: f64,
    pub length_ms: f64,
    /// Share of the baseline's transactions that were missing, 0 to 1: 1 = none ended.
    pub depth: f64,
    /// Throughput that was usual around it; 0 where nothing ended before the stall or after it.
    pub baseline_tps: f64,
    /// `None`: the probe was off.
    pub coincident: Option<Coincident>,
}

impl Stall {
    pub fn end_ms(&self) -> f64 {
        self.start_ms + self.length_ms
    }
}

/// Finds the stalls and dips of a trial's measure phase.
pub(crate) fn stalls(intervals: &[Interval]) -> Stalls {
    stalls_of(&intervals.iter().map(JudgedInterval::of).collect::<Vec<_>>())
}

/// What the rule needs of an interval.
#[derive(Debug, Clone)]
pub(crate) struct JudgedInterval {
    phase: Phase,
    start_ms: f64,
    length_ms: f64,
    tps: f64,
    response_us_p50: Option<f64>,
    /// Starts that the schedule of an open loop has in it.
    scheduled: Option<u64>,
    is_busy: bool,
    /// Of the measure phase alone.
    buckets: Box<[u32]>,
    gaps: Box<[TransactionGap]>,
}

impl JudgedInterval {
    pub(crate) fn of(interval: &Interval) -> Self {
        let buckets = if interval.phase == Phase::Measure { interval.buckets.as_slice() } else { &[] };
        Self {
            phase: interval.phase,
            start_ms: interval.start_ms,
            length_ms: interval.length_ms,
            tps: interval.tps,
            response_us_p50: interval.response.response_us_p50,
            scheduled: interval.open_loop.as_ref().map(|open| open.starts.scheduled),
            is_busy: interval.counts.in_flight > 0,
            buckets: buckets.into(),
            gaps: interval.gaps.as_slice().into(),
        }
    }
}

/// The same, for the data kept during a run.
pub(crate) fn stalls_of(intervals: &[JudgedInterval]) -> Stalls {
    let measured: Vec<_> = intervals.iter().filter(|interval| interval.phase == Phase::Measure).collect();
    let Some((first, last)) = measured.first().zip(measured.last()) else {
        return Stalls::unknown(StallsUnknown::TooShort);
    };
    let (from_ms, to_ms) = (first.start_ms, last.start_ms + last.length_ms);
    let found = Stalls { watched_ms: to_ms - from_ms, ..Stalls::default() };
    if measured.iter().any(|interval| interval.buckets.is_empty()) {
        return Stalls { unknown: Some(StallsUnknown::NoBuckets), ..found };
    }
    let buckets = buckets(&measured);
    let gaps = gaps(intervals, &buckets, from_ms, to_ms);
    let found = Stalls { max_gap_ms: largest(gaps.iter().map(TimeSpan::length_ms)), ..found };
    if buckets.len() < STEPS_MIN {
        return Stalls { unknown: Some(StallsUnknown::TooShort), ..found };
    }
    if let Some(standstill) = standstill(intervals, &buckets) {
        let length_ms = standstill.length_ms;
        return Stalls { stalled_ms: length_ms, longest_ms: Some(length_ms), list: vec![standstill], ..found };
    }
    let level = UsualThroughput::of(&buckets);
    let response_ms = median(measured.iter().filter_map(|one| one.response_us_p50)).unwrap_or(0.0) / 1e3;
    let spans = level.stalled(&gaps, GAP_MS.max(GAP_RESPONSES * response_ms));
    let ends = Ends { buckets: &buckets, gaps: &gaps };
    let mut list: Vec<_> = spans.iter().map(|span| level.stall(StallKind::Stall, *span, ends)).collect();
    list.extend(level.dips(&spans).into_iter().map(|span| level.stall(StallKind::Dip, span, ends)));
    list.sort_by(|one, other| one.start_ms.total_cmp(&other.start_ms));
    let lengths = || list.iter().filter(|one| one.kind == StallKind::Stall).map(|one| one.length_ms);
    let unknown = (!level.is_dense && list.is_empty()).then_some(StallsUnknown::TooFew);
    Stalls {
        unknown,
        stalled_ms: lengths().fold(0.0, |sum, length| sum + length),
        longest_ms: largest(lengths()),
        list,
        ..found
    }
}

/// A measure phase in which transactions were under way and none ended well is one stall. What is usual is known from the
/// warm-up alone, and is 0 where nothing ended there either.
fn standstill(intervals: &[JudgedInterval], buckets: &[ThroughputStep]) -> Option<Stall> {
    let in_phase = |phase: Phase| intervals.iter().filter(move |interval| interval.phase == phase);
    let is_busy = in_phase(Phase::Measure).any(|one| one.is_busy);
    let (first, last) = buckets.first().zip(buckets.last())?;
    if !is_busy || buckets.iter().any(|step| step.ok > 0.0) {
        return None;
    }
    let (start_ms, length_ms) = (first.span.from_ms, last.span.to_ms - first.span.from_ms);
    let baseline_tps = usual_of(in_phase(Phase::WarmUp).map(|interval| interval.tps));
    Some(Stall { kind: StallKind::Stall, start_ms, length_ms, depth: 1.0, baseline_tps, coincident: None })
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TimeSpan {
    from_ms: f64,
    to_ms: f64,
}

impl TimeSpan {
    fn length_ms(&self) -> f64 {
        self.to_ms - self.from_ms
    }

    /// What both have; without length where that is nothing.
    fn shared(&self, other: Self) -> Self {
        let from_ms = self.from_ms.max(other.from_ms);
        Self { from_ms, to_ms: self.to_ms.min(other.to_ms).max(from_ms) }
    }

    fn touches(&self, other: &Self, within_ms: f64) -> bool {
        self.from_ms <= other.to_ms + within_ms && other.from_ms <= self.to_ms + within_ms
    }
}

/// Transactions of a stretch.
#[derive(Debug, Clone, Copy)]
struct ThroughputStep {
    span: TimeSpan,
    ok: f64,
    /// Starts that an open loop's schedule has in it: no more was to be expected.
    scheduled: Option<f64>,
}

impl ThroughputStep {
    fn per_ms(&self) -> f64 {
        self.ok / self.span.length_ms()
    }

    fn join(steps: &[Self]) -> Self {
        let span = TimeSpan { from_ms: steps[0].span.from_ms, to_ms: steps[steps.len() - 1].span.to_ms };
        let scheduled: Option<Vec<f64>> = steps.iter().map(|step| step.scheduled).collect();
        let scheduled = scheduled.map(|starts| starts.into_iter().sum());
        Self { span, ok: steps.iter().map(|step| step.ok).sum(), scheduled }
    }
}

/// All buckets in order of time. One that the end of its interval has left shorter than half goes to its neighbour.
fn buckets(intervals: &[&JudgedInterval]) -> Vec<ThroughputStep> {
    let mut steps: Vec<ThroughputStep> = Vec::new();
    for interval in intervals {
        for (index, ok) in interval.buckets.iter().enumerate() {
            let from_ms = interval.start_ms + index as f64 * BUCKET_MS;
            let to_ms = (from_ms + BUCKET_MS).min(interval.start_ms + interval.length_ms);
            let span = TimeSpan { from_ms, to_ms: to_ms.max(from_ms) };
            let per_ms = |starts: u64| starts as f64 / interval.length_ms.max(1.0);
            let scheduled = interval.scheduled.map(|starts| per_ms(starts) * span.length_ms());
            let step = ThroughputStep { span, ok: f64::from(*ok), scheduled };
            match steps.last_mut() {
                Some(last) if step.span.length_ms() < BUCKET_MS / 2.0 => *last = ThroughputStep::join(&[*last, step]),
                _ => steps.push(step),
            }
        }
    }
    steps.retain(|step| step.span.length_ms() > 0.0);
    steps
}

/// Gaps within the measure phase, whatever interval their end is in. One that has no end, since nothing ended any more, is in no
/// interval: it begins with the empty buckets at the end.
fn gaps(intervals: &[JudgedInterval], buckets: &[ThroughputStep], from_ms: f64, to_ms: f64) -> Vec<TimeSpan> {
    let gaps = intervals
        .iter()
        .flat_map(|interval| interval.gaps.iter())
        .map(|gap| TimeSpan { from_ms: gap.start_ms.max(from_ms), to_ms: (gap.start_ms + gap.length_ms).min(to_ms) });
    let mut gaps: Vec<_> = gaps.filter(|span| span.length_ms() >= BUCKET_MS).collect();
    let last_ms = buckets.iter().rev().find(|step| step.ok > 0.0).map_or(from_ms, |step| step.span.to_ms);
    let open = TimeSpan { from_ms: last_ms, to_ms };
    if open.length_ms() >= BUCKET_MS && !gaps.iter().any(|gap| gap.to_ms > last_ms) {
        gaps.push(open);
    }
    gaps
}

/// Steps that are long enough to be judged, and what is usual around each.
struct UsualThroughput {
    steps: Vec<ThroughputStep>,
    /// Transactions a millisecond that were usual around each step.
    usual: Vec<f64>,
    /// Whether a step has enough transactions to be judged by.
    is_dense: bool,
}

impl UsualThroughput {
    fn of(buckets: &[ThroughputStep]) -> Self {
        let joined = |count: usize| buckets.chunks(count).map(ThroughputStep::join).collect::<Vec<_>>();
        let typical = |steps: &[ThroughputStep]| usual_of(steps.iter().map(|step| step.ok));
        let chosen = JOINED.iter().find(|count| typical(&joined(**count)) >= EXPECTED_MIN);
        let steps = joined(*chosen.unwrap_or(&JOINED[JOINED.len() - 1]));
        let around = usual_around(&steps).into_iter().zip(&steps);
        // A schedule that slows down is no stall.
        let most =
            |step: &ThroughputStep| step.scheduled.map_or(f64::INFINITY, |starts| starts / step.span.length_ms());
        Self { is_dense: chosen.is_some(), usual: around.map(|(usual, step)| usual.min(most(step))).collect(), steps }
    }

    /// What is usual at a time.
    fn usual_at(&self, at_ms: f64) -> f64 {
        let index = self.steps.partition_point(|step| step.span.to_ms <= at_ms).min(self.steps.len() - 1);
        self.usual[index]
    }

    /// Runs of stalled steps, and gaps that are too long to be chance; what touches is one.
    fn stalled(&self, gaps: &[TimeSpan], gap_ms: f64) -> Vec<TimeSpan> {
        let mut spans = Vec::new();
        if self.is_dense {
            let is_low = |(step, usual): (&ThroughputStep, &f64)| step.per_ms() < STALL_SHARE * usual;
            spans = self.runs(STALL_STEPS, self.steps.iter().zip(&self.usual).map(is_low));
        }
        let long =
            |gap: &&TimeSpan| gap.length_ms() > gap_ms && self.usual_at(gap.from_ms) * gap.length_ms() >= EXPECTED_MIN;
        spans.extend(gaps.iter().filter(long));
        merge(spans)
    }

    /// Runs of steps that are low, further than their scatter explains. One that a stall is in, or next to, is a part of it.
    fn dips(&self, stalled: &[TimeSpan]) -> Vec<TimeSpan> {
        if !self.is_dense {
            return Vec::new();
        }
        let ratios = self.smooth_ratios();
        let middle = median(ratios.iter().copied()).unwrap_or(1.0);
        // Standard deviation without the outliers.
        let scatter = MAD_TO_SIGMA * median(ratios.iter().map(|ratio| (ratio - middle).abs())).unwrap_or(0.0);
        let share = DIP_SHARE.min(1.0 - DIP_SIGMAS * scatter);
        let mut dips = merge(self.runs(DIP_STEPS, ratios.iter().map(|ratio| *ratio < share)));
        dips.retain(|dip| !stalled.iter().any(|stall| stall.touches(dip, MERGE_MS)));
        dips
    }

    /// Each step and its neighbours, relative to what is usual.
    fn smooth_ratios(&self) -> Vec<f64> {
        let last = self.steps.len() - 1;
        let around = |index: usize| {
            let near = &self.steps[index.saturating_sub(DIP_STEPS / 2)..=(index + DIP_STEPS / 2).min(last)];
            let usual = self.usual[index];
            if usual > 0.0 { ThroughputStep::join(near).per_ms() / usual } else { 1.0 }
        };
        (0..=last).map(around).collect()
    }

    /// Stretches of at least so many steps in a row that are low.
    fn runs(&self, least: usize, are_low: impl Iterator<Item = bool>) -> Vec<TimeSpan> {
        let steps: Vec<_> = self.steps.iter().map(|step| step.span).zip(are_low).collect();
        let runs = steps.chunk_by(|one, next| one.1 == next.1).filter(|run| run[0].1 && run.len() >= least);
        runs.map(|run| TimeSpan { from_ms: run[0].0.from_ms, to_ms: run[run.len() - 1].0.to_ms }).collect()
    }

    fn stall(&self, kind: StallKind, span: TimeSpan, ends: Ends<'_>) -> Stall {
        let usual = self.usual_at(span.from_ms);
        let expected = usual * span.length_ms();
        let missing = if expected > 0.0 { 1.0 - ends.within(span) / expected } else { 0.0 };
        Stall {
            kind,
            start_ms: span.from_ms,
            length_ms: span.length_ms(),
            depth: missing.clamp(0.0, 1.0),
            baseline_tps: usual * 1e3,
            coincident: None,
        }
    }
}

/// The median; if it is zero, the median of the values above zero.
fn usual_of(values: impl Iterator<Item = f64> + Clone) -> f64 {
    match median(values.clone()) {
        Some(middle) if middle > 0.0 => middle,
        _ => median(values.filter(|value| *value > 0.0)).unwrap_or(0.0),
    }
}

/// The median rate of the steps around each step: half a minute, or all there is at the edges of a short run.
fn usual_around(steps: &[ThroughputStep]) -> Vec<f64> {
    let overall = usual_of(steps.iter().map(ThroughputStep::per_ms));
    let step_ms = steps[0].span.length_ms().max(1.0);
    let near = (NEAR_MS / step_ms).ceil() as usize;
    // At an edge the window is moved, not cut: as many steps on one side as are missing on the other.
    let wanted = (2 * near + 1).min(steps.len());
    let mut window = SortedWindow::of(steps[..wanted].iter().map(ThroughputStep::per_ms));
    let mut from = 0;
    let mut around = |index: usize| {
        while from < index.saturating_sub(near).min(steps.len() - wanted) {
            window.replace(steps[from].per_ms(), steps[from + wanted].per_ms());
            from += 1;
        }
        let usual = window.middle();
        if usual > 0.0 { usual } else { overall }
    };
    (0..steps.len()).map(&mut around).collect()
}

/// Values in order, one of which leaves when another one comes: an hour has 36,000 steps, and sorting anew for each is slow.
struct SortedWindow(Vec<f64>);

impl SortedWindow {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = values.collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    fn replace(&mut self, old: f64, new: f64) {
        let place = |list: &[f64], value: f64| list.partition_point(|one| one.total_cmp(&value).is_lt());
        self.0.remove(place(&self.0, old));
        self.0.insert(place(&self.0, new), new);
    }

    fn middle(&self) -> f64 {
        let half = self.0.len() / 2;
        if self.0.len() % 2 == 1 { self.0[half] } else { f64::midpoint(self.0[half - 1], self.0[half]) }
    }
}

/// When transactions ended, as precisely as is known: the bucket, outside any gap.
#[derive(Clone, Copy)]
struct Ends<'a> {
    buckets: &'a [ThroughputStep],
    gaps: &'a [TimeSpan],
}

impl Ends<'_> {
    /// Transactions that ended in a stretch; of a bucket that is in it in part, that part. Where a gap reaches into a bucket, its
    /// transactions ended beside the gap: what was queued behind a standstill ends at once after it.
    fn within(&self, span: TimeSpan) -> f64 {
        let part = |step: &ThroughputStep| {
            let (shared, open) = (self.outside_gaps(step.span.shared(span)), self.outside_gaps(step.span));
            if open > 0.0 { step.ok * (shared / open).clamp(0.0, 1.0) } else { 0.0 }
        };
        self.buckets.iter().map(part).sum()
    }

    fn outside_gaps(&self, span: TimeSpan) -> f64 {
        let in_gaps: f64 = self.gaps.iter().map(|gap| gap.shared(span).length_ms()).sum();
        (span.length_ms() - in_gaps).max(0.0)
    }
}

fn merge(mut spans: Vec<TimeSpan>) -> Vec<TimeSpan> {
    spans.sort_by(|one, other| one.from_ms.total_cmp(&other.from_ms));
    let mut merged: Vec<TimeSpan> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.touches(&span, MERGE_MS) => last.to_ms = last.to_ms.max(span.to_ms),
            _ => merged.push(span),
        }
    }
    merged
}
