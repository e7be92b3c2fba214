//! `--resume`: the missing trials of an earlier experiment, and more blocks.

use std::path::Path;

use truetps_folder::ExperimentFolder;
use truetps_probe::clock;
use truetps_record::{Experiment, Extension, HostFacts};

use crate::error::LabError;
use crate::event::Listener;
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment};
use crate::schedule::schedule;

/// Runs the missing, partial and invalid trials of an earlier experiment. The files of replaced trials are kept beside
/// the new ones.
pub fn resume(
    request: &ExperimentRequest<'_>,
    folder: &ExperimentFolder,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    resume_on(request, folder, listener, |request, records, listener| {
        PreparedExperiment::set_up(request, records, listener)
    })
}

/// `set_up` prepares the servers, if any trial is left to run.
pub(crate) fn resume_on(
    request: &ExperimentRequest<'_>,
    folder: &ExperimentFolder,
    listener: &mut dyn Listener,
    set_up: impl for<'r> FnOnce(
        &'r ExperimentRequest<'r>,
        &Path,
        &mut dyn Listener,
    ) -> Result<PreparedExperiment<'r>, LabError>,
) -> Result<Finished, LabError> {
    let _lock = folder.lock()?;
    let mut experiment = folder.experiment()?;
    if experiment.slo.is_some() {
        return Err(LabError::ResumedSearch { name: experiment.name });
    }
    if experiment.tool_version != request.tool_version {
        let (was, is) = (&experiment.tool_version, request.tool_version);
        listener.warn(format!("this experiment was started with truetps {was}; this is {is}"));
    }
    // The number of workers is part of the measured configuration.
    let request = &ExperimentRequest { workers: experiment.workers, command: request.command.clone(), ..*request };
    let is_extended = extend(&mut experiment, request)?;
    let mut todo = Vec::new();
    for scheduled in &experiment.schedule {
        let done = folder.trial(&scheduled.name)?.is_some_and(|trial| trial.validity.is_valid());
        if !done {
            todo.push(scheduled);
        }
    }
    if todo.is_empty() {
        return Ok(Finished { folder: folder.clone(), gave_up: None, not_left: None });
    }
    let done = experiment.schedule.len() - todo.len();
    let mut prepared = set_up(request, folder.path(), listener)?;
    let same = same_conditions(&prepared, &experiment);
    let recorded =
        same.and_then(|()| if is_extended { record_extension(folder, request, &experiment) } else { Ok(()) });
    let finished = recorded.map(|()| {
        if let Some(what) = other_host(&experiment.host, &prepared.host) {
            let text = format!("{what}: differences between old and new trials may come from the host");
            listener.warn(text);
        }
        prepared.run(folder, &todo, done, listener)
    });
    prepared.end(finished, listener)
}

/// Adds the blocks that are in the plan and not in the schedule. Each block is drawn from the seed and its own number:
/// existing blocks stay as they are.
fn extend(experiment: &mut Experiment, request: &ExperimentRequest<'_>) -> Result<bool, LabError> {
    let blocks_before = experiment.schedule.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0);
    let blocks = request.plan.design.blocks;
    if blocks <= blocks_before {
        return Ok(false);
    }
    let extended = schedule(request.plan);
    if !extended.starts_with(&experiment.schedule) {
        return Err(LabError::OtherSchedule);
    }
    experiment.schedule = extended;
    let (extended_at, command) = (clock::now_rfc3339(), request.command.clone());
    experiment.extensions.push(Extension { extended_at, blocks_before, blocks, command });
    Ok(true)
}

/// The plan is written first: the next `--resume` extends the schedule to the plan.
fn record_extension(
    folder: &ExperimentFolder,
    request: &ExperimentRequest<'_>,
    experiment: &Experiment,
) -> Result<(), LabError> {
    folder.write_plan(request.plan)?;
    folder.write_experiment(experiment)?;
    Ok(())
}

/// Trials on another server, or on the same server with other settings, do not belong to this experiment.
fn same_conditions(prepared: &PreparedExperiment<'_>, experiment: &Experiment) -> Result<(), LabError> {
    let servers = if experiment.servers.is_empty() { experiment.server.as_slice() } else { &experiment.servers };
    let changed = servers.iter().zip(&prepared.servers).find(|(was, is)| was.version_text != is.version_text);
    if let Some((was, is)) = changed {
        return Err(LabError::BegunWithAnother { was: was.version_text.clone(), is: is.version_text.clone() });
    }
    if prepared.servers != servers || prepared.provider.couplings() != experiment.couplings {
        return Err(LabError::OtherConditions);
    }
    Ok(())
}

/// The difference between this host and the host of the earlier trials, as far as it can be detected.
fn other_host(was: &HostFacts, is: &HostFacts) -> Option<String> {
    let pairs = [
        ("the host", &was.hostname, &is.hostname),
        ("the CPU", &was.cpu_model, &is.cpu_model),
        ("the number of cores", &was.cores.to_string(), &is.cores.to_string()),
        ("the disk", &format!("{:?}", was.device), &format!("{:?}", is.device)),
    ];
    let differing = pairs.into_iter().find(|(_, was, is)| was != is);
    differing.map(|(what, was, is)| format!("{what} was {was} when this experiment started, and is {is} now"))
}
