//! The private servers of an experiment.
//!
//! One *prepared server* for each combination of settings that need a restart: a sandbox whose
//! datadir holds the loaded tables and a redo log filled once. One server runs at a time. Settings
//! that a running server accepts are set before each trial.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use truetps_driver::{Client, Target};
use truetps_plan::{DatadirState, Plan};
use truetps_probe::bound_to;
use truetps_record::{
    Configuration, Coupling, DISK, DiskFacts, PreallocMode, SettingValue, TABLE_ROWS, same_setting,
};
use truetps_sandbox::{
    Home, Mismatch, RunningServer, Sandbox, SandboxOptions, Settings, StartOptions,
    effective_variables, taken_differently,
};

use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::private::coupling::{self, ShownVariables, Started};
use crate::private::preallocation::{self, PreallocSwitch};
use crate::private::private_setting;
use crate::private::sized_tables::SizedTables;
use crate::trial::planned_disks::PlannedDisks;
use crate::trial::ready_server::{ReadyServer, TrialServer};
use crate::trial::server_provider::{ServerProgram, ServerProvider};
use crate::trial::setting::{Changeable, SettingError};
use crate::trial::tables::{SCHEMA, Tables, wait_for_quiet};

pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
/// A server with many changed pages takes long to stop.
const STOP_TIMEOUT: Duration = Duration::from_mins(5);

/// The levels of those factors that need a restart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StartLevels {
    pub(crate) settings: IndexMap<String, SettingValue>,
    /// If the disk is a factor.
    pub(crate) disk: Option<String>,
    /// If the size of the tables is a factor.
    pub(crate) table_rows: Option<SettingValue>,
    /// If preallocation is a factor.
    pub(crate) prealloc: Option<PreallocMode>,
}

/// A factor, its level, and the server's message.
type RefusedLevel = (String, SettingValue, SettingError);

/// One of the compared servers and what was found out about it.
pub(crate) struct ServerUnderTest<'a> {
    program: &'a ServerProgram,
    /// Settings with the same value in all its trials.
    pub(crate) fixed: Settings,
    /// Settings of the workload, in this server's dialect.
    tables: SizedTables,
    /// Factors that need a restart.
    pub(crate) at_start: Vec<String>,
}

impl<'a> ServerUnderTest<'a> {
    pub(crate) fn new(program: &'a ServerProgram, fixed: Settings, tables: SizedTables) -> Self {
        Self { program, fixed, tables, at_start: Vec::new() }
    }

    fn needs_start(&self, name: &str) -> bool {
        self.at_start.iter().any(|other| other == name)
    }

    pub(crate) fn settings_with(&self, levels: &StartLevels) -> Settings {
        self.fixed.clone().with(levels.settings.iter().map(|(name, level)| (name.as_str(), level)))
    }

    fn tables_of(&self, levels: &StartLevels) -> &Tables {
        self.tables.of_size(levels.table_rows.as_ref())
    }

    fn start_levels(&self, plan: &Plan, configuration: &Configuration) -> StartLevels {
        let levels = configuration.settings().filter(|(name, _)| self.needs_start(name));
        StartLevels {
            settings: levels.map(|(name, level)| (name.to_owned(), level.clone())).collect(),
            disk: configuration.disk().map(str::to_owned),
            table_rows: configuration.levels.get(TABLE_ROWS).cloned(),
            prealloc: preallocation::mode_at_start(plan, configuration),
        }
    }
}

struct PreparedServer {
    /// Its index among the compared servers.
    server_index: usize,
    /// Those that its data was made with.
    levels: StartLevels,
    sandbox: Sandbox,
}

/// A running server, and a client for everything that is not measured.
pub(crate) struct LiveServer {
    prepared_index: usize,
    pub(crate) server: RunningServer,
    /// The address that the load connects to.
    pub(crate) target: Target,
    pub(crate) client: Client,
    /// If it has preloaded the library.
    prealloc: Option<PreallocSwitch>,
    /// Oddities of its start, reported with the trial.
    pub(crate) notes: Vec<String>,
}

