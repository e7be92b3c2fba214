//! A run folder as one value.

use std::path::{Path, PathBuf};

use truetps_analysis::{Analysis, LoadedTrial, UnreadFile, analyse};
use truetps_folder::{ExperimentFolder, FolderError};
use truetps_plan::Plan;
use truetps_record::{Configuration, Experiment, Trial};

use crate::reading::{Histograms, read_trials, unread};

/// Everything recorded about an experiment, or about one of its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The experiment's folder.
    pub path: PathBuf,
    /// The plan as it was run: after `Plan::into_quick` where the experiment was a quick one.
    pub plan: Plan,
    pub experiment: Experiment,
    /// Trials that have begun and can be read, in the order of the schedule.
    pub trials: Vec<LoadedTrial>,
    /// Repeated attempts of trials on an external server: only the volume of their writes counts.
    pub attempts: Vec<Trial>,
    /// Trials and attempts that cannot be read. A trial names its own files.
    pub unread: Vec<UnreadFile>,
    /// The one trial that was named.
    pub named_trial: Option<String>,
}

impl Run {
    /// Reads the folder of an experiment, or of one of its trials. Only a plan or an experiment
    /// that cannot be read is an error.
    pub fn open(path: &Path, histograms: Histograms) -> Result<Self, FolderError> {
        let (folder, named_trial) = ExperimentFolder::find(path)?;
        let (folder, plan) = (&folder, folder.plan()?);
        let experiment = folder.experiment_of(&plan)?;
        let mut run = Self {
            path: folder.path().to_owned(),
            plan,
            experiment,
            trials: Vec::new(),
            attempts: Vec::new(),
            unread: Vec::new(),
            named_trial,
        };
        let all: Vec<_> =
            run.experiment.schedule.iter().map(|scheduled| scheduled.name.clone()).collect();
        if let Some(named) = run.named_trial.clone() {
            run.read_trials(folder, &[named], histograms);
        } else {
            run.read_attempts(folder, &all);
            run.read_trials(folder, &all, histograms);
        }
        Ok(run)
    }

    fn read_trials(&mut self, folder: &ExperimentFolder, names: &[String], histograms: Histograms) {
        let is_script = self.plan.workload.script().is_some();
        for read in read_trials(folder, names, histograms, is_script) {
            match read {
                Ok(Some(loaded)) => self.trials.push(loaded),
                Ok(None) => {}
                Err(error) => self.unread.push(unread(folder, &error, true)),
            }
        }
    }

    fn read_attempts(&mut self, folder: &ExperimentFolder, all: &[String]) {
        if self.experiment.external.is_none() {
            return;
        }
        for name in all {
            match folder.attempts(name) {
                Ok(attempts) => self.attempts.extend(attempts),
                Err(error) => self.unread.push(unread(folder, &error, false)),
            }
        }
    }

    pub fn analyse(&self) -> Analysis {
        analyse(&self.plan, &self.experiment, &self.trials)
    }

    /// Everything that could not be read.
    pub fn all_unread(&self) -> impl Iterator<Item = &UnreadFile> {
        self.unread.iter().chain(self.trials.iter().flat_map(|one| &one.unread))
    }

    /// A trial has begun, and its figures cannot be read.
    pub fn has_lost_a_trial(&self) -> bool {
        self.unread.iter().any(|unread| unread.whole_trial)
    }

    /// Trials that a comparison may use.
    pub fn comparable(&self) -> impl Iterator<Item = &LoadedTrial> {
        self.trials.iter().filter(|one| one.is_evidence())
    }

    /// Comparable trials of a configuration.
    pub fn comparable_of<'a>(
        &'a self,
        configuration: &'a Configuration,
    ) -> impl Iterator<Item = &'a LoadedTrial> {
        self.comparable().filter(|one| one.trial.configuration == *configuration)
    }
}
