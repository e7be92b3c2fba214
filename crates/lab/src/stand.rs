//! The private servers of an experiment.
//!
//! One *stand* for each combination of settings that a server must be started with: a sandbox whose data folder holds
//! the loaded tables and a worn-in redo log. One server runs at a time. Settings that can be changed while it runs are
//! set before each trial.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use truetps_driver::{Client, Target};
use truetps_probe::bound_to;
use truetps_record::{Configuration, Coupling, DatadirState, Plan, SettingValue, same_setting};
use truetps_sandbox::{
    Home, Mismatch, RunningServer, Sandbox, SandboxOptions, ServerBinary, Settings, StartOptions, effective_variables,
    mismatches,
};
use truetps_workload::Workload;

use crate::coupling::{self, Started, Variables};
use crate::error::LabError;
use crate::event::{Event, Listener};
use crate::experiment::Request;
use crate::setting::{Changeable, SettingError, set_global, verify};
use crate::tables::{Ownership, SCHEMA, Tables, wait_for_quiet};

const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
/// A server with many changed pages takes long to stop.
const STOP_TIMEOUT: Duration = Duration::from_mins(5);

/// The levels of those factors that need a restart.
type StartLevels = IndexMap<String, SettingValue>;

struct Stand {
    levels: StartLevels,
    sandbox: Sandbox,
}

/// A server that runs, and a client for everything that is not measured.
pub(crate) struct Live {
    stand: usize,
    pub(crate) server: RunningServer,
    /// Where the load connects to.
    pub(crate) target: Target,
    pub(crate) client: Client,
    /// What was odd about its start, to be said with the trial.
    pub(crate) notes: Vec<String>,
}

pub(crate) struct Stands<'a> {
    plan: &'a Plan,
    home: &'a Home,
    binary: &'a ServerBinary,
    stop: &'a AtomicBool,
    /// Cores that servers are bound to; empty: none.
    cores: &'a [u32],
    /// Settings that are the same in all trials.
    fixed: Settings,
    tables: Tables,
    at_start: Vec<String>,
    couplings: Vec<Coupling>,
    list: Vec<Stand>,
    live: Option<Live>,
}

impl<'a> Stands<'a> {
    pub(crate) fn new(
        request: &Request<'a>,
        home: &'a Home,
        binary: &'a ServerBinary,
        workload: &dyn Workload,
        fixed: Settings,
    ) -> Self {
        let Request { plan, stop, pin, .. } = *request;
        let tables = Tables::new(workload, plan.design.datadir == DatadirState::Refill, Ownership::Private);
        Self {
            plan,
            home,
            binary,
            stop,
            cores: &pin.server,
            fixed,
            tables,
            at_start: Vec::new(),
            couplings: Vec::new(),
            list: Vec::new(),
            live: None,
        }
    }

    /// What the levels of dynamic factors bring along.
    pub(crate) fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    /// Finds out which factors need a restart and what levels bring along, has every level accepted, and prepares a
    /// stand for each combination of those levels: all that a server could refuse, it refuses here.
    pub(crate) fn prepare(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        listener.event(&Event::Preparing(format!("starting {} {}", self.binary.flavour, self.binary.version)));
        let sandbox = self.create_sandbox(&StartLevels::new())?;
        let (server, mut client) = self.boot(&sandbox, &StartLevels::new())?;
        let base = effective_variables(&mut client)?;
        for mismatch in mismatches(&self.fixed, &base) {
            let Mismatch { name, wanted, found } = mismatch;
            listener
                .event(&Event::Warning(format!("the server made {found} of {name} = {wanted}, truetps's own choice")));
        }
        self.try_levels(&mut client)?;
        drop(client);
        server.kill()?;
        let live = self.find_couplings(&sandbox, &base)?;
        let combinations = self.start_combinations();
        if combinations.len() == 1 && combinations[0].is_empty() {
            return self.finish_stand(StartLevels::new(), sandbox, live, listener);
        }
        drop(live);
        sandbox.remove()?;
        for levels in combinations {
            self.build_stand(levels, listener)?;
        }
        Ok(())
    }

    /// Sets every level of every factor once, and sorts the factors by whether that works.
    fn try_levels(&mut self, client: &mut Client) -> Result<(), LabError> {
        for (name, levels) in self.plan.setting_factors() {
            let mut changeable = Changeable::Dynamic;
            for level in levels {
                changeable = set_global(client, name, level)?;
            }
            if changeable == Changeable::AtStart {
                self.at_start.push(name.to_owned());
            }
        }
        Ok(())
    }

