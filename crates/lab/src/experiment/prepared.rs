//! The life of an experiment: check, prepare, record the schedule, run the trials.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::Value;
use truetps_engine::LoadSpec;
use truetps_folder::{ExperimentFolder, FolderError, TrialWriter};
use truetps_plan::{Plan, WorkloadSpec};
use truetps_probe::{RunPresence, clock};
use truetps_record::{
    Experiment, HostFacts, NoEvidence, PartOfExperiment, Protocol, ScheduledTrial, ServerFacts,
    SqlDialect, Trial, Validity, WorkloadProfile, is_workload_factor,
};
use truetps_recording::{
    ExperimentStart, TrialEvent, TrialPlace, new_experiment, new_trial, other_run_warning,
};
use truetps_sandbox::ServerLoad;
use truetps_trial::{FAILED_SHARE_MAX, RanTrial, StartGate, TrialContext, load_of};
use truetps_workload::Workload;

use crate::error::{LabError, unless_stopped};
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::duration::Remaining;
use crate::experiment::repeats::Repeats;
use crate::experiment::request::ExperimentRequest;
use crate::experiment::setup::{PreparedParts, PreparedServers, prepare_external_server, private};
use crate::experiment::trial_events::TrialEvents;
use crate::extension::{extend, record};
use crate::external::parts::Meeting;
use crate::external::{LoadVolume, unique_id};
use crate::question::{asked, objective};
use crate::schedule::schedule;
use crate::trial::evidence::{ServerState, TrialEvidence};
use crate::trial::ready_server::ReadyServer;
use crate::trial::server_provider::{ServerProvider, ServerSource};

/// After this many invalid trials in a row the experiment ends: the remaining trials would fail,
/// too.
const FAILURES_IN_A_ROW_MAX: u32 = 5;
/// The largest value of the servers' `max_prepared_stmt_count`.
const PREPARED_STATEMENTS_MAX: u64 = 1_048_576;

/// An experiment that has ended, complete or not.
#[derive(Debug)]
pub struct Finished {
    pub folder: ExperimentFolder,
    /// Why it ended early, unless the user ended it.
    pub gave_up: Option<String>,
    /// Why an external server could not be restored.
    pub not_left: Option<LabError>,
}

/// Runs a new experiment.
pub fn start(
    request: &ExperimentRequest<'_>,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let mut prepared = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = start_on(&mut prepared, request, listener);
    prepared.end(finished, listener)
}

pub(crate) fn start_on(
    prepared: &mut PreparedExperiment<'_>,
    request: &ExperimentRequest<'_>,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let experiment = match prepared.joined_experiment() {
        Some(joined) => joined,
        None => planned_experiment(request, prepared, schedule(request.plan), &objective(None)),
    };
    let folder = prepared.create_folder(request.plan, &experiment, listener)?;
    let _lock = folder.lock()?;
    prepared.invite_parts(&experiment)?;
    prepared.run_all(&folder, experiment, listener)
}

/// What is recorded before the first trial. `question`: what decides about the trials besides the
/// plan.
pub(crate) fn planned_experiment(
    request: &ExperimentRequest<'_>,
    prepared: &PreparedExperiment<'_>,
    schedule: Vec<ScheduledTrial>,
    question: &Value,
) -> Experiment {
    let (sandbox_dir, server_address) = match request.source {
        ServerSource::Private { home, .. } => (Some(home.path().display().to_string()), None),
        ServerSource::Given(external) => (None, Some(external.target.to_string())),
    };
    Experiment {
        quick: request.quick,
        servers: if prepared.servers.len() > 1 { prepared.servers.clone() } else { Vec::new() },
        couplings: prepared.provider.couplings().to_vec(),
        disks: prepared.provider.disks().to_vec(),
        random_order: true,
        // A part of a load cannot go on alone.
        asked: prepared.parts.is_none().then(|| Box::new(asked(request, question))),
        external: prepared.provider.external_facts().cloned(),
        part: prepared.parts.is_some().then(|| PartOfExperiment {
            part: request.source.part(),
            pid: std::process::id(),
            meeting: unique_id(),
        }),
        ..new_experiment(ExperimentStart {
            plan: request.plan,
            tool_version: request.tool_version,
            workers: request.workers,
            host: prepared.host.clone(),
            server: prepared.servers.first().cloned(),
            sandbox_dir,
            server_address,
            schedule,
            command: request.command.clone(),
        })
    }
}

