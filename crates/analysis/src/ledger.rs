//! What one transaction cost: the cost ledger.
//! `docs/method/ledger.md` explains it.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use truetps_record::{CPU_MIN_US, Interval, Measured, Phase, ProbePoint, ProbeSeries};

use crate::absence::{Absent, TooFewOf};
use crate::figure::Figure;
use crate::ledger_sources::{
    IO_WRITTEN, KnownVariables, cuts_lock_waits, sources, why_not_counted,
};

/// Largest distance of a reading from the beginning and the end of the measure phase, as a share of
/// its length.
const EDGE_SHARE: f64 = 0.1;

/// Cost of one successful transaction, by resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// Always all lines, in one order.
    pub lines: Vec<LedgerLine>,
}

impl Ledger {
    pub fn line(&self, key: Figure) -> Option<&LedgerLine> {
        self.lines.iter().find(|line| line.key == key)
    }
}

/// One resource.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerLine {
    pub key: Figure,
    pub figure: Result<LedgerFigure, Absent>,
}

/// Amount of a resource per transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerFigure {
    /// In [`Figure::unit`].
    pub per_tx: f64,
    /// The counters that it was made from, in the server's words.
    pub source: String,
}

impl LedgerLine {
    pub fn per_tx(&self) -> Option<f64> {
        self.figure.as_ref().ok().map(|figure| figure.per_tx)
    }
}

/// `per_tx` and `source`, or `absent`; the others are `null`.
impl Serialize for LedgerLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("LedgerLine", 4)?;
        line.serialize_field("key", &self.key)?;
        line.serialize_field("per_tx", &self.per_tx())?;
        line.serialize_field("source", &self.figure.as_ref().ok().map(|figure| &figure.source))?;
        line.serialize_field("absent", &self.figure.as_ref().err())?;
        line.end()
    }
}

/// The sources of a ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LedgerInput<'a> {
    pub(crate) measured: &'a Measured,
    pub(crate) intervals: &'a [Interval],
    /// `None`: the probe was off.
    pub(crate) probe: Option<&'a ProbeSeries>,
    pub(crate) variables: KnownVariables<'a>,
    /// The trial is one part of a load on one server.
    pub(crate) is_part: bool,
    /// A file of the trial that is damaged so far that nothing is known of its counters.
    pub(crate) damaged: Option<&'static str>,
}

/// What a transaction of this trial cost.
pub(crate) fn ledger(input: &LedgerInput<'_>) -> Ledger {
    let window = input.probe.and_then(|probe| LedgerWindow::of(input, probe));
    let lines =
        Figure::costs().map(|key| LedgerLine { key, figure: figure(input, window.as_ref(), key) });
    Ledger { lines: lines.collect() }
}

/// A figure with its source, or the reason for its absence.
fn figure(
    input: &LedgerInput<'_>,
    window: Option<&LedgerWindow<'_>>,
    key: Figure,
) -> Result<LedgerFigure, Absent> {
    if input.is_part && !is_of_generator(key) {
        return Err(Absent::PartOfLoad);
    }
    let own = own_figure(input, key);
    let found = own.or_else(|| window?.figure(key, input));
    let figure = found.ok_or_else(|| why_absent(input, window, key))?;
    if let Some(why) = why_not_counted(key, input.variables) {
        return Err(why);
    }
    match (key, window) {
        (Figure::ServerCpu, _)
            if figure.per_tx * (input.measured.counts.ok as f64) < CPU_MIN_US =>
        {
            Err(Absent::TooFew { of: TooFewOf::CpuTicks })
        }
        (Figure::PagesWritten, Some(window)) if window.is_too_coarse(input.variables) => {
            Err(Absent::TooFew { of: TooFewOf::PageSteps })
        }
        (Figure::RowLockTime, Some(window)) if cuts_lock_waits(window.probe, input.variables) => {
            window.row_lock_time(figure)
        }
        _ => Ok(figure),
    }
}

/// What a part of a load has of its own.
fn is_of_generator(key: Figure) -> bool {
    matches!(key, Figure::RowsChanged | Figure::ClientCpu | Figure::ClientSwitches)
}

