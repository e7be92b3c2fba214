//! An experiment that searches the highest rate which meets an objective.

use truetps_adaptive::Batch;
use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_rates::{RateFindings, RateOutcome, RateQuestion, RateReading};
use truetps_record::{
    CONNECTIONS, Configuration, Experiment, RATE, ScheduledTrial, SettingValue, Slo, Trial,
    TrialRole,
};

use crate::adaptive::{AdaptiveTrials, Measuring, NextTrial, recorded_findings};
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::{ExperimentRequest, Finished, PreparedExperiment, planned_experiment};
use crate::question::{objective, same_question, same_schedule};

/// After this many trials in a row without a result the search ends: further trials would have
/// none, either.
const FAILURES_IN_A_ROW_MAX: u32 = 3;

/// Searches the highest rate at which `slo` holds, with the plan's number of connections. Each
/// trial is recorded; each tried rate is added to the plan in the folder.
pub fn find_max(
    request: &ExperimentRequest<'_>,
    slo: &Slo,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = find_max_on(&mut prepared, request, slo, listener);
    prepared.end(finished, listener)
}

pub(crate) fn find_max_on<'p>(
    prepared: &mut PreparedExperiment<'p>,
    request: &'p ExperimentRequest<'p>,
    slo: &Slo,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let question = objective(Some(slo));
    let mut experiment = planned_experiment(request, prepared, Vec::new(), &question);
    experiment.slo = Some(slo.clone());
    let folder = prepared.create_folder(request.plan, &experiment, listener)?;
    let _lock = folder.lock()?;
    Ok(search(request, slo, prepared, (&folder, experiment), listener))
}

/// The plan for the rest of a search: the one in the folder has the rates that were tried. `None`:
/// it is answered. More trials of one whose results contradict each other would not decide it.
pub(crate) fn plan_of_rest(
    folder: &ExperimentFolder,
    experiment: &Experiment,
    request: &ExperimentRequest<'_>,
    slo: &Slo,
) -> Result<Option<Plan>, LabError> {
    same_question(folder, experiment, request, Some(RATE), &objective(Some(slo)))?;
    same_schedule(folder, experiment)?;
    let findings = recorded_rates(folder, experiment, slo, request.plan)?;
    match findings.outcome {
        RateOutcome::Answered => Ok(None),
        RateOutcome::Undecided => Err(LabError::SearchUndecided),
        RateOutcome::Unfinished => {
            let mut plan = request.plan.clone();
            plan.factors.shift_remove(RATE);
            Ok(Some(plan))
        }
    }
}

/// Whether more trials of a search would follow from what its folder has.
pub fn search_goes_on(folder: &ExperimentFolder, experiment: &Experiment, slo: &Slo) -> bool {
    let plan = folder.plan().map_err(LabError::NotResumed);
    let findings = plan.and_then(|plan| recorded_rates(folder, experiment, slo, &plan));
    findings.is_ok_and(|findings| findings.outcome == RateOutcome::Unfinished)
}

fn recorded_rates(
    folder: &ExperimentFolder,
    experiment: &Experiment,
    slo: &Slo,
    plan: &Plan,
) -> Result<RateFindings, LabError> {
    recorded_findings(&question_of(plan), &RateTrials::new(plan, slo), folder, experiment)
}

/// Searches on from what the folder has.
pub(crate) fn search<'p>(
    request: &'p ExperimentRequest<'p>,
    slo: &Slo,
    prepared: &mut PreparedExperiment<'p>,
    recorded: (&ExperimentFolder, Experiment),
    listener: &mut dyn Listener,
) -> Finished {
    let trials = RateTrials::new(request.plan, slo);
    let (findings, mut finished) =
        AdaptiveTrials::new(trials, request, prepared, recorded, listener)
            .investigate(&question_of(request.plan));
    if findings.outcome == RateOutcome::Undecided {
        finished.gave_up = Some(LabError::SearchUndecided.to_string());
    }
    finished
}

fn question_of(plan: &Plan) -> RateQuestion {
    RateQuestion { seed: plan.design.seed }
}

/// Rates become trials.
struct RateTrials<'a> {
    connections: SettingValue,
    slo: &'a Slo,
}

impl<'a> RateTrials<'a> {
    fn new(plan: &Plan, slo: &'a Slo) -> Self {
        Self { connections: plan.factors[CONNECTIONS][0].clone(), slo }
    }
}

impl Measuring<RateQuestion> for RateTrials<'_> {
    const FACTOR: Option<&'static str> = Some(RATE);
    /// A rate is asked for again instead, as a trial of its own.
    const REPEATS: bool = false;

    fn event<'e>(
        &'e self,
        batch: &Batch<RateQuestion>,
        so_far: &'e RateFindings,
    ) -> ExperimentEvent<'e> {
        ExperimentEvent::SearchingRate { stage: batch.stage, so_far }
    }

    fn trial(&self, rate: Option<f64>) -> NextTrial {
        let mut levels = [(CONNECTIONS.to_owned(), self.connections.clone())].into();
        let Some(rate) = rate else {
            let role = TrialRole::Pilot;
            return NextTrial { role, ..NextTrial::cell(Configuration { levels }) };
        };
        levels.insert(RATE.to_owned(), level(rate));
        NextTrial::cell(Configuration { levels })
    }

    fn reading(&self, trial: &Trial, listener: &mut dyn Listener) -> Option<RateReading> {
        let (reading, broken) = reading_of(trial, self.slo).ok()?;
        if let Some(rate) = trial.configuration.rate() {
            listener.event(&ExperimentEvent::RateTried { rate, broken: broken.as_deref() });
        }
        Some(reading)
    }

    /// Trials of a rate are numbered.
    fn block(&self, earlier: &[ScheduledTrial], first: &NextTrial) -> u32 {
        earlier.iter().filter(|other| other.configuration == first.configuration).count() as u32
    }

    fn gives_up(&self, trial: &Trial, failures_in_a_row: u32) -> Option<String> {
        let reason = reading_of(trial, self.slo).err()?;
        (failures_in_a_row >= FAILURES_IN_A_ROW_MAX).then(|| match trial.role {
            TrialRole::Pilot => LabError::NoPilot { reason }.to_string(),
            _ => LabError::SearchFailed { reason }.to_string(),
        })
    }
}

/// What a trial says about its rate, and why the objective did not hold. An error is why it says
/// nothing.
fn reading_of(trial: &Trial, slo: &Slo) -> Result<(RateReading, Option<String>), String> {
    if let Some(reason) = trial.validity.reason() {
        return Err(reason.to_string());
    }
    let measured = trial.measured.as_ref().ok_or("nothing was measured")?;
    let is_closed_loop = trial.configuration.rate().is_none();
    if is_closed_loop && measured.tps <= 0.0 {
        return Err("no transaction ended".to_owned());
    }
    let broken = if is_closed_loop { None } else { slo.not_kept_by(measured) };
    Ok((RateReading { tps: measured.tps, holds: broken.is_none() }, broken))
}

/// A rate in the plan's notation.
fn level(rate: f64) -> SettingValue {
    if rate.fract() == 0.0 { SettingValue::Int(rate as i64) } else { SettingValue::Float(rate) }
}
