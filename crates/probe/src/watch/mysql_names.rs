//! Which of the many status counters and metrics of the MySQL family are read: the ones that show the cost of a write,
//! and its waits. A server reports the ones that it has.

use truetps_record::SignalKind::{Counter, Gauge, StatusCounter};
use truetps_record::SignalUnit::{Bytes, Count, Microseconds, Milliseconds, Own, Sessions};

use crate::watch::SignalTable;

/// `SHOW GLOBAL STATUS`.
pub(crate) const STATUS: SignalTable = &[
    (
        Gauge,
        Bytes,
        &[
            "Innodb_buffer_pool_bytes_dirty",
            "Innodb_checkpoint_age",
            "Innodb_checkpoint_max_age",
            "Innodb_redo_log_capacity_resized",
            "Innodb_redo_log_logical_size",
            "Innodb_redo_log_physical_size",
        ],
    ),
    (
        Gauge,
        Count,
        &[
            "Innodb_buffer_pool_pages_data",
            "Innodb_buffer_pool_pages_dirty",
            "Innodb_buffer_pool_pages_free",
            "Innodb_buffer_pool_pages_total",
            "Innodb_data_pending_fsyncs",
            "Innodb_data_pending_reads",
            "Innodb_data_pending_writes",
            "Innodb_history_list_length",
            "Innodb_os_log_pending_fsyncs",
            "Innodb_os_log_pending_writes",
        ],
    ),
    (Gauge, Milliseconds, &["Innodb_row_lock_time_avg", "Innodb_row_lock_time_max"]),
    (
        Gauge,
        Sessions,
        &[
            "Innodb_row_lock_current_waits",
            "Rpl_semi_sync_master_wait_sessions",
            "Rpl_semi_sync_source_wait_sessions",
            "Threads_cached",
            "Threads_connected",
            "Threads_running",
        ],
    ),
    (
        StatusCounter,
        Bytes,
        &[
            "Binlog_bytes_written",
            "Bytes_received",
            "Bytes_sent",
            "Innodb_data_read",
            "Innodb_data_written",
            "Innodb_lsn_current",
            "Innodb_lsn_flushed",
            "Innodb_lsn_last_checkpoint",
            "Innodb_os_log_written",
            "Innodb_redo_log_checkpoint_lsn",
            "Innodb_redo_log_current_lsn",
            "Innodb_redo_log_flushed_to_disk_lsn",
        ],
    ),
    (
        StatusCounter,
        Count,
        &[
            "Aborted_clients",
            "Aborted_connects",
            "Binlog_cache_disk_use",
            "Binlog_cache_use",
            "Binlog_commits",
            "Binlog_group_commit_trigger_count",
            "Binlog_group_commit_trigger_lock_wait",
            "Binlog_group_commit_trigger_timeout",
            "Binlog_group_commits",
            "Binlog_stmt_cache_disk_use",
            "Binlog_stmt_cache_use",
            "Com_begin",
            "Com_commit",
            "Com_delete",
            "Com_insert",
            "Com_insert_select",
            "Com_load",
            "Com_replace",
            "Com_rollback",
            "Com_select",
            "Com_stmt_execute",
            "Com_stmt_prepare",
            "Com_update",
            "Com_xa_commit",
            "Connections",
            "Created_tmp_disk_tables",
            "Handler_commit",
            "Handler_delete",
            "Handler_prepare",
            "Handler_rollback",
            "Handler_update",
            "Handler_write",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_buffer_pool_pages_lru_flushed",
            "Innodb_buffer_pool_read_requests",
            "Innodb_buffer_pool_reads",
            "Innodb_buffer_pool_wait_free",
            "Innodb_buffer_pool_write_requests",
            "Innodb_data_fsyncs",
            "Innodb_data_reads",
            "Innodb_data_writes",
            "Innodb_dblwr_pages_written",
            "Innodb_dblwr_writes",
            "Innodb_deadlocks",
            "Innodb_log_waits",
            "Innodb_log_write_requests",
            "Innodb_log_writes",
            "Innodb_os_log_fsyncs",
            "Innodb_pages_created",
            "Innodb_pages_read",
            "Innodb_pages_written",
            "Innodb_row_lock_waits",
            "Innodb_rows_deleted",
            "Innodb_rows_inserted",
            "Innodb_rows_read",
            "Innodb_rows_updated",
            "Innodb_truncated_status_writes",
            "Questions",
            "Rpl_semi_sync_master_no_tx",
            "Rpl_semi_sync_master_tx_waits",
            "Rpl_semi_sync_master_yes_tx",
            "Rpl_semi_sync_source_no_tx",
            "Rpl_semi_sync_source_tx_waits",
            "Rpl_semi_sync_source_yes_tx",
            "Slow_queries",
            "Table_locks_waited",
            "Table_open_cache_misses",
            "Table_open_cache_overflows",
            "Threads_created",
        ],
    ),
    (StatusCounter, Microseconds, &["Rpl_semi_sync_master_tx_wait_time", "Rpl_semi_sync_source_tx_wait_time"]),
    (StatusCounter, Milliseconds, &["Innodb_row_lock_time"]),
];

