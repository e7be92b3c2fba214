//! The life of an experiment: check, prepare, record the schedule, run the trials.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError, server_settings};
use truetps_knowledge::find_setting;
use truetps_probe::{RunPresence, clock};
use truetps_record::{
    Experiment, ExperimentFolder, Extension, Family, HostFacts, Plan, Protocol, ScheduledTrial, ServerFacts,
    SqlDialect, Trial, Validity, WorkloadProfile, WorkloadSpec, is_workload_factor, write_atomically,
};
use truetps_recording::{
    ExperimentStart, TrialEvent, TrialPlace, new_experiment as started_experiment, new_trial, other_run_warning,
};
use truetps_sandbox::{Catalogue, CatalogueError as UnknownSetting, ServerBinary, ServerLoad, ServerUser};
use truetps_workload::Workload;

use crate::duration::Remaining;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::external::LoadVolume;
use crate::schedule::schedule;
use crate::server_provider::{ServerProgram, ServerProvider, ServerSource, TrialServer};
use crate::setup::{prepare_external_server, private};
use crate::trial::{FAILED_SHARE_MAX, TrialContext, load_of, run_trial};

/// After this many invalid trials in a row the experiment ends: the remaining trials would fail, too.
const FAILURES_IN_A_ROW_MAX: u32 = 5;
/// The largest value of the servers' `max_prepared_stmt_count`.
const PREPARED_STATEMENTS_MAX: u64 = 1_048_576;
/// A server that does not answer a trivial query for this long hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of log lines of the server that are kept with a trial and quoted in a reason.
const LOG_LINES_KEPT: usize = 200;
const LOG_LINES_QUOTED: usize = 3;

/// Cores that the load generator and private servers are bound to; an empty list binds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pin {
    pub generator: Vec<u32>,
    pub server: Vec<u32>,
}

/// An experiment to run.
pub struct ExperimentRequest<'a> {
    /// The plan as it is run.
    pub plan: &'a Plan,
    pub quick: bool,
    pub runs: &'a Path,
    pub place: ServerSource<'a>,
    pub workers: u32,
    pub pin: &'a Pin,
    pub tool_version: &'a str,
    pub command: Vec<String>,
    /// Set by the user: end the running trial and keep what was measured.
    pub stop: &'a AtomicBool,
}

/// An experiment that has ended, complete or not.
#[derive(Debug)]
pub struct Finished {
    pub folder: ExperimentFolder,
    /// Why it ended early, unless the user ended it.
    pub gave_up: Option<String>,
    /// Why an external server could not be restored.
    pub not_left: Option<LabError>,
}

/// Asks each server's program whether it knows each setting of the plan and accepts each level. Starts nothing.
pub fn check_settings(plan: &Plan, programs: &[ServerProgram], user: &ServerUser) -> Result<Vec<Catalogue>, LabError> {
    let check = |program: &ServerProgram| {
        check_settings_of(plan, &program.binary, user).map_err(|source| match &program.name {
            Some(name) => LabError::UnknownSettingOf { server: name.clone(), source },
            None => source.into(),
        })
    };
    programs.iter().map(check).collect()
}

fn check_settings_of(plan: &Plan, binary: &ServerBinary, user: &ServerUser) -> Result<Catalogue, UnknownSetting> {
    let catalogue = Catalogue::ask(binary, user)?;
    let check = |name: &str, value| catalogue.check(name, value).map_err(|error| of_other_family(error, binary));
    for (name, value) in &plan.server.settings {
        check(name, value)?;
    }
    for (name, levels) in plan.setting_factors() {
        for level in levels {
            check(name, level)?;
        }
    }
    Ok(catalogue)
}

/// A setting known only to the other server family is not misspelt: the plan was written for another server.
fn of_other_family(error: UnknownSetting, binary: &ServerBinary) -> UnknownSetting {
    let UnknownSetting::Unknown { name, server, near } = error else { return error };
    let of = |family| find_setting(&name.to_lowercase()).is_some_and(|setting| setting.is_of(family));
    let (own, other) = match binary.family() {
        Family::Mysql => (Family::Mysql, Family::Postgresql),
        Family::Postgresql => (Family::Postgresql, Family::Mysql),
    };
    if of(own) || !of(other) {
        return UnknownSetting::Unknown { name, server, near };
    }
    let (whose, hint) = match own {
        Family::Mysql => (
            "PostgreSQL",
            "for a private PostgreSQL write `flavour = \"postgresql\"` in [server] of the plan; or name one with --basedir or --dsn",
        ),
        Family::Postgresql => ("the MySQL family", "name a MySQL or MariaDB: [server] of the plan, --basedir or --dsn"),
    };
    UnknownSetting::OtherFamily { name, server, whose, hint }
}

