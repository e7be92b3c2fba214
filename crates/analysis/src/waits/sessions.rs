//! Sessions that waited, over time and within a stretch of it.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::{
    ProbePoint, ProbeSeries, ProbeSource, Signal, SignalKind, SignalSeries, SignalUnit,
};

use crate::stretch::{mean_over, widened};
use crate::wait_class::{WaitClass, of_event, of_state};

/// How the numbers came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitSource {
    /// The server has timed each wait.
    Timed,
    /// Sessions were counted by their state at each reading: what is shorter is seen by chance.
    Sampled,
}

/// Sessions that waited, by class, in each step between two readings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitSeries {
    /// How most classes came about.
    pub source: WaitSource,
    /// Classes that were counted by state though others were timed.
    pub sampled: Vec<WaitClass>,
    /// Starts of the steps and the end of the last one, on the trial's clock: one more than there
    /// are steps.
    pub edges_ms: Vec<f64>,
    /// Mean number of waiting sessions in each step; classes without any are left out.
    pub classes: Vec<(WaitClass, Vec<f64>)>,
}

/// One thing that is waited on, in the server's own words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    pub name: String,
    pub class: WaitClass,
    #[serde(skip)]
    pub source: WaitSource,
    /// Sessions that waited on it, on average.
    pub sessions: f64,
    /// Sessions in the time that it is compared with; `None` where there is none.
    pub usual_sessions: Option<f64>,
}

/// All that is known of waits in a trial.
pub(crate) struct Waits<'a> {
    pub(super) source: WaitSource,
    pub(super) signals: Vec<WaitSignal<'a>>,
    pub(super) times: &'a [f64],
}

pub(super) struct WaitSignal<'a> {
    pub(super) name: String,
    pub(super) class: WaitClass,
    pub(super) points: &'a [ProbePoint],
    pub(super) kind: WaitMeasure,
    /// Sessions that wait on it at the moment of reading: used for a stretch in which no wait has
    /// ended.
    pub(super) unfinished: &'a [ProbePoint],
    /// How many waits have ended; empty where they are not counted.
    pub(super) counted: &'a [ProbePoint],
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum WaitMeasure {
    /// Grows with the time that sessions wait; the number is the length of its unit in
    /// milliseconds.
    Time { unit_ms: f64 },
    /// Sessions at the moment of reading.
    Sessions,
}

impl WaitMeasure {
    /// `None`: a counter that is not a time.
    fn of(signal: Signal) -> Option<Self> {
        if signal.kind.is_gauge() {
            return Some(Self::Sessions);
        }
        signal.unit.length_ms().map(|unit_ms| Self::Time { unit_ms })
    }

    pub(super) fn source(self) -> WaitSource {
        match self {
            Self::Time { .. } => WaitSource::Timed,
            Self::Sessions => WaitSource::Sampled,
        }
    }
}

impl<'a> Waits<'a> {
    /// `None` where the probe has seen no wait at all.
    pub(crate) fn of(probe: &'a ProbeSeries) -> Option<Self> {
        let times = probe.times(ProbeSource::Server);
        let mut signals = timed(probe);
        let source = if signals.is_empty() { WaitSource::Sampled } else { WaitSource::Timed };
        if signals.is_empty() {
            signals = sampled(probe);
        } else {
            // MariaDB times no write or flush of its redo log, and in MySQL 8 and later it is a
            // thread of the server's that does, whatever number of sessions wait for it. Sessions
            // that are in their commit show it.
            signals.extend(
                sampled(probe).into_iter().filter(|signal| signal.class == WaitClass::Commit),
            );
        }
        signals.extend(row_locks(probe, source));
        (times.len() >= 2 && !signals.is_empty()).then_some(Self { source, signals, times })
    }

