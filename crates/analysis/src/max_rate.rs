//! The result of a search for the highest rate: the highest rate that held in all trials, and the
//! lowest that failed in one.

use serde::Serialize;
use truetps_plan::Plan;
use truetps_record::Experiment;

use crate::evidence::Evidence;

/// The answer of a search. Rates are transactions a second, all clients together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaxRate {
    pub slo: String,
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
    /// Names of its trials: all of them held.
    pub trials: Vec<String>,
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

/// `by_cell` has the evidence of each of the plan's configurations. `None` where nothing was
/// searched.
pub(crate) fn highest_rate(
    plan: &Plan,
    experiment: &Experiment,
    by_cell: &[Vec<Evidence<'_>>],
) -> Option<MaxRate> {
    let slo = experiment.slo.as_ref()?;
    let mut broken: Option<BrokenRate> = None;
    let (mut rates, mut tried) = (Vec::new(), Vec::new());
    for (configuration, evidence) in plan.configurations().iter().zip(by_cell) {
        let Some(rate) = configuration.rate() else { continue };
        let of = evidence.len();
        let mut not: Vec<_> = evidence
            .iter()
            .filter_map(|one| {
                let why = slo.not_kept_by(one.measured)?;
                Some((one.trial.name.clone(), why, is_limited(one)))
            })
            .collect();
        not.sort();
        let first = not.first().cloned();
        let broken_by = first.clone().map(|(trial, why, _)| (trial, why));
        tried.push(TriedRate { rate, held: of - not.len(), of, broken_by });
        match first {
            None => rates.push((rate, evidence)),
            Some((trial, why, generator_limited))
                if broken.as_ref().is_none_or(|lowest| rate < lowest.rate) =>
            {
                broken =
                    Some(BrokenRate { rate, trial, why, broken: not.len(), of, generator_limited });
            }
            Some(_) => {}
        }
    }
    let held = rates.into_iter().filter(|(rate, evidence)| {
        broken.as_ref().is_none_or(|broken| *rate < broken.rate) && !evidence.is_empty()
    });
    let held = held.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(rate, evidence)| HeldRate {
        rate,
        trials: evidence.iter().map(|one| one.trial.name.clone()).collect(),
        generator_limited: evidence.iter().any(is_limited),
    });
    Some(MaxRate { slo: slo.to_string(), held, broken, rates: tried })
}

fn is_limited(evidence: &Evidence<'_>) -> bool {
    evidence.measured.generator_limited.is_some()
}
