//! The trials of an experiment that decides on each trial after the earlier ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use truetps_folder::ExperimentFolder;
use truetps_record::{
    Configuration, DiskFacts, Experiment, ScheduledTrial, Trial, TrialRole, Validity,
};

use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{Finished, PreparedExperiment};

/// After so many trials in a row without a result the experiment ends.
const FAILURES_IN_A_ROW_MAX: u32 = 8;

/// Measures configurations, unless the folder has their results: each trial is in the schedule before it begins.
pub(crate) struct AdaptiveTrials<'a, 'p> {
    pub(crate) prepared: &'a mut PreparedExperiment<'p>,
    pub(crate) folder: &'a ExperimentFolder,
    experiment: Experiment,
    stop: &'a AtomicBool,
    listener: &'a mut dyn Listener,
    /// When the time is over.
    until: Option<Instant>,
    /// Trials that have been asked for.
    asked: usize,
    failures_in_a_row: u32,
    gave_up: Option<String>,
}

impl<'a, 'p> AdaptiveTrials<'a, 'p> {
    pub(crate) fn new(
        prepared: &'a mut PreparedExperiment<'p>,
        folder: &'a ExperimentFolder,
        experiment: Experiment,
        stop: &'a AtomicBool,
        listener: &'a mut dyn Listener,
    ) -> Self {
        Self {
            prepared,
            folder,
            experiment,
            stop,
            listener,
            until: None,
            asked: 0,
            failures_in_a_row: 0,
            gave_up: None,
        }
    }

    pub(crate) fn until(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    pub(crate) fn into_finished(self) -> Finished {
        Finished { folder: self.folder.clone(), gave_up: self.gave_up, not_left: None }
    }

    pub(crate) fn tell(&mut self, event: &ExperimentEvent<'_>) {
        self.listener.event(event);
    }

    /// Measures a batch in this order, as one block; `None`: the experiment ends here. `record` runs before a new trial is
    /// written into the schedule, with the trial's number in the experiment and its place in the batch. After a crash in
    /// between it runs again for the same number.
    pub(crate) fn block(
        &mut self,
        configurations: Vec<Configuration>,
        mut record: impl FnMut(&ExperimentFolder, usize, usize) -> Result<(), LabError>,
    ) -> Option<Vec<Trial>> {
        let last = self.experiment.schedule.last();
        let next = last.map_or(0, |last| last.block + 1);
        let block =
            self.experiment.schedule.get(self.asked).map_or(next, |scheduled| scheduled.block);
        let mut trials = Vec::new();
        for (place, configuration) in configurations.into_iter().enumerate() {
            match self.measure(block, configuration, |folder, index| record(folder, index, place)) {
                Ok(Some(trial)) => trials.push(trial),
                Ok(None) => return None,
                Err(error) => {
                    self.gave_up = Some(error.to_string());
                    return None;
                }
            }
        }
        Some(trials)
    }

    /// Its trial; `None`: the experiment ends here.
    fn measure(
        &mut self,
        block: u32,
        configuration: Configuration,
        record: impl FnOnce(&ExperimentFolder, usize) -> Result<(), LabError>,
    ) -> Result<Option<Trial>, LabError> {
        if let Some(scheduled) = self.experiment.schedule.get(self.asked) {
            if scheduled.configuration != configuration {
                return Err(LabError::OtherSchedule);
            }
            if let Some(trial) =
                self.folder.trial(&scheduled.name)?.filter(|trial| !trial.validity.is_partial())
            {
                self.asked += 1;
                return Ok(Some(trial));
            }
        }
        if self.stop.load(Ordering::Relaxed)
            || self.until.is_some_and(|until| Instant::now() >= until)
        {
            return Ok(None);
        }
        let scheduled = self.schedule(block, configuration, record)?;
        let mut trial = self.prepared.one_more(self.folder, &scheduled, self.listener)?;
        self.record_disks()?;
        // A load that failed may have failed by chance. A server that does not start will not start again.
        let is_worth = trial.measured.is_some() || trial.engine.is_some();
        if matches!(trial.validity, Validity::Invalid(_))
            && is_worth
            && !self.stop.load(Ordering::Relaxed)
        {
            trial = self.prepared.one_more(self.folder, &scheduled, self.listener)?;
        }
        if trial.validity.is_partial() {
            return Ok(None);
        }
        self.asked += 1;
        self.failures_in_a_row =
            if trial.log_tps().is_some() { 0 } else { self.failures_in_a_row + 1 };
        if self.failures_in_a_row >= FAILURES_IN_A_ROW_MAX {
            let reason = trial.validity.reason().map(ToString::to_string).unwrap_or_default();
            self.gave_up = Some(format!(
                "{} trials in a row gave no result: {reason}",
                self.failures_in_a_row
            ));
            return Ok(None);
        }
        Ok(Some(trial))
    }

    /// Of disks that are measured when the first server on them is prepared. An earlier command's stay as they are.
    fn record_disks(&mut self) -> Result<(), LabError> {
        let known = &self.experiment.disks;
        let is_new = |disk: &&DiskFacts| known.iter().all(|other| other.profile != disk.profile);
        let new: Vec<_> = self.prepared.provider.disks().iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            self.experiment.disks.extend(new);
            self.folder.write_experiment(&self.experiment)?;
        }
        Ok(())
    }

    /// Written before the trial.
    fn schedule(
        &mut self,
        block: u32,
        configuration: Configuration,
        record: impl FnOnce(&ExperimentFolder, usize) -> Result<(), LabError>,
    ) -> Result<ScheduledTrial, LabError> {
        if let Some(scheduled) = self.experiment.schedule.get(self.asked) {
            return Ok(scheduled.clone());
        }
        let scheduled = ScheduledTrial {
            name: format!("trial-{:04}", self.asked + 1),
            block,
            position: self.asked as u32,
            role: TrialRole::Cell,
            configuration,
        };
        record(self.folder, self.asked)?;
        self.experiment.schedule.push(scheduled.clone());
        self.folder.write_experiment(&self.experiment)?;
        Ok(scheduled)
    }
}
