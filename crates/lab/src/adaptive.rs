//! The trials of an experiment that decides on each trial after the earlier ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_record::{
    Configuration, DiskFacts, Experiment, ScheduledTrial, SettingValue, Trial, TrialRole, Validity,
};

use crate::error::{LabError, other_schedule};
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, ended};
use crate::schedule::trial_name;

/// After so many trials in a row without a result an experiment ends.
const FAILURES_IN_A_ROW_MAX: u32 = 8;

/// How the points of a question become trials, and trials their readings.
pub(crate) trait Measuring<Q: AdaptiveQuestion> {
    /// The factor whose levels are tried: the plan in the folder has those that were.
    const FACTOR: Option<&'static str> = None;
    /// Whether a trial that failed is run once more: it may have failed by chance.
    const REPEATS: bool = true;

    fn event<'e>(&'e self, batch: &Batch<Q>, so_far: &'e Q::Findings) -> ExperimentEvent<'e>;

    fn trial(&self, point: Q::Point) -> NextTrial;

    /// `None`: the trial says nothing about its point.
    fn reading(&self, trial: &Trial, listener: &mut dyn Listener) -> Option<Q::Reading>;

    /// The block of a batch that begins with this trial.
    fn block(&self, earlier: &[ScheduledTrial], _first: &NextTrial) -> u32 {
        earlier.last().map_or(0, |last| last.block + 1)
    }

    /// Why the experiment ends with this trial, after so many in a row without a reading.
    fn gives_up(&self, trial: &Trial, failures_in_a_row: u32) -> Option<String> {
        (failures_in_a_row >= FAILURES_IN_A_ROW_MAX).then(|| {
            let reason = trial.validity.reason().map(ToString::to_string).unwrap_or_default();
            format!("{failures_in_a_row} trials in a row gave no result: {reason}")
        })
    }
}

/// A trial that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NextTrial {
    pub(crate) role: TrialRole,
    pub(crate) configuration: Configuration,
    pub(crate) mixture: Option<String>,
}

impl NextTrial {
    /// One of the configurations that are compared.
    pub(crate) fn cell(configuration: Configuration) -> Self {
        Self { role: TrialRole::Cell, configuration, mixture: None }
    }

    fn is_scheduled_as(&self, scheduled: &ScheduledTrial) -> bool {
        let Self { role, configuration, mixture } = self;
        (*role, configuration, mixture)
            == (scheduled.role, &scheduled.configuration, &scheduled.mixture)
    }
}

/// What the trials of a folder say, before a server is prepared. An error if they are not those
/// that the question leads to, or if one is missing that others follow from.
pub(crate) fn recorded_findings<Q: AdaptiveQuestion, M: Measuring<Q>>(
    question: &Q,
    measuring: &M,
    folder: &ExperimentFolder,
    experiment: &Experiment,
) -> Result<Q::Findings, LabError> {
    let schedule = &experiment.schedule;
    let mut recorded = RecordedTrials { measuring, folder, schedule, known: 0, problem: None };
    let findings = question.investigate(&mut recorded);
    let known = recorded.known;
    if let Some(problem) = recorded.problem.take() {
        return Err(problem);
    }
    let Some(first) = schedule.get(known) else { return Ok(findings) };
    let has_ended = recorded.result_of(first)?.is_some();
    if !has_ended && known + 1 < schedule.len() {
        return Err(LabError::TrialMissing { name: first.name.clone() });
    }
    if has_ended { Err(not_led_to(first)) } else { Ok(findings) }
}

/// The results of an earlier command. They end with the first trial that has none.
struct RecordedTrials<'a, M> {
    measuring: &'a M,
    folder: &'a ExperimentFolder,
    schedule: &'a [ScheduledTrial],
    known: usize,
    problem: Option<LabError>,
}

impl<M> RecordedTrials<'_, M> {
    fn next<Q: AdaptiveQuestion>(&self, point: Q::Point) -> Result<Option<Trial>, LabError>
    where
        M: Measuring<Q>,
    {
        let Some(scheduled) = self.schedule.get(self.known) else { return Ok(None) };
        if !self.measuring.trial(point).is_scheduled_as(scheduled) {
            return Err(not_led_to(scheduled));
        }
        self.result_of(scheduled)
    }

    /// `None`: the trial has not ended.
    fn result_of(&self, scheduled: &ScheduledTrial) -> Result<Option<Trial>, LabError> {
        let trial = self.folder.trial(&scheduled.name).map_err(LabError::NotResumed)?;
        Ok(trial.filter(|trial| !trial.validity.is_partial()))
    }
}

