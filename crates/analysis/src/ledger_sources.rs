//! The counters of each line of the ledger, and when a counter misses a part of its line.

use std::collections::BTreeMap;

use truetps_record::ProbeSeries;

use crate::absence::Absent;
use crate::figure::Figure;

/// One way to know a line: a sum of counters, with their factors.
pub(crate) struct LedgerSource {
    pub(crate) names: Names,
    /// A note for the reader; may be empty.
    note: &'static str,
    /// Each group of commits flushes the binlog once: true only with this setting.
    needs_sync_binlog: bool,
}

impl LedgerSource {
    pub(crate) fn holds(&self, variables: KnownVariables<'_>) -> bool {
        !self.needs_sync_binlog
            || setting(variables, "sync_binlog").is_some_and(|value| value == "1")
    }

    /// The counters, as a sum.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        for (factor, name) in self.names {
            let sign = if *factor < 0.0 { " - " } else { " + " };
            words += if words.is_empty() { "" } else { sign };
            words += name.strip_prefix("status.").unwrap_or(name);
        }
        if self.note.is_empty() { words } else { format!("{words} ({})", self.note) }
    }
}

/// What the server was set to, where that is known.
pub(crate) type KnownVariables<'a> = Option<&'a BTreeMap<String, String>>;

fn setting<'a>(variables: KnownVariables<'a>, name: &str) -> Option<&'a str> {
    variables?.get(name).map(String::as_str)
}

/// Factors and counters. A `*` stands for whatever is there: what a server does not have is no part
/// of the sum.
type Names = &'static [(f64, &'static str)];

const fn plain(key: Figure, names: Names) -> (Figure, LedgerSource) {
    noted(key, names, "")
}

const fn noted(key: Figure, names: Names, note: &'static str) -> (Figure, LedgerSource) {
    (key, LedgerSource { names, note, needs_sync_binlog: false })
}

const LOG_FILE_MISC: &str = "file.wait/io/file/innodb/innodb_log_file.misc";
const DATA_FILE_MISC: &str = "file.wait/io/file/innodb/innodb_data_file.misc";
const BINLOG_MISC: &str = "file.wait/io/file/sql/binlog.misc";
/// In all contexts and by all processes; which contexts there are depends on the version.
pub(crate) const IO_WRITTEN: &str = "pg_stat_io.relation.*.write_pages";
const IO_EXTENDED: &str = "pg_stat_io.relation.*.extend_pages";
const WITH_GROWTH: &str = "including writes that extended files";

