//! `[probe]` of a plan: what is watched during a trial, and how often.

use serde::{Deserialize, Serialize};

use crate::PlanError;

/// Fastest and slowest that a server may be asked.
const INTERVAL_S: (f64, f64) = (0.05, 60.0);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeSpec {
    /// Whether server and host are watched at all.
    pub enabled: bool,
    pub interval_s: f64,
    /// Start private servers with all wait events of `performance_schema` and the InnoDB metrics that are off by default. That
    /// costs throughput; a server of the user is left as it is.
    pub waits: bool,
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self { enabled: true, interval_s: 1.0, waits: false }
    }
}

impl ProbeSpec {
    /// Whether the numbers are ones that a server can be asked with.
    pub fn check(&self) -> Result<(), PlanError> {
        let (least, most) = INTERVAL_S;
        if (least..=most).contains(&self.interval_s) {
            return Ok(());
        }
        let problem = format!("{} is not between {least} and {most} seconds", self.interval_s);
        Err(PlanError::Value { key: "probe.interval_s".to_owned(), problem })
    }
}
