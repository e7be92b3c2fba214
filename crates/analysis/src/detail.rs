//! Events within one trial: its stalls with the server's activity during each, its waits, and the
//! cost of a transaction.

use serde::Serialize;
use truetps_record::{Histogram, Interval, Phase, Suspension, Trial};

use crate::absence::Absent;
use crate::coincident::coincident;
use crate::figure::{Figure, FigureGroup, FigureValues};
use crate::latency::together;
use crate::ledger::{Ledger, LedgerFigure, LedgerInput, LedgerLine, ledger};
use crate::loaded::{LoadedTrial, NO_INTERVALS, TrialDetail};
use crate::stalls::{Stall, Stalls, stalls};
use crate::waits::{TopWaits, Waits};

/// The trials of one configuration together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellDetail {
    /// Trials whose stalls are known; the others say why not.
    pub trials_watched: usize,
    /// Sums over the trials whose stalls are known, and the longest of all.
    #[serde(flatten)]
    pub stalls: FigureValues,
    /// Geometric means over trials (means where one is zero); the source is named by the first
    /// trial that has the line.
    pub ledger: Ledger,
    /// What sessions waited on, longest first; `None` where no trial has seen a wait.
    pub waits: Option<TopWaits>,
    /// Response times of all trials; `None` where no trial has a histogram.
    #[serde(skip)]
    pub latency: Option<Histogram>,
}

/// What the trials of one configuration have in common.
pub fn cell_detail(trials: &[&LoadedTrial]) -> CellDetail {
    CellDetail {
        trials_watched: trials.iter().filter(|one| one.detail.stalls.absent.is_none()).count(),
        stalls: FigureValues::new(
            |figure| figure.group() == FigureGroup::Stalls,
            |figure| figure.of_trials(trials.iter().copied()),
        ),
        ledger: Ledger {
            lines: Figure::costs().filter_map(|figure| mean_line(trials, figure)).collect(),
        },
        waits: all_waits(trials).map(|waits| waits.bounded()),
        latency: together(trials.iter().filter_map(|one| one.latency.as_ref())),
    }
}

impl CellDetail {
    /// `None` where no trial has it.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        match figure.group() {
            FigureGroup::Stalls => self.stalls.get(figure).filter(|_| self.trials_watched > 0),
            _ => self.ledger.line(figure)?.per_tx(),
        }
    }

    /// Part of the measured time that is in stalls, 0 to 1.
    pub fn stalled_share(&self) -> f64 {
        let [stalled_ms, watched_ms] =
            [Figure::Stalled, Figure::Watched].map(|figure| self.get(figure).unwrap_or(0.0));
        stalled_ms / watched_ms.max(1.0)
    }
}

/// Means over trials, of all waits that any of them has seen.
pub(crate) fn all_waits(trials: &[&LoadedTrial]) -> Option<TopWaits> {
    TopWaits::of_trials(trials.iter().filter_map(|one| one.detail.top_waits.as_ref()))
}

/// `None` where no trial has a ledger.
fn mean_line(trials: &[&LoadedTrial], key: Figure) -> Option<LedgerLine> {
    let lines: Vec<_> = trials
        .iter()
        .filter_map(|one| Some((one.trial.block, one.detail.ledger.as_ref()?.line(key)?)))
        .collect();
    let (_, first) = lines.first()?;
    let source = lines.iter().find_map(|(_, line)| Some(&line.figure.as_ref().ok()?.source));
    let per_tx = lines.iter().filter_map(|(block, line)| Some((*block, line.per_tx()?)));
    let figure = key.over_trials().combine_blocks(per_tx).zip(source);
    let figure = figure.map(|(per_tx, source)| LedgerFigure { per_tx, source: source.clone() });
    let figure =
        figure.ok_or_else(|| first.figure.as_ref().err().cloned().unwrap_or(Absent::NotCounted));
    Some(LedgerLine { key, figure })
}

impl TrialDetail {
    /// Looks at everything that was recorded of a trial.
    pub fn of(loaded: &LoadedTrial) -> Self {
        let LoadedTrial { trial, intervals, probe, variables, .. } = loaded;
        let mut stalls = stalls(intervals);
        if has_lost_intervals(loaded) {
            stalls.absent = Some(NO_INTERVALS);
        }
        if !suspensions(trial).is_empty() {
            stalls = Stalls { watched_ms: stalls.watched_ms, ..Stalls::unknown(Absent::Suspended) };
        }
        let waits = probe.as_ref().ok().and_then(Waits::of);
        let ordinary = ordinary(intervals, &stalls.list);
        let outages =
            probe.as_ref().map_or_else(|_| Vec::new(), |probe| probe.outages(suspensions(trial)));
        for stall in &mut stalls.list {
            let stretch = (stall.start_ms, stall.end_ms());
            stall.coincident = probe
                .as_ref()
                .map(|probe| coincident(probe, &outages, waits.as_ref(), stretch, &ordinary))
                .map_err(Absent::clone);
        }
        let response_us_mean =
            trial.measured.as_ref().and_then(|measured| measured.response.response_us_mean);
        let measured = probe.as_ref().ok().zip(waits.as_ref());
        Self {
            top_waits: measured.and_then(|(probe, waits)| {
                let top = waits.of_measured(probe, intervals, response_us_mean)?;
                Some(if trial.is_part() { top.of_all_parts() } else { top })
            }),
            waits: waits.map(|waits| waits.series()).filter(|series| !series.classes.is_empty()),
            ledger: trial.measured.as_ref().map(|measured| {
                let (probe, variables, damaged) =
                    (probe.as_ref().ok(), variables.as_ref(), loaded.damaged_file());
                let is_part = trial.is_part();
                ledger(&LedgerInput { measured, intervals, probe, variables, is_part, damaged })
            }),
            stalls,
        }
    }
}

/// The measure phase without its stalls and dips.
fn ordinary(intervals: &[Interval], stalls: &[Stall]) -> Vec<(f64, f64)> {
    let measured: Vec<_> =
        intervals.iter().filter(|interval| interval.phase == Phase::Measure).collect();
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

fn suspensions(trial: &Trial) -> &[Suspension] {
    trial.engine.as_ref().map_or(&[], |engine| &engine.suspensions)
}

fn has_lost_intervals(loaded: &LoadedTrial) -> bool {
    let was_measured =
        loaded.trial.measured.as_ref().is_some_and(|measured| measured.length_ms > 0.0);
    was_measured && !loaded.intervals.iter().any(|interval| interval.phase == Phase::Measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_lost_is_no_short_trial() {
        let plan = crate::synthetic::plan("[1]", "[8]", 1);
        let (_, trials) = crate::synthetic::run(&plan, |_, _| 1000.0);
        let of = |loaded: &LoadedTrial| TrialDetail::of(loaded).stalls.absent;
        assert_eq!(of(&trials[0]), Some(NO_INTERVALS));
        let trial = Trial { measured: None, ..trials[0].trial.clone() };
        assert_eq!(of(&trial.into()), Some(Absent::TooShort));
    }
}
