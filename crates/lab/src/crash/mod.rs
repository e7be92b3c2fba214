//! Crashes: how much of what a server has acknowledged is gone afterwards.
//!
//! Each configuration gets a private server of its own, which is crashed again and again under
//! load. The order within a crash decides whether its result is true: the server dies first, so
//! that no answer comes from a machine that is already dead; then the disk loses what it loses, and
//! the file system is mounted anew, so that nothing is read from memory.

mod binlog;
mod clients;
mod controls;
mod count;
mod cycle;
mod steps;
mod table_check;

use std::sync::atomic::Ordering;
use std::time::Duration;

use truetps_folder::{CrashFolder, ExperimentFolder};
use truetps_knowledge::judge_text;
use truetps_probe::{clock, host_facts, probe_flush};
use truetps_record::{CrashKind, CrashRole, CrashRun, CrashStep, SCHEMA_VERSION, ServerFacts};
use truetps_sandbox::{
    RunningServer, Sandbox, SandboxOptions, ServerLoad, Settings, StartOptions, effective_variables,
};
use truetps_workload::RandomStream;

use crate::check_settings::check_settings;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::ExperimentRequest;
use crate::experiment::setup::{server_settings, warn_of_leftovers};
use crate::private::preallocation::{self, PreallocSwitch};
use crate::trial::server_provider::{ServerProgram, ServerSource};
use binlog::binlog_basename;
use controls::{CrashCell, controls};
use cycle::{CrashedServer, PlannedCrash, create_table};
use table_check::TableCheck;

const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_mins(5);
/// An upper bound of what the clients of a configuration write in all crashes.
const DATA_BYTES: u64 = 1 << 30;

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
    let run = CrashRun {
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
        host,
        server: server.clone(),
        disk: None,
        table_check: None,
        command: request.command.clone(),
        is_complete: false,
    };
    let mut laboratory =
        CrashLaboratory { request, options, program, fixed, server, folder: None, run, crashes: 0 };
    laboratory.run(listener)?;
    laboratory.folder.ok_or(LabError::Interrupted)
}

struct CrashLaboratory<'a> {
    request: &'a ExperimentRequest<'a>,
    options: &'a CrashOptions,
    program: &'a ServerProgram,
    fixed: Settings,
    server: ServerFacts,
    /// `None`: nothing has crashed so far.
    folder: Option<CrashFolder>,
    run: CrashRun,
    /// So far.
    crashes: u32,
}