    /// Classes over time.
    pub(crate) fn series(&self) -> WaitSeries {
        let mut classes: BTreeMap<WaitClass, Vec<f64>> = BTreeMap::new();
        for signal in self.signals.iter().filter(|signal| signal.class != WaitClass::Other) {
            let steps =
                classes.entry(signal.class).or_insert_with(|| vec![0.0; self.times.len() - 1]);
            for (step, edges) in steps.iter_mut().zip(self.times.windows(2)) {
                *step += signal.sessions(edges[0], edges[1]).unwrap_or(0.0);
            }
        }
        self.part_commits(&mut classes);
        classes.retain(|_, steps| steps.iter().any(|sessions| *sessions > 0.0));
        WaitSeries {
            source: self.source,
            sampled: self.sampled(&classes),
            edges_ms: self.times.to_vec(),
            classes: classes.into_iter().collect(),
        }
    }

    fn sampled(&self, classes: &BTreeMap<WaitClass, Vec<f64>>) -> Vec<WaitClass> {
        if self.source == WaitSource::Sampled {
            return Vec::new();
        }
        let mut sampled: Vec<_> = classes.keys().copied().collect();
        sampled.retain(|class| {
            self.signals
                .iter()
                .any(|signal| signal.class == *class && signal.kind == WaitMeasure::Sessions)
        });
        sampled
    }

    /// A session that waits for the binlog, or for the redo log where that is timed, is in its
    /// commit, too: what is shown as commit is the rest.
    fn part_commits(&self, classes: &mut BTreeMap<WaitClass, Vec<f64>>) {
        if self.source == WaitSource::Sampled {
            return;
        }
        for part in [WaitClass::BinlogSync, WaitClass::RedoFlush] {
            let Some(part) = classes.get(&part).cloned() else { continue };
            for (commit, part) in
                classes.get_mut(&WaitClass::Commit).into_iter().flatten().zip(part)
            {
                *commit = (*commit - part).max(0.0);
            }
        }
    }

    /// What was waited on within a stretch more than elsewhere, the largest change first.
    /// `elsewhere`: the stretches that it is compared with. The stretch is widened to the readings
    /// around it, but for sessions that were counted within it.
    pub(crate) fn changes(&self, from_ms: f64, to_ms: f64, elsewhere: &[(f64, f64)]) -> Vec<Wait> {
        const CHANGES_MAX: usize = 5;
        /// Less than this is no session.
        const SESSIONS_MIN: f64 = 0.05;
        let (before_ms, after_ms) = widened(self.times, from_ms, to_ms);
        let elsewhere = self.within(elsewhere);
        let mut changes: Vec<_> = self
            .signals
            .iter()
            .filter_map(|signal| {
                let counted = signal
                    .sessions(from_ms, to_ms)
                    .filter(|_| signal.kind == WaitMeasure::Sessions);
                let sessions = counted.or_else(|| signal.sessions(before_ms, after_ms))?;
                Some(Wait {
                    name: signal.name.clone(),
                    class: signal.class,
                    source: signal.kind.source(),
                    sessions,
                    usual_sessions: mean_over(&elsewhere, |(from, to)| signal.sessions(from, to)),
                })
            })
            .filter(|wait| wait.change() >= SESSIONS_MIN)
            .collect();
        changes.sort_by(|one, other| other.change().total_cmp(&one.change()));
        changes.truncate(CHANGES_MAX);
        changes
    }

    /// The parts of stretches between the first reading and the last one: nothing is known beyond.
    pub(super) fn within(&self, stretches: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        stretches
            .iter()
            .map(|(from, to)| (from.max(first), to.min(last)))
            .filter(|(from, to)| to > from)
            .collect()
    }
}

impl Wait {
    fn change(&self) -> f64 {
        self.sessions - self.usual_sessions.unwrap_or(0.0)
    }
}

impl<'a> WaitSignal<'a> {
    /// Without what else is read of it. `None`: a counter that is not a time.
    fn of(name: &str, class: WaitClass, series: &'a SignalSeries) -> Option<Self> {
        let kind = WaitMeasure::of(series.signal)?;
        Some(Self {
            name: name.to_owned(),
            class,
            points: &series.points,
            kind,
            unfinished: &[],
            counted: &[],
        })
    }