/// Runs a new experiment.
pub fn start(request: &ExperimentRequest<'_>, listener: &mut dyn Listener) -> Result<Finished, LabError> {
    let mut bench = PreparedExperiment::set_up(request, request.runs, listener)?;
    let finished = start_on(&mut bench, request, listener);
    bench.end(finished, listener)
}

fn start_on(
    bench: &mut PreparedExperiment<'_>,
    request: &ExperimentRequest<'_>,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let experiment = new_experiment(request, bench, schedule(request.plan));
    let folder = bench.create_folder(request.plan, &experiment)?;
    let _lock = folder.lock()?;
    let todo: Vec<_> = experiment.schedule.iter().collect();
    Ok(bench.run(&folder, &todo, 0, listener))
}

/// What is recorded before the first trial.
pub(crate) fn new_experiment(
    request: &ExperimentRequest<'_>,
    bench: &PreparedExperiment<'_>,
    schedule: Vec<ScheduledTrial>,
) -> Experiment {
    Experiment {
        quick: request.quick,
        servers: if bench.servers.len() > 1 { bench.servers.clone() } else { Vec::new() },
        couplings: bench.ground.couplings().to_vec(),
        random_order: true,
        guest: bench.ground.guest_facts().cloned(),
        ..started_experiment(ExperimentStart {
            plan: request.plan,
            tool_version: request.tool_version,
            workers: request.workers,
            host: bench.host.clone(),
            server: bench.servers.first().cloned(),
            server_place: request.place.data_dir(),
            schedule,
            command: request.command.clone(),
        })
    }
}

/// Runs the missing, partial and invalid trials of an earlier experiment. The files of replaced trials are kept beside
/// the new ones.
pub fn resume(
    request: &ExperimentRequest<'_>,
    folder: &ExperimentFolder,
    listener: &mut dyn Listener,
) -> Result<Finished, LabError> {
    let _lock = folder.lock()?;
    let mut experiment = folder.experiment()?;
    if experiment.slo.is_some() {
        return Err(LabError::ResumedSearch { name: experiment.name });
    }
    if experiment.tool_version != request.tool_version {
        let (was, is) = (&experiment.tool_version, request.tool_version);
        listener
            .event(&ExperimentEvent::Warning(format!("this experiment was started with truetps {was}; this is {is}")));
    }
    // The number of workers is part of the measured configuration.
    let request = &ExperimentRequest { workers: experiment.workers, command: request.command.clone(), ..*request };
    let is_extended = extend(&mut experiment, request)?;
    let mut todo = Vec::new();
    for scheduled in &experiment.schedule {
        let done = folder.trial(&scheduled.name)?.is_some_and(|trial| trial.validity.is_valid());
        if !done {
            todo.push(scheduled);
        }
    }
    if todo.is_empty() {
        return Ok(Finished { folder: folder.clone(), gave_up: None, not_left: None });
    }
    let done = experiment.schedule.len() - todo.len();
    let mut bench = PreparedExperiment::set_up(request, folder.path(), listener)?;
    let same = same_conditions(&bench, &experiment);
    let recorded =
        same.and_then(|()| if is_extended { record_extension(folder, request, &experiment) } else { Ok(()) });
    let finished = recorded.map(|()| {
        if let Some(what) = other_host(&experiment.host, &bench.host) {
            let text = format!("{what}: differences between old and new trials may come from the host");
            listener.event(&ExperimentEvent::Warning(text));
        }
        bench.run(folder, &todo, done, listener)
    });
    bench.end(finished, listener)
}

/// Adds the blocks that are in the plan and not in the schedule. Each block is drawn from the seed and its own number:
/// existing blocks stay as they are.
fn extend(experiment: &mut Experiment, request: &ExperimentRequest<'_>) -> Result<bool, LabError> {
    let blocks_before = experiment.schedule.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0);
    let blocks = request.plan.design.blocks;
    if blocks <= blocks_before {
        return Ok(false);
    }
    let extended = schedule(request.plan);
    if !extended.starts_with(&experiment.schedule) {
        return Err(LabError::OtherSchedule);
    }
    experiment.schedule = extended;
    let (extended_at, command) = (clock::now_rfc3339(), request.command.clone());
    experiment.extensions.push(Extension { extended_at, blocks_before, blocks, command });
    Ok(true)
}

