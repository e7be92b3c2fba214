//! Whether a folder still asks what its experiment was begun with. Every command that goes on with
//! an experiment checks it before a server is prepared: plan, record and option files are files,
//! which may have been edited since.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_record::{Asked, Experiment, Slo};

use crate::error::{LabError, other_schedule};
use crate::experiment::ExperimentRequest;
use crate::extension::{blocks_of, is_drawn_from};
use crate::schedule::{schedule, trial_name};
use crate::trial::server_provider::ServerSource;

/// What is recorded of a request. `question`: what decides about the trials besides the plan.
pub(crate) fn asked(request: &ExperimentRequest<'_>, question: &Value) -> Asked {
    Asked {
        plan_text: Some(request.plan.to_toml()),
        question: Some(with_option_files(request, question)),
        ..request.asked.clone()
    }
}

/// The question of an experiment whose plan says everything else.
pub(crate) fn objective(slo: Option<&Slo>) -> Value {
    json!({ "slo": slo })
}

/// Whether plan and question are those that the experiment was begun with. `chosen`: the factor
/// whose levels the experiment chooses itself. Older records have neither.
pub(crate) fn same_question(
    folder: &ExperimentFolder,
    experiment: &Experiment,
    request: &ExperimentRequest<'_>,
    chosen: Option<&str>,
    question: &Value,
) -> Result<(), LabError> {
    let plan = folder.plan().map_err(LabError::NotResumed)?;
    let Some(was) = plan_asked(experiment)? else { return same_load(&plan, request.plan) };
    let parts = [&was, &plan].map(|plan| compared_part(plan, chosen));
    let of_plan = first_change("plan.toml", &parts[0], &parts[1]);
    let seed = Some(was.design.seed)
        .filter(|seed| *seed != experiment.seed)
        .map(|seed| format!("`seed` of experiment.json was {seed}, and is {}", experiment.seed));
    let recorded = experiment.asked.as_ref().and_then(|asked| asked.question.as_ref());
    let of_question = recorded.and_then(|recorded| {
        first_change("the experiment", recorded, &with_option_files(request, question))
    });
    match of_question.or(of_plan).or(seed) {
        Some(what) => Err(LabError::OtherConditions { what }),
        None => same_levels(&plan, experiment, chosen),
    }
}

/// The plan that the experiment was begun with; `None` in older records.
fn plan_asked(experiment: &Experiment) -> Result<Option<Plan>, LabError> {
    let text = experiment.asked.as_ref().and_then(|asked| asked.plan_text.as_deref());
    text.map(Plan::parse).transpose().map_err(|error| {
        let what = format!("`asked.plan_text` of experiment.json is not a plan any more: {error}");
        LabError::OtherConditions { what }
    })
}

/// A plan without what may change while the experiment runs: the levels of one factor, or the
/// number of blocks.
fn compared_part(plan: &Plan, chosen: Option<&str>) -> Value {
    let mut plan = plan.clone();
    match chosen {
        Some(factor) => {
            plan.factors.shift_remove(factor);
        }
        None => plan.design.blocks = 0,
    }
    serde_json::to_value(&plan).unwrap_or_default()
}

/// The plan of an older record, rebuilt from its words, has the parts that decide about trials.
fn same_load(was: &Plan, is: &Plan) -> Result<(), LabError> {
    let parts = [
        ("workload", was.workload == is.workload),
        ("load", was.load == is.load),
        ("server", was.server == is.server),
        ("disk", was.disk == is.disk),
    ];
    match parts.iter().find(|(_, is_same)| !is_same) {
        Some((part, _)) => {
            let what = format!("`{part}` of the plan is not as in plan.toml of the folder");
            Err(LabError::OtherConditions { what })
        }
        None => Ok(()),
    }
}

