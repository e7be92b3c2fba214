//! One second of the series.

use serde::{Deserialize, Serialize};

use crate::{Counts, LatencyFigures, OpenLoop};

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

/// One line of `intervals.jsonl`. Times count from the moment when all clients were connected and the first
/// transaction started.
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
    /// Transactions that succeeded in each [`BUCKET_MS`] of this interval, from its start. It shows bursts that `ok`
    /// hides. The last bucket is shorter if the interval ends in it. Empty in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u32>,
    /// Gaps of at least [`BUCKET_MS`] in which no transaction of any client succeeded, and whose end is in this
    /// interval; they may have begun in an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<TransactionGap>,
}

impl Interval {
    /// Without latencies, buckets and gaps.
    pub fn of_counts(phase: Phase, start_ms: f64, length_ms: f64, counts: Counts) -> Self {
        Self {
            phase,
            start_ms,
            length_ms,
            counts,
            tps: if length_ms > 0.0 { counts.ok as f64 / (length_ms / 1e3) } else { 0.0 },
            response: LatencyFigures::default(),
            open_loop: None,
            buckets: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Transactions of this interval that ended well in a stretch of time; of a bucket that is in it in part, that part.
    pub fn ok_between(&self, from_ms: f64, to_ms: f64) -> f64 {
        let end_ms = self.start_ms + self.length_ms;
        let part = |start: f64, end: f64| {
            if end > start {
                ((end.min(to_ms) - start.max(from_ms)) / (end - start)).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        if self.buckets.is_empty() {
            return self.counts.ok as f64 * part(self.start_ms, end_ms);
        }
        let start = |index: usize| self.start_ms + index as f64 * BUCKET_MS;
        let end =
            |index: usize| if index + 1 == self.buckets.len() { end_ms } else { start(index + 1) };
        self.buckets.iter().enumerate().map(|(n, ok)| f64::from(*ok) * part(start(n), end(n))).sum()
    }
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
