//! One second of the series.

use serde::{Deserialize, Serialize};

use crate::{Counts, LatencyFigures, OpenLoop, TimeSpan};

/// Phases of a trial, in order. Only [`Phase::Measure`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    WarmUp,
    Measure,
    Drain,
}

impl Phase {
    /// Its name, as in `latency.hdr`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::WarmUp => "warm_up",
            Self::Measure => "measure",
            Self::Drain => "drain",
        }
    }

    pub fn from_tag(tag: &str) -> Option<Self> {
        [Self::WarmUp, Self::Measure, Self::Drain].into_iter().find(|phase| phase.tag() == tag)
    }
}

/// One line of `intervals.jsonl`. Times count from the moment when all clients were connected and
/// the first transaction started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub phase: Phase,
    pub start_ms: f64,
    /// Shorter than a second for the last interval of a phase.
    pub length_ms: f64,
    #[serde(flatten)]
    pub counts: Counts,
    /// Transactions a second in this interval: `ok / length`.
    pub tps: f64,
    #[serde(flatten)]
    pub response: LatencyFigures,
    /// Figures of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Transactions that succeeded in each [`BUCKET_MS`] of this interval, from its start. It shows
    /// bursts that `ok` hides. The last bucket is shorter if the interval ends in it. Empty in
    /// records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u32>,
    /// Gaps of at least [`BUCKET_MS`] in which no transaction of any client succeeded, and whose
    /// end is in this interval; they may have begun in an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<TransactionGap>,
}

/// 0 if the time has no length.
pub fn per_second(number: u64, length_ms: f64) -> f64 {
    if length_ms > 0.0 { number as f64 / (length_ms / 1e3) } else { 0.0 }
}

impl Interval {
    /// Without latencies, buckets and gaps.
    pub fn of_counts(phase: Phase, start_ms: f64, length_ms: f64, counts: Counts) -> Self {
        Self {
            phase,
            start_ms,
            length_ms,
            counts,
            tps: per_second(counts.ok, length_ms),
            response: LatencyFigures::default(),
            open_loop: None,
            buckets: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Transactions of this interval that ended well in a stretch of time; of a bucket that is in
    /// it in part, that part.
    pub fn ok_between(&self, from_ms: f64, to_ms: f64) -> f64 {
        let stretch = TimeSpan { from_ms, to_ms };
        let end_ms = self.start_ms + self.length_ms;
        if self.buckets.is_empty() {
            let whole = TimeSpan { from_ms: self.start_ms, to_ms: end_ms };
            return self.counts.ok as f64 * share_within(whole, stretch);
        }
        let mut sum = 0.0;
        for (index, ok) in self.buckets.iter().enumerate() {
            let is_last = index + 1 == self.buckets.len();
            let bucket = TimeSpan {
                from_ms: self.start_ms + index as f64 * BUCKET_MS,
                to_ms: if is_last {
                    end_ms
                } else {
                    self.start_ms + (index + 1) as f64 * BUCKET_MS
                },
            };
            sum += f64::from(*ok) * share_within(bucket, stretch);
        }
        sum
    }
}

/// The share of a bucket that lies within a stretch of time, 0 to 1; 0 if the bucket has no length.
fn share_within(bucket: TimeSpan, stretch: TimeSpan) -> f64 {
    let TimeSpan { from_ms, to_ms } = bucket;
    if to_ms <= from_ms {
        return 0.0;
    }
    ((to_ms.min(stretch.to_ms) - from_ms.max(stretch.from_ms)) / (to_ms - from_ms)).clamp(0.0, 1.0)
}

/// Response times of one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyInterval {
    pub phase: Phase,
    /// Since the first transaction of the trial.
    pub start_ms: f64,
    pub length_ms: f64,
    /// Pairs by rising time: nanoseconds (the lowest value of the histogram's slot), and the number
    /// of transactions.
    pub counts: Vec<(u64, u64)>,
}

/// Length of a bucket: the finest step of a series of throughput.
pub const BUCKET_MS: f64 = 100.0;

/// From one successful transaction to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TransactionGap {
    /// On the same clock as [`Interval::start_ms`].
    pub start_ms: f64,
    pub length_ms: f64,
}
