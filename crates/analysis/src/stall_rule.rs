//! The definition of a stall, during a run and afterwards: [`judge_phase`] judges the intervals of
//! a phase that ends with the last of them. After a run these are all intervals; during a run, the
//! intervals so far. `docs/method/stalls-and-dips.md` has the rule.

use truetps_record::{BUCKET_MS, Interval, Phase, TimeSpan, TransactionGap};

use crate::absence::{Absent, TooFewOf};
use crate::order_stats::median;

/// A stall has less than this share of its baseline.
const STALL_SHARE: f64 = 0.3;
/// … in so many steps in a row: a single one is chance more often than not.
const STALL_STEPS: usize = 2;
/// A step (or a gap) is judged only where so many transactions were to be expected in it: with 20,
/// chance alone leaves fewer than 6 once in 14,000 steps, and twice in a row never.
const EXPECTED_MIN: f64 = 20.0;
/// Stalls this close to each other are one.
pub(crate) const MERGE_MS: f64 = 2.0 * BUCKET_MS;
/// Buckets are joined until a step has as many. All of these divide a second, the length of an
/// interval; longer steps cannot show a stall.
const JOINED: [usize; 4] = [1, 2, 5, 10];
/// Fewer steps say nothing about what is usual.
const STEPS_MIN: usize = 10;
/// Nothing ended for so long, and for so many times the median response time: a stall whatever the
/// steps say.
const GAP_MS: f64 = 250.0;
const GAP_RESPONSES: f64 = 20.0;
/// The baseline is the median of the steps this near on either side: what lasts longer is another
/// level, not a stall.
pub(crate) const NEAR_MS: f64 = 15_000.0;

/// What the rule needs of an interval.
#[derive(Debug, Clone)]
pub(crate) struct JudgedInterval {
    pub(crate) phase: Phase,
    pub(crate) start_ms: f64,
    length_ms: f64,
    pub(crate) tps: f64,
    response_us_p50: Option<f64>,
    /// Starts that the schedule of an open loop has in it.
    scheduled: Option<u64>,
    is_busy: bool,
    /// Empty for the drain, which is not judged.
    buckets: Box<[u32]>,
    gaps: Box<[TransactionGap]>,
}

impl JudgedInterval {
    pub(crate) fn of(interval: &Interval) -> Self {
        let buckets =
            if interval.phase == Phase::Drain { &[] } else { interval.buckets.as_slice() };
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

/// The throughput of a phase, and where it broke down.
pub(crate) struct JudgedPhase {
    pub(crate) length_ms: f64,
    pub(crate) buckets: Vec<ThroughputStep>,
    pub(crate) gaps: Vec<TimeSpan>,
    /// `None`: it is unknown, or nothing ended at all.
    pub(crate) level: Option<UsualThroughput>,
    /// By their start, or why they are unknown.
    pub(crate) stalls: Result<Vec<TimeSpan>, Absent>,
}

/// Judges a phase. `intervals`: in order, of all phases: a gap may end in the next one.
pub(crate) fn judge_phase(intervals: &[JudgedInterval], phase: Phase) -> JudgedPhase {
    let of_phase: Vec<_> = intervals.iter().filter(|interval| interval.phase == phase).collect();
    let edges = of_phase.first().zip(of_phase.last());
    let (from_ms, to_ms) =
        edges.map_or((0.0, 0.0), |(first, last)| (first.start_ms, last.start_ms + last.length_ms));
    let mut judged = JudgedPhase {
        length_ms: to_ms - from_ms,
        buckets: Vec::new(),
        gaps: Vec::new(),
        level: None,
        stalls: Err(Absent::SecondsOnly),
    };
    if of_phase.iter().any(|interval| interval.buckets.is_empty()) {
        return judged;
    }
    judged.buckets = buckets(&of_phase);
    judged.gaps = gaps(intervals, &judged.buckets, from_ms, to_ms);
    let is_busy = of_phase.iter().any(|one| one.is_busy);
    // However short: it needs no level to fall from.
    if is_busy && judged.length_ms >= GAP_MS && judged.buckets.iter().all(|step| step.ok <= 0.0) {
        let (first, last) = (judged.buckets[0].span, judged.buckets[judged.buckets.len() - 1].span);
        judged.stalls = Ok(vec![TimeSpan { from_ms: first.from_ms, to_ms: last.to_ms }]);
    } else if judged.buckets.len() < STEPS_MIN {
        judged.stalls = Err(Absent::TooShort);
        return judged;
    } else {
        let level = UsualThroughput::of(&judged.buckets);
        let response_ms =
            median(of_phase.iter().filter_map(|one| one.response_us_p50)).unwrap_or(0.0) / 1e3;
        let stalls = level.stalled(&judged.gaps, GAP_MS.max(GAP_RESPONSES * response_ms));
        let is_known = level.is_dense || !stalls.is_empty();
        judged.stalls =
            if is_known { Ok(stalls) } else { Err(Absent::TooFew { of: TooFewOf::Transactions }) };
        judged.level = Some(level);
    }
    if phase == Phase::WarmUp {
        // A slow start is no stall: throughput has not been higher before.
        judged.stalls.iter_mut().for_each(|stalls| stalls.retain(|stall| stall.from_ms > from_ms));
    }
    judged
}

/// Transactions of a stretch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThroughputStep {
    pub(crate) span: TimeSpan,
    pub(crate) ok: f64,
    /// Starts that an open loop's schedule has in it: no more was to be expected.
    scheduled: Option<f64>,
}

impl ThroughputStep {
    fn per_ms(&self) -> f64 {
        self.ok / self.span.length_ms()
    }

