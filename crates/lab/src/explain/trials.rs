//! Mixtures become trials.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use truetps_causes::{Batch, Findings, Mixture, TrialSource};
use truetps_folder::ExperimentFolder;
use truetps_record::{Experiment, Explanation, ScheduledTrial, Trial, TrialRole, Validity};

use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{Finished, PreparedExperiment};
use crate::explain::configuration;

/// After so many trials in a row without a result the investigation ends.
const FAILURES_IN_A_ROW_MAX: u32 = 8;

/// Measures mixtures, unless the folder has their results.
pub(crate) struct MixtureTrials<'a, 'p> {
    prepared: &'a mut PreparedExperiment<'p>,
    folder: &'a ExperimentFolder,
    experiment: Experiment,
    explanation: Explanation,
    stop: &'a AtomicBool,
    listener: &'a mut dyn Listener,
    /// When the time is over.
    until: Option<Instant>,
    /// Trials that have been asked for.
    asked: usize,
    failures_in_a_row: u32,
    gave_up: Option<String>,
}

impl<'a, 'p> MixtureTrials<'a, 'p> {
    pub(crate) fn new(
        prepared: &'a mut PreparedExperiment<'p>,
        folder: &'a ExperimentFolder,
        experiment: Experiment,
        explanation: Explanation,
        stop: &'a AtomicBool,
        listener: &'a mut dyn Listener,
    ) -> Self {
        Self {
            prepared,
            folder,
            experiment,
            explanation,
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

    pub(crate) fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    pub(crate) fn into_finished(self) -> Finished {
        Finished { folder: self.folder.clone(), gave_up: self.gave_up, not_left: None }
    }

    /// Its trial; `None`: the investigation ends here.
    fn measure(&mut self, block: u32, mixture: Mixture) -> Result<Option<Trial>, LabError> {
        let index = self.asked;
        if let Some(recorded) = self.explanation.mixtures.get(index) {
            if *recorded != String::from(mixture) {
                return Err(LabError::OtherSchedule);
            }
            let scheduled = &self.experiment.schedule[index];
            if let Some(trial) = self.folder.trial(&scheduled.name)?.filter(is_over) {
                self.asked += 1;
                return Ok(Some(trial));
            }
        }
        if self.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        let scheduled = self.schedule(index, block, mixture)?;
        let mut trial = self.prepared.one_more(self.folder, &scheduled, self.listener)?;
        // A load that failed may have failed by chance. A server that does not start will not start again.
        let is_worth = trial.measured.is_some() || trial.engine.is_some();
        if matches!(trial.validity, Validity::Invalid(_)) && is_worth && !self.stop.load(Ordering::Relaxed) {
            trial = self.prepared.one_more(self.folder, &scheduled, self.listener)?;
        }
        if trial.validity.is_partial() {
            return Ok(None);
        }
        self.asked += 1;
        self.failures_in_a_row = if trial.log_tps().is_some() { 0 } else { self.failures_in_a_row + 1 };
        if self.failures_in_a_row >= FAILURES_IN_A_ROW_MAX {
            let reason = trial.validity.reason().map(ToString::to_string).unwrap_or_default();
            self.gave_up = Some(format!("{} trials in a row gave no result: {reason}", self.failures_in_a_row));
            return Ok(None);
        }
        Ok(Some(trial))
    }

    /// Written before the trial.
    fn schedule(&mut self, index: usize, block: u32, mixture: Mixture) -> Result<ScheduledTrial, LabError> {
        if let Some(scheduled) = self.experiment.schedule.get(index) {
            return Ok(scheduled.clone());
        }
        let scheduled = ScheduledTrial {
            name: format!("trial-{:04}", index + 1),
            block,
            position: index as u32,
            role: TrialRole::Cell,
            configuration: configuration(self.prepared.plan(), &self.explanation.factors, mixture),
        };
        self.experiment.schedule.push(scheduled.clone());
        self.explanation.mixtures.push(mixture.into());
        self.folder.write_experiment(&self.experiment)?;
        self.folder.write_explanation(&self.explanation)?;
        Ok(scheduled)
    }
}

impl TrialSource for MixtureTrials<'_, '_> {
    fn run(&mut self, batch: &Batch, so_far: &Findings) -> Option<Vec<Option<f64>>> {
        let names: Vec<_> = self.explanation.factors.iter().map(|factor| factor.name.clone()).collect();
        self.listener.event(&ExperimentEvent::Investigating {
            stage: batch.stage,
            left: batch.planned,
            so_far,
            factors: &names,
        });
        let block = self.experiment.schedule.get(self.asked).map_or_else(
            || self.experiment.schedule.last().map_or(0, |last| last.block + 1),
            |scheduled| scheduled.block,
        );
        let mut results = Vec::new();
        for mixture in &batch.mixtures {
            match self.measure(block, *mixture) {
                Ok(Some(trial)) => results.push(trial.log_tps()),
                Ok(None) => return None,
                Err(error) => {
                    self.gave_up = Some(error.to_string());
                    return None;
                }
            }
        }
        Some(results)
    }
}

/// Whether it does not have to run again.
fn is_over(trial: &Trial) -> bool {
    !trial.validity.is_partial()
}
