//! `truetps verify`: rows are sent to a service or a server, every answer is kept, and the table is
//! compared with them.
//!
//! The order makes the result true: an answer is in the log before it counts, the load has ended
//! and every answer is known before the table is read, and only then the verdict is written. What
//! is on disk is enough for another comparison.
//!
//! A row passes through `RowIdentity`, `RowLoad` (`workload`), `HttpSession` or `MysqlSession`
//! (`driver`), `Drive`, `AnsweredRow`, `AnswerWriter` (`engine`), `AnswerLogWriter` (`folder`);
//! then, read again, through `RowSpool`, and from the table through `TableReader`, `FoundRow`,
//! `RowComparer`, to `RowComparison`, `Verification` (`verification.json`), `VerifiedRun`
//! (`archive`).

mod answer_log;
mod compare;
mod comparison;
mod error;
mod server;
mod spool;
mod table;
mod table_reader;

use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{slice, thread};

use truetps_driver::{Client, Connector, Endpoint, HttpTarget, Scratch, Target};
use truetps_engine::{LoadSpec, LoggedRows};
use truetps_folder::{AnswerLogFolder, ExperimentFolder, TrialWriter};
use truetps_plan::Plan;
use truetps_probe::{RunPresence, clock, host_facts};
use truetps_record::{
    HostFacts, Protocol, SCHEMA_VERSION, ScheduledTrial, ServerFacts, ServerKill, SqlDialect,
    Trial, TrialRole, Verification, VerifiedTable, VerifyLoad,
};
use truetps_recording::{ExperimentStart, TrialEvent, TrialPlace, new_experiment, new_trial};
use truetps_sandbox::{Home, Sandbox, SandboxOptions, ServerLoad, StartOptions};
use truetps_trial::{TrialContext, load_of, make_room_for_clients, run_trial};
use truetps_workload::{RowField, RowIdentity, RowLoad};

use crate::check_settings::check_settings;
use crate::error::{LabError, unless_stopped};
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::Pin;
use crate::experiment::setup::{server_settings, warn_of_leftovers};
use crate::external::committing;
use crate::trial::planned_disks::PlannedDisks;
use crate::trial::server_provider::ServerProgram;
use crate::trial::tables::SCHEMA;
use answer_log::FolderLog;
use compare::ComparedRows;
pub use error::VerifyError;
pub use server::NamedPlace;
use server::{Killer, RowServer, private_target, start_on};
use table::{SurveyedTable, create_own_table, own_table};

const CLIENT_TIMEOUT: Duration = Duration::from_mins(2);
/// Longest wait for a service before the load.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);
/// Room on disk for one row of a private server, beside its payload: keys, log, binlog.
const ROW_BYTES: u64 = 200;
const DATA_BYTES_MIN: u64 = 256 << 20;
/// Rows a second that are planned for where no rate is.
const CLOSED_RATE: f64 = 20_000.0;

/// Where the table is.
pub enum TableServer<'a> {
    /// In a private server of this program; the table is made by truetps.
    Private { home: &'a Home, program: &'a ServerProgram, disks: &'a PlannedDisks },
    /// In a server that truetps did not start: the table is only read, and written where rows are
    /// sent as SQL.
    Given { target: &'a Target, table: VerifiedTable },
    /// In a server of `truetps server start`.
    Named { place: &'a NamedPlace, target: &'a Target, table: VerifiedTable },
}

/// A run.
pub struct VerifyRequest<'a> {
    /// As it is recorded: its load, its connections and its settings count.
    pub plan: &'a Plan,
    pub load: VerifyLoad,
    /// `None`: rows are sent as SQL to the table's server.
    pub service: Option<&'a HttpTarget>,
    pub server: TableServer<'a>,
    /// When the table's server is killed, since the load's start.
    pub kills: &'a [Duration],
    pub runs: &'a Path,
    pub workers: u32,
    pub pin: &'a Pin,
    pub tool_version: &'a str,
    pub command: Vec<String>,
    pub stop: &'a AtomicBool,
}

impl VerifyRequest<'_> {
    /// Where the clients connect to, and from: no endpoint of a private server, which has a socket.
    fn route(&self) -> (&[Endpoint], &[IpAddr]) {
        match (self.service, &self.server) {
            (Some(service), _) => (slice::from_ref(&service.endpoint), &[]),
            (None, TableServer::Private { .. }) => (&[], &[]),
            (None, TableServer::Given { target, .. } | TableServer::Named { target, .. }) => {
                (&target.endpoints, &target.sources)
            }
        }
    }
}