/// Lines that each trial has without a probe.
fn own_figure(input: &LedgerInput<'_>, key: Figure) -> Option<LedgerFigure> {
    let Measured { resources, counts, .. } = input.measured;
    let (per_tx, source) = match key {
        // What is not counted, as in a script's run, is not written either.
        Figure::RowsChanged => {
            let rows = (counts.rows_changed > 0 && counts.ok > 0)
                .then(|| counts.rows_changed as f64 / counts.ok as f64);
            (rows, "the server's answers")
        }
        Figure::ClientCpu => (resources.client_cpu_us_per_tx, "CPU time of the engine's threads"),
        Figure::ServerCpu => (resources.server_cpu_us_per_tx, "CPU time of the server"),
        Figure::ClientSwitches => {
            (resources.client_switches_per_tx, "time slices of the engine's threads")
        }
        _ => return None,
    };
    per_tx.map(|per_tx| LedgerFigure { per_tx, source: source.to_owned() })
}

fn why_absent(input: &LedgerInput<'_>, window: Option<&LedgerWindow<'_>>, key: Figure) -> Absent {
    if key == Figure::RowsChanged {
        return Absent::NoRowsChanged;
    }
    if let Some(file) = input.damaged {
        return Absent::Damaged { file };
    }
    let Some(probe) = input.probe else { return Absent::NotWatched };
    if input.measured.counts.ok == 0 {
        return Absent::NoTransaction;
    }
    let known = sources(key).filter(|source| source.holds(input.variables));
    let names: Vec<_> = known.flat_map(|source| source.names).map(|(_, name)| *name).collect();
    let said =
        names.iter().find_map(|name| probe.absent.iter().find(|absent| absent.is_about(name)));
    if let Some(absent) = said {
        return Absent::Refused { answer: absent.why.clone() };
    }
    let is_read = window.is_some() && names.iter().any(|name| all_of(probe, name).next().is_some());
    if is_read { Absent::NotReadThroughout } else { Absent::NotCounted }
}

/// The points of all names that this one stands for.
fn all_of<'a>(
    probe: &'a ProbeSeries,
    name: &'static str,
) -> impl Iterator<Item = &'a [ProbePoint]> {
    let (front, back) = name.split_once('*').unwrap_or((name, ""));
    let is_one = front == name;
    probe
        .with_prefix(front)
        .filter(move |(found, _)| if is_one { *found == name } else { found.ends_with(back) })
        .map(|(_, points)| points)
}

/// The measure phase, and what was read and what ended around it.
struct LedgerWindow<'a> {
    probe: &'a ProbeSeries,
    /// The measure phase.
    from_ms: f64,
    to_ms: f64,
    /// Intervals of all phases: a reading may be a moment before or after the measure phase.
    intervals: &'a [Interval],
}

impl<'a> LedgerWindow<'a> {
    fn of(input: &LedgerInput<'a>, probe: &'a ProbeSeries) -> Option<Self> {
        let measured: Vec<_> =
            input.intervals.iter().filter(|one| one.phase == Phase::Measure).collect();
        let (first, last) = measured.first().zip(measured.last())?;
        Some(Self {
            probe,
            from_ms: first.start_ms,
            to_ms: last.start_ms + last.length_ms,
            intervals: input.intervals,
        })
    }

    fn figure(&self, key: Figure, input: &LedgerInput<'_>) -> Option<LedgerFigure> {
        sources(key).filter(|source| source.holds(input.variables)).find_map(|source| {
            let mut sum = 0.0;
            for (factor, name) in source.names {
                sum += factor * self.per_tx(name)?;
            }
            // Inconsistent counters give no figure.
            (sum >= 0.0).then(|| LedgerFigure { per_tx: sum, source: source.words() })
        })
    }

    /// Growth of counters per transaction that ended well, between the readings at the edges of the
    /// measure phase. `None` where none was made near an edge, or a counter fell.
    fn per_tx(&self, name: &'static str) -> Option<f64> {
        let counters = all_of(self.probe, name).map(|points| self.growth_per_tx(points));
        counters.reduce(|sum, one| Some(sum? + one?))?
    }

    fn growth_per_tx(&self, points: &[ProbePoint]) -> Option<f64> {
        let (first, last) =
            (self.reading_at(points, self.from_ms)?, self.reading_at(points, self.to_ms)?);
        let transactions = self.ok_between(first.at_ms, last.at_ms);
        let growth = last.value - first.value;
        (growth >= 0.0 && transactions > 0.0).then(|| growth / transactions)
    }

