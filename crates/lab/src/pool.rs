//! How many connections a pool needs: an experiment that plans as it goes.
//!
//! [`truetps_pool`] decides which numbers of connections are measured; here they become trials.

use indexmap::IndexMap;
use serde_json::{Value, json};
use truetps_adaptive::Batch;
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_pool::{PoolFindings, PoolQuestion, PoolResult, SEARCH_VERSION};
use truetps_record::{
    CONNECTIONS, Configuration, Experiment, PoolRecord, PoolRule, SettingValue, Trial,
};

use crate::adaptive::{AdaptiveTrials, Measuring, NextTrial, recorded_findings};
use crate::conditions::same_place;
use crate::error::{LabError, other_schedule};
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, planned_experiment};
use crate::question::{same_question, same_schedule};

/// Runs a new search; it fills in the rule of thumb, where the server is on this host. The plan has
/// one level of each factor, and of connections the largest number that may be tried.
pub fn find_pool(
    request: &ExperimentRequest<'_>,
    pool: &PoolRecord,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = find_pool_on(&mut prepared, request, pool, listener);
    prepared.end(finished, listener)
}

fn find_pool_on<'p>(
    prepared: &mut PreparedExperiment<'p>,
    request: &'p ExperimentRequest<'p>,
    pool: &PoolRecord,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let experiment = planned_experiment(request, prepared, Vec::new(), &question(pool));
    let is_here = experiment.external.as_ref().is_none_or(|external| external.is_on_this_host);
    let pool =
        &PoolRecord { rule: is_here.then(|| PoolRule::of(experiment.host.cores)), ..pool.clone() };
    let folder = prepared.create_folder(request.plan, &experiment, listener)?;
    folder.write_pool(pool)?;
    let _lock = folder.lock()?;
    Ok(run(request, pool, prepared, (&folder, experiment), listener))
}

/// Goes on with a search that was stopped: what was measured is not measured again.
pub fn resume_pool(
    request: &ExperimentRequest<'_>,
    folder: &ExperimentFolder,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let _lock = folder.lock().map_err(LabError::NotResumed)?;
    let experiment = folder.experiment().map_err(LabError::NotResumed)?;
    let pool = folder.pool().map_err(LabError::NotResumed)?.ok_or(LabError::NoPool)?;
    let request = &request.again(folder, &experiment);
    same_question(folder, &experiment, request, Some(CONNECTIONS), &question(&pool))?;
    if pool.search != SEARCH_VERSION {
        return Err(other_schedule(
            "its trials were chosen by the search of an older version".to_owned(),
        ));
    }
    same_schedule(folder, &experiment)?;
    let (asked, trials) = (PoolQuestion::recorded(&pool), PoolTrials { plan: request.plan });
    recorded_findings(&asked, &trials, folder, &experiment)?;
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = same_place(&prepared, &experiment, listener)
        .map(|()| run(request, &pool, &mut prepared, (folder, experiment), listener));
    prepared.end(finished, listener)
}

/// What decides about the trials and the advice. The rule of thumb decides nothing.
fn question(pool: &PoolRecord) -> Value {
    json!(PoolRecord { rule: None, asked: None, ..pool.clone() })
}

fn run<'p>(
    request: &'p ExperimentRequest<'p>,
    pool: &PoolRecord,
    prepared: &mut PreparedExperiment<'p>,
    recorded: (&ExperimentFolder, Experiment),
    listener: &mut dyn Listener,
) -> Finished {
    let trials = PoolTrials { plan: request.plan };
    AdaptiveTrials::new(trials, request, prepared, recorded, listener)
        .investigate(&PoolQuestion::recorded(pool))
        .1
}

/// Numbers of connections become trials.
struct PoolTrials<'a> {
    plan: &'a Plan,
}

impl Measuring<PoolQuestion> for PoolTrials<'_> {
    const FACTOR: Option<&'static str> = Some(CONNECTIONS);

    fn event<'e>(
        &'e self,
        batch: &Batch<PoolQuestion>,
        so_far: &'e PoolFindings,
    ) -> ExperimentEvent<'e> {
        ExperimentEvent::SearchingPool { stage: batch.stage, left: batch.planned, so_far }
    }

    /// The plan's levels with this number of connections.
    fn trial(&self, connections: u32) -> NextTrial {
        let mut levels: IndexMap<_, _> = self
            .plan
            .factors
            .iter()
            .filter(|(name, _)| *name != CONNECTIONS)
            .filter_map(|(name, levels)| Some((name.clone(), levels.first()?.clone())))
            .collect();
        levels.insert(CONNECTIONS.to_owned(), SettingValue::Int(connections.into()));
        NextTrial::cell(Configuration { levels })
    }

    fn reading(&self, trial: &Trial, _: &mut dyn Listener) -> Option<PoolResult> {
        PoolResult::read(trial)
    }
}
