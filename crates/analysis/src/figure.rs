//! The table of figures: their names, sources, and where they are shown.
//!
//! CSV, JSON, schemas, tables, comparisons, `--fail-if` and `docs/reference/figures.md` are made
//! from it, or checked against it. A new figure is a new entry of the table.

use serde::{Serialize, Serializer};
use truetps_record::{Measured, OpenLoop, Trial};

use crate::bound;
use crate::order_stats::{largest, mean, mean_by_block, median};
use crate::stalls::{StallKind, Stalls};

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    Count,
    PerSecond,
    Us,
    Ms,
    Bytes,
    /// From 0 to 1.
    Share,
    /// A factor.
    Ratio,
}

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    /// By itself it is neither good nor bad.
    Neither,
}

/// How the figures of several trials become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTrials {
    /// Geometric mean with its interval.
    Estimate,
    /// Geometric mean; the mean where a figure is zero.
    Mean,
    Median,
    Largest,
    Sum,
}

impl OverTrials {
    /// One figure from the figures of trials, each with its block. Medians, maxima and sums have
    /// one vote a trial.
    pub(crate) fn combine_blocks(self, values: impl Iterator<Item = (u32, f64)>) -> Option<f64> {
        match self {
            Self::Estimate | Self::Mean => mean_by_block(values),
            Self::Median | Self::Largest | Self::Sum => {
                self.combine(values.map(|(_, value)| value))
            }
        }
    }

    pub fn combine(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Self::Estimate | Self::Mean => mean(values),
            Self::Median => median(values),
            Self::Largest => largest(values),
            // An empty sum of floating-point numbers is -0.0, and would be shown as that.
            Self::Sum => Some(values.fold(0.0, |sum, one| sum + one)),
        }
    }
}

/// The object of a JSON document that a figure is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureGroup {
    /// A trial and a configuration.
    Own,
    /// The engine of a trial; a configuration.
    Engine,
    /// What an open loop adds.
    OpenLoop,
    /// Stalls of a trial or of a configuration.
    Stalls,
    /// Lines of the cost ledger that each trial knows without a probe: a configuration has them
    /// too.
    Cpu,
    /// The other lines of the cost ledger.
    Ledger,
}

/// Where a figure is shown beside JSON, which has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigurePlace {
    Csv,
    /// The main table of text, Markdown and HTML.
    Main,
    /// The main table of text, Markdown and HTML, if any configuration has it.
    MainIfAny,
    /// The main table of text, Markdown and HTML, if a transaction of any configuration changes
    /// another number of rows than one.
    MainIfRows,
    /// The main table of text and Markdown.
    Text,
    /// The main table of text and Markdown, if it is not zero for all configurations.
    TextIfAny,
    /// The first table of a comparison. It has all lines of the ledger in another one.
    Compared,
}

/// What a trial's figure is made from.
#[derive(Clone, Copy)]
pub(crate) enum FigureSource {
    Trial(fn(&Trial) -> Option<f64>),
    Measured(fn(&Measured) -> Option<f64>),
    OpenLoop(fn(&Measured, &OpenLoop) -> Option<f64>),
    Stalls(fn(&Stalls) -> Option<f64>),
    /// `ledger_sources` has the counters.
    Ledger,
}

pub(crate) struct FigureEntry {
    key: &'static str,
    name: &'static str,
    about: &'static str,
    group: FigureGroup,
    unit: FigureUnit,
    better: Better,
    over: OverTrials,
    places: &'static [FigurePlace],
    pub(crate) source: FigureSource,
}