/// Sends the rows, and compares the table.
pub fn verify(
    request: &VerifyRequest<'_>,
    listener: &mut dyn Listener,
) -> Result<ExperimentFolder, LabError> {
    ExperimentFolder::check_writable(request.runs).map_err(LabError::NoRecords)?;
    let (endpoints, sources) = request.route();
    make_room_for_clients(request.load.clients, endpoints, sources)?;
    let prepared = prepare(request, listener)?;
    if !request.kills.is_empty() && !prepared.server.can_be_killed() {
        return Err(VerifyError::NothingToKill.into());
    }
    if let Some(service) = request.service {
        listener.event(&ExperimentEvent::Preparing("connecting to the service".to_owned()));
        reach(service)?;
    }
    unless_stopped(request.stop)?;
    let recorded = begin(request, &prepared)?;
    let (folder, scheduled) = (recorded.folder.clone(), recorded.scheduled.clone());
    folder.not_latest().into_iter().for_each(|warning| listener.warn(warning.to_owned()));
    let _lock = folder.lock()?;
    let mut verification = recorded.verification;
    let (trial, kills) =
        run_load(request, &prepared, recorded.trial, recorded.writer, &scheduled, listener)?;
    verification.kills = kills?;
    folder.write_verification(&verification)?;
    if trial.measured.is_some() {
        compare_and_record(
            &folder,
            &mut verification,
            &prepared.target,
            &prepared.table,
            listener,
        )?;
    }
    Ok(folder)
}

/// Compares an earlier run again: its table, in the server that `target` names.
pub fn compare_again(
    folder: &ExperimentFolder,
    target: &Target,
    listener: &mut dyn Listener,
) -> Result<(), LabError> {
    let _lock = folder.lock()?;
    let mut verification = folder.verification()?.ok_or(VerifyError::NoVerification)?;
    if verification.is_private {
        return Err(VerifyError::ServerGone.into());
    }
    let mut client = Client::connect(target, CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
    let table = SurveyedTable::survey(&mut client, verification.table.clone())?;
    compare_and_record(folder, &mut verification, target, &table, listener)
}

fn compare_and_record(
    folder: &ExperimentFolder,
    verification: &mut Verification,
    target: &Target,
    table: &SurveyedTable,
    listener: &mut dyn Listener,
) -> Result<(), LabError> {
    let compared = ComparedRows {
        identity: RowIdentity {
            seed: verification.seed,
            payload_bytes: verification.load.payload_bytes,
        },
        clients: verification.load.clients,
        target,
        table,
        log: &folder.answers(TRIAL)?,
        kills: &verification.kills,
        folder: folder.path(),
    };
    listener.event(&ExperimentEvent::Preparing("comparing the table with the answers".to_owned()));
    let comparison = compared.compare(&mut |rows| {
        listener.event(&ExperimentEvent::Preparing(format!("comparing: {rows} rows read")));
    })?;
    verification.comparison = Some(comparison);
    Ok(folder.write_verification(verification)?)
}

const TRIAL: &str = "trial-0001";

/// A server with its table.
struct PreparedTable<'a> {
    server: RowServer<'a>,
    target: Target,
    table: SurveyedTable,
    facts: ServerFacts,
    host: HostFacts,
    sandbox_dir: Option<String>,
}

fn prepare<'a>(
    request: &'a VerifyRequest<'a>,
    listener: &mut dyn Listener,
) -> Result<PreparedTable<'a>, LabError> {
    match &request.server {
        TableServer::Private { home, program, disks } => {
            prepare_private(request, home, program, disks, listener)
        }
        TableServer::Given { target, table } => {
            prepare_given(request, RowServer::Given, target, table)
        }
        TableServer::Named { place, target, table } => {
            prepare_given(request, RowServer::Named(place), target, table)
        }
    }
}

fn prepare_given<'a>(
    request: &VerifyRequest<'a>,
    server: RowServer<'a>,
    target: &Target,
    table: &VerifiedTable,
) -> Result<PreparedTable<'a>, LabError> {
    let (mut target, sends_sql) = (target.clone(), request.service.is_none());
    if sends_sql {
        committing::set_up(&mut target);
    }
    let mut client = Client::connect(&target, CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
    if sends_sql {
        committing::check(&mut client)?;
    }
    let table = SurveyedTable::survey(&mut client, table.clone())?;
    table.check(&mut client, request.load.payload_bytes, sends_sql)?;
    let version = match client.dialect() {
        // Percona Server identifies itself only in its comment.
        SqlDialect::Mysql => "SELECT CONCAT(VERSION(), ' ', @@version_comment)",
        SqlDialect::Postgres => "SELECT version()",
    };
    let text = client.query_value(version)?.unwrap_or_default();
    let (facts, host) = (ServerFacts::from_version_text(&text), host_facts(request.runs, None));
    Ok(PreparedTable { server, target, table, facts, host, sandbox_dir: None })
}

