//! The server that has the table, and how it is killed and started again. Only servers that truetps
//! has started are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::Target;
use truetps_probe::bound_to;
use truetps_record::ServerKill;
use truetps_sandbox::{
    Home, Instance, InstanceOptions, NamedServer, NamedServers, RunningServer, Sandbox,
    StartOptions,
};

use super::error::VerifyError;
use crate::error::LabError;

const LOOK: Duration = Duration::from_millis(20);
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// A server of `truetps server start`.
pub struct NamedPlace {
    pub home: Home,
    pub server: NamedServer,
    /// As it runs now: it is started again in the same way.
    pub options: InstanceOptions,
}

/// The server of a run.
pub(crate) enum RowServer<'a> {
    Private {
        sandbox: Sandbox,
        options: StartOptions,
        /// The cores of the server; none: all.
        cores: &'a [u32],
        running: Mutex<Option<RunningServer>>,
    },
    Named(&'a NamedPlace),
    /// A server that truetps did not start.
    Given,
}

impl RowServer<'_> {
    pub(crate) fn can_be_killed(&self) -> bool {
        !matches!(self, Self::Given)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Private { running, .. } => running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .as_ref()
                .map(RunningServer::pid),
            Self::Named(_) | Self::Given => None,
        }
    }

    /// Kills the server and starts it again; returns how long it did not accept sessions.
    fn kill_and_start(&self, stop: &AtomicBool) -> Result<Duration, LabError> {
        let began = Instant::now();
        match self {
            Self::Private { sandbox, options, cores, running } => {
                let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(server) = running.take() {
                    server.kill()?;
                }
                *running = Some(start_on(cores, sandbox, options).map_err(not_restarted)?);
            }
            Self::Named(place) => {
                let instance = Instance::of(NamedServers::of(&place.home), &place.server);
                instance.stop(true, STOP_TIMEOUT)?;
                instance.start(&place.options, stop, &|_| {}).map_err(not_restarted)?;
            }
            Self::Given => return Err(VerifyError::NothingToKill.into()),
        }
        Ok(began.elapsed())
    }
}

/// Starts a private server on its cores.
pub(crate) fn start_on(
    cores: &[u32],
    sandbox: &Sandbox,
    options: &StartOptions,
) -> Result<RunningServer, LabError> {
    Ok(bound_to(cores, || sandbox.start(options)).map_err(LabError::Pin)??)
}

fn not_restarted(error: impl std::fmt::Display) -> VerifyError {
    VerifyError::NotRestarted(error.to_string())
}

/// Kills a server at planned times while a load runs.
pub(crate) struct Killer<'a> {
    pub(crate) server: &'a RowServer<'a>,
    /// Since the load's start, in order.
    pub(crate) times: &'a [Duration],
    /// When the load has started.
    pub(crate) zero: &'a OnceLock<Instant>,
    /// The load has ended.
    pub(crate) is_over: &'a AtomicBool,
    /// Set by the user, and here where the server does not start again.
    pub(crate) stop: &'a AtomicBool,
}

impl Killer<'_> {
    /// Runs until the load is over.
    pub(crate) fn run(&self) -> Result<Vec<ServerKill>, LabError> {
        let mut kills = Vec::new();
        for time in self.times {
            let Some(zero) = self.wait_for(*time) else { break };
            let at = zero.elapsed();
            let took = self
                .server
                .kill_and_start(self.stop)
                .inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
            kills.push(ServerKill {
                at_ms: at.as_millis() as u64,
                recovery_ms: took.as_millis() as u64,
            });
        }
        Ok(kills)
    }

    /// Waits until this time of the load. `None`: the load has ended.
    fn wait_for(&self, time: Duration) -> Option<Instant> {
        loop {
            if self.is_over.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(zero) = self.zero.get().filter(|zero| zero.elapsed() >= time) {
                return Some(*zero);
            }
            thread::sleep(LOOK);
        }
    }
}

/// An address of the server for work that is not measured, and for the load.
pub(crate) fn private_target(server: &RowServer<'_>, schema: &str) -> Option<Target> {
    let RowServer::Private { running, .. } = server else { return None };
    running
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .map(|server| server.target(schema))
}