    /// Starts a server with each level of each dynamic factor, and keeps what came along. Returns a server that was
    /// started without any level.
    fn find_couplings(&mut self, sandbox: &Sandbox, base: &Variables) -> Result<(RunningServer, Client), LabError> {
        let mut started = Vec::new();
        for (name, levels) in self.plan.setting_factors() {
            if self.needs_start(name) {
                continue;
            }
            for level in levels {
                let is_base = base.get(name).is_some_and(|found| same_setting(&level.option_text(), found));
                let variables = if is_base { base.clone() } else { self.variables_with(sandbox, name, level)? };
                started.push(Started { factor: name.to_owned(), level: level.clone(), variables });
            }
        }
        let (server, mut client) = self.boot(sandbox, &StartLevels::new())?;
        let base_again = effective_variables(&mut client)?;
        self.couplings = coupling::find(self.plan, base, &base_again, &started);
        for coupling in self.couplings.clone() {
            let value = SettingValue::Text(coupling.value.clone());
            // What comes along and cannot be set later makes its factor one that needs a restart.
            if !matches!(set_global(&mut client, &coupling.name, &value), Ok(Changeable::Dynamic)) {
                self.at_start.push(coupling.factor.clone());
            }
        }
        Ok((server, client))
    }

    /// Variables of a server that starts with this level.
    fn variables_with(&self, sandbox: &Sandbox, name: &str, level: &SettingValue) -> Result<Variables, LabError> {
        let levels = StartLevels::from([(name.to_owned(), level.clone())]);
        let (server, mut client) = self.boot(sandbox, &levels)?;
        let variables = effective_variables(&mut client)?;
        drop(client);
        server.kill()?;
        Ok(variables)
    }

    /// Distinct combinations of the levels that need a restart, in the plan's order.
    fn start_combinations(&self) -> Vec<StartLevels> {
        let mut combinations: Vec<StartLevels> = Vec::new();
        for configuration in self.plan.configurations() {
            let levels = self.start_levels(&configuration);
            if !combinations.contains(&levels) {
                combinations.push(levels);
            }
        }
        combinations
    }

    fn needs_start(&self, name: &str) -> bool {
        self.at_start.iter().any(|other| other == name)
    }

    fn start_levels(&self, configuration: &Configuration) -> StartLevels {
        let levels = configuration.settings().filter(|(name, _)| self.needs_start(name));
        levels.map(|(name, level)| (name.to_owned(), level.clone())).collect()
    }

    fn settings_with(&self, levels: &StartLevels) -> Settings {
        self.fixed.clone().with(levels.iter().map(|(name, level)| (name.as_str(), level)))
    }

    fn create_sandbox(&self, levels: &StartLevels) -> Result<Sandbox, LabError> {
        let options = SandboxOptions { settings: self.settings_with(levels), data_bytes: self.tables.data_bytes() };
        Ok(Sandbox::create(self.home, self.binary, &options)?)
    }

    fn boot(&self, sandbox: &Sandbox, levels: &StartLevels) -> Result<(RunningServer, Client), LabError> {
        let options = StartOptions::new(self.settings_with(levels));
        let server = bound_to(self.cores, || sandbox.start(&options)).map_err(LabError::Pin)??;
        let mut client = Client::connect_unix(server.socket(), "root", None, CLIENT_TIMEOUT)?;
        let planned = self.plan.server.settings.iter().chain(levels);
        for (name, level) in planned {
            verify_start_level(&mut client, name, level)?;
        }
        Ok((server, client))
    }

    fn build_stand(&mut self, levels: StartLevels, listener: &mut dyn Listener) -> Result<(), LabError> {
        let sandbox = self.create_sandbox(&levels)?;
        let live = self.boot(&sandbox, &levels)?;
        self.finish_stand(levels, sandbox, live, listener)
    }

