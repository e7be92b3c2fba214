//! `probe.jsonl`: what server and host did during a trial, on the engine's clock.
//!
//! The first line is the [`ProbeHeader`]; each further line is a [`ProbeSample`]. Values have the
//! server's own names, prefixed with their source (`status.Innodb_os_log_written`,
//! `host.context_switches`); the header says what they are. A sample holds only the values that
//! changed since the previous sample of the same [`ProbeSource`];
//! [`ProbeDecoder`](crate::ProbeDecoder) fills in the others. A value that could be read before and
//! no longer can is named in [`ProbeSample::lost`], so that it is not taken for unchanged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Family, Flavour, ProbeSource, SignalRegistry};

/// First line of `probe.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeHeader {
    pub schema_version: u32,
    pub interval_ms: f64,
    /// `None`: only the host is read.
    pub family: Option<Family>,
    /// `None` also in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavour: Option<Flavour>,
    /// What this server, this account or this host does not offer, and why.
    #[serde(default)]
    pub absent: Vec<AbsentSignal>,
    /// All values that samples may have. Version 1 did not list them.
    #[serde(default = "SignalRegistry::of_version_1")]
    pub signals: SignalRegistry,
}

impl ProbeHeader {
    /// The header of a file of version 1.
    pub fn of_version_1(interval_ms: f64, family: Option<Family>) -> Self {
        let signals = SignalRegistry::of_version_1();
        Self { schema_version: 1, interval_ms, family, flavour: None, absent: Vec::new(), signals }
    }
}

/// Values that cannot be read. They are absent from all samples, never zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentSignal {
    /// The source prefix of the names: `file`, `wait`, `psi`.
    pub what: String,
    pub why: String,
}

impl AbsentSignal {
    /// Whether a value of this name is absent: it has this name, or a name below it.
    pub fn is_about(&self, name: &str) -> bool {
        name.strip_prefix(self.what.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// One reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeSample {
    pub source: ProbeSource,
    /// Middle of the reading, on the clock of [`Interval::start_ms`](crate::Interval::start_ms);
    /// negative before the first transaction.
    pub at_ms: f64,
    /// How long the reading took.
    pub took_ms: f64,
    /// What has changed since the last sample of this source; the first sample has all values.
    pub values: BTreeMap<String, f64>,
    /// Sources (or single names) whose values are absent from this sample on, until a later sample
    /// has them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<AbsentSignal>,
}

impl ProbeSample {
    pub fn began_ms(&self) -> f64 {
        self.at_ms - self.took_ms / 2.0
    }

    pub fn ended_ms(&self) -> f64 {
        self.at_ms + self.took_ms / 2.0
    }

    /// Whether the reading took so long that the time of its values is unknown.
    pub fn is_late(&self) -> bool {
        self.took_ms > SLOW_MS
    }
}

/// A reading that took longer is not a point of a series.
pub(crate) const SLOW_MS: f64 = 500.0;

/// One value at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbePoint {
    pub at_ms: f64,
    pub value: f64,
}