/// Everything that trials need to run.
pub(crate) struct PreparedExperiment<'a> {
    request: &'a ExperimentRequest<'a>,
    pub(crate) host: HostFacts,
    pub(crate) servers: Vec<ServerFacts>,
    pub(crate) provider: Box<dyn ServerProvider + 'a>,
    workload: Arc<dyn Workload>,
    presence: RunPresence,
    /// Only for an external server.
    volume: Option<LoadVolume>,
    parts: Option<PreparedParts<'a>>,
    /// OS threads of the load generator, the same in all parts.
    workers: u32,
    /// Each workload that a trial has used so far.
    profiles: Vec<(WorkloadSpec, SqlDialect, WorkloadProfile)>,
    repeats: Repeats,
}

impl<'a> PreparedExperiment<'a> {
    /// Checks everything that can be checked, then prepares the servers; records go below
    /// `records`. After an error nothing has been measured.
    pub(crate) fn set_up(
        request: &'a ExperimentRequest<'a>,
        records: &Path,
        listener: &mut dyn Listener,
    ) -> Result<Self, LabError> {
        let plan = request.plan;
        let workload = truetps_workload::build(
            &plan.largest_workload(),
            request.source.dialect(None),
            plan.design.seed,
        )?;
        let statements = if plan.workload.protocol == Protocol::Prepared {
            workload.statements().len()
        } else {
            0
        };
        let in_all = u64::from(plan.connections_max()) * statements as u64;
        if in_all > PREPARED_STATEMENTS_MAX {
            return Err(LabError::TooManyStatements { in_all });
        }
        let presence = RunPresence::announce(command_word(request));
        for other in presence.meet(presence.others(), &mut Vec::new()) {
            listener.warn(other_run_warning(&other));
        }
        let load = ServerLoad {
            connections_max: plan.connections_max(),
            statements_per_connection: statements as u32,
        };
        let prepared = match request.source {
            ServerSource::Private { home, programs, disks } => {
                private(request, home, programs, disks, records, load, listener)?
            }
            ServerSource::Given(external) => {
                prepare_external_server(request, external, records, load, &*workload, listener)?
            }
        };
        Ok(Self::on(prepared, request, workload, presence))
    }

    /// On servers that are prepared.
    pub(crate) fn on(
        servers: PreparedServers<'a>,
        request: &'a ExperimentRequest<'a>,
        workload: Arc<dyn Workload>,
        presence: RunPresence,
    ) -> Self {
        let PreparedServers { provider, host, servers, parts } = servers;
        let joined = parts.as_ref().and_then(|parts| parts.experiment.as_ref());
        let workers = joined.map_or(request.workers, |experiment| experiment.workers);
        let volume = provider.external_facts().map(|facts| LoadVolume::new(request.plan, facts));
        Self {
            request,
            host,
            servers,
            provider,
            workload,
            presence,
            volume,
            parts,
            workers,
            profiles: Vec::new(),
            repeats: Repeats::default(),
        }
    }

    /// The experiment that part 0 has planned, as this other part records it.
    fn joined_experiment(&self) -> Option<Experiment> {
        let PreparedParts { meeting, experiment, .. } = self.parts.as_ref()?;
        let of_first = experiment.clone()?;
        let part = meeting.borrow().part();
        Some(Experiment {
            created_at: clock::now_rfc3339(),
            host: self.host.clone(),
            command: self.request.command.clone(),
            part: of_first.part.as_ref().map(|first| PartOfExperiment {
                part,
                pid: std::process::id(),
                ..first.clone()
            }),
            ..of_first
        })
    }