/// The ways to know each line, the best one first. Where a server does not have the counters of
/// one, the next is tried.
const SOURCES: &[(Figure, LedgerSource)] = &[
    plain(Figure::ClientCpu, &[(1.0, "generator.cpu_us")]),
    plain(Figure::ServerCpu, &[(1.0, "server.cpu_us")]),
    // Of records without the workers' own count.
    noted(
        Figure::ClientSwitches,
        &[(1.0, "generator.context_switches")],
        "a lower bound: without threads that ended before the last reading",
    ),
    plain(Figure::ServerSwitches, &[(1.0, "server.context_switches")]),
    plain(Figure::RedoBytes, &[(1.0, "status.Innodb_os_log_written")]),
    plain(Figure::RedoBytes, &[(1.0, "pg_stat_wal.wal_bytes")]),
    plain(Figure::RedoBytes, &[(1.0, "pg_lsn.insert_bytes")]),
    plain(Figure::RedoWrites, &[(1.0, "status.Innodb_log_writes")]),
    plain(Figure::RedoWrites, &[(1.0, "pg_stat_wal.wal_write")]),
    plain(Figure::RedoWrites, &[(1.0, "pg_stat_io.wal.normal.writes")]),
    plain(Figure::RedoSyncs, &[(1.0, "status.Innodb_os_log_fsyncs")]),
    noted(Figure::RedoSyncs, &[(1.0, LOG_FILE_MISC)], "performance_schema"),
    noted(
        Figure::RedoSyncs,
        &[(1.0, "status.Innodb_data_fsyncs"), (-1.0, DATA_FILE_MISC)],
        "all syncs except data file syncs",
    ),
    plain(Figure::RedoSyncs, &[(1.0, "pg_stat_wal.wal_sync")]),
    plain(Figure::RedoSyncs, &[(1.0, "pg_stat_io.wal.normal.fsyncs")]),
    plain(Figure::EngineSyncs, &[(1.0, "status.Innodb_data_fsyncs")]),
    plain(Figure::BinlogBytes, &[(1.0, "status.Binlog_bytes_written")]),
    noted(
        Figure::BinlogBytes,
        &[(1.0, "file.wait/io/file/sql/binlog.write_bytes")],
        "performance_schema",
    ),
    noted(Figure::BinlogSyncs, &[(1.0, BINLOG_MISC)], "performance_schema"),
    (
        Figure::BinlogSyncs,
        LedgerSource {
            names: &[(1.0, "status.Binlog_group_commits")],
            note: "one for each group, as sync_binlog is 1",
            needs_sync_binlog: true,
        },
    ),
    plain(Figure::PagesWritten, &[(1.0, "status.Innodb_pages_written")]),
    // From 16 on; `buffers_backend` has both of these in it, too, and cannot be parted.
    noted(Figure::PagesWritten, &[(1.0, IO_WRITTEN), (1.0, IO_EXTENDED)], WITH_GROWTH),
    noted(
        Figure::PagesWritten,
        &[
            (1.0, "pg_stat_bgwriter.buffers_checkpoint"),
            (1.0, "pg_stat_bgwriter.buffers_clean"),
            (1.0, "pg_stat_bgwriter.buffers_backend"),
        ],
        WITH_GROWTH,
    ),
    // Of runs that were recorded before the probe read pages in `pg_stat_io`.
    noted(
        Figure::PagesWritten,
        &[(1.0, "pg_stat_checkpointer.buffers_written"), (1.0, "pg_stat_bgwriter.buffers_clean")],
        "without pages written by sessions",
    ),
    plain(Figure::PagesCreated, &[(1.0, "status.Innodb_pages_created")]),
    plain(Figure::PagesCreated, &[(1.0, IO_EXTENDED)]),
    plain(Figure::PagesRead, &[(1.0, "status.Innodb_pages_read")]),
    plain(Figure::PagesRead, &[(1.0, "pg_stat_database.blks_read")]),
    plain(Figure::DoublewritePages, &[(1.0, "status.Innodb_dblwr_pages_written")]),
    plain(Figure::RowLockWaits, &[(1.0, "status.Innodb_row_lock_waits")]),
    plain(Figure::RowLockTime, &[(1000.0, "status.Innodb_row_lock_time")]),
    noted(
        Figure::NetworkIn,
        &[(1.0, "status.Bytes_received"), (-1.0, "probe.sent_bytes")],
        "without the probe's own",
    ),
    noted(
        Figure::NetworkOut,
        &[(1.0, "status.Bytes_sent"), (-1.0, "probe.received_bytes")],
        "without the probe's own",
    ),
    plain(Figure::DiskWrites, &[(1.0, "disk.writes")]),
    plain(Figure::DiskBytes, &[(1.0, "disk.write_bytes")]),
    plain(Figure::DiskFlushes, &[(1.0, "disk.flushes")]),
];

pub(crate) fn sources(key: Figure) -> impl Iterator<Item = &'static LedgerSource> {
    SOURCES.iter().filter(move |(of, _)| *of == key).map(|(_, source)| source)
}

/// Settings with which writes of a log or of data files are synchronous: no sync is called, and
/// none counted.
const NO_CALLS: &[(&[Figure], &str, &[&str])] = &[
    (&[Figure::RedoSyncs], "wal_sync_method", &["open_sync", "open_datasync"]),
    (&[Figure::RedoSyncs, Figure::EngineSyncs], "innodb_flush_method", &["O_DSYNC"]),
    (&[Figure::RedoSyncs, Figure::EngineSyncs], "innodb_log_file_write_through", &["ON"]),
    (&[Figure::EngineSyncs], "innodb_data_file_write_through", &["ON"]),
];

/// Why the counters of a line do not count its resource, if they do not.
pub(crate) fn why_not_counted(key: Figure, variables: KnownVariables<'_>) -> Option<Absent> {
    let found = NO_CALLS.iter().find(|(keys, name, values)| {
        keys.contains(&key)
            && setting(variables, name)
                .is_some_and(|set| values.iter().any(|value| value.eq_ignore_ascii_case(set)))
    });
    found.map(|(_, name, _)| {
        let value = setting(variables, name).unwrap_or_default().to_owned();
        Absent::SyncWithoutCall { setting: name, value }
    })
}

/// From 10.6 on MariaDB adds up row-lock waits in whole milliseconds, each cut off; older ones, and
/// MySQL, in microseconds.
pub(crate) fn cuts_lock_waits(probe: &ProbeSeries, variables: KnownVariables<'_>) -> bool {
    const FIRST: (u32, u32) = (10, 6);
    let version = setting(variables, "version").and_then(|text| {
        let mut numbers = text.split('.').map_while(|number| number.parse::<u32>().ok());
        numbers.next().zip(numbers.next())
    });
    probe.is_mariadb() && version.is_none_or(|version| version >= FIRST)
}