impl<Q: AdaptiveQuestion, M: Measuring<Q>> Source<Q> for RecordedTrials<'_, M> {
    fn run(&mut self, batch: &Batch<Q>, _: &Q::Findings) -> Option<Vec<Option<Q::Reading>>> {
        let mut readings = Vec::new();
        for point in &batch.points {
            match self.next(*point) {
                Ok(trial) => readings.push(self.measuring.reading(&trial?, &mut Unheard)),
                Err(problem) => {
                    self.problem = Some(problem);
                    return None;
                }
            }
            self.known += 1;
        }
        Some(readings)
    }
}

fn not_led_to(scheduled: &ScheduledTrial) -> LabError {
    other_schedule(format!("{} is not what the results before it lead to", scheduled.name))
}

/// A listener for results that were told when they were measured.
struct Unheard;

impl Listener for Unheard {
    fn event(&mut self, _: &ExperimentEvent<'_>) {}
}

/// Why no more trials follow.
enum End {
    /// The user has stopped it, or its time is over.
    Stopped,
    GaveUp(String),
}

impl From<LabError> for End {
    fn from(error: LabError) -> Self {
        Self::GaveUp(error.to_string())
    }
}

/// Measures what a question asks for, unless the folder has it: each trial is in the schedule
/// before it begins.
pub(crate) struct AdaptiveTrials<'a, 'p, M> {
    measuring: M,
    prepared: &'a mut PreparedExperiment<'p>,
    folder: &'a ExperimentFolder,
    experiment: Experiment,
    plan: &'p Plan,
    stop: &'p AtomicBool,
    listener: &'a mut dyn Listener,
    /// When the time is over.
    until: Option<Instant>,
    /// Trials that have been asked for.
    asked: usize,
    failures_in_a_row: u32,
    gave_up: Option<String>,
}

impl<'a, 'p, M> AdaptiveTrials<'a, 'p, M> {
    pub(crate) fn new(
        measuring: M,
        request: &'p ExperimentRequest<'p>,
        prepared: &'a mut PreparedExperiment<'p>,
        (folder, experiment): (&'a ExperimentFolder, Experiment),
        listener: &'a mut dyn Listener,
    ) -> Self {
        Self {
            measuring,
            prepared,
            folder,
            experiment,
            plan: request.plan,
            stop: request.stop,
            listener,
            until: None,
            asked: 0,
            failures_in_a_row: 0,
            gave_up: None,
        }
    }

    #[must_use]
    pub(crate) fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }

    /// Measures until the question is answered, or the experiment ends.
    pub(crate) fn investigate<Q: AdaptiveQuestion>(
        mut self,
        question: &Q,
    ) -> (Q::Findings, Finished)
    where
        M: Measuring<Q>,
    {
        let findings = question.investigate(&mut self);
        let folder = self.folder.clone();
        (findings, Finished { folder, gave_up: self.gave_up, not_left: None })
    }

    /// What the trial gives, measured or known.
    fn measure<Q: AdaptiveQuestion>(
        &mut self,
        block: u32,
        next: NextTrial,
    ) -> Result<Option<Q::Reading>, End>
    where
        M: Measuring<Q>,
    {
        if let Some(trial) = self.known(&next)? {
            self.asked += 1;
            return Ok(self.measuring.reading(&trial, self.listener));
        }
        if self.is_over() {
            return Err(End::Stopped);
        }
        let scheduled = self.schedule(block, next, M::FACTOR)?;
        let mut trial = self.prepared.one_more(self.folder, &scheduled, self.listener)?;
        self.record_disks()?;
        // A load that failed may have failed by chance. A server that does not start will not start
        // again.
        let is_worth = trial.measured.is_some() || trial.engine.is_some();
        let has_failed = matches!(trial.validity, Validity::Invalid(_));
        if M::REPEATS && has_failed && is_worth && !self.stop.load(Ordering::Relaxed) {
            trial = self.prepared.one_more(self.folder, &scheduled, self.listener)?;
        }
        // Interrupted requests were not answered.
        if trial.validity.is_partial() {
            return Err(End::Stopped);
        }
        self.asked += 1;
        let reading = self.measuring.reading(&trial, self.listener);
        if reading.is_some() {
            self.failures_in_a_row = 0;
            return Ok(reading);
        }
        self.failures_in_a_row += 1;
        match self.measuring.gives_up(&trial, self.failures_in_a_row) {
            Some(reason) => Err(End::GaveUp(reason)),
            None => Ok(None),
        }
    }