/// `information_schema.innodb_metrics`.
pub(crate) const METRICS: SignalTable = &[
    (
        Counter,
        Count,
        &[
            "buffer_flush_adaptive_total_pages",
            "buffer_flush_background_total_pages",
            "buffer_flush_batch_total_pages",
            "buffer_flush_neighbor_total_pages",
            "buffer_flush_sync_total_pages",
            "buffer_flush_sync_waits",
            "buffer_LRU_batch_flush_total_pages",
            "buffer_LRU_get_free_waits",
            "buffer_LRU_single_flush_num_scan",
            "buffer_pool_wait_free",
            "index_page_reorg_attempts",
            "index_page_splits",
            "lock_deadlocks",
            "lock_timeouts",
            "log_checkpoints",
            "log_checkpointer_waits",
            "log_flusher_waits",
            "log_flush_notifier_waits",
            "log_next_file",
            "log_on_buffer_space_no_waits",
            "log_on_buffer_space_waits",
            "log_on_buffer_space_wait_loops",
            "log_on_file_space_no_waits",
            "log_on_file_space_waits",
            "log_on_file_space_wait_loops",
            "log_on_flush_no_waits",
            "log_on_flush_waits",
            "log_on_flush_wait_loops",
            "log_on_recent_closed_wait_loops",
            "log_on_recent_written_wait_loops",
            "log_on_write_no_waits",
            "log_on_write_waits",
            "log_on_write_wait_loops",
            "log_write_to_file_requests_interval",
            "log_writer_no_waits",
            "log_writer_on_archiver_waits",
            "log_writer_on_file_space_waits",
            "log_writer_on_free_space_waits",
            "log_writer_waits",
            "log_write_notifier_waits",
            "purge_del_mark_records",
            "purge_stop_count",
            "trx_commits_insert_update",
            "trx_on_log_no_waits",
            "trx_on_log_waits",
            "trx_on_log_wait_loops",
            "trx_rollbacks",
            "trx_rw_commits",
        ],
    ),
    (Counter, Microseconds, &["purge_dml_delay_usec"]),
    (Counter, Own, &["log_flush_total_time"]),
    (Gauge, Bytes, &["log_lsn_checkpoint_age", "log_max_modified_age_async", "log_max_modified_age_sync"]),
    (
        Gauge,
        Count,
        &[
            "os_log_pending_fsyncs",
            "os_log_pending_writes",
            "os_pending_reads",
            "os_pending_writes",
            "trx_rseg_history_len",
        ],
    ),
    (Gauge, Own, &["log_flush_avg_time", "log_flush_max_time"]),
    (Gauge, Sessions, &["lock_row_lock_current_waits"]),
];

/// Columns of the replica's status that identify it, and are not its state.
pub(crate) const NO_STATE_OF_REPLICA: &[&str] = &[
    "Auto_Position",
    "Connect_Retry",
    "Get_Source_public_key",
    "Get_master_public_key",
    "Master_Port",
    "Master_Retry_Count",
    "Master_Server_Id",
    "Source_Port",
    "Source_Retry_Count",
    "Source_Server_Id",
    "Source_Host",
    "Master_Host",
    "Until_Log_Pos",
];

#[cfg(test)]
mod tests {
    use truetps_record::{ProbeSource, SignalRegistry};

    use super::*;
    use crate::watch::signal_groups;

    #[test]
    fn the_table_of_version_1_agrees() {
        let old = SignalRegistry::of_version_1();
        for (place, table) in [("status", STATUS), ("metric", METRICS)] {
            for group in signal_groups(ProbeSource::Server, place, table) {
                for name in &group.names {
                    assert_eq!(old.find(name).map(|(signal, _)| signal.kind), Some(group.signal.kind), "{name}");
                }
            }
        }
    }
}