    /// Sessions that waited from one time to another, on average. `None` where it was not read
    /// there.
    fn sessions(&self, from_ms: f64, to_ms: f64) -> Option<f64> {
        if to_ms <= from_ms {
            return None;
        }
        match self.kind {
            WaitMeasure::Time { unit_ms } => {
                let growth = growth(self.points, from_ms, to_ms)?;
                let unfinished =
                    (growth <= 0.0).then(|| mean(self.unfinished, from_ms, to_ms)).flatten();
                unfinished.or(Some(growth * unit_ms / (to_ms - from_ms)))
            }
            WaitMeasure::Sessions => mean(self.points, from_ms, to_ms),
        }
    }
}

/// The mean of the readings in a stretch.
pub(super) fn mean(points: &[ProbePoint], from_ms: f64, to_ms: f64) -> Option<f64> {
    let from = points.partition_point(|point| point.at_ms < from_ms);
    let to = points.partition_point(|point| point.at_ms <= to_ms);
    let inside = &points[from..to.max(from)];
    let sum: f64 = inside.iter().map(|point| point.value).sum();
    (!inside.is_empty()).then(|| sum / inside.len() as f64)
}

/// `None` where it was not read before and after the stretch. What was zero at its first point had
/// been zero until then.
pub(super) fn growth(points: &[ProbePoint], from_ms: f64, to_ms: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    if last.at_ms < to_ms || (first.at_ms > from_ms && first.value > 0.0) {
        return None;
    }
    let [from, to] = [from_ms, to_ms].map(|at_ms| value_at(points, at_ms));
    // A falling counter means that the server was restarted.
    Some(to - from).filter(|growth| *growth >= 0.0)
}

/// A value between two readings; 0 where there are none.
fn value_at(points: &[ProbePoint], at_ms: f64) -> f64 {
    let after = points.partition_point(|point| point.at_ms < at_ms);
    match (after.checked_sub(1).map(|index| points[index]), points.get(after)) {
        (Some(one), Some(next)) => {
            one.value + (next.value - one.value) * (at_ms - one.at_ms) / (next.at_ms - one.at_ms)
        }
        (Some(edge), None) => edge.value,
        (None, edge) => edge.map_or(0.0, |edge| edge.value),
    }
}

const DATA_FILE: &str = "wait/io/file/innodb/innodb_data_file";

fn data_files<'p>(probe: &'p ProbeSeries, value: &str) -> Option<&'p SignalSeries> {
    probe.signal(&format!("file.{DATA_FILE}.{value}"))
}

/// Waits that the server has timed. Reads and writes of data files are separate.
fn timed(probe: &ProbeSeries) -> Vec<WaitSignal<'_>> {
    // MySQL 5.5 counts its reads and writes, and does not time them apart.
    let has_files = data_files(probe, "write_us").is_some();
    let waits = probe.of_kind(SignalKind::Wait);
    let counts: BTreeMap<_, _> = waits
        .filter(|wait| wait.signal.unit == SignalUnit::Count)
        .map(|wait| (wait.subject.as_str(), wait.points.as_slice()))
        .collect();
    let waits = probe.of_kind(SignalKind::Wait);
    let timed = waits.filter(|wait| !has_files || wait.subject != DATA_FILE).filter_map(|wait| {
        let counted = counts.get(wait.subject.as_str()).copied().unwrap_or_default();
        Some(WaitSignal {
            counted,
            ..WaitSignal::of(&wait.subject, of_event(&wait.subject)?, wait)?
        })
    });
    let mut signals: Vec<_> = timed.collect();
    let parts = [
        ("write", "writes", WaitClass::PageFlush),
        ("misc", "misc", WaitClass::PageFlush),
        ("read", "reads", WaitClass::BufferPool),
    ];
    for (part, calls, class) in
        parts.into_iter().filter(|_| has_files && !signals.is_empty()).collect::<Vec<_>>()
    {
        let time = data_files(probe, &format!("{part}_us"));
        signals.extend(time.and_then(|time| {
            let counted = data_files(probe, calls).map_or(&[][..], |calls| &calls.points);
            Some(WaitSignal {
                counted,
                ..WaitSignal::of(&format!("{DATA_FILE} ({part})"), class, time)?
            })
        }));
    }
    signals
}

/// Sessions by their state, where nothing is timed.
fn sampled(probe: &ProbeSeries) -> Vec<WaitSignal<'_>> {
    let states = probe.of_kind(SignalKind::State);
    states
        .filter_map(|state| {
            let class = of_state(probe.family, &state.subject)?;
            WaitSignal::of(&state.subject, class, state)
        })
        .collect()
}

