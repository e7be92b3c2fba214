//! The activity of a server and its host during a measurement: readings, without any thread or clock of their own.
//!
//! [`ServerWatch`] has one session and queries its server; [`HostWatch`] reads /proc and /sys. Both return a
//! [`ProbeReading`] on request, and [`Changes`] removes the unchanged values from it.

mod changes;
mod disk;
mod host;
mod mysql;
mod mysql_names;
mod postgres;
mod pressure;
mod processes;
mod server;
mod shape;

use std::collections::BTreeMap;

use truetps_record::{AbsentSignal, ProbeSource, Signal, SignalGroup, SignalKind, SignalUnit};

pub use changes::Changes;
pub use host::HostWatch;
pub use server::ServerWatch;

/// Values by name, as `probe.jsonl` has them.
pub type ProbeValues = BTreeMap<String, f64>;

/// Values of one place, by what they are. Their names are without the place.
type SignalTable = &'static [(SignalKind, SignalUnit, &'static [&'static str])];

/// A table of values with the full names, as the header of `probe.jsonl` lists them.
fn signal_groups(source: ProbeSource, place: &str, table: SignalTable) -> impl Iterator<Item = SignalGroup> {
    table.iter().map(move |(kind, unit, names)| {
        let signal = Signal { source, kind: *kind, unit: *unit };
        SignalGroup::new(signal, names.iter().map(|name| format!("{place}.{name}")))
    })
}

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
