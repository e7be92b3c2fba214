//! `--resume`: the missing trials of an earlier experiment, and more blocks.

use std::path::Path;

use truetps_folder::ExperimentFolder;
use truetps_record::Experiment;

use crate::conditions::{same_host, same_place, same_servers};
use crate::error::LabError;
use crate::event::Listener;
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, missing};
use crate::extension::{MoreBlocks, blocks_of, extend, record};
use crate::find_max::{plan_of_rest, search};
use crate::question::{objective, same_blocks, same_question, same_schedule};

/// Runs the missing, partial and invalid trials of an earlier experiment; the files of replaced
/// trials are kept beside the new ones. A search for the highest rate goes on after its last trial
/// that has ended.
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
    let _lock = folder.lock().map_err(LabError::NotResumed)?;
    let mut experiment = folder.experiment_of(request.plan).map_err(LabError::NotResumed)?;
    if experiment.tool_version != request.tool_version {
        let (was, is) = (&experiment.tool_version, request.tool_version);
        listener.warn(format!("this experiment was started with truetps {was}; this is {is}"));
    }
    let request = &request.again(folder, &experiment);
    if let Some(slo) = experiment.slo.clone() {
        let blocks = folder.plan().map_err(LabError::NotResumed)?.design.blocks;
        if request.plan.design.blocks != blocks || request.more.is_some() {
            return Err(LabError::SearchWithBlocks { name: experiment.name });
        }
        let Some(plan) = plan_of_rest(folder, &experiment, request, &slo)? else {
            return Ok(Finished { folder: folder.clone(), gave_up: None, not_left: None });
        };
        let request = &ExperimentRequest { plan: &plan, ..request.again(folder, &experiment) };
        let mut prepared = set_up(request, folder.path(), listener)?;
        let finished = same_place(&prepared, &experiment, listener)
            .map(|()| search(request, &slo, &mut prepared, (folder, experiment), listener));
        return prepared.end(finished, listener);
    }
    same_question(folder, &experiment, request, None, &objective(None))?;
    same_schedule(folder, &experiment)?;
    same_blocks(request.plan, &experiment)?;
    let planned = request.plan.design.blocks.saturating_sub(blocks_of(&experiment));
    let mut more = (planned > 0).then_some(MoreBlocks { blocks: planned, only: None });
    if more.is_none() && missing(folder, &experiment)?.is_empty() {
        more = request.more.and_then(|ask| ask(folder));
        if more.is_none() {
            return Ok(Finished { folder: folder.clone(), gave_up: None, not_left: None });
        }
    }
    let is_extended = more.is_some();
    let extended = more
        .map(|more| extend(&mut experiment, request.plan, &more, &request.command))
        .transpose()?;
    let mut prepared = set_up(request, folder.path(), listener)?;
    let finished = same_conditions(&prepared, &experiment)
        .and_then(|()| same_host(&prepared.host, &experiment.host, is_extended, listener))
        .and_then(|()| extended.map_or(Ok(()), |plan| record(folder, &plan, &experiment)))
        .and_then(|()| prepared.run_all(folder, experiment, listener));
    prepared.end(finished, listener)
}

/// Trials on another server, or on the same server with other settings, do not belong to this
/// experiment.
fn same_conditions(
    prepared: &PreparedExperiment<'_>,
    experiment: &Experiment,
) -> Result<(), LabError> {
    same_servers(&prepared.servers, experiment)?;
    if prepared.provider.couplings() != experiment.couplings {
        let what = "other settings change together with a level than then".to_owned();
        return Err(LabError::OtherConditions { what });
    }
    Ok(())
}