/// Neither wait events nor states of the MySQL family show row locks; InnoDB counts and times them
/// itself. MariaDB cuts each wait to whole milliseconds: of it sessions are counted.
fn row_locks(probe: &ProbeSeries, source: WaitSource) -> Option<WaitSignal<'_>> {
    const WAITING: &str = "Innodb_row_lock_current_waits";
    let waiting = status(probe, WAITING).map_or(&[][..], |waiting| &waiting.points);
    let (name, unfinished) = match source {
        WaitSource::Timed if !probe.is_mariadb() => ("Innodb_row_lock_time", waiting),
        _ => (WAITING, [].as_slice()),
    };
    let counted = status(probe, "Innodb_row_lock_waits").map_or(&[][..], |waits| &waits.points);
    Some(WaitSignal {
        unfinished,
        counted,
        ..WaitSignal::of(name, WaitClass::RowLock, status(probe, name)?)?
    })
}

fn status<'p>(probe: &'p ProbeSeries, name: &str) -> Option<&'p SignalSeries> {
    probe.signal(&format!("status.{name}"))
}

#[cfg(test)]
mod tests {
    use super::super::series_for_tests::{BINLOG, REDO, series};
    use super::*;

    fn wait_series(probe: &ProbeSeries) -> Option<WaitSeries> {
        Waits::of(probe).map(|waits| waits.series())
    }

    /// Half a session waits for the redo log all the time; from 2 s to 4 s three wait for the
    /// binlog, never before.
    fn timed_series() -> ProbeSeries {
        series(&[
            (0.0, &[(REDO, 7e6), ("wait.wait/io/table/sql/handler.us", 1e9)]),
            (1000.0, &[(REDO, 7.5e6)]),
            (2000.0, &[(REDO, 8e6)]),
            (3000.0, &[(REDO, 8.5e6), (BINLOG, 3e6)]),
            (4000.0, &[(REDO, 9e6), (BINLOG, 6e6)]),
            (5000.0, &[(REDO, 9.5e6)]),
        ])
    }

    #[test]
    fn time_that_was_waited_is_sessions_that_waited() {
        let waits = wait_series(&timed_series()).unwrap();
        assert_eq!(waits.source, WaitSource::Timed);
        assert_eq!(waits.edges_ms, [0.0, 1e3, 2e3, 3e3, 4e3, 5e3]);
        let expect = [
            (WaitClass::RedoFlush, vec![0.5; 5]),
            (WaitClass::BinlogSync, vec![0.0, 0.0, 3.0, 3.0, 0.0]),
        ];
        assert_eq!(waits.classes, expect);
    }

    #[test]
    fn what_changed_comes_first_and_what_did_not_is_left_out() {
        let series = timed_series();
        let waits = Waits::of(&series).unwrap();
        let changes = waits.changes(2300.0, 3900.0, &[(-100.0, 2000.0), (4000.0, 6000.0)]);
        let expect = Wait {
            name: "wait/io/file/sql/binlog".to_owned(),
            class: WaitClass::BinlogSync,
            source: WaitSource::Timed,
            sessions: 3.0,
            usual_sessions: Some(0.0),
        };
        assert_eq!(changes, [expect]);
    }

    #[test]
    fn states_are_counted_where_nothing_is_timed() {
        let series = series(&[
            (
                0.0,
                &[
                    ("session.Commit", 2.0),
                    ("session.Update", 9.0),
                    ("status.Innodb_row_lock_current_waits", 0.0),
                ],
            ),
            (1000.0, &[("session.Commit", 4.0)]),
            (2000.0, &[("session.Commit", 40.0), ("status.Innodb_row_lock_current_waits", 1.0)]),
        ]);
        let waits = wait_series(&series).unwrap();
        assert_eq!(waits.source, WaitSource::Sampled);
        assert_eq!(
            waits.classes,
            [(WaitClass::Commit, vec![3.0, 22.0]), (WaitClass::RowLock, vec![0.0, 0.5])]
        );
        assert_eq!(wait_series(&self::series(&[(0.0, &[]), (1.0, &[])])), None);
    }

