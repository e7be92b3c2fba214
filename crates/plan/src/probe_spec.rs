//! `[probe]` of a plan: what is read during a trial, and how often.

use serde::{Deserialize, Serialize};

/// Shortest and longest interval between readings of a server.
const INTERVAL_S: (f64, f64) = (0.05, 60.0);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeSpec {
    /// Whether server and host are read at all.
    pub enabled: bool,
    pub interval_s: f64,
    /// Start private servers with all wait events of `performance_schema` and the InnoDB metrics
    /// that are off by default. That costs throughput; external servers keep their own settings.
    pub waits: bool,
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self { enabled: true, interval_s: 1.0, waits: false }
    }
}

impl ProbeSpec {
    /// `--probe-interval` in seconds: 0 turns the probe off. `None`: the number is not valid.
    pub fn of_interval(interval_s: f64) -> Option<Self> {
        if interval_s == 0.0 {
            return Some(Self { enabled: false, ..Self::default() });
        }
        let spec = Self { interval_s, ..Self::default() };
        spec.check().is_ok().then_some(spec)
    }

    /// What is wrong with the interval.
    pub fn check(&self) -> Result<(), String> {
        let (least, most) = INTERVAL_S;
        if (least..=most).contains(&self.interval_s) {
            return Ok(());
        }
        Err(format!("{} is not between {least} and {most} seconds", self.interval_s))
    }
}
