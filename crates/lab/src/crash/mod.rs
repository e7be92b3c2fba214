//! Crashes: how much of what a server has acknowledged is gone afterwards.
//!
//! Each configuration gets a private server of its own, which is crashed again and again under
//! load, in randomised blocks (`order`): one server runs at a time, and what changes on the host
//! meanwhile meets all of them alike. The order within a crash decides whether its result is true:
//! the server dies first, so that no answer comes from a machine that is already dead; then the
//! disk loses what it loses, and the file system is mounted anew, so that nothing is read from
//! memory.
//!
//! A server that fails, and not by a crash, takes only its own configuration out of the experiment.

mod binlog;
mod clients;
mod controls;
mod count;
mod cycle;
mod load_watch;
mod order;
mod prepare;
mod steps;
mod table_check;

use std::sync::atomic::Ordering;

use truetps_folder::{CrashFolder, ExperimentFolder};
use truetps_probe::{RunPresence, clock, host_facts, probe_flush};
use truetps_record::{
    CrashKind, CrashRecord, CrashRole, CrashRun, CrashStep, CrashedConfiguration, HostFacts,
    SCHEMA_VERSION, ServerFacts,
};
use truetps_sandbox::{ServerLoad, Settings};

use crate::check_settings::check_settings;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::ExperimentRequest;
use crate::experiment::setup::{server_settings, warn_of_leftovers};
use crate::private::preallocation;
use crate::trial::server_provider::{ServerProgram, ServerSource};
use controls::{CrashCell, controls};
use cycle::{CrashPlace, CrashedServer};
use load_watch::LoadWatch;
use order::{ScheduledCrash, crash_order, random_of};

/// The crashes of an experiment.
#[derive(Debug, Clone)]
pub struct CrashOptions {
    pub kinds: Vec<CrashKind>,
    /// Crashes of each kind, at each step, of each configuration.
    pub crashes: u32,
    pub clients: u32,
    /// Share of the sectors in a disk's cache that survive a power cut.
    pub survival: f64,
    /// Steps of the work on binlogs at which the plan's configurations are crashed; empty: at
    /// random times.
    pub steps: Vec<CrashStep>,
    /// The disk fails before the server dies.
    pub is_live: bool,
}

/// Crashes the configurations of a plan and the controls, and records each crash before the next
/// one.
pub fn crash(
    request: &ExperimentRequest<'_>,
    options: &CrashOptions,
    listener: &mut dyn Listener,
) -> Result<CrashFolder, LabError> {
    let ServerSource::Private { home, programs, .. } = request.source else {
        return Err(LabError::CrashOfOthers);
    };
    let [program] = programs else { return Err(LabError::SeveralCrashed) };
    preallocation::check(request.plan, programs)?;
    let catalogue = check_settings(request.plan, programs, home.user())?.remove(0);
    ExperimentFolder::check_writable(request.runs).map_err(LabError::NoRecords)?;
    warn_of_leftovers(home, listener)?;
    let host = host_facts(home.path(), Some(probe_flush(home.path())?));
    let load = ServerLoad { connections_max: options.clients, statements_per_connection: 1 };
    let (server, fixed) =
        server_settings(request.plan, program, &catalogue, host.memory_bytes, load);
    let cells = cells(request, options, program, &fixed);
    let mut laboratory = CrashLaboratory {
        request,
        options,
        program,
        fixed,
        servers: cells.iter().map(|_| None).collect(),
        cells: &cells,
        presence: RunPresence::announce("crash"),
        folder: None,
        run: new_run(request, options, server, host, &cells),
        crashes: 0,
    };
    laboratory.run(listener)?;
    laboratory.folder.ok_or(LabError::Interrupted)
}

/// The controls, and the configurations of the plan.
fn cells(
    request: &ExperimentRequest<'_>,
    options: &CrashOptions,
    program: &ServerProgram,
    fixed: &Settings,
) -> Vec<CrashCell> {
    let planned = request.plan.configurations();
    let CrashOptions { kinds, clients, .. } = options;
    let mut cells = controls(program.binary.family(), kinds, *clients, &planned, fixed);
    cells.extend(planned.into_iter().map(|configuration| CrashCell {
        role: CrashRole::Cell,
        kinds: kinds.clone(),
        configuration,
    }));
    cells
}