    /// The trial of an earlier command; an error if another one was scheduled in its place.
    fn known(&mut self, next: &NextTrial) -> Result<Option<Trial>, LabError> {
        let Some(scheduled) = self.experiment.schedule.get(self.asked) else { return Ok(None) };
        if !next.is_scheduled_as(scheduled) {
            return Err(not_led_to(scheduled));
        }
        let trial = ended(self.folder, &scheduled.name)?;
        if let Some(trial) = &trial {
            self.prepared.learn(self.folder, trial)?;
        }
        Ok(trial)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Records disks that are measured when the first server on them is prepared. An earlier
    /// command's stay as they are.
    fn record_disks(&mut self) -> Result<(), LabError> {
        let known = &self.experiment.disks;
        let mut new: Vec<DiskFacts> = self.prepared.provider.disks().to_vec();
        new.retain(|disk| known.iter().all(|other| other.profile != disk.profile));
        if !new.is_empty() {
            self.experiment.disks.extend(new);
            self.folder.write_experiment(&self.experiment)?;
        }
        Ok(())
    }

    /// Its place in the schedule, which is written before the trial.
    fn schedule(
        &mut self,
        block: u32,
        next: NextTrial,
        factor: Option<&str>,
    ) -> Result<ScheduledTrial, LabError> {
        if let Some(scheduled) = self.experiment.schedule.get(self.asked) {
            return Ok(scheduled.clone());
        }
        let NextTrial { role, configuration, mixture } = next;
        let scheduled = ScheduledTrial {
            name: trial_name(self.asked),
            block,
            position: self.asked as u32,
            role,
            configuration,
            mixture,
        };
        let tried =
            factor.map_or(0, |factor| levels_tried(&self.experiment.schedule, factor).len());
        self.experiment.schedule.push(scheduled.clone());
        if let Some(factor) = factor {
            let levels = levels_tried(&self.experiment.schedule, factor);
            // A closed loop has no rate, and a plan no factor without a level.
            if levels.len() > tried {
                let mut plan = self.plan.clone();
                plan.factors.insert(factor.to_owned(), levels);
                self.folder.write_plan(&plan)?;
            }
        }
        self.folder.write_experiment(&self.experiment)?;
        Ok(scheduled)
    }
}

impl<Q: AdaptiveQuestion, M: Measuring<Q>> Source<Q> for AdaptiveTrials<'_, '_, M> {
    /// Measures a batch in its order, as one block.
    fn run(&mut self, batch: &Batch<Q>, so_far: &Q::Findings) -> Option<Vec<Option<Q::Reading>>> {
        self.listener.event(&self.measuring.event(batch, so_far));
        let Some(first) = batch.points.first() else { return Some(Vec::new()) };
        let first = self.measuring.trial(*first);
        let block = match self.experiment.schedule.get(self.asked) {
            Some(scheduled) => scheduled.block,
            None => self.measuring.block(&self.experiment.schedule, &first),
        };
        let mut readings = Vec::new();
        for point in &batch.points {
            match self.measure(block, self.measuring.trial(*point)) {
                Ok(reading) => readings.push(reading),
                Err(End::Stopped) => return None,
                Err(End::GaveUp(reason)) => {
                    self.gave_up = Some(reason);
                    return None;
                }
            }
        }
        Some(readings)
    }
}

/// The levels of a factor in these trials, rising.
fn levels_tried(schedule: &[ScheduledTrial], factor: &str) -> Vec<SettingValue> {
    let mut levels: Vec<_> =
        schedule.iter().filter_map(|one| one.configuration.levels.get(factor)).cloned().collect();
    levels.sort_by(|a, b| {
        a.as_number().unwrap_or_default().total_cmp(&b.as_number().unwrap_or_default())
    });
    levels.dedup();
    levels
}
