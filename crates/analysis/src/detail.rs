//! Events within one trial: its stalls with the server's activity during each, its waits, and the cost of a
//! transaction.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::{Interval, Phase, ProbeSeries, Trial};

use crate::coincident::{coincident, ordinary};
use crate::ledger::{Ledger, LedgerInput, LedgerKey, LedgerLine, ledger};
use crate::order_stats::{largest, mean};
use crate::stalls::{StallKind, Stalls, StallsUnknown, stalls};
use crate::waits::{TopWaits, WaitSeries, Waits};

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
    if let Some(probe) = record.probe {
        for stall in &mut stalls.list {
            stall.coincident = Some(coincident(probe, waits.as_ref(), (stall.start_ms, stall.end_ms()), &ordinary));
        }
    }
    let ledger = record.trial.measured.as_ref().map(|measured| {
        ledger(&LedgerInput { measured, intervals: record.intervals, probe: record.probe, variables: record.variables })
    });
    TrialDetail {
        name: record.trial.name.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_lost_is_no_short_trial() {
        let plan = crate::synthetic::plan("[1]", "[8]", 1);
        let (_, trials) = crate::synthetic::run(&plan, |_, _| 1000.0);
        let of = |trial| detail(&TrialRecord { trial, intervals: &[], probe: None, variables: None }).stalls.unknown;
        assert_eq!(of(&trials[0]), Some(StallsUnknown::NotRead));
        assert_eq!(of(&Trial { measured: None, ..trials[0].clone() }), Some(StallsUnknown::TooShort));
    }
}
