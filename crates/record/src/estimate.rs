//! A number with its uncertainty.

use serde::{Deserialize, Serialize};

/// A value with its 95 % interval. `low` and `high` are `None` where there are too few trials for
/// an interval: such a value is one observation and must be shown as that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Trials (or pairs of trials) behind it.
    pub n: usize,
}
