//! Which of the differences between two configurations makes their results differ: an experiment
//! that plans as it goes.
//!
//! [`truetps_causes`] decides which mixtures of the two are measured; here they become trials.
//! Everything is recorded as it is measured: the same findings follow from the folder alone.

mod differences;
mod examination;
mod factors;
mod own_values;
mod same_factors;
mod trials;

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use serde_json::{Value, json};
use truetps_causes::{CauseQuestion, Mixture};
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_probe::RunPresence;
use truetps_record::{
    CONNECTIONS, Configuration, Experiment, ExplainedFactor, ExplainedSide, Explanation, LeftOut,
    Protocol, SCHEMA_VERSION, SettingValue,
};
use truetps_sandbox::ServerLoad;

use crate::adaptive::{AdaptiveTrials, recorded_findings};
use crate::conditions::same_place;
use crate::error::LabError;
use crate::event::Listener;
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, planned_experiment};
use crate::question::{same_question, same_schedule};
use crate::trial::server_provider::ServerSource;

use examination::{Examined, prepare_mixtures};
use same_factors::other_factors;
use trials::MixtureTrials;

/// One of the two configurations, as a user names it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainSide {
    pub name: String,
    /// Which of the programs of the request.
    pub program: usize,
    /// Settings of its own, in place of those that truetps chooses.
    pub settings: IndexMap<String, SettingValue>,
    /// Levels that are no settings: of the load, of the workload, the disk.
    pub levels: IndexMap<String, SettingValue>,
    /// Differences of this side that are not measured, with the reason.
    pub left_out: Vec<(String, String, String)>,
    /// What was changed so that this machine can hold it.
    pub notes: Vec<String>,
}

/// How long and how closely to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplainOptions {
    /// Differences below this are of no interest.
    pub smallest_percent: f64,
    /// Time for all trials, after the preparation.
    pub budget: Option<Duration>,
}

/// Runs a new investigation. The plan of the request has one level of each factor that is not a
/// difference, and both levels of the others that are no settings of the server.
pub fn explain(
    request: &ExperimentRequest<'_>,
    sides: &[ExplainSide; 2],
    options: &ExplainOptions,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let (mut prepared, examined) = set_up(request, sides, listener)?;
    let explanation = explanation(request, sides, options, &prepared, examined)?;
    for side in [&explanation.a, &explanation.b] {
        prepared.provider.prepare_for(&side.configuration, listener)?;
    }
    let question = question(sides, &explanation);
    let experiment = planned_experiment(request, &prepared, Vec::new(), &question);
    let folder = prepared.create_folder(request.plan, &experiment, listener)?;
    folder.write_explanation(&explanation)?;
    let _lock = folder.lock()?;
    let finished =
        run(request, &explanation, options.budget, &mut prepared, (&folder, experiment), listener);
    prepared.end(Ok(finished), listener)
}

/// Goes on with an investigation that was stopped: what was measured is not measured again.
pub fn resume_explanation(
    request: &ExperimentRequest<'_>,
    sides: &[ExplainSide; 2],
    folder: &ExperimentFolder,
    options: &ExplainOptions,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let _lock = folder.lock().map_err(LabError::NotResumed)?;
    let mut experiment = folder.experiment().map_err(LabError::NotResumed)?;
    let recorded = folder.explanation().map_err(LabError::NotResumed)?;
    let mut recorded = recorded.ok_or(LabError::NoExplanation)?;
    recorded.upgrade(&mut experiment.schedule);
    let request = &request.again(folder, &experiment);
    same_question(folder, &experiment, request, None, &question(sides, &recorded))?;
    same_schedule(folder, &experiment)?;
    let mixtures = MixtureTrials::new(request.plan, &recorded.factors);
    recorded_findings(&cause_question(&recorded), &mixtures, folder, &experiment)?;
    let (mut prepared, examined) = set_up(request, sides, listener)?;
    let now =
        explanation(request, sides, options, &prepared, examined).map_err(|error| match error {
            LabError::NothingDiffers(_) => LabError::OtherConditions {
                what: "A and B do not differ in anything that can be measured any more".to_owned(),
            },
            other => other,
        })?;
    same_place(&prepared, &experiment, listener)?;
    if let Some(what) = other_factors(&recorded.factors, &now.factors) {
        return Err(LabError::OtherConditions { what });
    }
    let finished =
        run(request, &recorded, options.budget, &mut prepared, (folder, experiment), listener);
    prepared.end(Ok(finished), listener)
}