/// The plan is written first: the next `--resume` extends the schedule to the plan.
fn record_extension(
    folder: &ExperimentFolder,
    request: &ExperimentRequest<'_>,
    experiment: &Experiment,
) -> Result<(), LabError> {
    folder.write_plan(request.plan)?;
    folder.write_experiment(experiment)?;
    Ok(())
}

/// Trials on another server, or on the same server with other settings, do not belong to this experiment.
fn same_conditions(bench: &PreparedExperiment<'_>, experiment: &Experiment) -> Result<(), LabError> {
    let servers = if experiment.servers.is_empty() { experiment.server.as_slice() } else { &experiment.servers };
    let changed = servers.iter().zip(&bench.servers).find(|(was, is)| was.version_text != is.version_text);
    if let Some((was, is)) = changed {
        return Err(LabError::BegunWithAnother { was: was.version_text.clone(), is: is.version_text.clone() });
    }
    if bench.servers != servers || bench.ground.couplings() != experiment.couplings {
        return Err(LabError::OtherConditions);
    }
    Ok(())
}

/// The difference between this host and the host of the earlier trials, as far as it can be detected.
fn other_host(was: &HostFacts, is: &HostFacts) -> Option<String> {
    let pairs = [
        ("the host", &was.hostname, &is.hostname),
        ("the CPU", &was.cpu_model, &is.cpu_model),
        ("the number of cores", &was.cores.to_string(), &is.cores.to_string()),
        ("the disk", &format!("{:?}", was.device), &format!("{:?}", is.device)),
    ];
    let differing = pairs.into_iter().find(|(_, was, is)| was != is);
    differing.map(|(what, was, is)| format!("{what} was {was} when this experiment started, and is {is} now"))
}

/// Everything that trials need to run.
pub(crate) struct PreparedExperiment<'a> {
    request: &'a ExperimentRequest<'a>,
    workload: Arc<dyn Workload>,
    host: HostFacts,
    /// At least one; more if the server is a factor.
    servers: Vec<ServerFacts>,
    ground: ServerProvider<'a>,
    presence: RunPresence,
    /// Only for an external server.
    volume: Option<LoadVolume>,
    /// Each workload that a trial has used so far.
    profiles: Vec<(WorkloadSpec, SqlDialect, WorkloadProfile)>,
}

impl<'a> PreparedExperiment<'a> {
    /// Checks everything that can be checked, then prepares the servers; records go below `records`. After an error
    /// nothing has been measured.
    pub(crate) fn set_up(
        request: &'a ExperimentRequest<'a>,
        records: &Path,
        listener: &mut dyn Listener,
    ) -> Result<Self, LabError> {
        let plan = request.plan;
        let workload =
            truetps_workload::build(&plan.largest_workload(), request.place.dialect(None), plan.design.seed)?;
        let statements = if plan.workload.protocol == Protocol::Prepared { workload.statements().len() } else { 0 };
        let in_all = u64::from(plan.connections_max()) * statements as u64;
        if in_all > PREPARED_STATEMENTS_MAX {
            return Err(LabError::TooManyStatements { in_all });
        }
        let presence = RunPresence::announce(command_word(request));
        for other in presence.meet(presence.others(), &mut Vec::new()) {
            listener.event(&ExperimentEvent::Warning(other_run_warning(&other)));
        }
        let load = ServerLoad { connections_max: plan.connections_max(), statements_per_connection: statements as u32 };
        let (ground, host, servers) = match request.place {
            ServerSource::Private { home, programs } => private(request, home, programs, records, load, listener)?,
            ServerSource::Given(external) => {
                prepare_external_server(request, external, records, load, &*workload, listener)?
            }
        };
        let volume = ground.guest_facts().map(|facts| LoadVolume::new(plan, facts));
        Ok(Self { request, workload, host, servers, ground, presence, volume, profiles: Vec::new() })
    }

    /// The folder of a new experiment.
    pub(crate) fn create_folder(&self, plan: &Plan, experiment: &Experiment) -> Result<ExperimentFolder, LabError> {
        let name = format!("{}-{}", plan.name, clock::folder_stamp());
        Ok(ExperimentFolder::create(self.request.runs, &name, plan, experiment)?)
    }

    /// No trial follows: restores the external server, or reports why that failed.
    pub(crate) fn end(
        &mut self,
        finished: Result<Finished, LabError>,
        listener: &mut dyn Listener,
    ) -> Result<Finished, LabError> {
        let not_left = self.ground.leave(listener);
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
        let place = || TrialPlace { trial: scheduled, index, of: index + 1, left: None };
        listener.event(&ExperimentEvent::Trial(place(), TrialEvent::Begins));
        let trial = self.trial(folder, &place, listener)?;
        listener.event(&ExperimentEvent::Trial(place(), TrialEvent::Ends(&trial)));
        Ok(trial)
    }

