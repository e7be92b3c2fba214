//! The values of one reading.

use std::collections::BTreeMap;

use truetps_record::AbsentSignal;

/// Values by name, as `probe.jsonl` has them.
pub type ProbeValues = BTreeMap<String, f64>;

/// What was read at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeReading {
    pub values: ProbeValues,
    /// Signals that exist but could not be read this time, and signals that turned out not to
    /// exist.
    pub absent: Vec<AbsentSignal>,
}

impl ProbeReading {
    pub(super) fn absent(&mut self, what: &str, why: impl Into<String>) {
        self.absent.push(AbsentSignal { what: what.to_owned(), why: why.into() });
    }

    pub(super) fn put(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }
}
