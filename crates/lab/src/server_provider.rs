//! Where an experiment gets its server: private servers, or one external server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use truetps_driver::{Client, Target};
use truetps_record::{Configuration, Coupling, GuestFacts};
use truetps_sandbox::{Home, RunningServer, ServerBinary};

use crate::error::LabError;
use crate::event::Listener;
use crate::external::{ExternalSession, LogReader};
use crate::private_servers::PrivateServers;

/// A server's program and the name given to it by the user.
#[derive(Debug, Clone)]
pub struct ServerProgram {
    pub name: Option<String>,
    pub binary: ServerBinary,
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
    /// Servers of these programs, started for the experiment: one, or one for each level of the factor `server`.
    Private { home: &'a Home, programs: &'a [ServerProgram] },
    /// A running server. The tables are in a schema that is created for them and dropped at the end.
    Given(&'a ExternalServer),
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
}

pub(crate) enum ServerProvider<'a> {
    Private(Box<PrivateServers<'a>>),
    Guest(Box<ExternalSession<'a>>),
}

/// A server that is ready for a trial.
pub(crate) struct TrialServer<'l> {
    /// For everything that is not measured.
    pub(crate) client: &'l mut Client,
    /// Only for an external server: reads how much it writes to its logs.
    pub(crate) log: Option<&'l mut LogReader>,
    /// The address that the load connects to.
    pub(crate) target: &'l Target,
    /// The address that `client` connects to, for a reconnect.
    pub(crate) control: Target,
    /// Settings of the load's sessions that replace the server's.
    pub(crate) session: BTreeMap<String, String>,
    /// The process, if truetps started it.
    pub(crate) server: Option<&'l mut RunningServer>,
    /// Its process id, if it is one process of this host.
    pub(crate) pid: Option<u32>,
    /// Oddities of its start, reported with the trial.
    pub(crate) notes: Vec<String>,
}

impl ServerProvider<'_> {
    /// Settings derived from the levels of dynamic factors.
    pub(crate) fn couplings(&self) -> &[Coupling] {
        match self {
            Self::Private(stands) => stands.couplings(),
            Self::Guest(_) => &[],
        }
    }

    /// What was found on an external server before the load.
    pub(crate) fn guest_facts(&self) -> Option<&GuestFacts> {
        match self {
            Self::Private(_) => None,
            Self::Guest(guest) => Some(guest.facts()),
        }
    }

    /// A server for this configuration, in its initial state.
    pub(crate) fn ready(
        &mut self,
        configuration: &Configuration,
        listener: &mut dyn Listener,
    ) -> Result<TrialServer<'_>, LabError> {
        match self {
            Self::Private(stands) => {
                let live = stands.ready(configuration, listener)?;
                Ok(TrialServer {
                    client: &mut live.client,
                    log: None,
                    target: &live.target,
                    control: live.target.clone(),
                    session: BTreeMap::new(),
                    pid: Some(live.server.pid()),
                    server: Some(&mut live.server),
                    notes: std::mem::take(&mut live.notes),
                })
            }
            Self::Guest(guest) => guest.ready(configuration, listener),
        }
    }

    /// The experiment is over: restores and cleans up an external server. Returns why that failed.
    pub(crate) fn leave(&mut self, listener: &mut dyn Listener) -> Option<LabError> {
        match self {
            Self::Private(_) => None,
            Self::Guest(guest) => guest.leave(listener),
        }
    }

    /// Why the trial that just ended is invalid: an external server was restarted, or another session changed a
    /// setting.
    pub(crate) fn trouble(&mut self, configuration: &Configuration, listener: &mut dyn Listener) -> Option<String> {
        match self {
            Self::Private(_) => None,
            Self::Guest(guest) => guest.trouble(configuration, listener),
        }
    }

    /// The server died, hangs, or ran an invalid trial: the next trial gets another server, or at least a new
    /// connection.
    pub(crate) fn discard(&mut self) {
        match self {
            Self::Private(stands) => stands.discard(),
            Self::Guest(guest) => guest.discard(),
        }
    }
}