    /// PostgreSQL up to 15 adds up pages that sessions wrote when half of a queue is full that is
    /// as long as there are buffers.
    fn is_too_coarse(&self, variables: KnownVariables<'_>) -> bool {
        /// The step that may be missing is a tenth at most.
        const STEPS_MIN: f64 = 10.0;
        let points = self.probe.points("pg_stat_bgwriter.buffers_backend");
        let [first, last] = [self.from_ms, self.to_ms].map(|at_ms| self.reading_at(points, at_ms));
        let Some((first, last)) = first.zip(last) else { return false };
        let is_counted_elsewhere = all_of(self.probe, IO_WRITTEN).next().is_some();
        let buffers = variables.and_then(|all| all.get("shared_buffers")?.parse::<f64>().ok());
        let is_fine =
            buffers.is_some_and(|buffers| last.value - first.value >= STEPS_MIN * buffers / 2.0);
        !is_counted_elsewhere && !is_fine
    }

    /// The time of row locks on a server that cuts each wait to whole milliseconds: `cut` is their
    /// sum.
    fn row_lock_time(&self, cut: LedgerFigure) -> Result<LedgerFigure, Absent> {
        /// From here on at most a quarter is missing.
        const WAIT_MIN_US: f64 = 3000.0;
        const CUT: &str = "MariaDB cuts each wait to whole milliseconds";
        let LedgerFigure { per_tx, source } = cut;
        let waits = self.per_tx("status.Innodb_row_lock_waits").unwrap_or(0.0);
        if waits == 0.0 && per_tx == 0.0 {
            return Ok(LedgerFigure { per_tx, source });
        }
        if per_tx >= WAIT_MIN_US * waits {
            return Ok(LedgerFigure { per_tx, source: format!("{source} ({CUT}: a lower bound)") });
        }
        let seen = self.waiting_us_per_tx("status.Innodb_row_lock_current_waits");
        let (per_tx, readings) = seen.ok_or(Absent::TooFew { of: TooFewOf::WaitingSessions })?;
        let source = format!("Innodb_row_lock_current_waits at {readings} readings, since {CUT}");
        Ok(LedgerFigure { per_tx, source })
    }

    /// Time that sessions waited, per transaction, from how many did at each reading, with the
    /// number of readings. `None` where so few were seen that chance would decide.
    fn waiting_us_per_tx(&self, gauge: &'static str) -> Option<(f64, usize)> {
        /// The standard deviation of a count that chance alone makes is a tenth of it.
        const SEEN_MIN: f64 = 100.0;
        let points = self.probe.points(gauge).iter();
        let inside: Vec<_> =
            points.filter(|point| (self.from_ms..=self.to_ms).contains(&point.at_ms)).collect();
        let seen: f64 = inside.iter().map(|point| point.value).sum();
        let transactions = self.ok_between(self.from_ms, self.to_ms);
        let waited_us = seen / inside.len() as f64 * (self.to_ms - self.from_ms) * 1e3;
        (seen >= SEEN_MIN && transactions > 0.0).then(|| (waited_us / transactions, inside.len()))
    }

