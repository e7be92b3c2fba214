//! An experiment that searches the highest rate which meets an objective.

use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_record::{
    CONNECTIONS, Configuration, EngineFacts, Experiment, RATE, ScheduledTrial, SettingValue, Slo,
    Trial, TrialRole, Validity,
};

use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, planned_experiment};
use crate::search::{Search, SearchStep};

/// A closed loop measures the server's maximum; an open loop at that rate has a queue that never empties.
const FIRST_SHARE: f64 = 0.8;
/// After this many inconclusive trials in a row the search ends: further trials would be inconclusive, too.
const FAILURES_IN_A_ROW_MAX: u32 = 3;

/// Searches the highest rate at which `slo` holds, with the plan's number of connections. Each trial is recorded; each
/// tried rate is added to the plan in the folder.
pub fn find_max(
    request: &ExperimentRequest<'_>,
    slo: &Slo,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = find_max_on(&mut prepared, request, slo, listener);
    prepared.end(finished, listener)
}

pub(crate) fn find_max_on(
    prepared: &mut PreparedExperiment<'_>,
    request: &ExperimentRequest<'_>,
    slo: &Slo,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let mut plan = request.plan.clone();
    plan.factors.insert(RATE.to_owned(), Vec::new());
    let mut experiment = planned_experiment(request, prepared, Vec::new());
    experiment.slo = Some(slo.clone());
    let folder = prepared.create_folder(request.plan, &experiment, listener)?;
    let _lock = folder.lock()?;
    let mut records = Records { folder, plan, experiment };
    let gave_up = search(prepared, &mut records, slo, listener).err();
    let gave_up = gave_up
        .filter(|error| !matches!(error, LabError::Interrupted))
        .map(|error| error.to_string());
    Ok(Finished { folder: records.folder, gave_up, not_left: None })
}

struct Records {
    folder: ExperimentFolder,
    plan: Plan,
    experiment: Experiment,
}

fn search(
    prepared: &mut PreparedExperiment<'_>,
    records: &mut Records,
    slo: &Slo,
    listener: &mut dyn Listener,
) -> Result<(), LabError> {
    let pilot = records.run_trial_at(prepared, None, listener)?;
    let most = pilot.measured.as_ref().map_or(0.0, |measured| measured.tps);
    if !pilot.validity.is_valid() || most <= 0.0 {
        let reason =
            pilot.validity.reason().map_or("no transaction ended".to_owned(), ToString::to_string);
        return Err(LabError::NoPilot { reason });
    }
    let mut search = Search::new(most * FIRST_SHARE);
    let mut failures_in_a_row = 0;
    loop {
        match search.next() {
            SearchStep::Try(rate) => {
                let trial = records.run_trial_at(prepared, Some(rate), listener)?;
                if let Some(reason) = failure(&trial) {
                    failures_in_a_row += 1;
                    if failures_in_a_row == FAILURES_IN_A_ROW_MAX {
                        return Err(LabError::SearchFailed { reason });
                    }
                    continue;
                }
                failures_in_a_row = 0;
                let broken = broken_by(&trial, slo);
                listener.event(&ExperimentEvent::RateTried { rate, broken: broken.as_deref() });
                search.heard(rate, broken.is_none());
            }
            SearchStep::Found(_) => return Ok(()),
            SearchStep::GivenUp => return Err(LabError::SearchUndecided),
        }
    }
}

/// Why a trial is inconclusive about its rate: the server could not be prepared or died, clients were missing, or the
/// load generator was suspended.
fn failure(trial: &Trial) -> Option<String> {
    let had_all =
        |engine: &EngineFacts| engine.clients_failed == 0 && engine.suspensions.is_empty();
    let was_driven = trial.engine.as_ref().is_some_and(had_all);
    match &trial.validity {
        Validity::Invalid(reason) if trial.measured.is_none() || !was_driven => {
            Some(reason.to_string())
        }
        _ => None,
    }
}

/// Why the objective was not met in a trial.
fn broken_by(trial: &Trial, slo: &Slo) -> Option<String> {
    if let Validity::Invalid(reason) | Validity::Partial(reason) = &trial.validity {
        return Some(reason.to_string());
    }
    let Some(measured) = &trial.measured else { return Some("nothing was measured".to_owned()) };
    if measured.sustained == Some(false) {
        return Some("not sustained".to_owned());
    }
    slo.broken_by(measured)
}

impl Records {
    /// One more trial: a closed loop if there is no rate.
    fn run_trial_at(
        &mut self,
        prepared: &mut PreparedExperiment<'_>,
        rate: Option<f64>,
        listener: &mut dyn Listener,
    ) -> Result<Trial, LabError> {
        let scheduled = self.schedule(rate);
        self.experiment.schedule.push(scheduled.clone());
        if let Some(level) = rate.map(level) {
            let levels = self.plan.factors.entry(RATE.to_owned()).or_default();
            if !levels.contains(&level) {
                levels.push(level);
                let number = |level: &SettingValue| level.as_number().unwrap_or_default();
                levels.sort_by(|a, b| number(a).total_cmp(&number(b)));
            }
            self.folder.write_plan(&self.plan)?;
        }
        self.folder.write_experiment(&self.experiment)?;
        let trial = prepared.one_more(&self.folder, &scheduled, listener)?;
        // Interrupted requests were not answered.
        if matches!(trial.validity, Validity::Partial(_)) {
            return Err(LabError::Interrupted);
        }
        Ok(trial)
    }

    fn schedule(&self, rate: Option<f64>) -> ScheduledTrial {
        let connections = self.plan.factors[CONNECTIONS][0].clone();
        let mut configuration =
            Configuration { levels: [(CONNECTIONS.to_owned(), connections)].into() };
        if let Some(rate) = rate {
            configuration.levels.insert(RATE.to_owned(), level(rate));
        }
        let earlier = |other: &&ScheduledTrial| other.configuration == configuration;
        let block = self.experiment.schedule.iter().filter(earlier).count() as u32;
        ScheduledTrial {
            name: format!("trial-{:04}", self.experiment.schedule.len() + 1),
            block,
            position: self.experiment.schedule.len() as u32,
            role: if rate.is_some() { TrialRole::Cell } else { TrialRole::Pilot },
            configuration,
        }
    }
}

/// A rate in the plan's notation.
fn level(rate: f64) -> SettingValue {
    if rate.fract() == 0.0 { SettingValue::Int(rate as i64) } else { SettingValue::Float(rate) }
}
