//! Trials of a run folder with everything that was recorded beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use truetps_analysis::{Noise, TrialDetail, TrialRecord, analyse};
use truetps_record::{Configuration, Experiment, ExperimentFolder, FolderError, Interval, LATEST, Plan, Trial};
use truetps_report::UnreadFile;

use crate::answer::{EDITED, shown};
use crate::failure::CommandFailure;
use crate::recorded::{Histograms, ReadTrial, read_all};

/// A folder that was named: an experiment, or one trial of it.
pub(crate) struct NamedRun {
    pub(crate) folder: ExperimentFolder,
    /// The only trial that is meant.
    pub(crate) trial: Option<String>,
    pub(crate) plan: Plan,
    pub(crate) experiment: Experiment,
}

/// A trial with what happened in it.
pub(crate) struct RecordedTrial {
    pub(crate) trial: Trial,
    intervals: Vec<Interval>,
    pub(crate) detail: TrialDetail,
    /// What its server was set to, where that is recorded.
    pub(crate) variables: Option<BTreeMap<String, String>>,
}

impl NamedRun {
    /// Opens what a user has named; `None`: the newest experiment below `runs`.
    pub(crate) fn open(named: Option<&Path>, runs: &Path) -> Result<Self, CommandFailure> {
        let path = named.map_or_else(|| runs.join(LATEST), Path::to_owned);
        let hint = "name the folder of an experiment, or one trial's folder in it";
        let (folder, trial) = ExperimentFolder::find(&path).map_err(|error| {
            let hint = error.hint().unwrap_or_else(|| hint.to_owned());
            CommandFailure::usage(error).hint(hint)
        })?;
        let unreadable = |error: FolderError| {
            let hint = error.hint().unwrap_or_else(|| EDITED.to_owned());
            CommandFailure::usage(error).hint(hint)
        };
        let plan = folder.plan().map_err(unreadable)?;
        let experiment = folder.experiment().map_err(unreadable)?;
        Ok(Self { folder, trial, plan, experiment })
    }

    /// As a user would write it.
    pub(crate) fn name(&self) -> String {
        let path =
            self.trial.as_ref().map_or_else(|| self.folder.path().to_owned(), |name| self.folder.path().join(name));
        shown(&path).display().to_string()
    }

    /// The trial that is meant, or all, as far as they were begun, and what could not be read of them.
    pub(crate) fn trials(&self) -> (Vec<RecordedTrial>, Vec<UnreadFile>) {
        let all = || self.experiment.schedule.iter().map(|one| one.name.clone()).collect();
        let names: Vec<String> = self.trial.clone().map_or_else(all, |name| vec![name]);
        let (mut trials, mut unread) = (Vec::new(), Vec::new());
        for mut read in read_all(&self.folder, &names, Histograms::LeftOut) {
            unread.append(&mut read.unread);
            trials.extend(RecordedTrial::of(read));
        }
        (trials, unread)
    }

    /// What the twins of the experiment differ by.
    pub(crate) fn noise(&self) -> Option<Noise> {
        let read = self.experiment.schedule.iter().map(|one| self.folder.trial(&one.name));
        // Unreadable files have been reported.
        let trials: Vec<_> = read.filter_map(|trial| trial.ok().flatten()).collect();
        analyse(&self.plan, &self.experiment, &trials).noise
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
    fn of(read: ReadTrial) -> Option<Self> {
        let ReadTrial { series, variables, .. } = read;
        Some(Self { trial: read.trial?, intervals: series.intervals, detail: read.detail?, variables })
    }

    /// What a comparison needs beside the detail.
    pub(crate) fn record(&self) -> TrialRecord<'_> {
        TrialRecord { trial: &self.trial, intervals: &self.intervals, probe: None, variables: None }
    }
}
