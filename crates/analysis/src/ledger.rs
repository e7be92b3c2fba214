//! What one transaction cost: the cost ledger.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::{BUCKET_MS, Interval, Measured, Phase, ProbePoint, ProbeSeries};

/// Readings must be so near to the beginning and the end of the measure phase, as a share of its length.
const EDGE_SHARE: f64 = 0.1;

/// What a transaction that ended well cost, by resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// Always all lines, in one order.
    pub lines: Vec<LedgerLine>,
}

impl Ledger {
    pub fn line(&self, key: LedgerKey) -> Option<&LedgerLine> {
        self.lines.iter().find(|line| line.key == key)
    }
}

/// One resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerLine {
    pub key: LedgerKey,
    /// In [`LedgerKey::unit`]; `None` where nobody could know it.
    pub per_tx: Option<f64>,
    /// The counters that it was made from, in the server's words; where there is no figure, why.
    pub source: String,
}

/// Unit of a line, per transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerUnit {
    Count,
    Bytes,
    Us,
}

macro_rules! ledger_keys {
    ($($key:ident $word:literal $unit:ident $name:literal,)*) => {
        /// The resources, in the order of the ledger.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub enum LedgerKey {
            $(#[doc = $name] #[serde(rename = $word)] $key,)*
        }

        impl LedgerKey {
            pub const ALL: &[Self] = &[$(Self::$key),*];

            /// As JSON and CSV have it: with its unit last.
            pub fn word(self) -> &'static str {
                match self { $(Self::$key => $word,)* }
            }

            pub fn unit(self) -> LedgerUnit {
                match self { $(Self::$key => LedgerUnit::$unit,)* }
            }

            /// For people.
            pub fn name(self) -> &'static str {
                match self { $(Self::$key => $name,)* }
            }
        }
    };
}

ledger_keys! {
    ClientCpu "client_cpu_us_per_tx" Us "client CPU",
    ServerCpu "server_cpu_us_per_tx" Us "server CPU",
    ClientSwitches "client_context_switches_per_tx" Count "client context switches",
    ServerSwitches "server_context_switches_per_tx" Count "server context switches",
    RedoBytes "redo_bytes_per_tx" Bytes "redo log",
    RedoWrites "redo_writes_per_tx" Count "redo log writes",
    RedoSyncs "redo_syncs_per_tx" Count "redo log syncs",
    EngineSyncs "engine_syncs_per_tx" Count "redo log and data file syncs",
    BinlogBytes "binlog_bytes_per_tx" Bytes "binlog",
    BinlogSyncs "binlog_syncs_per_tx" Count "binlog syncs",
    PagesWritten "pages_written_per_tx" Count "pages written",
    PagesCreated "pages_created_per_tx" Count "pages created",
    PagesRead "pages_read_per_tx" Count "pages read",
    DoublewritePages "doublewrite_pages_per_tx" Count "doublewrite pages",
    RowLockWaits "row_lock_waits_per_tx" Count "row-lock waits",
    RowLockTime "row_lock_us_per_tx" Us "row-lock wait time",
    NetworkIn "network_received_bytes_per_tx" Bytes "received by the server",
    NetworkOut "network_sent_bytes_per_tx" Bytes "sent by the server",
    DiskWrites "disk_writes_per_tx" Count "disk writes (whole device)",
    DiskBytes "disk_write_bytes_per_tx" Bytes "bytes written (whole device)",
    DiskFlushes "disk_flushes_per_tx" Count "disk flushes (whole device)",
}

/// Everything that a ledger is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LedgerInput<'a> {
    pub(crate) measured: &'a Measured,
    pub(crate) intervals: &'a [Interval],
    /// `None`: nobody watched.
    pub(crate) probe: Option<&'a ProbeSeries>,
    /// What the server was set to, where that is known.
    pub(crate) variables: Option<&'a BTreeMap<String, String>>,
}