/// Where private servers are.
#[derive(Clone, Copy)]
pub(crate) struct PrivateHost<'a> {
    pub(crate) home: &'a Home,
    pub(crate) disks: &'a PlannedDisks,
    /// Cores that servers are bound to; empty: none.
    pub(crate) cores: &'a [u32],
}

pub(crate) struct PrivateServers<'a> {
    plan: &'a Plan,
    host: PrivateHost<'a>,
    /// One, or one for each level of the factor `server`.
    pub(crate) servers: Vec<ServerUnderTest<'a>>,
    /// The trials are mixtures of two configurations, in any combination of their levels.
    pub(crate) is_of_mixtures: bool,
    stop: &'a AtomicBool,
    couplings: Vec<Coupling>,
    /// Those that servers are on, as they were measured.
    disks: Vec<DiskFacts>,
    prepared: Vec<PreparedServer>,
    live: Option<LiveServer>,
}

impl<'a> PrivateServers<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        host: PrivateHost<'a>,
        servers: Vec<ServerUnderTest<'a>>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            plan,
            host,
            servers,
            is_of_mixtures: false,
            stop,
            couplings: Vec::new(),
            disks: Vec::new(),
            prepared: Vec::new(),
            live: None,
        }
    }

    /// Prepares every server.
    pub(crate) fn prepare(&mut self, listener: &mut dyn Listener) -> Result<(), LabError> {
        // Each server is checked before any tables are loaded: a refusal is reported early.
        let mut wanted = Vec::new();
        for server_index in 0..self.servers.len() {
            let (sandbox, live) = self.examine(server_index, listener)?;
            let combinations = self.start_combinations(server_index);
            if self.servers.len() == 1 && combinations == [StartLevels::default()] {
                return self.load_and_wear_in(
                    server_index,
                    StartLevels::default(),
                    sandbox,
                    live,
                    listener,
                );
            }
            drop(live);
            sandbox.remove()?;
            wanted.push(combinations);
        }
        for (server_index, combinations) in wanted.into_iter().enumerate() {
            for levels in combinations {
                self.prepare_server(server_index, levels, listener)?;
            }
        }
        Ok(())
    }

    /// Finds out which factors need a restart and which settings levels derive, and has every level
    /// accepted: every refusal happens here. Returns a server started without any level.
    fn examine(
        &mut self,
        server_index: usize,
        listener: &mut dyn Listener,
    ) -> Result<(Sandbox, (RunningServer, Client)), LabError> {
        listener.event(&ExperimentEvent::Preparing(format!(
            "starting {}",
            self.servers[server_index].program.what()
        )));
        let sandbox = self.create_sandbox(server_index, &StartLevels::default())?;
        let (server, mut client) = self.boot(server_index, &sandbox, &StartLevels::default())?;
        let base = effective_variables(&mut client)?;
        for mismatch in taken_differently(&mut client, &self.servers[server_index].fixed)? {
            let Mismatch { name, wanted, found } = mismatch;
            let is_of_file =
                self.servers[server_index].program.base.iter().any(|(of_file, _)| *of_file == name);
            let whose = if is_of_file { "of the option file" } else { "chosen by truetps" };
            listener.warn(format!("the server adjusted {name} = {wanted}, {whose}, to {found}"));
        }
        if !self.plan.setting_factors().is_empty() {
            listener.event(&ExperimentEvent::Preparing(
                "trying each level of each setting on it".to_owned(),
            ));
        }
        let refused = self.try_levels(server_index, &mut client)?;
        drop(client);
        server.kill()?;
        for (name, level, refusal) in refused {
            // If a restart does not help either, the running server's message is reported.
            if self.variables_with(server_index, &sandbox, &name, &level).is_err() {
                return Err(refusal.into());
            }
        }
        let live = self.find_couplings(server_index, &sandbox, &base)?;
        Ok((sandbox, live))
    }

    /// Sets every level of every factor in both directions, and sorts the factors by whether that
    /// works: trials are in random order, and some settings cannot be changed back. Returns the
    /// levels that a running server refuses and that a start may accept.
    fn try_levels(
        &mut self,
        server_index: usize,
        client: &mut Client,
    ) -> Result<Vec<RefusedLevel>, LabError> {
        let mut refused = Vec::new();
        for (name, levels) in self.plan.setting_factors() {
            let mut is_dynamic = true;
            for level in levels {
                match private_setting::set(client, name, level) {
                    Ok(changeable) => is_dynamic &= changeable == Changeable::Dynamic,
                    Err(refusal) if refusal.is_of_value() => {
                        refused.push((name.to_owned(), level.clone(), refusal));
                        is_dynamic = false;
                    }
                    Err(refusal) => return Err(refusal.into()),
                }
            }
            let is_accepted_again = is_dynamic
                && levels.iter().rev().all(|level| {
                    matches!(private_setting::set(client, name, level), Ok(Changeable::Dynamic))
                });
            if !is_accepted_again {
                self.servers[server_index].at_start.push(name.to_owned());
            }
        }
        Ok(refused)
    }

    /// Starts a server with each level of each dynamic factor, and keeps the derived settings.
    /// Returns a server started without any level.
    fn find_couplings(
        &mut self,
        server_index: usize,
        sandbox: &Sandbox,
        base: &ShownVariables,
    ) -> Result<(RunningServer, Client), LabError> {
        let mut started = Vec::new();
        for (name, levels) in self.plan.setting_factors() {
            if self.servers[server_index].needs_start(name) {
                continue;
            }
            for level in levels {
                let is_base =
                    base.get(name).is_some_and(|found| same_setting(&level.option_text(), found));
                let variables = if is_base {
                    base.clone()
                } else {
                    self.variables_with(server_index, sandbox, name, level)?
                };
                started.push(Started { factor: name.to_owned(), level: level.clone(), variables });
            }
        }
        let (server, mut client) = self.boot(server_index, sandbox, &StartLevels::default())?;
        let base_again = effective_variables(&mut client)?;
        let name = self.server_level(server_index);
        let found = coupling::find(self.plan, name.as_deref(), base, &base_again, &started);
        // Both directions: MariaDB with a buffered log (`innodb_log_file_buffering`) accepts OFF
        // without an error and leaves it ON.
        for coupling in found.iter().chain(found.iter().rev()) {
            let value = SettingValue::Text(coupling.value.clone());
            // A derived setting that cannot be set later makes its factor one that needs a restart.
            if !self.servers[server_index].needs_start(&coupling.factor)
                && !matches!(
                    private_setting::set(&mut client, &coupling.name, &value),
                    Ok(Changeable::Dynamic)
                )
            {
                self.servers[server_index].at_start.push(coupling.factor.clone());
            }
        }
        self.couplings.extend(found);
        Ok((server, client))
    }

    /// Variables of a server that starts with this level.
    fn variables_with(
        &self,
        server_index: usize,
        sandbox: &Sandbox,
        name: &str,
        level: &SettingValue,
    ) -> Result<ShownVariables, LabError> {
        let settings = IndexMap::from([(name.to_owned(), level.clone())]);
        let levels = StartLevels { settings, ..StartLevels::default() };
        let (server, mut client) = self.boot(server_index, sandbox, &levels)?;
        let variables = effective_variables(&mut client)?;
        drop(client);
        server.kill()?;
        Ok(variables)
    }

    /// Distinct combinations of the levels that need a restart, in the plan's order.
    fn start_combinations(&self, server_index: usize) -> Vec<StartLevels> {
        let mut combinations: Vec<StartLevels> = Vec::new();
        for configuration in self.plan.configurations() {
            if self.server_index_of(&configuration) != server_index {
                continue;
            }
            let levels = self.servers[server_index].start_levels(self.plan, &configuration);
            if !combinations.contains(&levels) {
                combinations.push(levels);
            }
        }
        combinations
    }

    /// The server that a configuration measures.
    fn server_index_of(&self, configuration: &Configuration) -> usize {
        let Some(name) = configuration.server() else { return 0 };
        let mut names = self.servers.iter().map(|server| server.program.name.as_deref());
        names.position(|other| other == Some(name)).unwrap_or(0)
    }

    /// The server's name, where that is a level.
    fn server_level(&self, server_index: usize) -> Option<String> {
        if self.servers.len() > 1 { self.servers[server_index].program.name.clone() } else { None }
    }

    pub(crate) fn create_sandbox(
        &self,
        server_index: usize,
        levels: &StartLevels,
    ) -> Result<Sandbox, LabError> {
        let server = &self.servers[server_index];
        let disk = levels.disk.as_deref().or(self.plan.disk.as_deref());
        let options = SandboxOptions {
            settings: server.settings_with(levels),
            data_bytes: server.tables_of(levels).data_bytes(),
            disk: disk
                .map(|name| self.host.disks.sandbox_disk(name, self.plan.design.seed))
                .transpose()?,
        };
        Ok(Sandbox::create(self.host.home, &server.program.binary, &options)?)
    }

    fn boot(
        &self,
        server_index: usize,
        sandbox: &Sandbox,
        levels: &StartLevels,
    ) -> Result<(RunningServer, Client), LabError> {
        let mut options = StartOptions::new(self.servers[server_index].settings_with(levels));
        if let Some(mode) = levels.prealloc {
            options.environment = preallocation::environment(sandbox, &options.settings, mode)?;
        }
        let server =
            bound_to(self.host.cores, || sandbox.start(&options)).map_err(LabError::Pin)??;
        let mut client = server.connect(CLIENT_TIMEOUT)?;
        let planned = self.plan.server.settings.iter().chain(&levels.settings);
        for (name, level) in planned {
            verify_start_level(&mut client, name, level)?;
        }
        Ok((server, client))
    }

    fn prepare_server(
        &mut self,
        server_index: usize,
        levels: StartLevels,
        listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        let number = self.prepared.len() + 1;
        listener.event(&ExperimentEvent::Preparing(format!(
            "preparing server {number} with its own data"
        )));
        let sandbox = self.create_sandbox(server_index, &levels)?;
        let live = self.boot(server_index, &sandbox, &levels)?;
        self.load_and_wear_in(server_index, levels, sandbox, live, listener)
    }

    /// Loads the tables, stops the server and fills its redo log once.
    fn load_and_wear_in(
        &mut self,
        server_index: usize,
        levels: StartLevels,
        sandbox: Sandbox,
        (server, mut client): (RunningServer, Client),
        listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        let stop = self.stop;
        let loaded = self.servers[server_index].tables_of(&levels).load(
            &mut client,
            &mut |_, filled| {
                listener.event(&ExperimentEvent::Loading { rows: filled.rows, of: filled.of });
                !stop.load(Ordering::Relaxed)
            },
            // A private server is deleted as a whole.
            &mut |_| Ok(()),
        )?;
        if !loaded {
            return Err(LabError::Interrupted);
        }
        listener
            .event(&ExperimentEvent::Preparing("filling the server's redo log once".to_owned()));
        drop(client);
        server.wear_in_wal()?;
        server.stop(STOP_TIMEOUT)?;
        sandbox.wear_in_redo()?;
        self.measure_disk(&levels, &sandbox, listener)?;
        if self.plan.design.datadir == DatadirState::FreshCopy {
            sandbox.keep_prepared()?;
        }
        self.prepared.push(PreparedServer { server_index, levels, sandbox });
        Ok(())
    }

    /// Measures an emulated disk that was not measured yet.
    fn measure_disk(
        &mut self,
        levels: &StartLevels,
        sandbox: &Sandbox,
        listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        let Some(name) = levels.disk.as_ref().or(self.plan.disk.as_ref()) else { return Ok(()) };
        if self.disks.iter().any(|disk| disk.profile == *name) {
            return Ok(());
        }
        listener.event(&ExperimentEvent::Preparing(format!("measuring the disk {name}")));
        sandbox.set_disk_timed(true)?;
        let found = sandbox.test_disk()?;
        sandbox.set_disk_timed(false)?;
        let Some(disk) = found.and_then(|found| self.host.disks.disk_facts(name, &found)) else {
            return Ok(());
        };
        if !disk.is_held() {
            listener.warn(format!(
                "disk {name}: writing a page and flushing it takes {:.2} ms here, and {:.2} ms by \
                 the profile",
                disk.overwrite_us_p50 / 1e3,
                disk.planned_overwrite_us / 1e3
            ));
        }
        self.disks.push(disk);
        Ok(())
    }

    /// A server for this configuration, in its initial state.
    fn live_server(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<&mut LiveServer, LabError> {
        // Only trials take the time of an emulated disk.
        if let Some(live) = &self.live {
            self.prepared[live.prepared_index].sandbox.set_disk_timed(false)?;
        }
        let server_index = self.server_index_of(configuration);
        let levels = self.servers[server_index].start_levels(self.plan, configuration);
        let prepared_index = self.prepared_for(server_index, &levels, listener)?;
        match self.ready_on(prepared_index, &levels, configuration) {
            Ok(live) => Ok(self.live.insert(live)),
            // The state of its data is unknown: the next trial gets a new sandbox.
            Err(error) => {
                self.prepared.remove(prepared_index);
                Err(error)
            }
        }
    }

    /// The index of the server whose data these levels need; it is made where it is not there.
    fn prepared_for(
        &mut self,
        server_index: usize,
        levels: &StartLevels,
        listener: &mut dyn Listener,
    ) -> Result<usize, LabError> {
        let of_data = self.data_levels(levels);
        let known = self.prepared.iter().position(|prepared| {
            prepared.server_index == server_index && prepared.levels == of_data
        });
        if let Some(prepared_index) = known {
            return Ok(prepared_index);
        }
        self.stop_live()?;
        self.prepare_server(server_index, of_data, listener)?;
        Ok(self.prepared.len() - 1)
    }

    fn ready_on(
        &mut self,
        prepared_index: usize,
        levels: &StartLevels,
        configuration: &Configuration,
    ) -> Result<LiveServer, LabError> {
        let mut live = self.live_on(prepared_index, levels)?;
        // Before the tables are filled: a setting may decide how they are filled and what is
        // cached.
        self.set_dynamic(&mut live.client, configuration)?;
        if let Some(switch) = &live.prealloc {
            switch.set(&mut live.client, configuration.prealloc())?;
        }
        if self.plan.design.datadir == DatadirState::Refill {
            live.notes.extend(wait_for_quiet(&mut live.client)?);
            let PreparedServer { server_index, levels, .. } = &self.prepared[prepared_index];
            let tables = self.servers[*server_index].tables_of(levels);
            live.notes.extend(tables.refill(&mut live.client)?);
        }
        if let Some(switch) = &mut live.prealloc {
            switch.begin(configuration.prealloc())?;
        }
        self.prepared[prepared_index].sandbox.set_disk_timed(true)?;
        Ok(live)
    }

    /// Sets the levels of the factors that need no restart, and their derived settings.
    fn set_dynamic(
        &self,
        client: &mut Client,
        configuration: &Configuration,
    ) -> Result<(), LabError> {
        let server_index = self.server_index_of(configuration);
        let server = self.server_level(server_index);
        for (name, level) in configuration
            .settings()
            .filter(|(name, _)| !self.servers[server_index].needs_start(name))
        {
            private_setting::set(client, name, level)?;
            let coupled = self
                .couplings
                .iter()
                .filter(|c| c.server == server && c.factor == name && c.level == *level);
            for coupling in coupled {
                private_setting::set(
                    client,
                    &coupling.name,
                    &SettingValue::Text(coupling.value.clone()),
                )?;
            }
        }
        Ok(())
    }

    /// The server prepared for these settings: the running one, or a new start. If some trials need
    /// a restart, all get one, so that none inherits caches or other state from the trial before.
    fn live_on(
        &mut self,
        prepared_index: usize,
        levels: &StartLevels,
    ) -> Result<LiveServer, LabError> {
        let is_refilled = self.plan.design.datadir == DatadirState::Refill;
        let has_several_datadirs =
            [DISK, TABLE_ROWS].iter().any(|name| self.plan.factors.contains_key(*name))
                || preallocation::modes(self.plan) > 1;
        let needs_none =
            self.servers.len() == 1 && self.servers[0].at_start.is_empty() && !has_several_datadirs;
        let keeps_running = is_refilled && needs_none;
        match self.live.take() {
            Some(live) if live.prepared_index == prepared_index && keeps_running => {
                return Ok(live);
            }
            other => self.live = other,
        }
        self.stop_live()?;
        let prepared = &self.prepared[prepared_index];
        if !is_refilled {
            prepared.sandbox.restore_prepared()?;
        }
        let (server, mut client) = self.boot(prepared.server_index, &prepared.sandbox, levels)?;
        let mut notes = Vec::new();
        // MySQL creates new redo files at each start, so that filling the old ones has no effect.
        if server.lap_redo()? > 0 {
            notes.extend(
                self.servers[prepared.server_index]
                    .tables_of(&prepared.levels)
                    .flush(&mut client)?,
            );
        }
        let target = server.target(SCHEMA);
        let settings = self.servers[prepared.server_index].settings_with(levels);
        let prealloc =
            levels.prealloc.map(|_| PreallocSwitch::of(&prepared.sandbox.datadir(), &settings));
        Ok(LiveServer { prepared_index, server, target, client, prealloc, notes })
    }

    /// Stops the running server. With fresh copies its data is deleted, so that no clean shutdown
    /// is needed.
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
}