    /// Part 0 lets the others come.
    fn invite_parts(&self, experiment: &Experiment) -> Result<(), LabError> {
        match &self.parts {
            Some(PreparedParts { meeting, experiment: None, sessions }) => {
                meeting.borrow_mut().invite(&self.request.plan.to_toml(), sessions, experiment)
            }
            _ => Ok(()),
        }
    }

    /// The folder of a new experiment, unless the user has ended it before its first trial.
    pub(crate) fn create_folder(
        &self,
        plan: &Plan,
        experiment: &Experiment,
        listener: &mut dyn Listener,
    ) -> Result<ExperimentFolder, LabError> {
        unless_stopped(self.request.stop)?;
        let name = format!("{}-{}", plan.name, clock::folder_stamp());
        let folder = ExperimentFolder::create(self.request.runs, &name, plan, experiment)?;
        folder.not_latest().into_iter().for_each(|warning| listener.warn(warning.to_owned()));
        Ok(folder)
    }

    /// No trial follows: restores the external server, or reports why that failed.
    pub(crate) fn end(
        &mut self,
        finished: Result<Finished, LabError>,
        listener: &mut dyn Listener,
    ) -> Result<Finished, LabError> {
        self.parts.iter().for_each(|parts| parts.meeting.borrow_mut().leave());
        let not_left = self.provider.leave(listener);
        match finished {
            Ok(finished) => Ok(Finished { not_left, ..finished }),
            Err(error) => Err(error.and_not_left(not_left)),
        }
    }

    /// Runs one trial of an experiment that plans as it goes.
    pub(crate) fn one_more(
        &mut self,
        folder: &ExperimentFolder,
        scheduled: &ScheduledTrial,
        listener: &mut dyn Listener,
    ) -> Result<Trial, LabError> {
        let index = scheduled.position as usize;
        let place = TrialPlace { trial: scheduled, index, of: None, left: None };
        listener.event(&ExperimentEvent::Trial(place, TrialEvent::Begins));
        let trial = self.trial(folder, place, listener)?;
        listener.event(&ExperimentEvent::Trial(place, TrialEvent::Ends(&trial)));
        Ok(trial)
    }

    /// Runs all trials that are missing, and more blocks as long as they are asked for.
    pub(crate) fn run_all(
        &mut self,
        folder: &ExperimentFolder,
        mut experiment: Experiment,
        listener: &mut dyn Listener,
    ) -> Result<Finished, LabError> {
        self.learn_from(folder, &experiment)?;
        loop {
            let todo = missing(folder, &experiment)?;
            let done = experiment.schedule.len() - todo.len();
            let finished = self.run(folder, &todo, done, listener);
            let is_over = finished.gave_up.is_some() || self.request.stop.load(Ordering::Relaxed);
            let more = self.request.more.filter(|_| !is_over).and_then(|ask| ask(folder));
            let Some(more) = more else { return Ok(finished) };
            let plan = extend(&mut experiment, self.request.plan, &more, &self.request.command)?;
            record(folder, &plan, &experiment)?;
        }
    }

    /// What disturbed the trials of earlier commands.
    fn learn_from(
        &mut self,
        folder: &ExperimentFolder,
        experiment: &Experiment,
    ) -> Result<(), LabError> {
        for scheduled in &experiment.schedule {
            if let Some(trial) = ended(folder, &scheduled.name)? {
                self.learn(folder, &trial)?;
            }
        }
        Ok(())
    }

    /// What disturbed a trial of an earlier command.
    pub(crate) fn learn(
        &mut self,
        folder: &ExperimentFolder,
        trial: &Trial,
    ) -> Result<(), LabError> {
        Ok(self.repeats.learn(folder, trial)?)
    }