/// What a transaction of this trial cost.
pub(crate) fn ledger(input: &LedgerInput<'_>) -> Ledger {
    let window = input.probe.and_then(|probe| Window::of(input, probe));
    let lines = LedgerKey::ALL.iter().map(|key| {
        let own = own_figure(input, *key);
        let found = own.or_else(|| window.as_ref()?.figure(*key, input));
        let (per_tx, source) = match found {
            Some((figure, source)) => (Some(figure), source),
            None => (None, why_absent(input, window.is_some(), *key)),
        };
        LedgerLine { key: *key, per_tx, source }
    });
    Ledger { lines: lines.collect() }
}

/// What every trial knows of itself, probe or not.
fn own_figure(input: &LedgerInput<'_>, key: LedgerKey) -> Option<(f64, String)> {
    let figure = match key {
        LedgerKey::ClientCpu => input.measured.resources.client_cpu_us_per_tx,
        LedgerKey::ServerCpu => input.measured.resources.server_cpu_us_per_tx,
        _ => None,
    };
    let source =
        if key == LedgerKey::ClientCpu { "CPU time of the engine's threads" } else { "CPU time of the server" };
    figure.map(|us| (us, source.to_owned()))
}

fn why_absent(input: &LedgerInput<'_>, has_window: bool, key: LedgerKey) -> String {
    let Some(probe) = input.probe else { return "nobody watched the server".to_owned() };
    if input.measured.counts.ok == 0 {
        return "no transaction ended".to_owned();
    }
    let names =
        || sources(key).filter(|source| source.holds(input)).flat_map(|source| source.names).map(|(_, name)| *name);
    let said = names().find_map(|name| probe.absent.iter().find(|absent| absent.is_about(name)));
    if let Some(absent) = said {
        return absent.why.clone();
    }
    // Read now and then, but not for long enough; or the counter fell, since the server was restarted.
    let is_read = has_window && names().any(|name| !probe.points(name).is_empty());
    if is_read { "not read for all of the measure phase" } else { "the server does not count it" }.to_owned()
}

/// The measure phase, and what was read and what ended around it.
struct Window<'a> {
    probe: &'a ProbeSeries,
    /// The measure phase.
    from_ms: f64,
    to_ms: f64,
    /// Of all phases: a reading may be a moment before or after the phase.
    intervals: &'a [Interval],
}

impl<'a> Window<'a> {
    fn of(input: &LedgerInput<'a>, probe: &'a ProbeSeries) -> Option<Self> {
        let measured: Vec<_> = input.intervals.iter().filter(|one| one.phase == Phase::Measure).collect();
        let (first, last) = measured.first().zip(measured.last())?;
        Some(Self { probe, from_ms: first.start_ms, to_ms: last.start_ms + last.length_ms, intervals: input.intervals })
    }

    fn figure(&self, key: LedgerKey, input: &LedgerInput<'_>) -> Option<(f64, String)> {
        sources(key).filter(|source| source.holds(input)).find_map(|source| {
            let mut sum = 0.0;
            for (factor, name) in source.names {
                sum += factor * self.per_tx(name)?;
            }
            // Two counters that do not fit each other are no figure.
            (sum >= 0.0).then(|| (sum, source.words()))
        })
    }

    /// Growth of a counter per transaction that ended well, between the readings at the edges of the measure phase. `None` where
    /// none was made near an edge, or the counter fell.
    fn per_tx(&self, name: &str) -> Option<f64> {
        let (first, last) = (self.reading_at(name, self.from_ms)?, self.reading_at(name, self.to_ms)?);
        let transactions = self.ok_between(first.at_ms, last.at_ms);
        let growth = last.value - first.value;
        (growth >= 0.0 && transactions > 0.0).then(|| growth / transactions)
    }

