//! Amounts for people, and what the numbers of settings count.

use truetps_record::{amount_in, setting_number, unit_bytes};

/// What PostgreSQL counts a setting in, as `pg_settings.unit` has it: sizes and times that matter
/// to writes.
const POSTGRES_UNITS: [(&str, &[&str]); 5] = [
    (
        "8kB",
        &[
            "backend_flush_after",
            "bgwriter_flush_after",
            "checkpoint_flush_after",
            "effective_cache_size",
            "shared_buffers",
            "temp_buffers",
            "wal_buffers",
            "wal_writer_flush_after",
        ],
    ),
    (
        "kB",
        &[
            "autovacuum_work_mem",
            "gin_pending_list_limit",
            "logical_decoding_work_mem",
            "maintenance_work_mem",
            "temp_file_limit",
            "wal_skip_threshold",
            "work_mem",
        ],
    ),
    ("MB", &["max_slot_wal_keep_size", "max_wal_size", "min_wal_size", "wal_keep_size"]),
    (
        "ms",
        &[
            "autovacuum_vacuum_cost_delay",
            "bgwriter_delay",
            "deadlock_timeout",
            "idle_in_transaction_session_timeout",
            "lock_timeout",
            "statement_timeout",
            "vacuum_cost_delay",
            "wal_receiver_timeout",
            "wal_sender_timeout",
            "wal_writer_delay",
        ],
    ),
    ("s", &["archive_timeout", "autovacuum_naptime", "checkpoint_timeout", "checkpoint_warning"]),
];

/// Parts of names that end like sizes in bytes of the MySQL family and count something else.
const NO_BYTES: [&str; 9] = [
    "thread",
    "host_cache",
    "performance_schema",
    "batch",
    "sync_array",
    "token",
    "history",
    "digest",
    "histogram",
];
const BYTES_ENDS: [&str; 4] = ["_size", "_size_max", "_redo_log_capacity", "max_allowed_packet"];

/// What PostgreSQL counts this setting in.
pub fn postgres_unit(name: &str) -> Option<&'static str> {
    POSTGRES_UNITS.iter().find(|(_, names)| names.contains(&name)).map(|(unit, _)| *unit)
}

/// All settings with a known unit.
pub fn postgres_units() -> impl Iterator<Item = (&'static str, &'static str)> {
    POSTGRES_UNITS.iter().flat_map(|(unit, names)| names.iter().map(move |name| (*name, *unit)))
}

/// A value of a setting as people read it: `512 MiB` for 536870912, `100 ms`; anything else as it
/// is.
pub fn people_value(name: &str, value: &str) -> String {
    if let Some(unit) = postgres_unit(name) {
        let Some(number) = amount_in(value, unit).filter(|number| *number > 0.0) else {
            return value.to_owned();
        };
        return unit_bytes(unit)
            .map_or_else(|| format!("{number} {unit}"), |each| size_text(number * each));
    }
    let is_size = BYTES_ENDS.iter().any(|end| name.ends_with(end))
        && !NO_BYTES.iter().any(|part| name.contains(part));
    match setting_number(value) {
        Some(bytes) if is_size && bytes >= 1024.0 => size_text(bytes),
        _ => value.to_owned(),
    }
}

/// In the largest unit of which it has whole quarters; no digit is lost.
fn size_text(bytes: f64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let in_unit = units.into_iter().map(|(unit, shift)| (bytes / (1_u64 << shift) as f64, unit));
    let mut exact = in_unit.filter(|(number, _)| *number >= 1.0 && (number * 4.0).fract() == 0.0);
    exact.next().map_or_else(|| format!("{bytes} B"), |(number, unit)| format!("{number} {unit}"))
}

/// In readable form: `200ms`, `16384 x 8kB`.
pub(crate) fn with_unit(value: &str, unit: &str) -> String {
    // -1 and 0 often have special meanings.
    if !value.ends_with(|c: char| c.is_ascii_digit()) || ["0", "-1"].contains(&value) {
        return value.to_owned();
    }
    if unit.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{value} x {unit}")
    } else {
        format!("{value}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        for (name, value, expect) in [
            ("innodb_buffer_pool_size", "1073741824", "1 GiB"),
            ("innodb_redo_log_capacity", "512M", "512 MiB"),
            ("innodb_log_file_size", "100663296", "96 MiB"),
            ("innodb_buffer_pool_size", "1610612736", "1.5 GiB"),
            ("max_allowed_packet", "33554432", "32 MiB"),
            ("max_binlog_size", "1073741825", "1073741825 B"),
            ("thread_cache_size", "2048", "2048"),
            ("innodb_io_capacity", "2048", "2048"),
            ("table_open_cache", "4096", "4096"),
            ("innodb_buffer_pool_size", "x", "x"),
            ("shared_buffers", "131072", "1 GiB"),
            ("shared_buffers", "1GB", "1 GiB"),
            ("wal_buffers", "-1", "-1"),
            ("checkpoint_timeout", "15min", "900 s"),
            ("wal_writer_delay", "200", "200 ms"),
        ] {
            assert_eq!(people_value(name, value), expect, "{name} {value}");
        }
    }

    #[test]
    fn as_people_read_it() {
        assert_eq!(
            (with_unit("200", "ms"), with_unit("16384", "8kB")),
            ("200ms".into(), "16384 x 8kB".into())
        );
        assert_eq!(
            (with_unit("-1", "ms"), with_unit("128MB", "8kB")),
            ("-1".into(), "128MB".into())
        );
    }
}
