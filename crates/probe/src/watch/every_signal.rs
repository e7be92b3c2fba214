//! The names of all values, for the documentation.

use truetps_record::{ProbeSource, Signal, SignalGroup, SignalKind, SignalRegistry, SignalUnit};

use super::host::HostWatch;
use super::signals::{SIGNALS, signal_groups};
use super::{mysql, postgres};

/// All values that a probe may have, of any server and host.
pub fn every_signal() -> SignalRegistry {
    let server = ProbeSource::Server;
    let mut all = SignalRegistry::default();
    for place in mysql::PLACES.iter().chain(postgres::PLACES) {
        let table = match *place {
            "status" => &SIGNALS.status,
            "metric" => &SIGNALS.metric,
            "file" => &SIGNALS.file,
            "wait" => &SIGNALS.wait,
            "session" => &SIGNALS.session,
            "replica" => &SIGNALS.replica,
            "pg_lsn" => &SIGNALS.pg_lsn,
            "pg_locks" => &SIGNALS.pg_locks,
            mysql::LOCK_WAITS_PLACE => {
                let signal =
                    Signal { source: server, kind: SignalKind::Gauge, unit: SignalUnit::Sessions };
                all.add([SignalGroup::new(signal, [*place])]);
                continue;
            }
            _ => &SIGNALS.pg_view,
        };
        all.add(signal_groups(server, place, table));
    }
    all.add(signal_groups(server, "probe", &SIGNALS.probe));
    all.add(HostWatch::every_signal());
    all
}
