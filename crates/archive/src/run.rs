//! A run folder as one value.

use std::path::{Path, PathBuf};

use truetps_analysis::{Analysis, LoadedTrial, Noise, UnreadFile, analyse};
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
    /// If one trial was named: the figures of the others, for the noise of the experiment.
    pub siblings: Vec<Trial>,
    /// Repeated attempts of trials on an external server: only the volume of their writes counts.
    pub attempts: Vec<Trial>,
    /// Trials and attempts that cannot be read. A trial names its own files.
    pub unread: Vec<UnreadFile>,
    /// The one trial that was named.
    pub named_trial: Option<String>,
}

impl Run {
    /// Reads the folder of an experiment, or of one of its trials. Only a plan or an experiment that cannot be read is an
    /// error.
    pub fn open(path: &Path, histograms: Histograms) -> Result<Self, FolderError> {
        let (folder, named_trial) = ExperimentFolder::find(path)?;
        let (folder, plan, experiment) = (&folder, folder.plan()?, folder.experiment()?);
        let mut run = Self {
            path: folder.path().to_owned(),
            plan,
            experiment,
            trials: Vec::new(),
            siblings: Vec::new(),
            attempts: Vec::new(),
            unread: Vec::new(),
            named_trial,
        };
        let all: Vec<_> = run.experiment.schedule.iter().map(|scheduled| scheduled.name.clone()).collect();
        if let Some(named) = run.named_trial.clone() {
            run.read_siblings(folder, &all, &named);
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

    fn read_siblings(&mut self, folder: &ExperimentFolder, all: &[String], named: &str) {
        let others = all.iter().filter(|name| *name != named);
        self.siblings = others.filter_map(|name| folder.trial(name).ok().flatten()).collect();
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

    /// The noise between the twins of the experiment.
    pub fn noise(&self) -> Option<Noise> {
        let all: Vec<_> = self.trials.iter().map(|one| &one.trial).chain(&self.siblings).cloned().collect();
        analyse(&self.plan, &self.experiment, &all.into_iter().map(LoadedTrial::from).collect::<Vec<_>>()).noise
    }

    /// Everything that could not be read.
    pub fn all_unread(&self) -> impl Iterator<Item = &UnreadFile> {
        self.unread.iter().chain(self.trials.iter().flat_map(|one| &one.unread))
    }

    /// A trial has begun, and its figures cannot be read.
    pub fn has_lost_a_trial(&self) -> bool {
        self.unread.iter().any(|unread| unread.whole_trial)
    }

    /// Trials that a comparison may use: no twins, which would give their configuration an extra trial, unless one is named.
    pub fn comparable(&self) -> impl Iterator<Item = &LoadedTrial> {
        let is_meant = |one: &LoadedTrial| self.named_trial.is_some() || !one.is_twin();
        self.trials.iter().filter(move |one| one.is_evidence() && is_meant(one))
    }

    /// Comparable trials of a configuration.
    pub fn comparable_of<'a>(&'a self, configuration: &'a Configuration) -> impl Iterator<Item = &'a LoadedTrial> {
        self.comparable().filter(|one| one.trial.configuration == *configuration)
    }
}