    /// Runs these trials in order; `done` trials finished earlier.
    fn run(
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
            let (left, began) = (remaining.remaining_time(), Instant::now());
            self.volume.iter_mut().for_each(|volume| volume.expect(todo.len() - n));
            let place = || {
                let left = left.saturating_sub(began.elapsed());
                TrialPlace { trial: scheduled, index: done + n, of, left: Some(left) }
            };
            listener.event(&ExperimentEvent::Trial(place(), TrialEvent::Begins));
            let trial = match self.trial(folder, &place, listener) {
                Ok(trial) => trial,
                // What was measured so far is on disk and can be reported.
                Err(error) => {
                    gave_up = Some(format!("{}: {error}", scheduled.name));
                    break;
                }
            };
            remaining.trial_took(began.elapsed());
            let place = TrialPlace { left: Some(remaining.remaining_time()), ..place() };
            listener.event(&ExperimentEvent::Trial(place, TrialEvent::Ends(&trial)));
            failures_in_a_row = if matches!(trial.validity, Validity::Invalid(_)) { failures_in_a_row + 1 } else { 0 };
            if failures_in_a_row == FAILURES_IN_A_ROW_MAX && n + 1 < todo.len() {
                let reason = trial.validity.reason().unwrap_or_default();
                gave_up = Some(format!("{failures_in_a_row} trials in a row were invalid; the last reason: {reason}"));
                break;
            }
        }
        Finished { folder: folder.clone(), gave_up, not_left: None }
    }

    /// One trial, from its folder to its `run.json`. An error concerns the folder.
    fn trial<'t>(
        &mut self,
        folder: &ExperimentFolder,
        place: &dyn Fn() -> TrialPlace<'t>,
        listener: &mut dyn Listener,
    ) -> Result<Trial, LabError> {
        let scheduled = place().trial;
        let workload = self.workload_of(scheduled)?;
        let request = self.request;
        let mut trial = new_trial(request.plan, scheduled, self.server_of(scheduled).cloned(), request.tool_version);
        trial.profile = Some(self.profile_of(scheduled, &*workload));
        let mut writer = folder.begin_trial(&trial)?;
        let mut health = Health::Gone;
        match self.ground.ready(&scheduled.configuration, listener) {
            Err(LabError::Interrupted) => trial.validity = Validity::Partial("interrupted".to_owned()),
            Err(error) => trial.validity = Validity::Invalid(format!("the server could not be prepared: {error}")),
            Ok(mut site) => {
                trial.notes.append(&mut site.notes);
                let (plan, pin) = (self.request.plan, &self.request.pin.generator);
                let mut volume = self.volume.as_mut();
                let begun = volume.as_mut().and_then(|volume| volume.begin(site.log.as_deref_mut(), site.client));
                warn(begun, listener);
                let context = TrialContext {
                    load: load_of(plan, &trial.configuration, self.request.workers, pin),
                    protocol: plan.workload.protocol,
                    workload: &*workload,
                    target: site.target,
                    server_pid: site.pid,
                    stop: self.request.stop,
                    failed_share_max: FAILED_SHARE_MAX,
                    presence: &self.presence,
                    probe: Some(&plan.probe),
                };
                let ran = run_trial(&context, trial, writer, &mut |event| {
                    if let (Some(volume), TrialEvent::Sample(_, sample)) = (&mut volume, event) {
                        warn(volume.sample(sample), listener);
                    }
                    listener.event(&ExperimentEvent::Trial(place(), event));
                });
                (trial, writer) = (ran.trial, ran.writer);
                health = look_at_server(&mut site, &mut trial);
                if let Some(log) = site.log.as_mut().filter(|_| health != Health::Gone) {
                    trial.logged = log.volume_since(site.client).ok();
                }
                warn(volume.and_then(|volume| volume.end(trial.logged.as_ref())), listener);
                let answer = trial.validity.clone();
                if site.server.is_none() && answer.is_valid() {
                    // Whether another session changed or restarted the server is still unchecked.
                    trial.validity = Validity::Partial("truetps ended before it had checked the server".to_owned());
                }
                // The figures matter more than the server's files, which are written last.
                writer.write_trial(&trial)?;
                trial.validity = answer;
                keep_server_files(&mut site, health, &writer.server_path())?;
                ran.error.map_or(Ok(()), Err)?;
            }
        }
        // The server's state during the trial decides whether the trial is valid, whatever the clients measured.
        if trial.measured.is_some()
            && let Some(reason) = self.ground.trouble(&scheduled.configuration, listener)
        {
            trial.validity = Validity::Invalid(reason);
        }
        if health != Health::Good {
            self.ground.discard();
        }
        writer.write_trial(&trial)?;
        Ok(trial)
    }

    /// The statements of this trial's clients: a factor may change the workload, and another server may use another
    /// dialect.
    fn workload_of(&self, scheduled: &ScheduledTrial) -> Result<Arc<dyn Workload>, LabError> {
        let (plan, place) = (self.request.plan, &self.request.place);
        let dialect = place.dialect(scheduled.configuration.server());
        if dialect == place.dialect(None) && !plan.factors.keys().any(|name| is_workload_factor(name)) {
            return Ok(Arc::clone(&self.workload));
        }
        let spec = plan.workload_of(&scheduled.configuration);
        Ok(truetps_workload::build(&spec, dialect, plan.design.seed)?)
    }

    /// Runs before anything is measured, once for all trials that send the same statements.
    fn profile_of(&mut self, scheduled: &ScheduledTrial, workload: &dyn Workload) -> WorkloadProfile {
        let spec = self.request.plan.workload_of(&scheduled.configuration);
        let dialect = self.request.place.dialect(scheduled.configuration.server());
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

fn warn(text: Option<String>, listener: &mut dyn Listener) {
    if let Some(text) = text {
        listener.event(&ExperimentEvent::Warning(text));
    }
}

/// The command of truetps that this is, shown to other runs on the host.
fn command_word(request: &ExperimentRequest<'_>) -> &'static str {
    let is_word = |word: &&'static str| request.command.iter().any(|typed| typed == word);
    ["sweep", "run"].into_iter().find(is_word).unwrap_or("load")
}

/// Whether the server can be used after a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// It answers, but its trial is invalid and sessions may hang in it: the next trial gets another server.
    Doubtful,
    /// It died or hangs.
    Gone,
}

/// A server that died or hangs makes the trial invalid; the reason quotes its last log lines.
fn look_at_server(site: &mut TrialServer<'_>, trial: &mut Trial) -> Health {
    // If the client's time limit cannot be set, the server is lost: the query below reports it.
    let _ = site.client.set_timeout(ANSWER_TIMEOUT);
    let said = |site: &TrialServer<'_>| match &site.server {
        None => String::new(),
        Some(server) => match server.error_log_tail(LOG_LINES_QUOTED) {
            tail if tail.is_empty() => "; its log is empty".to_owned(),
            tail => format!("; last log lines: {tail}"),
        },
    };
    if let Some(status) = site.server.as_mut().and_then(|server| server.exit_status_if_dead()) {
        trial.validity = Validity::Invalid(format!("the server died ({status}){}", said(site)));
        return Health::Gone;
    }
    if let Err(error) = ask(site) {
        trial.validity = Validity::Invalid(format!("the server no longer answers ({error}){}", said(site)));
        return Health::Gone;
    }
    if matches!(trial.validity, Validity::Invalid(_)) { Health::Doubtful } else { Health::Good }
}

