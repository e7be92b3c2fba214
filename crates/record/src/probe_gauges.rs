//! Which values are gauges. All others count events since the server (or the host) started.

const PLACES: [&str; 3] = ["session.", "replica.", "pg_locks."];

const NAMES: [&str; 31] = [
    "session_lock_waits",
    "server.rss_bytes",
    "server.threads",
    "status.Threads_running",
    "status.Threads_connected",
    "status.Threads_cached",
    "status.Innodb_checkpoint_age",
    "status.Innodb_checkpoint_max_age",
    "status.Innodb_history_list_length",
    "status.Innodb_buffer_pool_pages_dirty",
    "status.Innodb_buffer_pool_pages_free",
    "status.Innodb_buffer_pool_pages_total",
    "status.Innodb_buffer_pool_pages_data",
    "status.Innodb_buffer_pool_bytes_dirty",
    "status.Innodb_row_lock_current_waits",
    "status.Innodb_row_lock_time_avg",
    "status.Innodb_row_lock_time_max",
    "status.Innodb_data_pending_fsyncs",
    "status.Innodb_data_pending_reads",
    "status.Innodb_data_pending_writes",
    "status.Innodb_os_log_pending_fsyncs",
    "status.Innodb_os_log_pending_writes",
    "status.Innodb_redo_log_logical_size",
    "status.Innodb_redo_log_physical_size",
    "status.Innodb_redo_log_capacity_resized",
    "status.Rpl_semi_sync_master_wait_sessions",
    "status.Rpl_semi_sync_source_wait_sessions",
    "metric.trx_rseg_history_len",
    "metric.log_lsn_checkpoint_age",
    "metric.lock_row_lock_current_waits",
    "pg_stat_database.numbackends",
];

/// Parts of names in `metric.`: highest and average values, and what is pending or set.
const METRIC_PARTS: [&str; 5] = ["_avg_time", "_max_time", "_pending_", "_max_modified_age_", "_pages_dirty"];

/// Whether a value is a gauge. All others only grow, for as long as their server runs.
pub fn is_gauge(name: &str) -> bool {
    let of_metric = name.starts_with("metric.") && METRIC_PARTS.iter().any(|part| name.contains(part));
    of_metric || PLACES.iter().any(|place| name.starts_with(place)) || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_gauges() {
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