    /// Loads the tables, stops the server and wears in its redo log.
    fn finish_stand(
        &mut self,
        levels: StartLevels,
        sandbox: Sandbox,
        (server, mut client): (RunningServer, Client),
        listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        let stop = self.stop;
        let loaded = self.tables.load(&mut client, &mut |rows, of| {
            listener.event(&Event::Loading { rows, of });
            !stop.load(Ordering::Relaxed)
        })?;
        if !loaded {
            return Err(LabError::Interrupted);
        }
        listener.event(&Event::Preparing("stopping the server to wear in its redo log".to_owned()));
        drop(client);
        server.stop(STOP_TIMEOUT)?;
        sandbox.wear_in_redo()?;
        if self.plan.design.datadir == DatadirState::FreshCopy {
            sandbox.keep_prepared()?;
        }
        self.list.push(Stand { levels, sandbox });
        Ok(())
    }

    /// A server for this configuration, in its first state.
    pub(crate) fn ready(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<&mut Live, LabError> {
        let levels = self.start_levels(configuration);
        let known = self.list.iter().position(|stand| stand.levels == levels);
        let number = if let Some(number) = known {
            number
        } else {
            self.stop_live()?;
            self.build_stand(levels, listener)?;
            self.list.len() - 1
        };
        match self.ready_on(number, configuration) {
            Ok(live) => Ok(self.live.insert(live)),
            // Nobody knows what state its data are in: the next trial gets a new stand.
            Err(error) => {
                self.list.remove(number);
                Err(error)
            }
        }
    }

    fn ready_on(&mut self, number: usize, configuration: &Configuration) -> Result<Live, LabError> {
        let mut live = self.live_on(number)?;
        // Before the tables are filled: a setting may decide how that is done, and what is kept in memory.
        self.set_dynamic(&mut live.client, configuration)?;
        if self.plan.design.datadir == DatadirState::Refill {
            live.notes.extend(wait_for_quiet(&mut live.client)?);
            live.notes.extend(self.tables.refill(&mut live.client)?);
        }
        Ok(live)
    }

    /// Sets the levels of the factors that need no restart, and what those bring along.
    fn set_dynamic(&self, client: &mut Client, configuration: &Configuration) -> Result<(), LabError> {
        for (name, level) in configuration.settings().filter(|(name, _)| !self.needs_start(name)) {
            set_global(client, name, level)?;
            for coupling in self.couplings.iter().filter(|c| c.factor == name && c.level == *level) {
                set_global(client, &coupling.name, &SettingValue::Text(coupling.value.clone()))?;
            }
        }
        Ok(())
    }

    /// The server of this stand: the one that runs, or a new start. Where some trials need a new start, all get one, so
    /// that none inherits what a server remembers of the trial before.
    fn live_on(&mut self, number: usize) -> Result<Live, LabError> {
        let is_refilled = self.plan.design.datadir == DatadirState::Refill;
        let keeps_running = is_refilled && self.at_start.is_empty();
        match self.live.take() {
            Some(live) if live.stand == number && keeps_running => return Ok(live),
            other => self.live = other,
        }
        self.stop_live()?;
        let stand = &self.list[number];
        if !is_refilled {
            stand.sandbox.restore_prepared()?;
        }
        let (server, mut client) = self.boot(&stand.sandbox, &stand.levels)?;
        let mut notes = Vec::new();
        // MySQL makes new redo files at each start, which wearing in the old ones does nothing for.
        if server.lap_redo()? > 0 {
            notes.extend(self.tables.flush(&mut client)?);
        }
        let target = Target::mysql_unix(server.socket(), "root", Some(SCHEMA));
        Ok(Live { stand: number, server, target, client, notes })
    }

    /// Stops the server that runs. With fresh copies its data is thrown away, so that it need not be asked politely.
    fn stop_live(&mut self) -> Result<(), LabError> {
        let Some(live) = self.live.take() else { return Ok(()) };
        drop(live.client);
        if self.plan.design.datadir == DatadirState::Refill {
            live.server.stop(STOP_TIMEOUT)?;
        } else {
            live.server.kill()?;
        }
        Ok(())
    }

    /// Throws away the server that runs, with its data: it died or hangs. The next trial gets a new one.
    pub(crate) fn discard(&mut self) {
        if let Some(live) = self.live.take() {
            self.list.remove(live.stand);
        }
    }
}

/// log_bin is ON whatever name it was given at the start.
fn verify_start_level(client: &mut Client, name: &str, level: &SettingValue) -> Result<(), SettingError> {
    let is_name = matches!(level, SettingValue::Text(_));
    if name == "log_bin" && is_name {
        verify(client, name, &SettingValue::Bool(true))
    } else {
        verify(client, name, level)
    }
}