    /// The reading nearest to a time.
    fn reading_at(&self, points: &[ProbePoint], at_ms: f64) -> Option<ProbePoint> {
        let after = points.partition_point(|point| point.at_ms < at_ms);
        let near = [after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)];
        let nearest = near.into_iter().flatten().min_by(|one, other| {
            (one.at_ms - at_ms).abs().total_cmp(&(other.at_ms - at_ms).abs())
        })?;
        let slack_ms = EDGE_SHARE * (self.to_ms - self.from_ms);
        ((nearest.at_ms - at_ms).abs() <= slack_ms).then_some(*nearest)
    }

    fn ok_between(&self, from_ms: f64, to_ms: f64) -> f64 {
        self.intervals.iter().map(|interval| interval.ok_between(from_ms, to_ms)).sum()
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{AbsentSignal, Counts, ProbeHeader, ProbeSample, ProbeSource};

    use super::*;

    /// Four seconds of 100 transactions a second after one of warm-up, and what is read a moment
    /// later.
    fn intervals() -> Vec<Interval> {
        let of = |second: u32| {
            let phase = match second {
                0 => Phase::WarmUp,
                5 => Phase::Drain,
                _ => Phase::Measure,
            };
            let counts = Counts { ok: 100, ..Counts::default() };
            let interval = Interval::of_counts(phase, f64::from(second) * 1e3, 1e3, counts);
            Interval { buckets: vec![10; 10], ..interval }
        };
        (0..6).map(of).collect()
    }

    fn probe(values: &[(&str, f64, f64)], absent: &[(&str, &str)]) -> ProbeSeries {
        let absent = absent
            .iter()
            .map(|(what, why)| AbsentSignal { what: (*what).into(), why: (*why).into() });
        let header =
            ProbeHeader { absent: absent.collect(), ..ProbeHeader::of_version_1(2e3, None) };
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

    fn check(
        probe: &ProbeSeries,
        variables: &[(&str, &str)],
        key: Figure,
        expect: Result<f64, Absent>,
        source: &str,
    ) {
        let measured =
            Measured { counts: Counts { ok: 400, ..Counts::default() }, ..Measured::default() };
        let variables =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let intervals = intervals();
        let (probe, variables) = (Some(probe), Some(&variables));
        let input = LedgerInput {
            measured: &measured,
            intervals: &intervals,
            probe,
            variables,
            is_part: false,
            damaged: None,
        };
        let ledger = ledger(&input);
        match (&ledger.line(key).unwrap().figure, expect) {
            (Ok(found), Ok(figure)) => {
                assert!((found.per_tx - figure).abs() < 1e-9, "{found:?}");
                assert_eq!(found.source, source);
            }
            (found, expect) => assert_eq!(found.as_ref().err(), expect.as_ref().err(), "{found:?}"),
        }
    }

    #[test]
    fn growth_over_the_measure_phase_per_transaction() {
        let series = probe(&[("status.Innodb_os_log_written", 7e9, 50_000.0)], &[]);
        check(&series, &[], Figure::RedoBytes, Ok(500.0), "Innodb_os_log_written");
        check(&series, &[], Figure::BinlogBytes, Err(Absent::NotCounted), "");
        check(&series, &[], Figure::ServerCpu, Err(Absent::NotCounted), "");
    }

    #[test]
    fn the_best_source_that_there_is() {
        let syncs = ("status.Innodb_data_fsyncs", 5.0, 110.0);
        let data = ("file.wait/io/file/innodb/innodb_data_file.misc", 3.0, 10.0);
        let own = ("status.Innodb_os_log_fsyncs", 0.0, 101.0);
        check(
            &probe(&[syncs, data, own], &[]),
            &[],
            Figure::RedoSyncs,
            Ok(1.01),
            "Innodb_os_log_fsyncs",
        );
        let words = "Innodb_data_fsyncs - file.wait/io/file/innodb/innodb_data_file.misc (all \
                     syncs except data file syncs)";
        check(&probe(&[syncs, data], &[]), &[], Figure::RedoSyncs, Ok(1.0), words);
        let why = "performance_schema is OFF";
        let refused = Absent::Refused { answer: why.to_owned() };
        check(&probe(&[syncs], &[("file", why)]), &[], Figure::RedoSyncs, Err(refused), "");
    }

    #[test]
    fn groups_are_syncs_only_where_each_is_flushed() {
        let series = probe(&[("status.Binlog_group_commits", 0.0, 40.0)], &[]);
        let source = "Binlog_group_commits (one for each group, as sync_binlog is 1)";
        check(&series, &[("sync_binlog", "1")], Figure::BinlogSyncs, Ok(0.4), source);
        check(&series, &[("sync_binlog", "0")], Figure::BinlogSyncs, Err(Absent::NotCounted), "");
    }

    #[test]
    fn what_was_not_read_in_time_is_absent() {
        let mut series = probe(&[("disk.flushes", 0.0, 1.0)], &[]);
        check(&series, &[], Figure::DiskFlushes, Ok(0.01), "disk.flushes");
        let header = ProbeHeader::of_version_1(1e3, None);
        series = ProbeSeries::of(&header, []);
        check(&series, &[], Figure::DiskFlushes, Err(Absent::NotCounted), "");
    }

    /// One load on 13, 16, 17 and 18: contexts that a version does not have, or that nothing
    /// happens in, are no reason for an absent line.
    #[test]
    fn pages_of_postgres_mean_the_same_in_every_version() {
        let (written, created) = (Figure::PagesWritten, Figure::PagesCreated);
        let old = [
            ("pg_stat_bgwriter.buffers_checkpoint", 5.0, 30.0),
            ("pg_stat_bgwriter.buffers_clean", 0.0, 20.0),
            ("pg_stat_bgwriter.buffers_backend", 3.0, 60.0),
        ];
        let words = "pg_stat_bgwriter.buffers_checkpoint + pg_stat_bgwriter.buffers_clean + \
                     pg_stat_bgwriter.buffers_backend (including writes that extended files)";
        let no_view = "relation \"pg_stat_io\" does not exist";
        let thirteen = probe(&old, &[("pg_stat_io", no_view)]);
        check(&thirteen, &[("shared_buffers", "48")], written, Ok(1.1), words);
        let too_few = || Err(Absent::TooFew { of: TooFewOf::PageSteps });
        check(&thirteen, &[("shared_buffers", "49")], written, too_few(), "");
        check(&thirteen, &[], written, too_few(), "");
        check(&thirteen, &[], created, Err(Absent::Refused { answer: no_view.to_owned() }), "");
        let io = [
            ("pg_stat_io.relation.normal.write_pages", 7.0, 90.0),
            ("pg_stat_io.relation.vacuum.write_pages", 7.0, 0.0),
            ("pg_stat_io.relation.normal.extend_pages", 0.0, 15.0),
            ("pg_stat_io.relation.bulkwrite.extend_pages", 0.0, 5.0),
            // Of the log, and no page of a table.
            ("pg_stat_io.wal.normal.write_pages", 0.0, 1e3),
        ];
        let words = "pg_stat_io.relation.*.write_pages + pg_stat_io.relation.*.extend_pages \
            (including writes that extended files)";
        check(&probe(&io, &[]), &[], written, Ok(1.1), words);
        check(&probe(&io, &[]), &[], created, Ok(0.2), "pg_stat_io.relation.*.extend_pages");
        let recorded = [
            ("pg_stat_checkpointer.buffers_written", 0.0, 30.0),
            ("pg_stat_bgwriter.buffers_clean", 0.0, 0.0),
        ];
        let words = "pg_stat_checkpointer.buffers_written + pg_stat_bgwriter.buffers_clean \
                     (without pages written by sessions)";
        check(&probe(&recorded, &[]), &[], written, Ok(0.3), words);
    }

    #[test]
    fn syncs_that_are_no_calls_are_not_none() {
        let series = probe(
            &[
                ("status.Innodb_os_log_fsyncs", 0.0, 1.0),
                ("status.Innodb_data_fsyncs", 0.0, 3.0),
                ("pg_stat_wal.wal_sync", 0.0, 0.0),
            ],
            &[],
        );
        let (redo, engine) = (Figure::RedoSyncs, Figure::EngineSyncs);
        check(
            &series,
            &[("innodb_flush_method", "O_DIRECT")],
            redo,
            Ok(0.01),
            "Innodb_os_log_fsyncs",
        );
        let no_call = |setting, value: &str| {
            Err(Absent::SyncWithoutCall { setting, value: value.to_owned() })
        };
        let method = "innodb_flush_method";
        check(&series, &[(method, "O_DSYNC")], redo, no_call(method, "O_DSYNC"), "");
        check(&series, &[(method, "O_DSYNC")], engine, no_call(method, "O_DSYNC"), "");
        let through = "innodb_data_file_write_through";
        check(&series, &[(through, "ON")], engine, no_call(through, "ON"), "");
        let postgres = probe(&[("pg_stat_wal.wal_sync", 0.0, 0.0)], &[]);
        check(
            &postgres,
            &[("wal_sync_method", "fdatasync")],
            redo,
            Ok(0.0),
            "pg_stat_wal.wal_sync",
        );
        let method = "wal_sync_method";
        check(&postgres, &[(method, "open_datasync")], redo, no_call(method, "open_datasync"), "");
    }

    #[test]
    fn rows_changed_match_the_answers() {
        let line = |rows_changed| {
            let counts = Counts { ok: 400, rows_changed, ..Counts::default() };
            let measured = Measured { counts, ..Measured::default() };
            let (probe, variables, damaged) = (None, None, None);
            let ledger = ledger(&LedgerInput {
                measured: &measured,
                intervals: &[],
                probe,
                variables,
                is_part: false,
                damaged,
            });
            ledger.line(Figure::RowsChanged).unwrap().clone()
        };
        assert_eq!(line(500).per_tx(), Some(1.25));
        assert_eq!(line(0).figure, Err(Absent::NoRowsChanged));
    }

    /// The probe's last reading comes after the worker has ended, and has lost its switches.
    #[test]
    fn switches_are_the_workers_own_count() {
        let line = |client_switches_per_tx| {
            let counts = Counts { ok: 400, ..Counts::default() };
            let resources =
                truetps_record::ResourceUse { client_switches_per_tx, ..Default::default() };
            let measured = Measured { counts, resources, ..Measured::default() };
            let series = probe(&[("generator.context_switches", 50.0, 0.2)], &[]);
            let (intervals, probe) = (intervals(), Some(&series));
            let input = LedgerInput {
                measured: &measured,
                intervals: &intervals,
                probe,
                variables: None,
                is_part: false,
                damaged: None,
            };
            ledger(&input).line(Figure::ClientSwitches).unwrap().figure.clone().unwrap()
        };
        let own = line(Some(1.04));
        assert_eq!(
            (own.per_tx, own.source.as_str()),
            (1.04, "time slices of the engine's threads")
        );
        let old = line(None);
        assert!(old.per_tx < 0.0021 && old.source.contains("a lower bound"), "{old:?}");
    }

    #[test]
    fn a_few_ticks_of_cpu_are_no_figure() {
        let too_few = Absent::TooFew { of: TooFewOf::CpuTicks };
        check(
            &probe(&[("server.cpu_us", 5e6, 24e3)], &[]),
            &[],
            Figure::ServerCpu,
            Err(too_few),
            "",
        );
        check(
            &probe(&[("server.cpu_us", 5e6, 26e3)], &[]),
            &[],
            Figure::ServerCpu,
            Ok(260.0),
            "server.cpu_us",
        );
    }

    /// Time in milliseconds, waits, and sessions that wait at each reading.
    fn lock_waits(ms: f64, waits: f64, waiting: f64, more: &[(&str, f64, f64)]) -> ProbeSeries {
        let of_locks = [
            ("status.Innodb_row_lock_time", 0.0, ms),
            ("status.Innodb_row_lock_waits", 0.0, waits),
            ("status.Innodb_row_lock_current_waits", waiting, 0.0),
        ];
        probe(&[&of_locks, more].concat(), &[])
    }

    #[test]
    fn short_waits_of_a_mariadb_are_not_timed() {
        let mariadb = &[("status.Binlog_group_commit_trigger_count", 0.0, 0.0)];
        let check = |series, version, expect, source| {
            check(&series, &[("version", version)], Figure::RowLockTime, expect, source);
        };
        let new = "10.11.19-MariaDB";
        check(lock_waits(6.0, 100.0, 2.0, &[]), "8.0.36", Ok(60.0), "Innodb_row_lock_time");
        check(
            lock_waits(6.0, 100.0, 2.0, mariadb),
            "10.5.29-MariaDB",
            Ok(60.0),
            "Innodb_row_lock_time",
        );
        let words =
            "Innodb_row_lock_time (MariaDB cuts each wait to whole milliseconds: a lower bound)";
        check(lock_waits(400.0, 100.0, 2.0, mariadb), new, Ok(4000.0), words);
        check(lock_waits(0.0, 0.0, 0.0, mariadb), new, Ok(0.0), "Innodb_row_lock_time");
        let too_few = Absent::TooFew { of: TooFewOf::WaitingSessions };
        check(lock_waits(6.0, 100.0, 2.0, mariadb), new, Err(too_few), "");
        // 200 sessions for 4 s in 400 transactions.
        let words = "Innodb_row_lock_current_waits at 2 readings, since MariaDB cuts each wait to \
                     whole milliseconds";
        check(lock_waits(6.0, 100.0, 200.0, mariadb), new, Ok(2e6), words);
    }
}
