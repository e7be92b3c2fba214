//! Events within one trial: its stalls with the server's activity during each, its waits, and the cost of a
//! transaction.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::{Interval, Phase, ProbeSeries, ProbeSource, Trial};

use crate::ledger::{Ledger, LedgerInput, LedgerKey, LedgerLine, ledger};
use crate::order_stats::{largest, mean};
use crate::signs::{SignalChange, signs};
use crate::stalls::{Stall, StallKind, Stalls, StallsUnknown, stalls};
use crate::waits::{TopWaits, Wait, WaitSeries, Waits};

/// A trial and everything that was recorded beside its figures.
#[derive(Debug, Clone, Copy)]
pub struct TrialRecord<'a> {
    pub trial: &'a Trial,
    pub intervals: &'a [Interval],
    /// `None`: the probe was off.
    pub probe: Option<&'a ProbeSeries>,
    /// What the server was set to, where that is known.
    pub variables: Option<&'a BTreeMap<String, String>>,
}

/// What happened within a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialDetail {
    /// `trial-0007`.
    pub name: String,
    pub stalls: Stalls,
    /// One for each of the stalls and dips, in their order. Empty if the probe was off.
    pub causes: Vec<Coincident>,
    /// Not in JSON documents: it is as long as the trial.
    #[serde(skip)]
    pub waits: Option<WaitSeries>,
    /// All waits of the measure phase; documents have the first few.
    #[serde(skip)]
    pub top_waits: Option<TopWaits>,
    /// `None` where the trial has no figures.
    pub ledger: Option<Ledger>,
}

/// The trials of one configuration together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellDetail {
    /// Trials whose stalls are known; the others say why not.
    pub trials_watched: usize,
    pub stalls: usize,
    pub dips: usize,
    pub stalled_ms: f64,
    pub watched_ms: f64,
    pub longest_ms: Option<f64>,
    /// Longest of all trials; `None`: none was as long as 100 ms.
    pub max_gap_ms: Option<f64>,
    /// Geometric means over trials (means where one is zero); the source is named by the first trial that has the line.
    pub ledger: Ledger,
    /// What sessions waited on, longest first; `None` where no trial has seen a wait.
    pub waits: Option<TopWaits>,
}

/// What the trials of one configuration have in common.
pub fn cell_detail(trials: &[&TrialDetail]) -> CellDetail {
    let watched: Vec<_> = trials.iter().map(|one| &one.stalls).filter(|stalls| stalls.unknown.is_none()).collect();
    let count = |kind| watched.iter().flat_map(|stalls| &stalls.list).filter(|one| one.kind == kind).count();
    CellDetail {
        trials_watched: watched.len(),
        stalls: count(StallKind::Stall),
        dips: count(StallKind::Dip),
        stalled_ms: sum(&watched, |stalls| stalls.stalled_ms),
        watched_ms: sum(&watched, |stalls| stalls.watched_ms),
        longest_ms: largest(watched.iter().filter_map(|stalls| stalls.longest_ms)),
        max_gap_ms: largest(watched.iter().filter_map(|stalls| stalls.max_gap_ms)),
        ledger: Ledger { lines: LedgerKey::ALL.iter().filter_map(|key| mean_line(trials, *key)).collect() },
        waits: all_waits(trials).map(|waits| waits.bounded()),
    }
}

/// Means over trials, of all waits that any of them has seen.
pub(crate) fn all_waits(trials: &[&TrialDetail]) -> Option<TopWaits> {
    TopWaits::of_trials(trials.iter().filter_map(|one| one.top_waits.as_ref()))
}

/// An empty sum of floating-point numbers is -0.0, and would be shown as that.
fn sum(watched: &[&Stalls], of: impl Fn(&Stalls) -> f64) -> f64 {
    watched.iter().fold(0.0, |sum, one| sum + of(one))
}