/// A private server with an empty table.
fn prepare_private<'a>(
    request: &VerifyRequest<'a>,
    home: &Home,
    program: &ServerProgram,
    disks: &PlannedDisks,
    listener: &mut dyn Listener,
) -> Result<PreparedTable<'a>, LabError> {
    let (plan, load) = (request.plan, &request.load);
    let catalogue = check_settings(plan, std::slice::from_ref(program), home.user())?.remove(0);
    warn_of_leftovers(home, listener)?;
    listener.event(&ExperimentEvent::Preparing("starting a private server".to_owned()));
    let host = host_facts(home.path(), None);
    let server_load = ServerLoad { connections_max: load.clients, statements_per_connection: 1 };
    let (facts, settings) =
        server_settings(plan, program, &catalogue, host.memory_bytes, server_load);
    let rows = load.rate_per_client.map_or(CLOSED_RATE, |rate| rate * f64::from(load.clients))
        * load.length_s;
    let data_bytes = (rows * (ROW_BYTES + 3 * u64::from(load.payload_bytes)) as f64) as u64;
    let disk =
        plan.disk.as_deref().map(|name| disks.sandbox_disk(name, plan.design.seed)).transpose()?;
    let sandbox_options = SandboxOptions {
        settings: settings.clone(),
        data_bytes: data_bytes.max(DATA_BYTES_MIN),
        disk,
    };
    let sandbox = Sandbox::create(home, &program.binary, &sandbox_options)?;
    let options = StartOptions::new(settings);
    let cores = &request.pin.server;
    let running = start_on(cores, &sandbox, &options)?;
    create_own_table(&mut running.connect(CLIENT_TIMEOUT)?, SCHEMA, load.payload_bytes)?;
    sandbox.set_disk_timed(true)?;
    let server = RowServer::Private { sandbox, options, cores, running: Mutex::new(Some(running)) };
    let target = private_target(&server, SCHEMA).ok_or(VerifyError::ServerGone)?;
    let mut client = Client::connect(&target, CLIENT_TIMEOUT)?;
    let schema = (client.dialect() == SqlDialect::Mysql).then(|| SCHEMA.to_owned());
    let table = SurveyedTable::survey(&mut client, own_table(target.to_string(), schema))?;
    let sandbox_dir = Some(home.path().display().to_string());
    Ok(PreparedTable { server, target, table, facts, host, sandbox_dir })
}

/// Whether a service can be connected to.
fn reach(service: &HttpTarget) -> Result<(), VerifyError> {
    let deadline = Some(Instant::now() + SERVICE_TIMEOUT);
    let mut scratch = Scratch::default();
    let connect = Connector::http(service.clone())
        .and_then(|connector| connector.connect(0, &mut scratch, deadline));
    connect.map(|link| link.quit(&mut scratch)).map_err(VerifyError::Service)
}

/// What is on disk before the first row is sent.
struct BegunRecord {
    folder: ExperimentFolder,
    verification: Verification,
    scheduled: ScheduledTrial,
    trial: Trial,
    writer: TrialWriter,
}

fn begin(
    request: &VerifyRequest<'_>,
    prepared: &PreparedTable<'_>,
) -> Result<BegunRecord, LabError> {
    let plan = request.plan;
    let configuration = plan.configurations().remove(0);
    let scheduled = ScheduledTrial {
        name: TRIAL.to_owned(),
        block: 0,
        position: 0,
        role: TrialRole::Cell,
        configuration,
        mixture: None,
    };
    let server_address = prepared.sandbox_dir.is_none().then(|| prepared.target.to_string());
    let experiment = new_experiment(ExperimentStart {
        plan,
        tool_version: request.tool_version,
        workers: request.workers,
        host: prepared.host.clone(),
        server: Some(prepared.facts.clone()),
        sandbox_dir: prepared.sandbox_dir.clone(),
        server_address,
        schedule: vec![scheduled.clone()],
        command: request.command.clone(),
    });
    let name = format!("{}-{}", plan.name, clock::folder_stamp());
    let folder = ExperimentFolder::create(request.runs, &name, plan, &experiment)?;
    let verification = Verification {
        schema_version: SCHEMA_VERSION,
        tool_version: request.tool_version.to_owned(),
        created_at: clock::now_rfc3339(),
        seed: plan.design.seed,
        load: request.load.clone(),
        table: prepared.table.table.clone(),
        is_private: prepared.sandbox_dir.is_some(),
        kills: Vec::new(),
        comparison: None,
    };
    folder.write_verification(&verification)?;
    let trial = new_trial(plan, &scheduled, Some(prepared.facts.clone()), request.tool_version);
    let writer = folder.begin_trial(&trial)?;
    Ok(BegunRecord { folder, verification, scheduled, trial, writer })
}

