//! What an experiment stands on: private servers, or one of the user's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use truetps_driver::{Client, Target};
use truetps_record::{Configuration, Coupling, GuestFacts};
use truetps_sandbox::{Home, RunningServer, ServerBinary};

use crate::error::LabError;
use crate::event::Listener;
use crate::external::{ExternalSession, LogReader};
use crate::private_servers::PrivateServers;

/// A server's program, and the name that the user has given it.
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

/// Where servers come from.
#[derive(Clone, Copy)]
pub enum ServerSource<'a> {
    /// Servers of these programs, started for the experiment: one, or one for each level of the factor `server`.
    Private { home: &'a Home, programs: &'a [ServerProgram] },
    /// A server that runs already. Its tables live in a schema that is made for them and dropped in the end.
    Given(&'a ExternalServer),
}

/// A server that is somebody's, and what may be done there.
#[derive(Debug)]
pub struct ExternalServer {
    pub target: Target,
    pub schema: String,
    /// The schema is there, and whoever named it says that tables may be made in it.
    pub schema_is_theirs: bool,
    /// Folder of the journals that say what to put back.
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
    /// Of a server of the user: reads how much it writes to its logs.
    pub(crate) log: Option<&'l mut LogReader>,
    /// Where the load connects to.
    pub(crate) target: &'l Target,
    /// Where `client` connects to, should it have to again.
    pub(crate) control: Target,
    /// What sessions of the load have in place of what everybody has.
    pub(crate) session: BTreeMap<String, String>,
    /// The process, where it is ours.
    pub(crate) server: Option<&'l mut RunningServer>,
    /// Its number, where it is one process of this host.
    pub(crate) pid: Option<u32>,
    /// What was odd about its start, to be said with the trial.
    pub(crate) notes: Vec<String>,
}

impl ServerProvider<'_> {
    /// What the levels of dynamic factors bring along.
    pub(crate) fn couplings(&self) -> &[Coupling] {
        match self {
            Self::Private(stands) => stands.couplings(),
            Self::Guest(_) => &[],
        }
    }

    /// What was found on a server of the user before the load.
    pub(crate) fn guest_facts(&self) -> Option<&GuestFacts> {
        match self {
            Self::Private(_) => None,
            Self::Guest(guest) => Some(guest.facts()),
        }
    }

    /// A server for this configuration, in its first state.
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

    /// The experiment is over: what it made in a server of the user goes. Returns why that could not be.
    pub(crate) fn leave(&mut self, listener: &mut dyn Listener) -> Option<LabError> {
        match self {
            Self::Private(_) => None,
            Self::Guest(guest) => guest.leave(listener),
        }
    }

    /// Why a trial that has just ended is no evidence, where its server is somebody's: it was restarted, or somebody else
    /// has set it.
    pub(crate) fn trouble(&mut self, configuration: &Configuration, listener: &mut dyn Listener) -> Option<String> {
        match self {
            Self::Private(_) => None,
            Self::Guest(guest) => guest.trouble(configuration, listener),
        }
    }

    /// The server has died, hangs, or was left by a trial that is no evidence: the next trial gets another one, or at
    /// least a new connection.
    pub(crate) fn discard(&mut self) {
        match self {
            Self::Private(stands) => stands.discard(),
            Self::Guest(guest) => guest.discard(),
        }
    }
}