macro_rules! figures {
    ($(
        $(#[doc = $about:literal])+
        $figure:ident $key:literal $name:literal $group:ident $unit:ident $better:ident $over:ident
        [$($place:ident)*] $source:expr;
    )*) => {
        /// A figure. Documents and tables have them in this order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Figure {
            $($(#[doc = $about])+ $figure,)*
        }

        impl Figure {
            pub const ALL: &[Self] = &[$(Self::$figure),*];

            pub(crate) fn entry(self) -> &'static FigureEntry {
                static ENTRIES: &[FigureEntry] = &[$(FigureEntry {
                    key: $key,
                    name: $name,
                    about: concat!($($about),+),
                    group: FigureGroup::$group,
                    unit: FigureUnit::$unit,
                    better: Better::$better,
                    over: OverTrials::$over,
                    places: &[$(FigurePlace::$place),*],
                    source: $source,
                }),*];
                &ENTRIES[self as usize]
            }
        }
    };
}

use FigureSource::{
    Ledger as Line, Measured as Of, OpenLoop as Open, Stalls as Stalled, Trial as OfTrial,
};

// Figure, key, name for people, group, unit, better, over trials, places, what it is made from.
figures! {
    /// Transactions that ended well, a second.
    Tps "tps" "tps" Own PerSecond Higher Estimate [Csv Compared] Of(|it| Some(it.tps));
    /// Rows that the server reported as changed, a second.
    RowsPerSecond "rows_changed_per_s" "rows/s" Own PerSecond Higher Mean [Csv MainIfRows Compared]
        Of(rows_per_s);
    /// Response time, median.
    ResponseP50 "response_us_p50" "response p50" Own Us Lower Mean [Csv Main]
        Of(|it| it.response.response_us_p50);
    /// Response time, 95th percentile.
    ResponseP95 "response_us_p95" "response p95" Own Us Lower Mean [Csv Main]
        Of(|it| it.response.response_us_p95);
    /// Response time, 99th percentile.
    ResponseP99 "response_us_p99" "response p99" Own Us Lower Mean [Csv Main Compared]
        Of(|it| it.response.response_us_p99);
    /// Response time, 99.9th percentile.
    ResponseP999 "response_us_p999" "response p99.9" Own Us Lower Mean [Csv]
        Of(|it| it.response.response_us_p999);
    /// Response time of the slowest transaction.
    ResponseMax "response_us_max" "response max" Own Us Lower Largest [Csv Main]
        Of(|it| it.response.response_us_max);
    /// Closed loop: throughput times mean response time, divided by the connections (Little's law):
    /// 1 in a steady state.
    LittlesLaw "littles_law" "Little's law" Own Ratio Neither Median [Csv] Of(|it| it.littles_law);
    /// Failed transactions.
    Failed "failed" "failed" Own Count Lower Sum [Csv Main] Of(|it| count(it.counts.failed));
    /// Failed transactions whose error the plan ignores.
    Ignored "ignored" "ignored" Own Count Neither Sum [Csv] Of(|it| count(it.counts.ignored));
    /// Attempts that failed and were repeated.
    Retried "retried" "retried" Own Count Lower Sum [Csv TextIfAny]
        Of(|it| count(it.counts.retried));
    /// Connections that broke and were made again.
    Reconnects "reconnects" "reconnects" Engine Count Lower Sum [Csv TextIfAny]
        OfTrial(|it| count(it.engine.as_ref()?.reconnects));
    /// Share of the measure phase that the busiest worker of the load generator was on a CPU.
    WorkerBusy "worker_busy_max" "busiest worker" Engine Share Neither Largest [Csv]
        Of(|it| it.resources.worker_busy_max.map(at_most_all));
    /// Largest share of the measure phase that a worker of the load generator waited for a CPU.
    WorkerWait "worker_wait_max" "waited for a CPU" Engine Share Lower Largest [Csv]
        Of(|it| it.resources.worker_wait_max.map(at_most_all));
    /// Share of the host's CPU time that other guests of its machine took.
    Steal "steal_max" "steal" Engine Share Lower Largest [Csv]
        Of(|it| it.resources.steal.map(at_most_all));
    /// Factor by which throughput could be higher at most if the server used the idle CPU time of
    /// its cores.
    BoundIdleUsed "tps_bound_idle_used" "bound of idle CPU time" Engine Ratio Neither Mean [Csv]
        Of(bound::if_idle_used);
    /// Factor by which throughput could be higher at most with the load generator on a machine of
    /// its own; absent above 4.
    BoundFreeGenerator "tps_bound_free_generator" "bound" Engine Ratio Neither Mean [Csv MainIfAny]
        OfTrial(bound::with_free_generator);

    /// Starts of the schedule, a second.
    ScheduledRate "scheduled_per_s" "scheduled/s" OpenLoop PerSecond Neither Median [Csv]
        Open(|it, open| Some(per_second(open.starts.scheduled, it)));
    /// Transactions that were started, a second.
    StartedRate "started_per_s" "started/s" OpenLoop PerSecond Higher Median [Csv]
        Open(|it, _| Some(per_second(it.counts.started, it)));
    /// Starts of the schedule.
    Scheduled "scheduled" "scheduled" OpenLoop Count Neither Median [Csv]
        Open(|_, open| count(open.starts.scheduled));
    /// Starts that were given up: they would have been later than the latency limit.
    Skipped "skipped" "skipped" OpenLoop Count Lower Median [Csv]
        Open(|_, open| count(open.starts.skipped));
    /// Starts that waited for a client when the measure phase began.
    QueuedIn "queued_in" "queue at begin" OpenLoop Count Lower Median []
        Open(|_, open| count(open.starts.queued_in));
    /// Starts that waited for a client when the measure phase ended.
    Queued "queued" "queue at end" OpenLoop Count Lower Median [Csv]
        Open(|_, open| count(open.starts.queued));
    /// Service time, from the actual start of a transaction to its end, median.
    ServiceP50 "service_us_p50" "service p50" OpenLoop Us Lower Median [Csv]
        Open(|_, open| open.service_us_p50);
    /// Service time, 95th percentile.
    ServiceP95 "service_us_p95" "service p95" OpenLoop Us Lower Median [Csv]
        Open(|_, open| open.service_us_p95);
    /// Service time, 99th percentile.
    ServiceP99 "service_us_p99" "service p99" OpenLoop Us Lower Median [Csv]
        Open(|_, open| open.service_us_p99);
    /// Service time, 99.9th percentile.
    ServiceP999 "service_us_p999" "service p99.9" OpenLoop Us Lower Median []
        Open(|_, open| open.service_us_p999);
    /// Service time of the slowest transaction.
    ServiceMax "service_us_max" "service max" OpenLoop Us Lower Largest [Csv]
        Open(|_, open| open.service_us_max);
    /// Lag, from the scheduled start of a transaction to the actual one, median.
    LagP50 "lag_us_p50" "lag p50" OpenLoop Us Lower Median [Csv] Open(|_, open| open.lag_us_p50);
    /// Lag, 99th percentile.
    LagP99 "lag_us_p99" "lag p99" OpenLoop Us Lower Median [Csv] Open(|_, open| open.lag_us_p99);
    /// Largest lag.
    LagMax "lag_us_max" "lag max" OpenLoop Us Lower Largest [Csv] Open(|_, open| open.lag_us_max);
    /// The generator's own part of the lag, median.
    LateP50 "late_us_p50" "late p50" OpenLoop Us Lower Median [Csv]
        Open(|_, open| open.late_us_p50);
    /// The generator's own part of the lag, 99th percentile.
    LateP99 "late_us_p99" "late p99" OpenLoop Us Lower Median [Csv]
        Open(|_, open| open.late_us_p99);
    /// The generator's own part of the lag, largest.
    LateMax "late_us_max" "late max" OpenLoop Us Lower Largest [Csv]
        Open(|_, open| open.late_us_max);

    /// Periods with less than 30 % of the usual throughput.
    Stalls "stalls" "stalls" Stalls Count Lower Sum [Csv]
        Stalled(|it| number(it, StallKind::Stall));
    /// Periods with less than 70 % of the usual throughput that are no stalls.
    Dips "dips" "dips" Stalls Count Lower Sum [Csv] Stalled(|it| number(it, StallKind::Dip));
    /// All stalls together, without dips.
    Stalled "stalled_ms" "stalled" Stalls Ms Lower Sum [Csv] Stalled(|it| Some(it.stalled_ms));
    /// Length of the measure phases in which stalls would be known.
    Watched "watched_ms" "watched" Stalls Ms Neither Sum [Csv] Stalled(|it| Some(it.watched_ms));
    /// Longest stall; absent if there was none.
    LongestStall "longest_stall_ms" "longest stall" Stalls Ms Lower Largest [Csv]
        Stalled(|it| it.longest_ms);
    /// Longest period without a transaction that ended well; absent if none was as long as 100 ms.
    MaxGap "max_gap_ms" "longest gap" Stalls Ms Lower Largest [Csv Compared]
        Stalled(|it| it.max_gap_ms);

    /// Rows that the server reported as changed.
    RowsChanged "rows_changed_per_tx" "rows changed" Ledger Count Neither Mean [Csv] Line;
    /// CPU time of the load generator.
    ClientCpu "client_cpu_us_per_tx" "client CPU" Cpu Us Neither Mean [Csv Text]
        Of(|it| it.resources.client_cpu_us_per_tx);
    /// CPU time of the server.
    ServerCpu "server_cpu_us_per_tx" "server CPU" Cpu Us Neither Mean [Csv Text]
        Of(Measured::server_cpu_us_per_tx);
    /// Context switches of the load generator.
    ClientSwitches "client_context_switches_per_tx" "client context switches" Ledger Count Neither Mean [Csv]
        Line;
    /// Context switches of the server.
    ServerSwitches "server_context_switches_per_tx" "server context switches" Ledger Count Neither Mean [Csv]
        Line;
    /// Bytes of the redo log (PostgreSQL: WAL).
    RedoBytes "redo_bytes_per_tx" "redo log" Ledger Bytes Neither Mean [Csv] Line;
    /// Writes to the redo log.
    RedoWrites "redo_writes_per_tx" "redo log writes" Ledger Count Neither Mean [Csv] Line;
    /// Syncs of the redo log.
    RedoSyncs "redo_syncs_per_tx" "redo log syncs" Ledger Count Neither Mean [Csv] Line;
    /// Syncs of the redo log and of data files, where the server counts them together.
    EngineSyncs "engine_syncs_per_tx" "redo log and data file syncs" Ledger Count Neither Mean [Csv]
        Line;
    /// Bytes of the binlog.
    BinlogBytes "binlog_bytes_per_tx" "binlog" Ledger Bytes Neither Mean [Csv] Line;
    /// Syncs of the binlog.
    BinlogSyncs "binlog_syncs_per_tx" "binlog syncs" Ledger Count Neither Mean [Csv] Line;
    /// Pages of tables and indexes that were written.
    PagesWritten "pages_written_per_tx" "pages written" Ledger Count Neither Mean [Csv] Line;
    /// Pages of tables and indexes that were created.
    PagesCreated "pages_created_per_tx" "pages created" Ledger Count Neither Mean [Csv] Line;
    /// Pages of tables and indexes that were read from files.
    PagesRead "pages_read_per_tx" "pages read" Ledger Count Neither Mean [Csv] Line;
    /// Pages that were written to the doublewrite buffer.
    DoublewritePages "doublewrite_pages_per_tx" "doublewrite pages" Ledger Count Neither Mean [Csv]
        Line;
    /// Waits for row locks.
    RowLockWaits "row_lock_waits_per_tx" "row-lock waits" Ledger Count Neither Mean [Csv] Line;
    /// Time that sessions waited for row locks.
    RowLockTime "row_lock_us_per_tx" "row-lock wait time" Ledger Us Neither Mean [Csv] Line;
    /// Bytes that the server received from its clients.
    NetworkIn "network_received_bytes_per_tx" "received by the server" Ledger Bytes Neither Mean [Csv]
        Line;
    /// Bytes that the server sent to its clients.
    NetworkOut "network_sent_bytes_per_tx" "sent by the server" Ledger Bytes Neither Mean [Csv]
        Line;
    /// Writes of the whole block device.
    DiskWrites "disk_writes_per_tx" "disk writes (whole device)" Ledger Count Neither Mean [Csv]
        Line;
    /// Bytes written by the whole block device.
    DiskBytes "disk_write_bytes_per_tx" "bytes written (whole device)" Ledger Bytes Neither Mean [Csv]
        Line;
    /// Flushes of the whole block device.
    DiskFlushes "disk_flushes_per_tx" "disk flushes (whole device)" Ledger Count Neither Mean [Csv]
        Line;
}

#[expect(clippy::unnecessary_wraps, reason = "the table has options")]
fn count(number: u64) -> Option<f64> {
    Some(number as f64)
}

/// A folder of an older version may have more than all of the time.
fn at_most_all(share: f64) -> f64 {
    share.min(1.0)
}

/// `None` where they are not counted, as in a script's run.
fn rows_per_s(measured: &Measured) -> Option<f64> {
    let rows = measured.counts.rows_changed;
    (rows > 0 && measured.length_ms > 0.0).then(|| per_second(rows, measured))
}

fn per_second(starts: u64, measured: &Measured) -> f64 {
    starts as f64 / (measured.length_ms / 1e3)
}

#[expect(clippy::unnecessary_wraps, reason = "the table has options")]
fn number(stalls: &Stalls, kind: StallKind) -> Option<f64> {
    Some(stalls.list.iter().filter(|one| one.kind == kind).count() as f64)
}

impl Figure {
    /// As CSV, JSON and `--fail-if` have it: with its unit last.
    pub fn key(self) -> &'static str {
        self.entry().key
    }

    /// For people.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// One sentence for the reference.
    pub fn about(self) -> &'static str {
        self.entry().about.trim()
    }

    pub fn group(self) -> FigureGroup {
        self.entry().group
    }

    pub fn unit(self) -> FigureUnit {
        self.entry().unit
    }

    pub fn better(self) -> Better {
        self.entry().better
    }

    pub fn over_trials(self) -> OverTrials {
        self.entry().over
    }

    pub fn is_shown(self, place: FigurePlace) -> bool {
        self.entry().places.contains(&place)
    }

    /// A line of the cost ledger: of one transaction.
    pub fn is_cost(self) -> bool {
        matches!(self.group(), FigureGroup::Cpu | FigureGroup::Ledger)
    }

    /// A configuration has it among its own figures.
    pub fn is_of_cell(self) -> bool {
        matches!(self.group(), FigureGroup::Own | FigureGroup::Engine | FigureGroup::Cpu)
            && self != Self::Tps
    }

    pub fn is_compared(self) -> bool {
        self.is_cost() || self.is_shown(FigurePlace::Compared)
    }

    /// Always a whole number, and written as one.
    pub fn is_whole(self) -> bool {
        (self.unit(), self.over_trials()) == (FigureUnit::Count, OverTrials::Sum)
    }

    /// The lines of the cost ledger.
    pub fn costs() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|figure| figure.is_cost())
    }

    pub fn compared() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|figure| figure.is_compared())
    }

    /// The word that `--fail-if` takes in place of the key: `p99`, `max_gap`.
    pub fn short_key(self) -> Option<&'static str> {
        self.key().strip_prefix("response_us_").or_else(|| self.key().strip_suffix("_ms"))
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