/// Whether the plan has the level of each trial that was scheduled: a report shows no other trial.
fn same_levels(plan: &Plan, experiment: &Experiment, chosen: Option<&str>) -> Result<(), LabError> {
    let Some(factor) = chosen else { return Ok(()) };
    let levels = plan.factors.get(factor).map_or(&[][..], Vec::as_slice);
    let mut tried =
        experiment.schedule.iter().filter_map(|one| one.configuration.levels.get(factor));
    match tried.find(|level| !levels.contains(level)) {
        Some(level) => {
            let level = level.option_text();
            let what = format!("`factors.{factor}` of plan.toml does not have {level} any more");
            Err(LabError::OtherConditions { what })
        }
        None => Ok(()),
    }
}

/// The option files of private servers decide about their settings.
fn with_option_files(request: &ExperimentRequest<'_>, question: &Value) -> Value {
    let files: Map<String, Value> = match request.source {
        ServerSource::Given(_) => Map::new(),
        ServerSource::Private { programs, .. } => programs
            .iter()
            .map(|program| {
                let settings: BTreeMap<_, _> = program.base.iter().cloned().collect();
                (program.name.clone().unwrap_or_else(|| "my_cnf".to_owned()), json!(settings))
            })
            .collect(),
    };
    let mut whole = question.clone();
    if let (Some(whole), false) = (whole.as_object_mut(), files.is_empty()) {
        whole.insert("option_files".to_owned(), files.into());
    }
    whole
}

/// Where two documents differ first, and how.
fn first_change(document: &str, was: &Value, is: &Value) -> Option<String> {
    let (path, was, is) = first_difference(String::new(), Some(was), Some(is))?;
    let [was, is] = [was, is].map(|value| {
        value.filter(|value| !value.is_null()).map_or("not set".to_owned(), ToString::to_string)
    });
    Some(format!("`{path}` of {document} was {was}, and is {is} now"))
}

type PathValues<'v> = (String, Option<&'v Value>, Option<&'v Value>);

fn first_difference<'v>(
    path: String,
    was: Option<&'v Value>,
    is: Option<&'v Value>,
) -> Option<PathValues<'v>> {
    if let (Some(Value::Object(before)), Some(Value::Object(after))) = (was, is) {
        let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
        return names.into_iter().find_map(|name| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            first_difference(path, before.get(name), after.get(name))
        });
    }
    (was != is).then_some((path, was, is))
}

/// Whether the schedule names the trials that were measured, in their places.
pub(crate) fn same_schedule(
    folder: &ExperimentFolder,
    experiment: &Experiment,
) -> Result<(), LabError> {
    for (index, scheduled) in experiment.schedule.iter().enumerate() {
        if scheduled.name != trial_name(index) {
            let (name, place) = (&scheduled.name, index + 1);
            return Err(other_schedule(format!("{name} is in the place of trial {place}")));
        }
        let measured = folder.trial(&scheduled.name).map_err(LabError::NotResumed)?;
        let is_same = measured.is_none_or(|trial| {
            (trial.role, trial.block, trial.position)
                == (scheduled.role, scheduled.block, scheduled.position)
                && trial.configuration == scheduled.configuration
        });
        if !is_same {
            let what = format!("{} was measured as another trial than it is now", scheduled.name);
            return Err(other_schedule(what));
        }
    }
    let next = trial_name(experiment.schedule.len());
    match folder.trial(&next).map_err(LabError::NotResumed)? {
        Some(_) => Err(other_schedule(format!("{next} was measured, and is not in it"))),
        None => Ok(()),
    }
}

/// Whether the blocks of a schedule follow from the plan that the experiment was begun with.
pub(crate) fn same_blocks(plan: &Plan, experiment: &Experiment) -> Result<(), LabError> {
    let Some(was) = plan_asked(experiment)? else { return Ok(()) };
    let trials = &experiment.schedule;
    if trials.starts_with(&schedule(&was)) && is_drawn_from(plan, trials, blocks_of(experiment)) {
        return Ok(());
    }
    Err(other_schedule("its plan and seed lead to other trials".to_owned()))
}