impl<'a> CrashLaboratory<'a> {
    fn run(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        let cells = self.cells();
        let planned: usize = cells.iter().map(|cell| self.crashes_of(cell).len()).sum();
        for cell in &cells {
            if !self.crash_cell(cell, planned, listener)? {
                return Ok(());
            }
        }
        self.run.is_complete = true;
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

    /// The controls first: where they fail, all else proves nothing.
    fn cells(&self) -> Vec<CrashCell> {
        let CrashOptions { kinds, clients, .. } = self.options;
        let mut cells = controls(self.program.binary.family(), kinds, *clients);
        let planned = self.request.plan.configurations().into_iter();
        cells.extend(planned.map(|configuration| CrashCell {
            role: CrashRole::Cell,
            kinds: kinds.clone(),
            configuration,
        }));
        cells
    }

    /// A server that is killed as it starts leaves what the crash before has left.
    fn crashes_of(&self, cell: &CrashCell) -> Vec<PlannedCrash> {
        let steps: Vec<_> = self.options.steps.iter().copied().map(Some).collect();
        let steps =
            if cell.role == CrashRole::Cell && !steps.is_empty() { steps } else { vec![None] };
        let pairs = cell
            .kinds
            .iter()
            .flat_map(|kind| steps.iter().map(|step| PlannedCrash { kind: *kind, step: *step }));
        let possible =
            pairs.filter(|one| one.kind.needs_disk() || one.step != Some(CrashStep::Recovery));
        possible.flat_map(|one| std::iter::repeat_n(one, self.options.crashes as usize)).collect()
    }

    /// All crashes of a configuration. Returns whether the experiment goes on.
    fn crash_cell(
        &mut self,
        cell: &CrashCell,
        planned: usize,
        listener: &mut dyn Listener,
    ) -> Result<bool, LabError> {
        let mut random = RandomStream::new(self.run.seed, u64::from(self.crashes));
        let mut crashes = self.crashes_of(cell);
        random.shuffle(&mut crashes);
        let mut prepared = None;
        for one in crashes {
            if self.request.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let (crashed, server) = match prepared.take() {
                Some(prepared) => prepared,
                None => self.prepare(cell, listener)?,
            };
            let number = self.crashes + 1;
            let label = cell.configuration.settings_label();
            let PlannedCrash { kind, step } = one;
            let at = step.map_or_else(String::new, |step| format!(" at {step}"));
            listener.event(&ExperimentEvent::Preparing(format!(
                "crash {number} of {planned}: {kind}{at}, {label}"
            )));
            let Some(outcome) = crashed.crash(server, one, number, &mut random)? else {
                return Ok(false);
            };
            self.folder()?.append(&outcome.record)?;
            self.crashes = number;
            // A server that does not start any more leaves its data to a new one.
            prepared = outcome.server.map(|server| (crashed, server));
        }
        Ok(true)
    }

    /// A server of a configuration with an empty table, which is durable whatever the settings are.
    fn prepare<'b>(
        &mut self,
        cell: &'b CrashCell,
        listener: &mut dyn Listener,
    ) -> Result<(CrashedServer<'b>, RunningServer), LabError>
    where
        'a: 'b,
    {
        let ServerSource::Private { home, disks, .. } = self.request.source else {
            return Err(LabError::CrashOfOthers);
        };
        let plan = self.request.plan;
        let name = plan.disk_of(&cell.configuration);
        listener.event(&ExperimentEvent::Preparing(format!(
            "preparing a server: {}",
            cell.configuration.settings_label()
        )));
        let settings = self.fixed.clone().with(cell.configuration.settings());
        let disk = name.map(|name| disks.sandbox_disk(name, self.run.seed)).transpose()?;
        let sandbox_options =
            SandboxOptions { settings: settings.clone(), data_bytes: DATA_BYTES, disk };
        let sandbox = Sandbox::create(home, &self.program.binary, &sandbox_options)?;
        let mut options = StartOptions::new(settings);
        let prealloc = cell.configuration.prealloc();
        if let Some(mode) = prealloc {
            options.environment = preallocation::environment(&sandbox, &options.settings, mode)?;
        }
        let server = sandbox.start(&options)?;
        let mut client = server.connect(CLIENT_TIMEOUT)?;
        if prealloc.is_some() {
            let mut switch = PreallocSwitch::of(&sandbox.datadir(), &options.settings);
            switch.set(&mut client, prealloc)?;
            // A pool's files are used by the next binlog.
            client.execute("FLUSH BINARY LOGS")?;
            switch.begin(prealloc)?;
        }
        let variables = effective_variables(&mut client)?;
        create_table(&mut client)?;
        let table_check = TableCheck::of(&mut client)?;
        let binlogs = binlog_basename(&mut client)?;
        drop(client);
        server.stop(STOP_TIMEOUT)?;
        sandbox.set_disk_timed(true)?;
        self.note_facts(name, &sandbox, table_check)?;
        let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_str(), None));
        let promised = judge_text(self.server.flavour, &self.server.version, variables);
        let server = sandbox.start(&options)?;
        let CrashOptions { clients, survival, is_live, .. } = *self.options;
        let stop = self.request.stop;
        let crashed = CrashedServer {
            cell,
            sandbox,
            options,
            clients,
            survival,
            is_live,
            stop,
            binlogs,
            table_check,
            promised,
        };
        Ok((crashed, server))
    }

    /// Notes what is the same for all servers: the disk, which is measured first, and the check of
    /// tables.
    fn note_facts(
        &mut self,
        disk: Option<&str>,
        sandbox: &Sandbox,
        table_check: Option<TableCheck>,
    ) -> Result<(), LabError> {
        let ServerSource::Private { disks, .. } = self.request.source else {
            return Err(LabError::CrashOfOthers);
        };
        if let Some(name) = disk.filter(|_| self.run.disk.is_none())
            && let Some(found) = sandbox.test_disk()?
        {
            self.run.disk = disks.disk_facts(name, &found);
        }
        self.run.table_check = table_check.map(|check| check.name().to_owned());
        // Before the first crash it is a part of the record that is made then.
        self.folder.as_ref().map_or(Ok(()), |folder| Ok(folder.write(&self.run)?))
    }
}