    /// The reading nearest to a time.
    fn reading_at(&self, name: &str, at_ms: f64) -> Option<ProbePoint> {
        let points = self.probe.points(name);
        let after = points.partition_point(|point| point.at_ms < at_ms);
        let near = [after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)];
        let nearest = near
            .into_iter()
            .flatten()
            .min_by(|one, other| (one.at_ms - at_ms).abs().total_cmp(&(other.at_ms - at_ms).abs()))?;
        let slack_ms = EDGE_SHARE * (self.to_ms - self.from_ms);
        ((nearest.at_ms - at_ms).abs() <= slack_ms).then_some(*nearest)
    }

    /// Transactions that ended well in a stretch; of a bucket that is in it in part, that part.
    fn ok_between(&self, from_ms: f64, to_ms: f64) -> f64 {
        let of_interval = |interval: &Interval| {
            let end_ms = interval.start_ms + interval.length_ms;
            let part = |start: f64, end: f64| {
                if end > start { ((end.min(to_ms) - start.max(from_ms)) / (end - start)).clamp(0.0, 1.0) } else { 0.0 }
            };
            if interval.buckets.is_empty() {
                return interval.counts.ok as f64 * part(interval.start_ms, end_ms);
            }
            let start = |index: usize| interval.start_ms + index as f64 * BUCKET_MS;
            let end = |index: usize| if index + 1 == interval.buckets.len() { end_ms } else { start(index + 1) };
            interval.buckets.iter().enumerate().map(|(n, ok)| f64::from(*ok) * part(start(n), end(n))).sum()
        };
        self.intervals.iter().map(of_interval).sum()
    }
}

/// One way to know a line: a sum of counters, with their factors.
struct Source {
    names: Names,
    /// What a reader must know about it; empty where that is nothing.
    note: &'static str,
    /// Each group of commits flushes the binlog once: true only with this setting.
    needs_sync_binlog: bool,
}

impl Source {
    fn holds(&self, input: &LedgerInput<'_>) -> bool {
        let set = input.variables.and_then(|variables| variables.get("sync_binlog"));
        !self.needs_sync_binlog || set.is_some_and(|value| value == "1")
    }

    /// The counters, as a sum.
    fn words(&self) -> String {
        let mut words = String::new();
        for (factor, name) in self.names {
            let sign = if *factor < 0.0 { " - " } else { " + " };
            words += if words.is_empty() { "" } else { sign };
            words += name.strip_prefix("status.").unwrap_or(name);
        }
        if self.note.is_empty() { words } else { format!("{words} ({})", self.note) }
    }
}

type Names = &'static [(f64, &'static str)];

const fn plain(key: LedgerKey, names: Names) -> (LedgerKey, Source) {
    noted(key, names, "")
}

const fn noted(key: LedgerKey, names: Names, note: &'static str) -> (LedgerKey, Source) {
    (key, Source { names, note, needs_sync_binlog: false })
}

const LOG_FILE_MISC: &str = "file.wait/io/file/innodb/innodb_log_file.misc";
const DATA_FILE_MISC: &str = "file.wait/io/file/innodb/innodb_data_file.misc";
const BINLOG_MISC: &str = "file.wait/io/file/sql/binlog.misc";

