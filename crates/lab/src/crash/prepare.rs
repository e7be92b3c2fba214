//! A configuration's own private server, before its first crash.

use std::time::Duration;

use truetps_knowledge::judge_text;
use truetps_sandbox::{Sandbox, SandboxOptions, StartOptions, effective_variables};

use super::binlog::binlog_basename;
use super::cycle::{CrashedServer, create_table};
use super::table_check::TableCheck;
use super::{CrashLaboratory, CrashOptions};
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::private::preallocation::{self, PreallocSwitch};
use crate::trial::server_provider::ServerSource;

const CLIENT_TIMEOUT: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_mins(5);
/// An upper bound of what the clients of a configuration write in all crashes.
const DATA_BYTES: u64 = 1 << 30;

impl<'a> CrashLaboratory<'a> {
    /// A server of a configuration with an empty table, which is durable whatever the settings are.
    pub(super) fn prepare(
        &mut self,
        cell: usize,
        listener: &mut dyn Listener,
    ) -> Result<CrashedServer<'a>, LabError> {
        let cell = &self.cells[cell];
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
        let server = &self.run.server;
        let promised = judge_text(server.flavour, &server.version, variables);
        let CrashOptions { clients, survival, is_live, .. } = *self.options;
        let stop = self.request.stop;
        Ok(CrashedServer {
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
        })
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