    /// What the schedule allows; without one, there is no limit.
    fn scheduled_per_ms(&self) -> f64 {
        self.scheduled.map_or(f64::INFINITY, |starts| starts / self.span.length_ms())
    }

    fn join(steps: &[Self]) -> Self {
        let span =
            TimeSpan { from_ms: steps[0].span.from_ms, to_ms: steps[steps.len() - 1].span.to_ms };
        let scheduled: Option<Vec<f64>> = steps.iter().map(|step| step.scheduled).collect();
        let scheduled = scheduled.map(|starts| starts.into_iter().sum());
        Self { span, ok: steps.iter().map(|step| step.ok).sum(), scheduled }
    }
}

/// All buckets in order of time. One that the end of its interval has left shorter than half goes
/// to its neighbour.
fn buckets(intervals: &[&JudgedInterval]) -> Vec<ThroughputStep> {
    let mut steps: Vec<ThroughputStep> = Vec::new();
    for interval in intervals {
        for (index, ok) in interval.buckets.iter().enumerate() {
            let from_ms = interval.start_ms + index as f64 * BUCKET_MS;
            let to_ms = (from_ms + BUCKET_MS).min(interval.start_ms + interval.length_ms);
            let span = TimeSpan { from_ms, to_ms: to_ms.max(from_ms) };
            let scheduled = interval
                .scheduled
                .map(|starts| starts as f64 / interval.length_ms.max(1.0) * span.length_ms());
            let step = ThroughputStep { span, ok: f64::from(*ok), scheduled };
            match steps.last_mut() {
                Some(last) if step.span.length_ms() < BUCKET_MS / 2.0 => {
                    *last = ThroughputStep::join(&[*last, step]);
                }
                _ => steps.push(step),
            }
        }
    }
    steps.retain(|step| step.span.length_ms() > 0.0);
    steps
}

/// Gaps within the phase, whatever interval their end is in. One that has no end, since nothing
/// ended any more, is in no interval: it begins with the empty buckets at the end.
fn gaps(
    intervals: &[JudgedInterval],
    buckets: &[ThroughputStep],
    from_ms: f64,
    to_ms: f64,
) -> Vec<TimeSpan> {
    let gaps = intervals.iter().flat_map(|interval| interval.gaps.iter()).map(|gap| TimeSpan {
        from_ms: gap.start_ms.max(from_ms),
        to_ms: (gap.start_ms + gap.length_ms).min(to_ms),
    });
    let mut gaps: Vec<_> = gaps.filter(|span| span.length_ms() >= BUCKET_MS).collect();
    let last_ms =
        buckets.iter().rev().find(|step| step.ok > 0.0).map_or(from_ms, |step| step.span.to_ms);
    let open = TimeSpan { from_ms: last_ms, to_ms };
    if open.length_ms() >= BUCKET_MS && !gaps.iter().any(|gap| gap.to_ms > last_ms) {
        gaps.push(open);
    }
    gaps
}

/// Steps that are long enough to be judged, and what is usual around each.
pub(crate) struct UsualThroughput {
    steps: Vec<ThroughputStep>,
    /// Transactions a millisecond that were usual around each step.
    usual: Vec<f64>,
    /// Whether a step has enough transactions to be judged by.
    pub(crate) is_dense: bool,
}

impl UsualThroughput {
    fn of(buckets: &[ThroughputStep]) -> Self {
        let dense = JOINED
            .iter()
            .map(|count| joined(buckets, *count))
            .find(|steps| usual_of(steps.iter().map(|step| step.ok)) >= EXPECTED_MIN);
        let is_dense = dense.is_some();
        let steps = dense.unwrap_or_else(|| joined(buckets, JOINED[JOINED.len() - 1]));
        let around = usual_around(&steps).into_iter().zip(&steps);
        // A schedule that slows down is no stall.
        let usual = around.map(|(usual, step)| usual.min(step.scheduled_per_ms())).collect();
        Self { steps, usual, is_dense }
    }