    /// Sessions of the readings around it wait for something else.
    #[test]
    fn sessions_are_those_that_were_counted_within_it() {
        let series = series(&[
            (0.0, &[("session.Commit", 1.0)]),
            (1000.0, &[("session.Commit", 1.0)]),
            (2000.0, &[("session.Commit", 7.0)]),
            (3000.0, &[("session.Commit", 9.0)]),
            (4000.0, &[("session.Commit", 1.0)]),
        ]);
        let sessions = |from_ms, to_ms| {
            let changes = Waits::of(&series).unwrap().changes(from_ms, to_ms, &[(0.0, 1000.0)]);
            changes.first().map(|wait| wait.sessions)
        };
        assert_eq!((sessions(1500.0, 3500.0), sessions(1500.0, 2500.0)), (Some(8.0), Some(7.0)));
        assert_eq!(
            sessions(1300.0, 1700.0),
            Some(4.0),
            "no reading lies within it: the readings around it"
        );
    }

    /// MariaDB times the binlog and not the redo log: what is left of the commits is that.
    #[test]
    fn commits_stand_in_for_a_redo_log_that_is_not_timed() {
        let series = series(&[
            (0.0, &[(BINLOG, 0.0), ("session.Commit", 3.0)]),
            (1000.0, &[(BINLOG, 1e6), ("session.Commit", 3.0)]),
        ]);
        let waits = wait_series(&series).unwrap();
        assert_eq!(waits.source, WaitSource::Timed);
        assert_eq!(
            waits.classes,
            [(WaitClass::BinlogSync, vec![1.0]), (WaitClass::Commit, vec![2.0])]
        );
        assert_eq!(waits.sampled, [WaitClass::Commit]);
    }

    #[test]
    fn reads_of_data_files_are_not_writes() {
        let file = "wait/io/file/innodb/innodb_data_file";
        let (all, write, read) = (
            format!("wait.{file}.us"),
            format!("file.{file}.write_us"),
            format!("file.{file}.read_us"),
        );
        let series = series(&[
            (0.0, &[(&all, 0.0), (&write, 0.0), (&read, 0.0), (REDO, 0.0)]),
            (1000.0, &[(&all, 3e6), (&write, 1e6), (&read, 2e6)]),
        ]);
        let waits = wait_series(&series).unwrap();
        assert_eq!(
            waits.classes,
            [(WaitClass::PageFlush, vec![1.0]), (WaitClass::BufferPool, vec![2.0])]
        );
    }

    #[test]
    fn a_row_lock_that_is_still_waited_for_is_seen_before_its_time_is_booked() {
        const TIMED: (&str, f64) = (REDO, 0.0);
        let lock = |time: f64, waiting: f64| {
            [
                TIMED,
                ("status.Innodb_row_lock_time", time),
                ("status.Innodb_row_lock_current_waits", waiting),
            ]
        };
        let values = [lock(7.0, 0.0), lock(7.0, 2.0), lock(7.0, 2.0), lock(5007.0, 0.0)];
        let at: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(n, values)| (n as f64 * 1e3, values.as_slice()))
            .collect();
        let waits = wait_series(&series(&at)).unwrap();
        assert_eq!(waits.classes, [(WaitClass::RowLock, vec![1.0, 2.0, 5.0])]);
        assert_eq!((waits.source, waits.sampled), (WaitSource::Timed, vec![]));
        // A MariaDB cuts each wait to whole milliseconds.
        let mut mariadb: Vec<_> = values.iter().map(|values| values.to_vec()).collect();
        mariadb[0].push(("status.Binlog_group_commit_trigger_count", 0.0));
        let at: Vec<_> = mariadb
            .iter()
            .enumerate()
            .map(|(n, values)| (n as f64 * 1e3, values.as_slice()))
            .collect();
        let waits = wait_series(&series(&at)).unwrap();
        assert_eq!(waits.classes, [(WaitClass::RowLock, vec![1.0, 2.0, 1.0])]);
        assert_eq!(waits.sampled, [WaitClass::RowLock]);
    }
}
