//! Where an experiment gets its server: private servers, or one external server.

use std::path::PathBuf;
use std::time::Duration;

use truetps_driver::{Password, Target};
use truetps_record::{Configuration, Coupling, DiskFacts, ExternalFacts, Part};
use truetps_sandbox::{Home, ServerBinary};

use crate::error::LabError;
use crate::event::Listener;
use crate::trial::planned_disks::PlannedDisks;
use crate::trial::ready_server::ReadyServer;

/// A server's program and the name given to it by the user.
#[derive(Debug, Clone)]
pub struct ServerProgram {
    pub name: Option<String>,
    pub binary: ServerBinary,
    /// Settings of the user's own option file: they replace settings that truetps chooses, and the
    /// plan's replace them.
    pub base: Vec<(String, String)>,
}

impl ServerProgram {
    /// `mysql-8.0 (mysql 8.0.15)`.
    pub(crate) fn what(&self) -> String {
        let what = format!("{} {}", self.binary.flavour, self.binary.version);
        self.name.as_ref().map_or(what.clone(), |name| format!("{name} ({what})"))
    }
}

/// The source of the servers.
#[derive(Clone, Copy)]
pub enum ServerSource<'a> {
    /// Servers of these programs, started for the experiment: one, or one for each level of the
    /// factor `server`.
    Private { home: &'a Home, programs: &'a [ServerProgram], disks: &'a PlannedDisks },
    /// A running server. The tables are in a schema that is created for them and dropped at the
    /// end.
    Given(&'a ExternalServer),
}

impl ServerSource<'_> {
    /// The part of the load that this process makes: the whole one on private servers.
    pub(crate) fn part(&self) -> Part {
        match self {
            Self::Private { .. } => Part::WHOLE,
            Self::Given(external) => external.part,
        }
    }
}

/// An external server, and what truetps may do in it.
#[derive(Debug)]
pub struct ExternalServer {
    pub target: Target,
    pub schema: String,
    /// The schema exists, and the user has allowed truetps to create tables in it.
    pub schema_is_theirs: bool,
    /// Folder of the journals, which have the original settings.
    pub journals: PathBuf,
    /// The part of the load that this process makes.
    pub part: Part,
    /// How long parts wait for each other before the first trial.
    pub part_wait: Duration,
    /// The secret of all parts; `None`: the account's password is.
    pub parts_secret: Option<Password>,
}

/// Gives each trial a server in its initial state: a private one, the external one, or a script's
/// in tests.
pub(crate) trait ServerProvider {
    /// Settings derived from the levels of dynamic factors.
    fn couplings(&self) -> &[Coupling] {
        &[]
    }

    /// What was found on an external server before the load.
    fn external_facts(&self) -> Option<&ExternalFacts> {
        None
    }

    /// The emulated disks that servers are on, as they were measured.
    fn disks(&self) -> &[DiskFacts] {
        &[]
    }

    /// Makes what a server of this configuration needs, before any trial of an experiment that
    /// has servers made as trials need them.
    fn prepare_for(
        &mut self,
        _configuration: &Configuration,
        _listener: &mut dyn Listener,
    ) -> Result<(), LabError> {
        Ok(())
    }

    /// A server for this configuration.
    fn ready<'s>(
        &'s mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<Box<dyn ReadyServer<'s> + 's>, LabError>;

    /// Why the trial that just ended is invalid: an external server was restarted, or another
    /// session changed a setting.
    fn trouble(
        &mut self,
        _configuration: &Configuration,
        _listener: &mut dyn Listener,
    ) -> Option<String> {
        None
    }

    /// The server died, hangs, or ran an invalid trial: the next trial gets another server, or at
    /// least a new connection.
    fn discard(&mut self);

    /// The experiment is over: restores and cleans up an external server. Returns why that failed.
    fn leave(&mut self, _listener: &mut dyn Listener) -> Option<LabError> {
        None
    }
}