/// `None` where no trial has a ledger.
fn mean_line(trials: &[&TrialDetail], key: LedgerKey) -> Option<LedgerLine> {
    let lines: Vec<_> = trials.iter().filter_map(|one| one.ledger.as_ref()?.line(key)).collect();
    let known = lines.iter().find(|line| line.per_tx.is_some()).or_else(|| lines.first())?;
    let per_tx = mean(lines.iter().filter_map(|line| line.per_tx));
    Some(LedgerLine { key, per_tx, source: known.source.clone() })
}

/// What the server waited on in a stretch of time, and what else was unlike the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Coincident {
    /// Readings of the server within the stretch: without any, the activity of its sessions is unknown.
    pub readings: usize,
    /// The largest change first.
    pub waits: Vec<Wait>,
    pub signs: Vec<SignalChange>,
}

/// Looks at one trial.
pub fn detail(record: &TrialRecord<'_>) -> TrialDetail {
    let mut stalls = stalls(record.intervals);
    if has_lost_intervals(record) {
        stalls.unknown = Some(StallsUnknown::NotRead);
    }
    if was_suspended(record.trial) {
        stalls = Stalls { watched_ms: stalls.watched_ms, unknown: Some(StallsUnknown::Suspended), ..Stalls::default() };
    }
    let waits = record.probe.and_then(Waits::of);
    let ordinary = ordinary(record.intervals, &stalls.list);
    let causes = record.probe.map(|probe| {
        let of = |stall: &Stall| coincident(probe, waits.as_ref(), stall, &ordinary);
        stalls.list.iter().map(of).collect()
    });
    let ledger = record.trial.measured.as_ref().map(|measured| {
        ledger(&LedgerInput { measured, intervals: record.intervals, probe: record.probe, variables: record.variables })
    });
    TrialDetail {
        name: record.trial.name.clone(),
        causes: causes.unwrap_or_default(),
        top_waits: record
            .probe
            .zip(waits.as_ref())
            .and_then(|(probe, waits)| waits.of_measured(probe, record.intervals)),
        waits: waits.map(|waits| waits.series()).filter(|series| !series.classes.is_empty()),
        ledger,
        stalls,
    }
}

fn was_suspended(trial: &Trial) -> bool {
    trial.engine.as_ref().is_some_and(|engine| !engine.suspensions.is_empty())
}

fn has_lost_intervals(record: &TrialRecord<'_>) -> bool {
    let was_measured = record.trial.measured.as_ref().is_some_and(|measured| measured.length_ms > 0.0);
    was_measured && !record.intervals.iter().any(|interval| interval.phase == Phase::Measure)
}

/// The measure phase without its stalls and dips.
fn ordinary(intervals: &[Interval], stalls: &[Stall]) -> Vec<(f64, f64)> {
    let measured: Vec<_> = intervals.iter().filter(|interval| interval.phase == Phase::Measure).collect();
    let Some((first, last)) = measured.first().zip(measured.last()) else { return Vec::new() };
    let mut parts = Vec::new();
    let mut from_ms = first.start_ms;
    for stall in stalls {
        parts.push((from_ms, stall.start_ms));
        from_ms = stall.end_ms();
    }
    parts.push((from_ms, last.start_ms + last.length_ms));
    parts.retain(|(from, to)| to > from);
    parts
}

fn coincident(probe: &ProbeSeries, waits: Option<&Waits<'_>>, stall: &Stall, ordinary: &[(f64, f64)]) -> Coincident {
    let stretch = (stall.start_ms, stall.end_ms());
    let times = probe.times(ProbeSource::Server);
    let readings = times.iter().filter(|at| (stretch.0..=stretch.1).contains(*at)).count();
    let changes = waits.map(|waits| waits.changes(stretch.0, stretch.1, ordinary));
    let mut waits = changes.unwrap_or_default();
    // Sessions that were counted before and after it say nothing of what they did in it; time that was waited does.
    waits.retain(|wait| readings > 0 || !is_counted(probe, wait));
    Coincident { readings, waits, signs: signs(probe, stretch, ordinary) }
}

