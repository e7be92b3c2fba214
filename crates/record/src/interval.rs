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
    /// What an open loop adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
}