/// A trivial query. A healthy server may have closed a session that was idle for a whole trial: a new session asks once
/// more.
fn ask(site: &mut TrialServer<'_>) -> Result<(), DriverError> {
    let is_closed = |error: &DriverError| match error {
        DriverError::Io(error) => {
            matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
        }
        DriverError::Closed | DriverError::Server(_) => true,
        _ => false,
    };
    match site.client.query_value("SELECT 1") {
        Err(error) if is_closed(&error) => {
            *site.client = Client::connect(&site.control, ANSWER_TIMEOUT)?;
            site.client.query_value("SELECT 1").map(drop)
        }
        other => other.map(drop),
    }
}

/// The server's variables, as it reports them.
fn keep_server_files(site: &mut TrialServer<'_>, health: Health, path: &Path) -> Result<(), LabError> {
    if let Some(server) = &site.server {
        let (name, text) = server.option_file();
        write_atomically(&path.join(name), text.as_bytes())?;
        write_atomically(&path.join("error.log"), server.error_log_tail(LOG_LINES_KEPT).as_bytes())?;
    }
    // A server that is gone cannot be queried; its option file has the settings of its start.
    let variables = if health == Health::Gone { None } else { server_settings(site.client).ok() };
    if let Some(mut variables) = variables {
        variables.append(&mut site.session);
        let text = serde_json::to_vec_pretty(&variables).expect("a map of texts has a JSON form");
        write_atomically(&path.join("variables.json"), &text)?;
    }
    Ok(())
}