    /// What is usual at a time.
    pub(crate) fn usual_at(&self, at_ms: f64) -> f64 {
        let index =
            self.steps.partition_point(|step| step.span.to_ms <= at_ms).min(self.steps.len() - 1);
        self.usual[index]
    }

    /// Runs of stalled steps, and gaps that are too long to be chance; what touches is one.
    fn stalled(&self, gaps: &[TimeSpan], gap_ms: f64) -> Vec<TimeSpan> {
        let mut spans = Vec::new();
        if self.is_dense {
            let steps = self.steps.iter().zip(&self.usual);
            let are_low = steps.map(|(step, usual)| step.per_ms() < STALL_SHARE * usual);
            spans = self.runs(STALL_STEPS, are_low);
        }
        spans.extend(gaps.iter().filter(|gap| {
            gap.length_ms() > gap_ms && self.usual_at(gap.from_ms) * gap.length_ms() >= EXPECTED_MIN
        }));
        merge(spans)
    }

    /// Each step with its neighbours, so many in all, relative to what is usual.
    pub(crate) fn smooth_ratios(&self, width: usize) -> Vec<f64> {
        let last = self.steps.len() - 1;
        let ratios = (0..=last).map(|index| {
            let near = &self.steps[index.saturating_sub(width / 2)..=(index + width / 2).min(last)];
            let usual = self.usual[index];
            if usual > 0.0 { ThroughputStep::join(near).per_ms() / usual } else { 1.0 }
        });
        ratios.collect()
    }

    /// Stretches of at least so many steps in a row that are low.
    pub(crate) fn runs(&self, least: usize, are_low: impl Iterator<Item = bool>) -> Vec<TimeSpan> {
        let steps: Vec<_> = self.steps.iter().map(|step| step.span).zip(are_low).collect();
        let runs = steps
            .chunk_by(|one, next| one.1 == next.1)
            .filter(|run| run[0].1 && run.len() >= least);
        runs.map(|run| TimeSpan { from_ms: run[0].0.from_ms, to_ms: run[run.len() - 1].0.to_ms })
            .collect()
    }
}

/// So many neighbouring buckets as one step.
fn joined(buckets: &[ThroughputStep], count: usize) -> Vec<ThroughputStep> {
    buckets.chunks(count).map(ThroughputStep::join).collect()
}

/// The median; if it is zero, the median of the values above zero.
pub(crate) fn usual_of(values: impl Iterator<Item = f64> + Clone) -> f64 {
    match median(values.clone()) {
        Some(middle) if middle > 0.0 => middle,
        _ => median(values.filter(|value| *value > 0.0)).unwrap_or(0.0),
    }
}

/// The median rate of the steps around each step: half a minute, or all there is at the edges of a
/// short run.
fn usual_around(steps: &[ThroughputStep]) -> Vec<f64> {
    let overall = usual_of(steps.iter().map(ThroughputStep::per_ms));
    let step_ms = steps[0].span.length_ms().max(1.0);
    let near = (NEAR_MS / step_ms).ceil() as usize;
    // At an edge the window is moved, not cut: as many steps on one side as are missing on the
    // other.
    let wanted = (2 * near + 1).min(steps.len());
    let mut window = SortedWindow::of(steps[..wanted].iter().map(ThroughputStep::per_ms));
    let mut from = 0;
    let mut around = Vec::with_capacity(steps.len());
    for index in 0..steps.len() {
        while from < index.saturating_sub(near).min(steps.len() - wanted) {
            window.replace(steps[from].per_ms(), steps[from + wanted].per_ms());
            from += 1;
        }
        let usual = window.middle();
        around.push(if usual > 0.0 { usual } else { overall });
    }
    around
}

/// Values in order, one of which leaves when another one comes: an hour has 36,000 steps, and
/// sorting anew for each is slow.
struct SortedWindow(Vec<f64>);

impl SortedWindow {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = values.collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    fn replace(&mut self, old: f64, new: f64) {
        self.0.remove(self.rank(old));
        self.0.insert(self.rank(new), new);
    }

    fn rank(&self, value: f64) -> usize {
        self.0.partition_point(|one| one.total_cmp(&value).is_lt())
    }

    fn middle(&self) -> f64 {
        let half = self.0.len() / 2;
        if self.0.len() % 2 == 1 {
            self.0[half]
        } else {
            f64::midpoint(self.0[half - 1], self.0[half])
        }
    }
}

pub(crate) fn merge(mut spans: Vec<TimeSpan>) -> Vec<TimeSpan> {
    spans.sort_by(|one, other| one.from_ms.total_cmp(&other.from_ms));
    let mut merged: Vec<TimeSpan> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.touches(span, MERGE_MS) => last.to_ms = last.to_ms.max(span.to_ms),
            _ => merged.push(span),
        }
    }
    merged
}
