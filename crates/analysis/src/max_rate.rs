//! The result of a search for the highest rate: the two tried rates between which it lies.

use serde::Serialize;
use truetps_plan::Plan;
use truetps_rates::{COVERAGE, RateEstimate, SURE};
use truetps_record::{Experiment, TrialRole};

use crate::evidence::Evidence;

/// The answer of a search. Rates are transactions a second, all clients together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaxRate {
    pub slo: String,
    /// What a closed loop reached before the search.
    pub closed_loop_tps: Option<f64>,
    /// The chance that the capacity, the rate that half of all trials hold, lies between the rates
    /// of `held` and `broken`. `None`: a search of an older version, in which one failure excluded
    /// a rate.
    pub coverage: Option<f64>,
    /// The chance that a new undisturbed trial at the rate of `held` holds; `None` as above.
    pub sure: Option<f64>,
    /// The trials look as if the rate did not matter.
    pub is_flat: bool,
    pub held: Option<HeldRate>,
    pub broken: Option<BrokenRate>,
    /// All rates that were tried, in the plan's order.
    pub rates: Vec<TriedRate>,
}

/// One rate of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TriedRate {
    pub rate: f64,
    /// Trials at which it held, …
    pub held: usize,
    /// … of these.
    pub of: usize,
    /// The first trial that did not hold, and why.
    pub broken_by: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldRate {
    pub rate: f64,
    /// Names of its trials that held, …
    pub trials: Vec<String>,
    /// … of so many.
    pub of: usize,
    pub generator_limited: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenRate {
    pub rate: f64,
    /// The first trial that did not hold, …
    pub trial: String,
    /// … and why it did not.
    pub why: String,
    /// Trials that did not hold, …
    pub broken: usize,
    /// … of so many at this rate.
    pub of: usize,
    pub generator_limited: bool,
}

/// The evidence for one rate.
struct RateEvidence<'a, 'e> {
    rate: f64,
    evidence: &'a [Evidence<'e>],
    /// Name, reason and whether the generator limited it, of each trial that did not hold.
    broken: Vec<(String, String, bool)>,
}

/// `valid` has all evidence, `by_cell` the evidence of each of the plan's configurations. `None`
/// where nothing was searched.
pub(crate) fn highest_rate(
    plan: &Plan,
    experiment: &Experiment,
    valid: &[Evidence<'_>],
    by_cell: &[Vec<Evidence<'_>>],
) -> Option<MaxRate> {
    let slo = experiment.slo.as_ref()?;
    let configurations = plan.configurations();
    let rates: Vec<_> = configurations
        .iter()
        .zip(by_cell)
        .filter_map(|(configuration, evidence)| {
            let rate = configuration.rate()?;
            let mut broken: Vec<_> = evidence
                .iter()
                .filter_map(|one| {
                    let why = slo.not_kept_by(one.measured)?;
                    Some((one.trial.name.clone(), why, is_limited(one)))
                })
                .collect();
            broken.sort();
            Some(RateEvidence { rate, evidence, broken })
        })
        .collect();
    let closed_loop_tps = closed_loop(valid);
    let estimate = closed_loop_tps.and_then(|tps| estimate(tps, &rates));
    let (held, broken) = match &estimate {
        Some(estimate) => between(&rates, estimate),
        None => by_one_failure(&rates),
    };
    let tried = rates.iter().map(|one| TriedRate {
        rate: one.rate,
        held: one.held(),
        of: one.evidence.len(),
        broken_by: one.broken.first().map(|(trial, why, _)| (trial.clone(), why.clone())),
    });
    Some(MaxRate {
        slo: slo.to_string(),
        closed_loop_tps,
        coverage: estimate.map(|_| COVERAGE),
        sure: estimate.map(|_| SURE),
        is_flat: estimate.is_some_and(|estimate| estimate.is_flat),
        held: held.map(RateEvidence::as_held),
        broken: broken.and_then(RateEvidence::as_broken),
        rates: tried.collect(),
    })
}

/// The throughput of the trial before the search.
fn closed_loop(valid: &[Evidence<'_>]) -> Option<f64> {
    let pilot = valid.iter().find(|one| one.trial.role == TrialRole::Pilot)?;
    pilot.trial.configuration.rate().is_none().then_some(pilot.measured.tps)
}

fn estimate(closed_loop_tps: f64, rates: &[RateEvidence<'_, '_>]) -> Option<RateEstimate> {
    let mut results = Vec::new();
    for one in rates {
        results.extend(one.broken.iter().map(|_| (one.rate, false)));
        results.extend((0..one.held()).map(|_| (one.rate, true)));
    }
    truetps_rates::estimate(closed_loop_tps, &results)
}

type RateEnds<'r, 'a, 'e> = (Option<&'r RateEvidence<'a, 'e>>, Option<&'r RateEvidence<'a, 'e>>);

fn between<'r, 'a, 'e>(
    rates: &'r [RateEvidence<'a, 'e>],
    estimate: &RateEstimate,
) -> RateEnds<'r, 'a, 'e> {
    let [low, high] = [estimate.low, estimate.high].map(|bound| {
        let bound = bound?.rate;
        rates.iter().find(|one| (one.rate / bound - 1.0).abs() < 1e-9)
    });
    (low, high)
}

/// The rule of older versions: the lowest rate that failed once, and the highest one below it.
fn by_one_failure<'r, 'a, 'e>(rates: &'r [RateEvidence<'a, 'e>]) -> RateEnds<'r, 'a, 'e> {
    let broken = rates
        .iter()
        .filter(|one| !one.broken.is_empty())
        .min_by(|one, other| one.rate.total_cmp(&other.rate));
    let held = rates.iter().filter(|one| {
        one.broken.is_empty()
            && !one.evidence.is_empty()
            && broken.is_none_or(|broken| one.rate < broken.rate)
    });
    (held.max_by(|one, other| one.rate.total_cmp(&other.rate)), broken)
}

impl RateEvidence<'_, '_> {
    fn held(&self) -> usize {
        self.evidence.len() - self.broken.len()
    }

    fn as_held(&self) -> HeldRate {
        let names = self.evidence.iter().map(|one| &one.trial.name);
        let held = names.filter(|name| !self.broken.iter().any(|(broken, ..)| broken == *name));
        HeldRate {
            rate: self.rate,
            trials: held.cloned().collect(),
            of: self.evidence.len(),
            generator_limited: self.evidence.iter().any(is_limited),
        }
    }

    fn as_broken(&self) -> Option<BrokenRate> {
        let (trial, why, generator_limited) = self.broken.first()?.clone();
        Some(BrokenRate {
            rate: self.rate,
            trial,
            why,
            broken: self.broken.len(),
            of: self.evidence.len(),
            generator_limited,
        })
    }
}

fn is_limited(evidence: &Evidence<'_>) -> bool {
    evidence.measured.generator_limited.is_some()
}
