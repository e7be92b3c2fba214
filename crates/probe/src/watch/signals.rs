//! What the values of a probe are, by place: `data/signals.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use truetps_record::{ProbeSource, Signal, SignalGroup, SignalKind, SignalUnit};

/// Values of one place, by what they are. Their names are without the place.
pub(crate) type SignalTable = &'static [SignalRow];

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalRow {
    kind: SignalKind,
    unit: SignalUnit,
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalTables {
    pub(crate) status: Vec<SignalRow>,
    pub(crate) metric: Vec<SignalRow>,
    pub(crate) file: Vec<SignalRow>,
    pub(crate) wait: Vec<SignalRow>,
    pub(crate) session: Vec<SignalRow>,
    pub(crate) replica: Vec<SignalRow>,
    pub(crate) replica_identity: Vec<String>,
    pub(crate) pg_view: Vec<SignalRow>,
    pub(crate) pg_lsn: Vec<SignalRow>,
    pub(crate) pg_locks: Vec<SignalRow>,
    pub(crate) probe: Vec<SignalRow>,
    pub(crate) host: Vec<SignalRow>,
    pub(crate) psi: Vec<SignalRow>,
    pub(crate) server: Vec<SignalRow>,
    pub(crate) disk: Vec<SignalRow>,
    pub(crate) generator: Vec<SignalRow>,
}

pub(crate) static SIGNALS: LazyLock<SignalTables> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/signals.toml")).expect("signals.toml is read by a test")
});

/// A table of values with the full names, as the header of `probe.jsonl` lists them.
pub(crate) fn signal_groups(
    source: ProbeSource,
    place: &str,
    table: SignalTable,
) -> impl Iterator<Item = SignalGroup> {
    table.iter().map(move |row| {
        let signal = Signal { source, kind: row.kind, unit: row.unit };
        SignalGroup::new(signal, row.names.iter().map(|name| format!("{place}.{name}")))
    })
}

#[cfg(test)]
mod tests {
    use truetps_record::SignalRegistry;

    use super::*;

    #[test]
    fn the_table_of_version_1_agrees() {
        let old = SignalRegistry::of_version_1();
        for (place, table) in [("status", &SIGNALS.status), ("metric", &SIGNALS.metric)] {
            for group in signal_groups(ProbeSource::Server, place, table) {
                for name in &group.names {
                    assert_eq!(
                        old.find(name).map(|(signal, _)| signal.kind),
                        Some(group.signal.kind),
                        "{name}"
                    );
                }
            }
        }
    }
}
