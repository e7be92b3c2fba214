//! An explanation as one value: what was asked, the trials, and what they say.

use std::path::{Path, PathBuf};

use truetps_adaptive::{AdaptiveQuestion, Replayed};
use truetps_analysis::LoadedTrial;
use truetps_causes::{CauseQuestion, Findings, Mixture};
use truetps_folder::{ExperimentFolder, FolderError};
use truetps_plan::Plan;
use truetps_record::{Experiment, Explanation};

use crate::reading::{Histograms, read_trials};

/// Everything recorded about an explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedRun {
    pub path: PathBuf,
    pub plan: Plan,
    pub experiment: Experiment,
    pub explanation: Explanation,
    /// Trials that have ended, with their mixtures, in the order of time.
    pub trials: Vec<(Mixture, LoadedTrial)>,
    pub findings: Findings,
    /// Whether the recorded mixtures are not those that its seed and results lead to: only the
    /// first part of them counts.
    pub is_foreign: bool,
}

impl ExplainedRun {
    /// `None`: the folder is of another kind of experiment.
    pub fn open(path: &Path) -> Result<Option<Self>, FolderError> {
        let (folder, _) = ExperimentFolder::find(path)?;
        let Some(mut explanation) = folder.explanation()? else { return Ok(None) };
        let (plan, mut experiment) = (folder.plan()?, folder.experiment()?);
        explanation.upgrade(&mut experiment.schedule);
        let names: Vec<_> =
            experiment.schedule.iter().map(|scheduled| scheduled.name.clone()).collect();
        let mut trials = Vec::new();
        // What follows a trial that cannot be read, or did not end, is not known to follow from it.
        for (loaded, scheduled) in read_trials(&folder, &names, Histograms::LeftOut, false)
            .into_iter()
            .zip(&experiment.schedule)
        {
            let mixture = scheduled.mixture.clone().map(Mixture::try_from);
            let Some(Ok(mixture)) = mixture else { break };
            let Some(loaded) = loaded? else { break };
            if loaded.trial.validity.is_partial() {
                break;
            }
            trials.push((mixture, loaded));
        }
        let results = trials.iter().map(|(mixture, loaded)| (*mixture, loaded.trial.log_tps()));
        let Explanation { factors, suspects, seed, smallest_percent, .. } = &explanation;
        let question = CauseQuestion::new(factors.len(), suspects, *seed, *smallest_percent);
        let Replayed { findings, is_foreign } = question.replay(results.collect());
        let path = folder.path().to_owned();
        Ok(Some(Self { path, plan, experiment, explanation, trials, findings, is_foreign }))
    }
}