/// Some of the figures of one trial, or of several together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FigureValues(Vec<(Figure, Option<f64>)>);

impl FigureValues {
    /// The wanted ones, in the order of the table.
    pub fn new(is_wanted: impl Fn(Figure) -> bool, value: impl Fn(Figure) -> Option<f64>) -> Self {
        let wanted = Figure::ALL.iter().copied().filter(|figure| is_wanted(*figure));
        Self(wanted.map(|figure| (figure, value(figure))).collect())
    }

    /// `None` also for a figure that is not among them.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == figure)?.1
    }
}

impl Serialize for FigureValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Number {
            Whole(u64),
            Any(f64),
        }
        serializer.collect_map(self.0.iter().map(|(figure, value)| {
            let is_count = figure.unit() == FigureUnit::Count;
            let number = value.map(|value| match value {
                value if is_count && value.fract() == 0.0 => Number::Whole(value as u64),
                value => Number::Any(value),
            });
            (figure.key(), number)
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use truetps_record::{LatencyFigures, Slo};

    use super::*;

    #[test]
    fn keys_and_names_are_unique_and_units_are_last() {
        let keys: BTreeSet<_> = Figure::ALL.iter().map(|figure| figure.key()).collect();
        let names: BTreeSet<_> = Figure::ALL.iter().map(|figure| figure.name()).collect();
        assert_eq!((keys.len(), names.len()), (Figure::ALL.len(), Figure::ALL.len()));
        for figure in Figure::ALL {
            let key = figure.key();
            assert_eq!(figure.is_cost(), key.ends_with("_per_tx"), "{key}");
            let unit = match figure.unit() {
                FigureUnit::Us => "us",
                FigureUnit::Ms => "ms",
                FigureUnit::Bytes => "bytes",
                FigureUnit::Count
                | FigureUnit::PerSecond
                | FigureUnit::Share
                | FigureUnit::Ratio => continue,
            };
            assert!(key.split('_').any(|word| word == unit), "{key}");
        }
    }

    /// `Slo` judges within a run, where no analysis is; a test compares its times with the table.
    #[test]
    fn an_slo_has_all_response_times() {
        let is_time = |figure: &&Figure| {
            figure.group() == FigureGroup::Own && figure.unit() == FigureUnit::Us
        };
        let slow = LatencyFigures {
            response_us_p50: Some(50.0),
            response_us_p95: Some(95.0),
            response_us_p99: Some(99.0),
            response_us_p999: Some(999.0),
            response_us_max: Some(1000.0),
            ..LatencyFigures::default()
        };
        let measured = Measured { response: slow, ..Measured::default() };
        for figure in Figure::ALL.iter().filter(is_time) {
            let FigureSource::Measured(of) = figure.entry().source else { panic!("{figure:?}") };
            let name = figure.short_key().unwrap();
            let is_kept = |us: f64| {
                format!("{name}<{us}us").parse::<Slo>().unwrap().not_kept_by(&measured).is_none()
            };
            let us = of(&measured).unwrap();
            assert_eq!((is_kept(us), is_kept(us + 1.0)), (false, true), "{name}");
        }
    }
}
