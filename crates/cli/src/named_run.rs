//! Trials of a run folder with everything that was recorded beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use truetps_analysis::{Noise, TrialDetail, TrialRecord, analyse, detail};
use truetps_record::{
    Configuration, Experiment, ExperimentFolder, FolderError, Interval, LATEST, Plan, ProbeSeries, Trial, TrialRole,
};

use crate::answer::shown;
use crate::failure::Failure;

/// A folder that was named: an experiment, or one trial of it.
pub(crate) struct NamedRun {
    pub(crate) folder: ExperimentFolder,
    /// The only trial that is meant.
    pub(crate) trial: Option<String>,
    pub(crate) plan: Plan,
    pub(crate) experiment: Experiment,
}

/// A trial with its files.
pub(crate) struct RecordedTrial {
    pub(crate) trial: Trial,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) probe: Option<ProbeSeries>,
    pub(crate) variables: Option<BTreeMap<String, String>>,
}

impl NamedRun {
    /// Opens what a user has named; `None`: the newest experiment below `runs`.
    pub(crate) fn open(named: Option<&Path>, runs: &Path) -> Result<Self, Failure> {
        let path = named.map_or_else(|| runs.join(LATEST), Path::to_owned);
        let (folder, trial) = Self::find(&path)?;
        let plan = folder.plan().map_err(Failure::usage)?;
        let experiment = folder.experiment().map_err(Failure::usage)?;
        Ok(Self { folder, trial, plan, experiment })
    }

    fn find(path: &Path) -> Result<(ExperimentFolder, Option<String>), Failure> {
        let hint = "name the folder of an experiment, or one trial's folder in it".to_owned();
        let whole = path
            .canonicalize()
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())).hint(hint.clone()))?;
        let is_trial = !whole.join("experiment.json").is_file() && whole.join("run.json").is_file();
        let (of, trial) = match (whole.parent(), whole.file_name()) {
            (Some(parent), Some(name)) if is_trial => (parent.to_owned(), Some(name.to_string_lossy().into_owned())),
            _ => (whole.clone(), None),
        };
        ExperimentFolder::open(&of).map(|folder| (folder, trial)).map_err(|error| Failure::usage(error).hint(hint))
    }

    /// As a user would write it.
    pub(crate) fn name(&self) -> String {
        let path =
            self.trial.as_ref().map_or_else(|| self.folder.path().to_owned(), |name| self.folder.path().join(name));
        shown(&path).display().to_string()
    }

    /// The trial that is meant, or all that stand for their configuration, as far as they were begun.
    pub(crate) fn trials(&self) -> Result<Vec<RecordedTrial>, Failure> {
        let cells = self.experiment.schedule.iter().filter(|one| one.role != TrialRole::AaTwin);
        let all = || cells.map(|one| one.name.clone()).collect();
        let names: Vec<String> = self.trial.clone().map_or_else(all, |name| vec![name]);
        let mut trials = Vec::new();
        for name in names {
            if let Some(trial) = self.folder.trial(&name).map_err(Failure::usage)? {
                trials.push(RecordedTrial::read(&self.folder, trial).map_err(Failure::usage)?);
            }
        }
        Ok(trials)
    }

    /// What the twins of the experiment differ by.
    pub(crate) fn noise(&self) -> Result<Option<Noise>, Failure> {
        let names = self.experiment.schedule.iter().map(|one| self.folder.trial(&one.name));
        let trials: Vec<_> = names.filter_map(Result::transpose).collect::<Result<_, _>>().map_err(Failure::usage)?;
        Ok(analyse(&self.plan, &self.experiment, &trials).noise)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

/// Configurations that have a trial among these.
pub(crate) fn configurations(trials: &[RecordedTrial]) -> Vec<Configuration> {
    let mut found: Vec<Configuration> = Vec::new();
    for one in trials {
        if !found.contains(&one.trial.configuration) {
            found.push(one.trial.configuration.clone());
        }
    }
    found
}

impl RecordedTrial {
    fn read(folder: &ExperimentFolder, trial: Trial) -> Result<Self, FolderError> {
        Ok(Self {
            intervals: folder.intervals(&trial.name)?,
            probe: folder.probe(&trial.name)?,
            variables: folder.variables(&trial.name)?,
            trial,
        })
    }

    pub(crate) fn record(&self) -> TrialRecord<'_> {
        TrialRecord {
            trial: &self.trial,
            intervals: &self.intervals,
            probe: self.probe.as_ref(),
            variables: self.variables.as_ref(),
        }
    }

    pub(crate) fn detail(&self) -> TrialDetail {
        detail(&self.record())
    }
}
