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

/// The advice against another number: the quotient of their two rows of the curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolComparison {
    pub against: PoolAgainst,
    pub connections: u32,
    /// Throughput of the advice divided by the other one's, with its 95 % interval (Student's t of
    /// the logarithms).
    pub ratio: f64,
    pub ratio_low: Option<f64>,
    pub ratio_high: Option<f64>,
    /// Trials of the one that has fewer.
    pub pairs: u32,
}

/// What the trials say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PoolFindings {
    pub outcome: PoolOutcome,
    /// Each number that was measured in blocks, ascending.
    pub curve: Vec<CurvePoint>,
    /// The smallest number that has 95 % of the best throughput and keeps the limit, as far as the
    /// trials show.
    pub advice: Option<u32>,
    /// A larger number that would be the advice if its p99 kept the limit, which it is near.
    pub near_limit: Option<u32>,
    /// The largest number up to which all surely lack 95 % of the best, and the smallest that
    /// surely has it: 95 % intervals. `None` where there is none.
    pub too_few: Option<u32>,
    pub enough: Option<u32>,
    /// The number with the best throughput among those that keep the limit.
    pub best: Option<u32>,
    /// Whether throughput still rises at the largest number that was measured.
    pub is_growing: bool,
    /// What the advice was compared with.
    pub comparisons: Vec<PoolComparison>,
    /// `None` where it does not fit.
    pub usl: Option<Usl>,
    /// Standard deviation of the logarithm of one trial's throughput within a block, without
    /// disturbed trials.
    pub trial_sd: Option<f64>,
    /// Trials whose throughput is so far from all others that they hardly count.
    pub far_off: u32,
}

impl PoolFindings {
    pub fn point(&self, connections: u32) -> Option<&CurvePoint> {
        self.curve.iter().find(|point| point.connections == connections)
    }

    pub fn against(&self, what: PoolAgainst) -> Option<&PoolComparison> {
        self.comparisons.iter().find(|comparison| comparison.against == what)
    }
}
