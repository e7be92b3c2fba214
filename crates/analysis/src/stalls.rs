//! Where throughput broke down: stalls and dips, from the steps of 100 ms that an average hides.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use truetps_record::{Interval, Phase, TimeSpan};

use crate::absence::Absent;
use crate::coincident::Coincident;
use crate::order_stats::{largest, median};
use crate::stall_rule::{
    JudgedInterval, JudgedPhase, MERGE_MS, ThroughputStep, UsualThroughput, judge_phase, merge,
    usual_of,
};

/// A dip has less than this share of its baseline, and less than chance explains, in the mean of so
/// many steps.
const DIP_SHARE: f64 = 0.7;
const DIP_STEPS: usize = 5;
const DIP_SIGMAS: f64 = 4.0;
/// From a median absolute deviation to a standard deviation, for a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// What the measure phase of one trial had of stalls and dips.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stalls {
    /// By their start.
    pub list: Vec<Stall>,
    /// Length of the measure phase that was looked at.
    pub watched_ms: f64,
    /// All stalls together; dips are not in it.
    pub stalled_ms: f64,
    /// `None` where there was no stall.
    pub longest_ms: Option<f64>,
    /// Longest stretch in which no transaction ended well. `None`: none was as long as 100 ms.
    pub max_gap_ms: Option<f64>,
    /// Why stalls are unknown.
    pub absent: Option<Absent>,
}

impl Stalls {
    pub(crate) fn unknown(why: Absent) -> Self {
        Self { absent: Some(why), ..Self::default() }
    }

    /// Stalls without dips.
    pub fn stalls(&self) -> impl Iterator<Item = &Stall> {
        self.list.iter().filter(|one| one.kind == StallKind::Stall)
    }
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
    /// What the server did during it, or why that is not known.
    #[serde(flatten, serialize_with = "coincident_or_absent")]
    pub coincident: Result<Coincident, Absent>,
}

/// `coincident` or `coincident_absent`; the other is `null`.
fn coincident_or_absent<S: Serializer>(
    found: &Result<Coincident, Absent>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("CoincidentOrAbsent", 2)?;
    fields.serialize_field("coincident", &found.as_ref().ok())?;
    fields.serialize_field("coincident_absent", &found.as_ref().err())?;
    fields.end()
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

/// Finds them in the data kept during a run.
pub(crate) fn stalls_of(intervals: &[JudgedInterval]) -> Stalls {
    let judged = judge_phase(intervals, Phase::Measure);
    let max_gap_ms = largest(judged.gaps.iter().map(|gap| gap.length_ms()));
    let found = Stalls { watched_ms: judged.length_ms, max_gap_ms, ..Stalls::default() };
    let list = match list(&judged, intervals) {
        Ok(list) => list,
        Err(why) => return Stalls { absent: Some(why), ..found },
    };
    let stalls = list.iter().filter(|one| one.kind == StallKind::Stall);
    let lengths: Vec<_> = stalls.map(|one| one.length_ms).collect();
    Stalls {
        stalled_ms: lengths.iter().fold(0.0, |sum, length| sum + length),
        longest_ms: largest(lengths.into_iter()),
        list,
        ..found
    }
}

/// Stalls and dips by their start.
fn list(judged: &JudgedPhase, intervals: &[JudgedInterval]) -> Result<Vec<Stall>, Absent> {
    let stalls = judged.stalls.as_ref().map_err(Absent::clone)?;
    let Some(level) = &judged.level else {
        return Ok(stalls.iter().map(|span| standstill(*span, intervals)).collect());
    };
    let ends = Ends { level, buckets: &judged.buckets, gaps: &judged.gaps };
    let mut list: Vec<_> = stalls.iter().map(|span| ends.stall(StallKind::Stall, *span)).collect();
    list.extend(dips(level, stalls).into_iter().map(|span| ends.stall(StallKind::Dip, span)));
    list.sort_by(|one, other| one.start_ms.total_cmp(&other.start_ms));
    Ok(list)
}

/// A measure phase in which transactions were under way and none ended well is one stall. What is
/// usual is known from the warm-up alone, and is 0 where nothing ended there either.
fn standstill(span: TimeSpan, intervals: &[JudgedInterval]) -> Stall {
    let warm_up = intervals.iter().filter(|interval| interval.phase == Phase::WarmUp);
    Stall {
        kind: StallKind::Stall,
        start_ms: span.from_ms,
        length_ms: span.length_ms(),
        depth: 1.0,
        baseline_tps: usual_of(warm_up.map(|interval| interval.tps)),
        coincident: Err(Absent::NotWatched),
    }
}

/// Runs of steps that are low, further than their scatter explains. One that a stall is in, or next
/// to, is a part of it.
fn dips(level: &UsualThroughput, stalled: &[TimeSpan]) -> Vec<TimeSpan> {
    if !level.is_dense {
        return Vec::new();
    }
    let ratios = level.smooth_ratios(DIP_STEPS);
    let middle = median(ratios.iter().copied()).unwrap_or(1.0);
    // Standard deviation without the outliers.
    let scatter =
        MAD_TO_SIGMA * median(ratios.iter().map(|ratio| (ratio - middle).abs())).unwrap_or(0.0);
    let share = DIP_SHARE.min(1.0 - DIP_SIGMAS * scatter);
    let mut dips = merge(level.runs(DIP_STEPS, ratios.iter().map(|ratio| *ratio < share)));
    dips.retain(|dip| !stalled.iter().any(|stall| stall.touches(*dip, MERGE_MS)));
    dips
}

/// When transactions ended, as precisely as is known: the bucket, outside any gap.
#[derive(Clone, Copy)]
struct Ends<'a> {
    level: &'a UsualThroughput,
    buckets: &'a [ThroughputStep],
    gaps: &'a [TimeSpan],
}

impl Ends<'_> {
    fn stall(&self, kind: StallKind, span: TimeSpan) -> Stall {
        let usual = self.level.usual_at(span.from_ms);
        let expected = usual * span.length_ms();
        let missing = if expected > 0.0 { 1.0 - self.within(span) / expected } else { 0.0 };
        Stall {
            kind,
            start_ms: span.from_ms,
            length_ms: span.length_ms(),
            depth: missing.clamp(0.0, 1.0),
            baseline_tps: usual * 1e3,
            coincident: Err(Absent::NotWatched),
        }
    }

    /// Transactions that ended in a stretch; of a bucket that is in it in part, that part. Where a
    /// gap reaches into a bucket, its transactions ended beside the gap: what was queued behind a
    /// standstill ends at once after it.
    fn within(&self, span: TimeSpan) -> f64 {
        let parts = self.buckets.iter().map(|step| {
            let (shared, open) =
                (self.outside_gaps(step.span.shared(span)), self.outside_gaps(step.span));
            if open > 0.0 { step.ok * (shared / open).clamp(0.0, 1.0) } else { 0.0 }
        });
        parts.sum()
    }

    fn outside_gaps(&self, span: TimeSpan) -> f64 {
        let in_gaps: f64 = self.gaps.iter().map(|gap| gap.shared(span).length_ms()).sum();
        (span.length_ms() - in_gaps).max(0.0)
    }
}
