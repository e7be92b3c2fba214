//! The values of a `probe.jsonl` of version 1, whose header does not list them.

use crate::SignalKind::{Counter, Gauge, State, StatusCounter, Wait};
use crate::SignalUnit::{Bytes, Count, Microseconds, Milliseconds, Own, Sessions};
use crate::{ProbeSource, Signal, SignalGroup, SignalKind, SignalRegistry, SignalUnit};

const SERVER: &[(SignalKind, SignalUnit, &[&str])] = &[
    (StatusCounter, Own, &["status.*", "pg_*"]),
    (Counter, Own, &["metric.*"]),
    (Counter, Count, &["file.*.writes", "file.*.reads", "file.*.misc"]),
    (Counter, Bytes, &["file.*.write_bytes", "file.*.read_bytes", "probe.sent_bytes", "probe.received_bytes"]),
    (Counter, Microseconds, &["file.*.write_us", "file.*.read_us", "file.*.misc_us"]),
    (Wait, Own, &["wait.*"]),
    (Wait, Count, &["wait.*.count"]),
    (Wait, Microseconds, &["wait.*.us"]),
    (State, Sessions, &["session.*"]),
    (StatusCounter, Milliseconds, &["status.Innodb_row_lock_time"]),
    (Gauge, Milliseconds, &["status.Innodb_row_lock_time_avg", "status.Innodb_row_lock_time_max"]),
    (
        Gauge,
        Sessions,
        &[
            "session_lock_waits",
            "status.Threads_running",
            "status.Threads_connected",
            "status.Threads_cached",
            "status.Innodb_row_lock_current_waits",
            "status.Rpl_semi_sync_master_wait_sessions",
            "status.Rpl_semi_sync_source_wait_sessions",
            "metric.lock_row_lock_current_waits",
            "pg_stat_database.numbackends",
        ],
    ),
    (
        Gauge,
        Own,
        &[
            "replica.*",
            "pg_locks.*",
            "status.Innodb_checkpoint_age",
            "status.Innodb_checkpoint_max_age",
            "status.Innodb_history_list_length",
            "status.Innodb_buffer_pool_pages_dirty",
            "status.Innodb_buffer_pool_pages_free",
            "status.Innodb_buffer_pool_pages_total",
            "status.Innodb_buffer_pool_pages_data",
            "status.Innodb_buffer_pool_bytes_dirty",
            "status.Innodb_data_pending_fsyncs",
            "status.Innodb_data_pending_reads",
            "status.Innodb_data_pending_writes",
            "status.Innodb_os_log_pending_fsyncs",
            "status.Innodb_os_log_pending_writes",
            "status.Innodb_redo_log_logical_size",
            "status.Innodb_redo_log_physical_size",
            "status.Innodb_redo_log_capacity_resized",
            "metric.trx_rseg_history_len",
            "metric.log_lsn_checkpoint_age",
            "metric.log_flush_avg_time",
            "metric.log_flush_max_time",
            "metric.log_max_modified_age_async",
            "metric.log_max_modified_age_sync",
            "metric.os_log_pending_fsyncs",
            "metric.os_log_pending_writes",
            "metric.os_pending_reads",
            "metric.os_pending_writes",
        ],
    ),
];

const HOST: &[(SignalKind, SignalUnit, &[&str])] = &[
    (Counter, Count, &["host.*", "server.*", "generator.*", "disk.*"]),
    (Counter, Milliseconds, &["host.*_ms", "disk.*_ms"]),
    (Counter, Bytes, &["server.*_bytes", "disk.*_bytes"]),
    (Counter, Microseconds, &["psi.*_us", "server.cpu_us", "generator.cpu_us"]),
    (Gauge, Bytes, &["server.rss_bytes"]),
    (Gauge, Count, &["server.threads"]),
];

impl SignalRegistry {
    /// Of a file of version 1.
    pub fn of_version_1() -> Self {
        let mut registry = Self::default();
        for (source, table) in [(ProbeSource::Server, SERVER), (ProbeSource::Host, HOST)] {
            registry.add(table.iter().map(|(kind, unit, names)| {
                SignalGroup::new(Signal { source, kind: *kind, unit: *unit }, names.iter().copied())
            }));
        }
        registry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_gauges() {
        let registry = SignalRegistry::of_version_1();
        let is_gauge = |name: &str| registry.find(name).unwrap().0.kind.is_gauge();
        for gauge in ["session.Update", "session_lock_waits", "metric.log_flush_max_time", "status.Threads_running"] {
            assert!(is_gauge(gauge), "{gauge}");
        }
        for counter in
            ["status.Handler_commit", "metric.log_writes", "wait.x.us", "host.cpu_busy_ms", "pg_stat_wal.wal_sync"]
        {
            assert!(!is_gauge(counter), "{counter}");
        }
    }
}