/// The record before the first crash.
fn new_run(
    request: &ExperimentRequest<'_>,
    options: &CrashOptions,
    server: ServerFacts,
    host: HostFacts,
    cells: &[CrashCell],
) -> CrashRun {
    let configurations = cells.iter().map(|cell| CrashedConfiguration {
        role: cell.role,
        configuration: cell.configuration.clone(),
        left_out: None,
    });
    CrashRun {
        schema_version: SCHEMA_VERSION,
        tool_version: request.tool_version.to_owned(),
        name: request.plan.name.clone(),
        about: request.plan.about.clone(),
        created_at: clock::now_rfc3339(),
        seed: request.plan.design.seed,
        clients: options.clients,
        crashes: options.crashes,
        kinds: options.kinds.clone(),
        survival: options.survival,
        steps: options.steps.clone(),
        is_live: options.is_live,
        configurations: configurations.collect(),
        smallest_effect: request.plan.design.smallest_effect_percent / 100.0,
        host,
        server,
        disk: None,
        table_check: None,
        command: request.command.clone(),
        is_complete: false,
    }
}

struct CrashLaboratory<'a> {
    request: &'a ExperimentRequest<'a>,
    options: &'a CrashOptions,
    program: &'a ServerProgram,
    fixed: Settings,
    cells: &'a [CrashCell],
    /// The server of each configuration, between its crashes. `None`: there is none yet, or it did
    /// not start any more.
    servers: Vec<Option<CrashedServer<'a>>>,
    presence: RunPresence,
    /// `None`: nothing has crashed so far.
    folder: Option<CrashFolder>,
    run: CrashRun,
    /// So far.
    crashes: u32,
}

impl CrashLaboratory<'_> {
    fn run(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        let order =
            crash_order(self.cells, &self.options.steps, self.options.crashes, self.run.seed);
        let mut first_failure = None;
        for (position, one) in order.iter().enumerate() {
            if self.request.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.run.configurations[one.cell].left_out.is_some() {
                continue;
            }
            match self.crash_one(*one, position, order.len(), listener) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if error.is_of_server() => {
                    self.leave_out(one.cell, &error, listener)?;
                    first_failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let (None, Some(error)) = (&self.folder, first_failure) {
            return Err(error);
        }
        self.run.is_complete = self.run.configurations.iter().all(|one| one.left_out.is_none());
        Ok(self.folder()?.write(&self.run)?)
    }

    /// It is made when the first crash is recorded.
    fn folder(&mut self) -> Result<CrashFolder, LabError> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let name = format!("{}-{}", self.run.name, clock::folder_stamp());
        let folder = CrashFolder::create(self.request.runs, &name, &self.run)?;
        Ok(self.folder.insert(folder).clone())
    }

    /// A crash, recorded before its server is stopped. Returns whether the experiment goes on.
    fn crash_one(
        &mut self,
        ScheduledCrash { block, cell, planned }: ScheduledCrash,
        position: usize,
        of: usize,
        listener: &mut dyn Listener,
    ) -> Result<bool, LabError> {
        let crashed = match self.servers[cell].take() {
            Some(crashed) => crashed,
            None => self.prepare(cell, listener)?,
        };
        let label = self.cells[cell].configuration.settings_label();
        let at = planned.step.map_or_else(String::new, |step| format!(" at {step}"));
        listener.event(&ExperimentEvent::Preparing(format!(
            "crash {} of {of}: {}{at}, {label}",
            position + 1,
            planned.kind
        )));
        let server = crashed.start()?;
        let place = CrashPlace { number: self.crashes + 1, block };
        let mut random = random_of(self.run.seed, position);
        let mut watch = LoadWatch::begin(&self.presence, server.pid(), listener);
        let outcome = crashed.crash(server, planned, place, &mut random, &mut watch)?;
        let Some(mut outcome) = outcome else { return Ok(false) };
        outcome.note_beside(watch.found(listener));
        self.folder()?.append(&outcome.record)?;
        self.crashes = place.number;
        let CrashRecord { lost, table_problem, .. } = &outcome.record;
        let is_damaged = *lost > 0 || table_problem.is_some();
        // A server that does not start any more leaves its place to a new one, and so does one that
        // cannot stop because of what the crash took from it.
        if let Some(server) = outcome.server {
            match crashed.stop(server) {
                Ok(()) => self.servers[cell] = Some(crashed),
                Err(error) if is_damaged => listener.warn(format!("{label}: {error}")),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The other configurations go on without this one.
    fn leave_out(
        &mut self,
        cell: usize,
        error: &LabError,
        listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        let CrashedConfiguration { role, configuration, .. } = &self.run.configurations[cell];
        let label = configuration.settings_label();
        let control = if *role == CrashRole::Cell { "" } else { "control " };
        listener
            .warn(format!("{control}{label}: its remaining crashes are left out, because {error}"));
        self.run.configurations[cell].left_out = Some(error.to_string());
        self.folder.as_ref().map_or(Ok(()), |folder| Ok(folder.write(&self.run)?))
    }
}