/// The sessions were counted at each reading: no time was added up.
fn is_counted(probe: &ProbeSeries, wait: &Wait) -> bool {
    ["session", "status"].iter().any(|place| !probe.points(&format!("{place}.{}", wait.name)).is_empty())
        && wait.name != ROW_LOCK_TIME
}

/// The one wait of the status that is time.
const ROW_LOCK_TIME: &str = "Innodb_row_lock_time";

/// To the last reading before a stretch and the first one after it: between two readings nothing is known.
pub(crate) fn widened(times: &[f64], from_ms: f64, to_ms: f64) -> (f64, f64) {
    let before = times.partition_point(|at| *at <= from_ms).saturating_sub(1);
    let after = times.partition_point(|at| *at < to_ms).min(times.len().saturating_sub(1));
    (times.get(before).copied().unwrap_or(from_ms), times.get(after).copied().unwrap_or(to_ms))
}

#[cfg(test)]
mod tests {
    use truetps_record::{Family, ProbeHeader, ProbeSample};

    use super::*;

    #[test]
    fn a_stretch_is_widened_to_the_readings_around_it() {
        let times = [0.0, 1000.0, 2000.0, 3000.0];
        assert_eq!(widened(&times, 1200.0, 1900.0), (1000.0, 2000.0));
        assert_eq!(widened(&times, 1000.0, 2000.0), (1000.0, 2000.0));
        assert_eq!(widened(&times, -50.0, 9000.0), (0.0, 3000.0));
        assert_eq!(widened(&[], 5.0, 6.0), (5.0, 6.0));
    }

    /// From 2 s on one session at a time waits for the redo log, which is timed, and eight in place of two are in their commit.
    fn probe(times_ms: &[f64]) -> ProbeSeries {
        let header =
            ProbeHeader { schema_version: 1, interval_ms: 1e3, family: Some(Family::Mysql), absent: Vec::new() };
        let sample = |at_ms: &f64| {
            let redo_us = (at_ms - 2000.0).max(0.0) * 1e3;
            let commit = if *at_ms >= 2000.0 { 8.0 } else { 2.0 };
            let values = [("wait.wait/io/file/innodb/innodb_log_file.us", redo_us), ("session.Commit", commit)];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            ProbeSample { source: ProbeSource::Server, at_ms: *at_ms, took_ms: 1.0, values, lost: Vec::new() }
        };
        ProbeSeries::of(&header, times_ms.iter().map(sample))
    }

    #[test]
    fn sessions_that_were_counted_at_its_edges_are_no_cause() {
        let stall = Stall { kind: StallKind::Stall, start_ms: 2100.0, length_ms: 800.0, depth: 1.0, baseline_tps: 1e3 };
        let at = |times_ms: &[f64]| {
            let probe = probe(times_ms);
            let waits = Waits::of(&probe);
            let found = coincident(&probe, waits.as_ref(), &stall, &[(0.0, 2000.0)]);
            (found.readings, found.waits.iter().map(|wait| wait.name.clone()).collect::<Vec<_>>())
        };
        let redo = "wait/io/file/innodb/innodb_log_file".to_owned();
        assert_eq!(at(&[0.0, 1000.0, 2000.0, 3000.0]), (0, vec![redo.clone()]));
        let (readings, waits) = at(&[0.0, 1000.0, 2000.0, 2500.0, 3000.0]);
        assert_eq!((readings, waits.len()), (1, 2), "{waits:?}");
    }

    #[test]
    fn a_record_that_is_lost_is_no_short_trial() {
        let plan = crate::synthetic::plan("[1]", "[8]", 1);
        let (_, trials) = crate::synthetic::run(&plan, |_, _| 1000.0);
        let of = |trial| detail(&TrialRecord { trial, intervals: &[], probe: None, variables: None }).stalls.unknown;
        assert_eq!(of(&trials[0]), Some(StallsUnknown::NotRead));
        assert_eq!(of(&Trial { measured: None, ..trials[0].clone() }), Some(StallsUnknown::TooShort));
    }
}
