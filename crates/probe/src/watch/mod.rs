//! The activity of a server and its host during a measurement: readings, without any thread or clock of their own.
//!
//! [`ServerWatch`] has one session and queries its server; [`HostWatch`] reads /proc and /sys. Both return a
//! [`ProbeReading`] on request, and [`Changes`] removes the unchanged values from it.

mod changes;
mod disk;
mod host;
mod mysql;
mod postgres;
mod pressure;
mod processes;
mod server;
mod shape;
mod signals;

use std::collections::BTreeMap;

use truetps_record::AbsentSignal;

pub use changes::Changes;
pub use host::HostWatch;
pub use server::ServerWatch;
pub use signals::every_signal;

/// Values by name, as `probe.jsonl` has them.
pub type ProbeValues = BTreeMap<String, f64>;

/// What was read at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeReading {
    pub values: ProbeValues,
    /// Signals that exist but could not be read this time, and signals that turned out not to exist.
    pub absent: Vec<AbsentSignal>,
}

impl ProbeReading {
    fn absent(&mut self, what: &str, why: impl Into<String>) {
        self.absent.push(AbsentSignal { what: what.to_owned(), why: why.into() });
    }

    fn put(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }
}