fn run<'p>(
    request: &'p ExperimentRequest<'p>,
    explanation: &Explanation,
    budget: Option<Duration>,
    prepared: &mut PreparedExperiment<'p>,
    recorded: (&ExperimentFolder, Experiment),
    listener: &mut dyn Listener,
) -> Finished {
    let question = cause_question(explanation);
    let mixtures = MixtureTrials::new(request.plan, &explanation.factors);
    let trials = AdaptiveTrials::new(mixtures, request, prepared, recorded, listener)
        .until(budget.and_then(|budget| Instant::now().checked_add(budget)));
    trials.investigate(&question).1
}

fn cause_question(explanation: &Explanation) -> CauseQuestion {
    let Explanation { factors, suspects, seed, smallest_percent, .. } = explanation;
    CauseQuestion::new(factors.len(), suspects, *seed, *smallest_percent)
}

/// What decides about the trials besides the plan: how closely to look, and what each side sets.
fn question(sides: &[ExplainSide; 2], explanation: &Explanation) -> Value {
    let Explanation { seed, smallest_percent, .. } = explanation;
    let [a, b] = [0, 1].map(|index: usize| &sides[index].settings);
    json!({ "seed": seed, "smallest_percent": smallest_percent, "A": a, "B": b })
}

/// Checks everything that can be checked, and finds out what differs.
fn set_up<'a>(
    request: &'a ExperimentRequest<'a>,
    sides: &[ExplainSide; 2],
    listener: &mut dyn Listener,
) -> Result<(PreparedExperiment<'a>, Examined), LabError> {
    let plan = request.plan;
    let ServerSource::Private { home, programs, disks } = request.source else {
        return Err(LabError::ExplainsOthers);
    };
    let workload = truetps_workload::build(
        &plan.largest_workload(),
        request.source.dialect(None),
        plan.design.seed,
    )?;
    let statements =
        if plan.workload.protocol == Protocol::Prepared { workload.statements().len() } else { 0 };
    let presence = RunPresence::announce("explain");
    let load = ServerLoad {
        connections_max: plan.connections_max(),
        statements_per_connection: statements as u32,
    };
    let (prepared, examined) =
        prepare_mixtures(request, home, programs, disks, load, sides, listener)?;
    Ok((PreparedExperiment::on(prepared, request, workload, presence), examined))
}

fn explanation(
    request: &ExperimentRequest<'_>,
    sides: &[ExplainSide; 2],
    options: &ExplainOptions,
    prepared: &PreparedExperiment<'_>,
    examined: Examined,
) -> Result<Explanation, LabError> {
    let Examined { factors, suspects, left_out, notes } = examined;
    let corners = [Mixture::A, Mixture::b(factors.len())];
    let [a, b] = [0, 1].map(|index: usize| ExplainedSide {
        name: sides[index].name.clone(),
        configuration: configuration(request.plan, &factors, corners[index]),
        server: prepared.servers.get(sides[index].program).cloned(),
        notes: sides[index].notes.iter().chain(&notes[index]).cloned().collect(),
    });
    let explanation = Explanation {
        schema_version: SCHEMA_VERSION,
        seed: request.plan.design.seed,
        smallest_percent: options.smallest_percent,
        budget_s: options.budget.map(|budget| budget.as_secs_f64()),
        a,
        b,
        suspects,
        left_out,
        asked: None,
        mixtures: Vec::new(),
        factors,
    };
    if explanation.factors.is_empty() {
        return Err(LabError::NothingDiffers(Box::new(explanation)));
    }
    Ok(explanation)
}

/// The levels of a mixture: the plan's, with A's or B's for each factor.
fn configuration(plan: &Plan, factors: &[ExplainedFactor], mixture: Mixture) -> Configuration {
    let mut levels: IndexMap<String, SettingValue> =
        plan.factors.iter().map(|(name, levels)| (name.clone(), levels[0].clone())).collect();
    debug_assert!(levels.contains_key(CONNECTIONS));
    for (index, factor) in factors.iter().enumerate() {
        for level in &factor.levels {
            let chosen = if mixture.has(index) { &level.b } else { &level.a };
            levels.insert(level.name.clone(), chosen.clone());
        }
    }
    Configuration { levels }
}

fn left_out(name: &str, a: Option<&str>, b: Option<&str>, reason: impl Into<String>) -> LeftOut {
    LeftOut {
        name: name.to_owned(),
        a: a.map(str::to_owned),
        b: b.map(str::to_owned),
        reason: reason.into(),
    }
}