    /// Runs these trials in order; `done` trials finished earlier.
    pub(crate) fn run(
        &mut self,
        folder: &ExperimentFolder,
        todo: &[&ScheduledTrial],
        done: usize,
        listener: &mut dyn Listener,
    ) -> Finished {
        let of = done + todo.len();
        let mut remaining = Remaining::new(self.request.plan, todo);
        let mut failures_in_a_row = 0;
        let mut gave_up = None;
        for (n, scheduled) in todo.iter().enumerate() {
            if self.request.stop.load(Ordering::Relaxed) {
                break;
            }
            let (left, began) = (Some(remaining.remaining_time()), Instant::now());
            self.volume.iter_mut().for_each(|volume| volume.expect(todo.len() - n));
            let place = TrialPlace { trial: scheduled, index: done + n, of: Some(of), left };
            listener.event(&ExperimentEvent::Trial(place, TrialEvent::Begins));
            let trial = match self.trial(folder, place, listener) {
                Ok(trial) => trial,
                // What was measured so far is on disk and can be reported.
                Err(error) => {
                    gave_up = Some(format!("{}: {error}", scheduled.name));
                    break;
                }
            };
            remaining.trial_took(began.elapsed());
            let place = TrialPlace { left: Some(remaining.remaining_time()), ..place };
            listener.event(&ExperimentEvent::Trial(place, TrialEvent::Ends(&trial)));
            failures_in_a_row = if matches!(trial.validity, Validity::Invalid(_)) {
                failures_in_a_row + 1
            } else {
                0
            };
            if failures_in_a_row == FAILURES_IN_A_ROW_MAX && n + 1 < todo.len() {
                let reason = trial.validity.reason().map(ToString::to_string).unwrap_or_default();
                gave_up = Some(format!(
                    "{failures_in_a_row} trials in a row were invalid; the last reason: {reason}"
                ));
                break;
            }
        }
        Finished { folder: folder.clone(), gave_up, not_left: None }
    }

    /// One trial, measured again if something has disturbed it. An error concerns the folder.
    fn trial(
        &mut self,
        folder: &ExperimentFolder,
        place: TrialPlace<'_>,
        listener: &mut dyn Listener,
    ) -> Result<Trial, LabError> {
        let trial = self.attempt(folder, place, None, listener)?;
        // The parts of a load measure together, and a host that is shared on purpose stays so.
        let is_final = self.parts.is_some() || self.presence.is_apart();
        if is_final || self.request.stop.load(Ordering::Relaxed) {
            return Ok(trial);
        }
        let Some(reason) = self.repeats.reason_for_another(&trial) else { return Ok(trial) };
        listener.warn(format!("{}: {reason}: measured again", trial.name));
        let again = self.attempt(folder, place, Some(reason), listener)?;
        if again.validity.is_valid() {
            return Ok(again);
        }
        folder.restore_attempt(&trial.name)?;
        let why = again.validity.reason().map(ToString::to_string).unwrap_or_default();
        listener.warn(format!(
            "{}: the repeat is not valid ({why}): the first attempt counts",
            trial.name
        ));
        Ok(trial)
    }