/// The ways to know each line, the best one first. Where a server does not have the counters of one, the next is tried.
const SOURCES: &[(LedgerKey, Source)] = &[
    plain(LedgerKey::ClientCpu, &[(1.0, "generator.cpu_us")]),
    plain(LedgerKey::ServerCpu, &[(1.0, "server.cpu_us")]),
    plain(LedgerKey::ClientSwitches, &[(1.0, "generator.context_switches")]),
    plain(LedgerKey::ServerSwitches, &[(1.0, "server.context_switches")]),
    plain(LedgerKey::RedoBytes, &[(1.0, "status.Innodb_os_log_written")]),
    plain(LedgerKey::RedoBytes, &[(1.0, "pg_stat_wal.wal_bytes")]),
    plain(LedgerKey::RedoBytes, &[(1.0, "pg_lsn.insert_bytes")]),
    plain(LedgerKey::RedoWrites, &[(1.0, "status.Innodb_log_writes")]),
    plain(LedgerKey::RedoWrites, &[(1.0, "pg_stat_wal.wal_write")]),
    plain(LedgerKey::RedoWrites, &[(1.0, "pg_stat_io.wal.normal.writes")]),
    plain(LedgerKey::RedoSyncs, &[(1.0, "status.Innodb_os_log_fsyncs")]),
    noted(LedgerKey::RedoSyncs, &[(1.0, LOG_FILE_MISC)], "performance_schema"),
    noted(
        LedgerKey::RedoSyncs,
        &[(1.0, "status.Innodb_data_fsyncs"), (-1.0, DATA_FILE_MISC)],
        "all syncs without those of data files",
    ),
    plain(LedgerKey::RedoSyncs, &[(1.0, "pg_stat_wal.wal_sync")]),
    plain(LedgerKey::RedoSyncs, &[(1.0, "pg_stat_io.wal.normal.fsyncs")]),
    plain(LedgerKey::EngineSyncs, &[(1.0, "status.Innodb_data_fsyncs")]),
    plain(LedgerKey::BinlogBytes, &[(1.0, "status.Binlog_bytes_written")]),
    noted(LedgerKey::BinlogBytes, &[(1.0, "file.wait/io/file/sql/binlog.write_bytes")], "performance_schema"),
    noted(LedgerKey::BinlogSyncs, &[(1.0, BINLOG_MISC)], "performance_schema"),
    (
        LedgerKey::BinlogSyncs,
        Source {
            names: &[(1.0, "status.Binlog_group_commits")],
            note: "one for each group, as sync_binlog is 1",
            needs_sync_binlog: true,
        },
    ),
    plain(LedgerKey::PagesWritten, &[(1.0, "status.Innodb_pages_written")]),
    plain(
        LedgerKey::PagesWritten,
        &[
            (1.0, "pg_stat_bgwriter.buffers_checkpoint"),
            (1.0, "pg_stat_bgwriter.buffers_clean"),
            (1.0, "pg_stat_bgwriter.buffers_backend"),
        ],
    ),
    noted(
        LedgerKey::PagesWritten,
        &[(1.0, "pg_stat_checkpointer.buffers_written"), (1.0, "pg_stat_bgwriter.buffers_clean")],
        "without those that sessions wrote themselves",
    ),
    plain(LedgerKey::PagesCreated, &[(1.0, "status.Innodb_pages_created")]),
    plain(LedgerKey::PagesRead, &[(1.0, "status.Innodb_pages_read")]),
    plain(LedgerKey::PagesRead, &[(1.0, "pg_stat_database.blks_read")]),
    plain(LedgerKey::DoublewritePages, &[(1.0, "status.Innodb_dblwr_pages_written")]),
    plain(LedgerKey::RowLockWaits, &[(1.0, "status.Innodb_row_lock_waits")]),
    noted(
        LedgerKey::RowLockTime,
        &[(1000.0, "status.Innodb_row_lock_time")],
        "MariaDB cuts each wait to whole milliseconds: at least so much",
    ),
    noted(
        LedgerKey::NetworkIn,
        &[(1.0, "status.Bytes_received"), (-1.0, "probe.sent_bytes")],
        "without the probe's own",
    ),
    noted(
        LedgerKey::NetworkOut,
        &[(1.0, "status.Bytes_sent"), (-1.0, "probe.received_bytes")],
        "without the probe's own",
    ),
    plain(LedgerKey::DiskWrites, &[(1.0, "disk.writes")]),
    plain(LedgerKey::DiskBytes, &[(1.0, "disk.write_bytes")]),
    plain(LedgerKey::DiskFlushes, &[(1.0, "disk.flushes")]),
];

fn sources(key: LedgerKey) -> impl Iterator<Item = &'static Source> {
    SOURCES.iter().filter(move |(of, _)| *of == key).map(|(_, source)| source)
}

#[cfg(test)]
mod tests {
    use truetps_record::{AbsentSignal, Counts, LatencyFigures, ProbeHeader, ProbeSample, ProbeSource};

    use super::*;

    /// Four seconds of 100 transactions a second after one of warm-up, and what is read a moment later.
    fn intervals() -> Vec<Interval> {
        let of = |second: u32| Interval {
            phase: match second {
                0 => Phase::WarmUp,
                5 => Phase::Drain,
                _ => Phase::Measure,
            },
            start_ms: f64::from(second) * 1e3,
            length_ms: 1e3,
            counts: Counts { ok: 100, ..Counts::default() },
            tps: 100.0,
            response: LatencyFigures::default(),
            open_loop: None,
            buckets: vec![10; 10],
            gaps: Vec::new(),
        };
        (0..6).map(of).collect()
    }

