//! What is known at any time of a search.

use serde::Serialize;

use crate::curve::CurvePoint;
use crate::usl::Usl;

/// How a search ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolOutcome {
    /// The source ended it.
    #[default]
    Unfinished,
    /// No trial gave a result.
    NoResult,
    /// No number of connections keeps the limit of p99.
    NothingMeetsLimit,
    Advised,
}

/// What the advice was compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolAgainst {
    /// The number with the best throughput.
    Best,
    /// The number that the user has now.
    Current,
    /// The next smaller number that was measured.
    Smaller,
}

/// The advice against another number, in the blocks of the last check alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolComparison {
    pub against: PoolAgainst,
    pub connections: u32,
    /// Throughput of the advice divided by the other one's, with its 95 % interval (Student's t of
    /// paired logarithms).
    pub ratio: f64,
    pub ratio_low: Option<f64>,
    pub ratio_high: Option<f64>,
    pub pairs: u32,
}

/// What the trials say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PoolFindings {
    pub outcome: PoolOutcome,
    /// Each number that was measured in blocks, ascending.
    pub curve: Vec<CurvePoint>,
    /// The smallest number that has 95 % of the best throughput and keeps the limit.
    pub advice: Option<u32>,
    /// The number with the best throughput among those that keep the limit.
    pub best: Option<u32>,
    /// Whether the best number is the largest that may be tried: more connections may give more.
    pub is_growing: bool,
    /// What the check compared.
    pub comparisons: Vec<PoolComparison>,
    /// `None` where it does not fit.
    pub usl: Option<Usl>,
}

impl PoolFindings {
    pub fn point(&self, connections: u32) -> Option<&CurvePoint> {
        self.curve.iter().find(|point| point.connections == connections)
    }

    pub fn against(&self, what: PoolAgainst) -> Option<&PoolComparison> {
        self.comparisons.iter().find(|comparison| comparison.against == what)
    }
}