    /// A trial from its folder to its `run.json`.
    fn attempt(
        &mut self,
        folder: &ExperimentFolder,
        place: TrialPlace<'_>,
        repeated_after: Option<String>,
        listener: &mut dyn Listener,
    ) -> Result<Trial, LabError> {
        let mut events = TrialEvents::new(place, listener);
        let scheduled = place.trial;
        let workload = self.workload_of(scheduled)?;
        let meeting = self.parts.as_ref().map(|parts| Rc::clone(&parts.meeting));
        if let Some(meeting) = &meeting {
            meeting.borrow_mut().begin_round(&scheduled.name)?;
        }
        let request = self.request;
        let mut trial = new_trial(
            request.plan,
            scheduled,
            self.server_of(scheduled).cloned(),
            request.tool_version,
        );
        trial.profile = Some(self.profile_of(scheduled, &*workload));
        trial.repeated_after = repeated_after;
        let mut writer = folder.begin_trial(&trial)?;
        let mut evidence = TrialEvidence::new();
        match self.provider.ready(&scheduled.configuration, events.listener) {
            Err(LabError::Interrupted) => {
                evidence.load = Validity::partial(NoEvidence::Interrupted);
            }
            Err(error) => {
                evidence.load =
                    Validity::invalid(NoEvidence::ServerNotPrepared { error: error.to_string() });
            }
            Ok(mut server) => {
                if let Some(meeting) = &meeting {
                    meeting
                        .borrow_mut()
                        .server_is_prepared(&scheduled.name, &server.session_settings())?;
                }
                let start = meeting.as_ref().map(|meeting| {
                    || meeting.borrow_mut().start().map_err(|problem| problem.to_string())
                });
                let load = TrialLoad {
                    request,
                    workload: &*workload,
                    presence: &self.presence,
                    volume: self.volume.as_mut(),
                    gate: start.as_ref().map(|start| start as &StartGate<'_>),
                    workers: self.workers,
                };
                (trial, writer) =
                    load.run(&mut *server, trial, writer, &mut evidence, &mut events)?;
            }
        }
        // The parts hear of the load alone.
        evidence.awaits_check = false;
        if let Some(meeting) = &meeting {
            evidence.parts = end_round(meeting, &evidence);
            trial.start = meeting.borrow().common_start();
            trial.leave_out_work_of_other_parts();
        }
        if trial.measured.is_some() {
            evidence.trouble = self.provider.trouble(&scheduled.configuration, listener);
        }
        if !evidence.is_server_usable() {
            self.provider.discard();
        }
        write_trial(&mut trial, &evidence, &writer)?;
        Ok(trial)
    }

    /// The statements of this trial's clients: a factor may change the workload, and another server
    /// may use another dialect.
    fn workload_of(&self, scheduled: &ScheduledTrial) -> Result<Arc<dyn Workload>, LabError> {
        let (plan, source) = (self.request.plan, &self.request.source);
        let dialect = source.dialect(scheduled.configuration.server());
        if dialect == source.dialect(None)
            && !plan.factors.keys().any(|name| is_workload_factor(name))
        {
            return Ok(Arc::clone(&self.workload));
        }
        let spec = plan.workload_of(&scheduled.configuration);
        Ok(truetps_workload::build(&spec, dialect, plan.design.seed)?)
    }

    /// Runs before anything is measured, once for all trials that send the same statements.
    fn profile_of(
        &mut self,
        scheduled: &ScheduledTrial,
        workload: &dyn Workload,
    ) -> WorkloadProfile {
        let spec = self.request.plan.workload_of(&scheduled.configuration);
        let dialect = self.request.source.dialect(scheduled.configuration.server());
        let known = self.profiles.iter().find(|(one, of, _)| *one == spec && *of == dialect);
        if let Some((_, _, profile)) = known {
            return *profile;
        }
        let profile = truetps_workload::profile(workload);
        self.profiles.push((spec, dialect, profile));
        profile
    }

    fn server_of(&self, scheduled: &ScheduledTrial) -> Option<&ServerFacts> {
        let name = scheduled.configuration.server();
        self.servers.iter().find(|server| name.is_none() || server.name.as_deref() == name)
    }
}

/// A trial that is not partial. Where a repeat was killed, the first attempt counts again.
pub(crate) fn ended(folder: &ExperimentFolder, name: &str) -> Result<Option<Trial>, FolderError> {
    let mut trial = folder.trial(name)?;
    if trial.as_ref().is_some_and(|one| one.validity.is_partial() && one.repeated_after.is_some()) {
        folder.restore_attempt(name)?;
        trial = folder.trial(name)?;
    }
    Ok(trial.filter(|trial| !trial.validity.is_partial()))
}

/// The trials of the schedule that have no valid result.
pub(crate) fn missing<'e>(
    folder: &ExperimentFolder,
    experiment: &'e Experiment,
) -> Result<Vec<&'e ScheduledTrial>, LabError> {
    let mut missing = Vec::new();
    for scheduled in &experiment.schedule {
        let is_done =
            ended(folder, &scheduled.name)?.is_some_and(|trial| trial.validity.is_valid());
        if !is_done {
            missing.push(scheduled);
        }
    }
    Ok(missing)
}