    fn probe(values: &[(&str, f64, f64)], absent: &[(&str, &str)]) -> ProbeSeries {
        let absent = absent.iter().map(|(what, why)| AbsentSignal { what: (*what).into(), why: (*why).into() });
        let header = ProbeHeader { schema_version: 1, interval_ms: 2e3, family: None, absent: absent.collect() };
        let sample = |at_ms: f64, seconds: f64| ProbeSample {
            source: ProbeSource::Server,
            at_ms,
            took_ms: 1.0,
            lost: Vec::new(),
            values: values
                .iter()
                .map(|(name, at_zero, a_second)| ((*name).into(), at_zero + seconds * a_second))
                .collect(),
        };
        ProbeSeries::of(&header, [sample(1010.0, 1.01), sample(3000.0, 3.0), sample(5020.0, 5.02)])
    }

    fn check(probe: &ProbeSeries, variables: &[(&str, &str)], key: LedgerKey, expect: Result<f64, &str>, source: &str) {
        let measured = Measured { counts: Counts { ok: 400, ..Counts::default() }, ..Measured::default() };
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let intervals = intervals();
        let input =
            LedgerInput { measured: &measured, intervals: &intervals, probe: Some(probe), variables: Some(&variables) };
        let ledger = ledger(&input);
        let line = ledger.line(key).unwrap();
        match expect {
            Ok(figure) => {
                assert!(line.per_tx.is_some_and(|per_tx| (per_tx - figure).abs() < 1e-9), "{line:?}");
                assert_eq!(line.source, source);
            }
            Err(why) => assert_eq!((line.per_tx, line.source.as_str()), (None, why)),
        }
    }

    #[test]
    fn growth_over_the_measure_phase_per_transaction() {
        let series = probe(&[("status.Innodb_os_log_written", 7e9, 50_000.0)], &[]);
        check(&series, &[], LedgerKey::RedoBytes, Ok(500.0), "Innodb_os_log_written");
        check(&series, &[], LedgerKey::BinlogBytes, Err("the server does not count it"), "");
        check(&series, &[], LedgerKey::ServerCpu, Err("the server does not count it"), "");
    }

    #[test]
    fn the_best_source_that_there_is() {
        let syncs = ("status.Innodb_data_fsyncs", 5.0, 110.0);
        let data = ("file.wait/io/file/innodb/innodb_data_file.misc", 3.0, 10.0);
        let own = ("status.Innodb_os_log_fsyncs", 0.0, 101.0);
        check(&probe(&[syncs, data, own], &[]), &[], LedgerKey::RedoSyncs, Ok(1.01), "Innodb_os_log_fsyncs");
        let words = "Innodb_data_fsyncs - file.wait/io/file/innodb/innodb_data_file.misc (all syncs without those of data \
                     files)";
        check(&probe(&[syncs, data], &[]), &[], LedgerKey::RedoSyncs, Ok(1.0), words);
        let why = "performance_schema is OFF";
        check(&probe(&[syncs], &[("file", why)]), &[], LedgerKey::RedoSyncs, Err(why), "");
    }

    #[test]
    fn groups_are_syncs_only_where_each_is_flushed() {
        let series = probe(&[("status.Binlog_group_commits", 0.0, 40.0)], &[]);
        let source = "Binlog_group_commits (one for each group, as sync_binlog is 1)";
        check(&series, &[("sync_binlog", "1")], LedgerKey::BinlogSyncs, Ok(0.4), source);
        let why = "the server does not count it";
        check(&series, &[("sync_binlog", "0")], LedgerKey::BinlogSyncs, Err(why), "");
    }

    #[test]
    fn what_was_not_read_in_time_is_absent() {
        let mut series = probe(&[("disk.flushes", 0.0, 1.0)], &[]);
        check(&series, &[], LedgerKey::DiskFlushes, Ok(0.01), "disk.flushes");
        let header = ProbeHeader { schema_version: 1, interval_ms: 1e3, family: None, absent: Vec::new() };
        series = ProbeSeries::of(&header, []);
        check(&series, &[], LedgerKey::DiskFlushes, Err("the server does not count it"), "");
    }
}
