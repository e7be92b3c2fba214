//! A search for the size of a connection pool as one value: what was asked, the trials, and what
//! they say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use truetps_adaptive::{AdaptiveQuestion, Replayed};
use truetps_analysis::LoadedTrial;
use truetps_folder::{ExperimentFolder, FolderError};
use truetps_plan::Plan;
use truetps_pool::{
    OlderPoolTrial, PoolFindings, PoolLimits, PoolParameters, PoolQuestion, PoolResult, RateAnswer,
    SEARCH_VERSION,
};
use truetps_record::{Experiment, PoolRecord};

use crate::reading::{Histograms, read_trials};

/// Everything recorded about a search for a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolRun {
    pub path: PathBuf,
    pub plan: Plan,
    pub experiment: Experiment,
    pub pool: PoolRecord,
    /// Trials that have ended, in the order of time.
    pub trials: Vec<LoadedTrial>,
    pub findings: PoolFindings,
    /// Where a rate was asked about.
    pub rate: Option<RateAnswer>,
    /// For the number that the answer is about: see [`Self::parameters_of`].
    pub parameters: Option<PoolParameters>,
    /// Whether the recorded numbers are not those that its seed and results lead to: only the first
    /// part of them counts.
    pub is_foreign: bool,
}

impl PoolRun {
    /// `None`: the folder is of another kind of experiment.
    pub fn open(path: &Path) -> Result<Option<Self>, FolderError> {
        let (folder, _) = ExperimentFolder::find(path)?;
        let Some(pool) = folder.pool()? else { return Ok(None) };
        let (plan, experiment) = (folder.plan()?, folder.experiment()?);
        let names: Vec<_> =
            experiment.schedule.iter().map(|scheduled| scheduled.name.clone()).collect();
        let mut trials = Vec::new();
        // What follows a trial that cannot be read, or did not end, is not known to follow from it.
        for loaded in read_trials(&folder, &names, Histograms::LeftOut, false) {
            let Some(loaded) = loaded? else { break };
            if loaded.trial.validity.is_partial() {
                break;
            }
            trials.push(loaded);
        }
        let Replayed { findings, is_foreign } = replayed(&pool, &experiment, &trials);
        let limits = PoolLimits {
            instances: pool.instances,
            p99_limit_us: pool.p99_limit_us,
            wait_timeout_s: wait_timeout_s(&folder, &names)?,
        };
        let rate = pool.rate.map(|rate| RateAnswer::new(&findings, rate, pool.current));
        let parameters = Self::parameters_of(&findings, rate, &limits);
        Ok(Some(Self {
            path: folder.path().to_owned(),
            plan,
            experiment,
            pool,
            trials,
            findings,
            rate,
            parameters,
            is_foreign,
        }))
    }

    /// The parameters for the number that carries the rate; without a rate, or where no number
    /// carries it, for the advice.
    pub fn parameters_of(
        findings: &PoolFindings,
        rate: Option<RateAnswer>,
        limits: &PoolLimits,
    ) -> Option<PoolParameters> {
        let number = rate.and_then(|rate| rate.connections).or(findings.advice);
        let point = findings.point(number?)?;
        Some(PoolParameters::new(point.connections, point.response_us_p99, limits))
    }
}

/// Trials that an older version chose are judged as they are.
fn replayed(
    pool: &PoolRecord,
    experiment: &Experiment,
    trials: &[LoadedTrial],
) -> Replayed<PoolQuestion> {
    let question = PoolQuestion::recorded(pool);
    let results = trials.iter().map(|LoadedTrial { trial, .. }| {
        (trial.configuration.connections(), PoolResult::read(trial))
    });
    if pool.search == SEARCH_VERSION {
        return question.replay(results.collect());
    }
    let older = results.zip(&experiment.schedule).map(|((connections, result), scheduled)| {
        OlderPoolTrial { block: scheduled.block, connections, result }
    });
    let findings = question.judged(&older.collect::<Vec<_>>());
    Replayed { findings, is_foreign: false }
}

/// As the server reported it in the first trial. In PostgreSQL it is `idle_session_timeout`, in
/// milliseconds, and 0 is no limit.
fn wait_timeout_s(
    folder: &ExperimentFolder,
    trials: &[String],
) -> Result<Option<u64>, FolderError> {
    let Some(first) = trials.first() else { return Ok(None) };
    let variables = folder.variables(first)?.unwrap_or_default();
    if let Some(seconds) = number(&variables, "wait_timeout") {
        return Ok(Some(seconds));
    }
    let milliseconds = number(&variables, "idle_session_timeout").filter(|limit| *limit > 0);
    Ok(milliseconds.map(|limit| limit.div_ceil(1_000)))
}

fn number(variables: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    variables.get(name)?.parse().ok()
}