/// Tells the other parts how this one ended, and learns how they did: why the whole load is no
/// evidence.
fn end_round(meeting: &RefCell<Meeting<'_>>, evidence: &TrialEvidence) -> Option<String> {
    let own = evidence.validity().reason().map(ToString::to_string);
    meeting.borrow_mut().end_round(own.as_deref()).map(|problem| problem.to_string())
}

/// Writes the trial, with the validity that follows from what is known of it so far.
fn write_trial(
    trial: &mut Trial,
    evidence: &TrialEvidence,
    writer: &TrialWriter,
) -> Result<(), FolderError> {
    trial.validity = evidence.validity();
    writer.write_trial(trial)
}

/// The load of one trial, on a server that is ready for it.
struct TrialLoad<'a> {
    request: &'a ExperimentRequest<'a>,
    workload: &'a dyn Workload,
    presence: &'a RunPresence,
    volume: Option<&'a mut LoadVolume>,
    gate: Option<&'a StartGate<'a>>,
    workers: u32,
}

impl TrialLoad<'_> {
    /// Runs it, and writes the trial and the server's files. An error concerns the folder.
    fn run(
        mut self,
        server: &mut dyn ReadyServer<'_>,
        mut trial: Trial,
        writer: TrialWriter,
        evidence: &mut TrialEvidence,
        events: &mut TrialEvents<'_, '_>,
    ) -> Result<(Trial, TrialWriter), LabError> {
        let request = self.request;
        trial.notes.append(&mut server.take_notes());
        let (target, server_pid) = server.address();
        let context = TrialContext {
            load: LoadSpec {
                part: request.source.part(),
                ..load_of(request.plan, &trial.configuration, self.workers, &request.pin.generator)
            },
            protocol: request.plan.workload.protocol,
            workload: self.workload,
            service: None,
            target,
            server_pid,
            stop: request.stop,
            failed_share_max: FAILED_SHARE_MAX,
            presence: self.presence,
            gate: self.gate,
            // One session watches the server, not one a part.
            probe: request.source.part().is_first().then_some(&request.plan.probe),
        };
        if let Some(volume) = &mut self.volume {
            events.warn(volume.begin(&mut || server.logged_so_far()));
        }
        let ran = server.run_load(&context, trial, writer, &mut |event| {
            if let (Some(volume), TrialEvent::Sample(header, sample)) = (&mut self.volume, event) {
                events.warn(volume.sample(header, sample));
            }
            events.send(event);
        });
        let RanTrial { mut trial, writer, error, .. } = ran;
        evidence.load = trial.validity.clone();
        evidence.server = server.state();
        if evidence.server == ServerState::Answers {
            trial.logged = server.logged();
        }
        if let Some(volume) = self.volume {
            events.warn(volume.end(trial.logged.as_ref()));
        }
        // The figures matter more than the server's files, which are written last.
        evidence.awaits_check = server.is_external();
        write_trial(&mut trial, evidence, &writer)?;
        server.write_files(&evidence.server, &writer.server_path())?;
        error.map_or(Ok((trial, writer)), |error| Err(error.into()))
    }
}

/// The command of truetps that this is, shown to other runs on the host.
fn command_word(request: &ExperimentRequest<'_>) -> &'static str {
    let mut words = ["sweep", "run"].into_iter();
    words.find(|word| request.command.iter().any(|typed| typed == word)).unwrap_or("load")
}