type Kills = Result<Vec<ServerKill>, LabError>;

/// Sends the rows, kills the server as planned, and writes the trial.
fn run_load(
    request: &VerifyRequest<'_>,
    prepared: &PreparedTable<'_>,
    trial: Trial,
    writer: TrialWriter,
    scheduled: &ScheduledTrial,
    listener: &mut dyn Listener,
) -> Result<(Trial, Kills), LabError> {
    let workload = row_load(request, prepared)?;
    let presence = RunPresence::announce(&request.plan.name);
    let context = TrialContext {
        load: load_spec(request, scheduled, writer.path()),
        protocol: Protocol::Prepared,
        workload: &workload,
        service: request.service,
        target: &prepared.target,
        server_pid: prepared.server.pid().filter(|_| request.kills.is_empty()),
        stop: request.stop,
        // A row that failed is counted by the comparison: it does not make figures invalid.
        failed_share_max: 1.0,
        presence: &presence,
        gate: None,
        probe: Some(&request.plan.probe),
    };
    let (zero, is_over) = (OnceLock::new(), AtomicBool::new(false));
    let killer = Killer {
        server: &prepared.server,
        times: request.kills,
        zero: &zero,
        is_over: &is_over,
        stop: request.stop,
    };
    let place = TrialPlace { trial: scheduled, index: 0, of: Some(1), left: None };
    listener.event(&ExperimentEvent::Trial(place, TrialEvent::Begins));
    let (ran, kills) = thread::scope(|scope| {
        let killing = scope.spawn(|| killer.run());
        let ran = run_trial(&context, trial, writer, &mut |event| {
            if let TrialEvent::Interval(interval, _) = event {
                // The load's clock is known to within the delivery of an interval.
                let since = Duration::from_secs_f64(
                    (interval.start_ms + interval.length_ms).max(0.0) / 1e3,
                );
                let _ = zero.set(Instant::now().checked_sub(since).unwrap_or_else(Instant::now));
            }
            listener.event(&ExperimentEvent::Trial(place, event));
        });
        is_over.store(true, Ordering::Relaxed);
        (ran, killing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    ran.writer.write_trial(&ran.trial)?;
    listener.event(&ExperimentEvent::Trial(place, TrialEvent::Ends(&ran.trial)));
    ran.error.map_or(Ok((ran.trial, kills)), |error| Err(error.into()))
}

fn row_load(
    request: &VerifyRequest<'_>,
    prepared: &PreparedTable<'_>,
) -> Result<RowLoad, LabError> {
    let identity =
        RowIdentity { seed: request.plan.design.seed, payload_bytes: request.load.payload_bytes };
    let Some(service) = request.service else {
        let insert = prepared.table.insert(request.load.retries > 0);
        let insert = insert.map_err(truetps_workload::WorkloadError::from)?;
        return Ok(RowLoad::for_statement(identity, insert, &prepared.table.fields()));
    };
    let used = service.template.fields();
    let used = RowField::ALL
        .into_iter()
        .enumerate()
        .filter(|(n, _)| used.contains(n))
        .map(|(_, field)| field);
    Ok(RowLoad::for_service(identity, &used.collect::<Vec<_>>()))
}

fn load_spec(request: &VerifyRequest<'_>, scheduled: &ScheduledTrial, trial: &Path) -> LoadSpec {
    let answer_timeout = Duration::from_secs_f64(request.load.answer_timeout_s);
    LoadSpec {
        rows: Some(LoggedRows {
            log: Arc::new(FolderLog(AnswerLogFolder::of_trial(trial))),
            answer_timeout,
            resends: request.load.retries,
        }),
        drain_timeout: answer_timeout,
        ..load_of(request.plan, &scheduled.configuration, request.workers, &request.pin.generator)
    }
}