impl ServerProvider for PrivateServers<'_> {
    fn couplings(&self) -> &[Coupling] {
        &self.couplings
    }

    fn disks(&self) -> &[DiskFacts] {
        &self.disks
    }

    fn prepare_for(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        let server_index = self.server_index_of(configuration);
        let levels = self.servers[server_index].start_levels(self.plan, configuration);
        self.prepared_for(server_index, &levels, listener).map(|_| ())
    }

    fn ready<'s>(
        &'s mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<Box<dyn ReadyServer<'s> + 's>, LabError> {
        let live = self.live_server(configuration, listener)?;
        Ok(Box::new(TrialServer {
            client: &mut live.client,
            log: None,
            target: &live.target,
            control: live.target.clone(),
            session: BTreeMap::new(),
            pid: Some(live.server.pid()),
            server: Some(&mut live.server),
            notes: std::mem::take(&mut live.notes),
        }))
    }

    fn trouble(
        &mut self,
        configuration: &Configuration,
        _listener: &mut dyn Listener,
    ) -> Option<String> {
        let switch = self.live.as_ref()?.prealloc.as_ref()?;
        switch.trouble(configuration.prealloc()).unwrap_or_else(|error| Some(error.to_string()))
    }

    /// With its data.
    fn discard(&mut self) {
        if let Some(live) = self.live.take() {
            self.prepared.remove(live.prepared_index);
        }
    }
}

/// log_bin is ON, whatever name it was given at start.
fn verify_start_level(
    client: &mut Client,
    name: &str,
    level: &SettingValue,
) -> Result<(), SettingError> {
    let is_name = matches!(level, SettingValue::Text(_));
    if name == "log_bin" && is_name {
        private_setting::check(client, name, &SettingValue::Bool(true))
    } else {
        private_setting::check(client, name, level)
    }
}
