//! How many connections a pool needs: an experiment that plans as it goes.
//!
//! [`truetps_pool`] decides which numbers of connections are measured; here they become trials.

use truetps_adaptive::{Batch, Question, Source};
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_pool::{PoolFindings, PoolQuestion, PoolResult};
use truetps_record::{CONNECTIONS, Configuration, PoolRecord, PoolRule, SettingValue};

use crate::adaptive::AdaptiveTrials;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, planned_experiment};
use crate::resume::{same_host, same_servers};

/// Runs a new search; it fills in the rule of thumb, where the server is on this host. The plan has one level of each factor, except connections: these are the levels up to the largest
/// that may be tried.
pub fn find_pool(
    request: &ExperimentRequest<'_>,
    pool: &PoolRecord,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = find_pool_on(&mut prepared, request, pool, listener);
    prepared.end(finished, listener)
}

fn find_pool_on(
    prepared: &mut PreparedExperiment<'_>,
    request: &ExperimentRequest<'_>,
    pool: &PoolRecord,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let experiment = planned_experiment(request, prepared, Vec::new());
    let is_here = experiment.external.as_ref().is_none_or(|external| external.is_on_this_host);
    let pool =
        &PoolRecord { rule: is_here.then(|| PoolRule::of(experiment.host.cores)), ..pool.clone() };
    let folder = prepared.create_folder(request.plan, &experiment, listener)?;
    folder.write_pool(pool)?;
    let _lock = folder.lock()?;
    let trials = AdaptiveTrials::new(prepared, &folder, experiment, request.stop, listener);
    Ok(run(trials, pool, request.plan))
}

/// Goes on with a search that was stopped: what was measured is not measured again.
pub fn resume_pool(
    request: &ExperimentRequest<'_>,
    folder: &ExperimentFolder,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let _lock = folder.lock()?;
    let (experiment, pool) = (folder.experiment()?, folder.pool()?.ok_or(LabError::NoPool)?);
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    // Trials of two machines say nothing about each other.
    let same = same_servers(&prepared.servers, &experiment)
        .and_then(|()| same_host(&prepared.host, &experiment.host, true, listener));
    if let Err(error) = same {
        return prepared.end(Err(error), listener);
    }
    let trials = AdaptiveTrials::new(&mut prepared, folder, experiment, request.stop, listener);
    let finished = run(trials, &pool, request.plan);
    prepared.end(Ok(finished), listener)
}

fn run(trials: AdaptiveTrials<'_, '_>, pool: &PoolRecord, plan: &Plan) -> Finished {
    let mut source = PoolTrials { trials, plan: plan.clone() };
    source.plan.factors.insert(CONNECTIONS.to_owned(), Vec::new());
    let _: PoolFindings = PoolQuestion::recorded(pool).investigate(&mut source);
    source.trials.into_finished()
}

/// Measures numbers of connections, unless the folder has their results.
struct PoolTrials<'a, 'p> {
    trials: AdaptiveTrials<'a, 'p>,
    /// With the numbers that were tried.
    plan: Plan,
}

impl Source<PoolQuestion> for PoolTrials<'_, '_> {
    fn run(
        &mut self,
        batch: &Batch<PoolQuestion>,
        so_far: &PoolFindings,
    ) -> Option<Vec<Option<PoolResult>>> {
        let Self { trials, plan } = self;
        trials.tell(&ExperimentEvent::SearchingPool {
            stage: batch.stage,
            left: batch.planned,
            so_far,
        });
        let configurations =
            batch.points.iter().map(|number| configuration(plan, *number)).collect();
        let measured = trials.block(configurations, |folder, _, place| {
            let level = SettingValue::Int(batch.points[place].into());
            let levels = plan.factors.entry(CONNECTIONS.to_owned()).or_default();
            if !levels.contains(&level) {
                levels.push(level);
                levels.sort_by(|a, b| {
                    a.as_number().unwrap_or_default().total_cmp(&b.as_number().unwrap_or_default())
                });
                folder.write_plan(plan)?;
            }
            Ok(())
        })?;
        Some(measured.iter().map(PoolResult::read).collect())
    }
}

/// The plan's levels with this number of connections.
fn configuration(plan: &Plan, connections: u32) -> Configuration {
    let first = |levels: &Vec<SettingValue>| levels.first().cloned();
    let others = plan.factors.iter().filter(|(name, _)| *name != CONNECTIONS);
    let mut levels: indexmap::IndexMap<_, _> =
        others.filter_map(|(name, levels)| Some((name.clone(), first(levels)?))).collect();
    levels.insert(CONNECTIONS.to_owned(), SettingValue::Int(connections.into()));
    Configuration { levels }
}
