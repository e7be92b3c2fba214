//! What a search for the highest rate has found: the highest one at which every trial held, and the lowest at which one
//! did not.

use serde::Serialize;
use truetps_record::{Experiment, Plan, Slo, Validity};

use crate::InvalidTrial;
use crate::evidence::Evidence;

/// The answer of a search. Rates are transactions a second, all clients together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaxRate {
    pub slo: String,
    pub held: Option<HeldRate>,
    pub broken: Option<BrokenRate>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldRate {
    pub rate: f64,
    /// All of them held.
    pub trials: usize,
    pub generator_limited: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenRate {
    pub rate: f64,
    /// Of the first trial that did not hold.
    pub why: String,
    pub generator_limited: bool,
}

/// `by_cell` has the evidence of each of the plan's configurations. `None` where nothing was searched.
pub(crate) fn of(
    plan: &Plan,
    experiment: &Experiment,
    by_cell: &[Vec<Evidence<'_>>],
    invalid: &[InvalidTrial],
) -> Option<MaxRate> {
    let slo = experiment.slo.as_ref()?;
    let mut broken: Option<BrokenRate> = None;
    let mut rates = Vec::new();
    for (configuration, evidence) in plan.configurations().iter().zip(by_cell) {
        let Some(rate) = configuration.rate() else { continue };
        let failed = invalid.iter().find(|trial| trial.configuration == *configuration && !trial.partial);
        let why = failed
            .map(|trial| (trial.reason.clone(), false))
            .or_else(|| evidence.iter().find_map(|one| Some((broken_by(one, slo)?, is_limited(one)))));
        match why {
            None => rates.push((rate, evidence)),
            Some((why, generator_limited)) if broken.as_ref().is_none_or(|lowest| rate < lowest.rate) => {
                broken = Some(BrokenRate { rate, why, generator_limited });
            }
            Some(_) => {}
        }
    }
    let below = |rate: f64| broken.as_ref().is_none_or(|broken| rate < broken.rate);
    let held = rates.into_iter().filter(|(rate, evidence)| below(*rate) && !evidence.is_empty());
    let held = held.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(rate, evidence)| HeldRate {
        rate,
        trials: evidence.len(),
        generator_limited: evidence.iter().any(is_limited),
    });
    Some(MaxRate { slo: slo.to_string(), held, broken })
}

fn broken_by(evidence: &Evidence<'_>, slo: &Slo) -> Option<String> {
    debug_assert!(evidence.trial.validity == Validity::Valid);
    if evidence.measured.sustained == Some(false) {
        return Some("not sustained".to_owned());
    }
    slo.broken_by(evidence.measured)
}

fn is_limited(evidence: &Evidence<'_>) -> bool {
    evidence.measured.generator_limited.is_some()
}
