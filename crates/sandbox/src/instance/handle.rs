//! The instance of a named server, as its files and its process are at any moment.

use std::path::PathBuf;
use std::time::Duration;

use truetps_driver::{Client, Target};

use super::files::InstanceFiles;
use super::finding::{InstanceFinding, Status};
use crate::error::SandboxError;
use crate::home::home_folder::Home;
use crate::named::{NameLocks, NamedServer, NamedServers};
use crate::server::family;
use crate::server::readiness::check_listener;

/// A named server's instance.
#[derive(Debug, Clone)]
pub struct Instance<'a> {
    pub(super) home: &'a Home,
    pub(super) server: &'a NamedServer,
    pub(super) locks: NameLocks<'a>,
    pub(super) files: InstanceFiles,
}

impl<'a> Instance<'a> {
    pub fn of(named: NamedServers<'a>, server: &'a NamedServer) -> Self {
        Self {
            home: named.home(),
            server,
            locks: named.locks(&server.name),
            files: InstanceFiles::new(named.folder(&server.name).path(), server.family()),
        }
    }

    pub fn status(&self) -> Result<Status, SandboxError> {
        Ok(self.look()?.status())
    }

    pub(crate) fn check_stopped(&self) -> Result<(), SandboxError> {
        self.look()?.check_stopped()
    }

    /// The owner's login while it runs.
    pub fn owner(&self) -> Result<Target, SandboxError> {
        let seen = self.look()?;
        seen.check_running()?;
        Ok(family::owner(self.server.family(), &seen.socket(), None))
    }

    /// A connection as the server's owner, which has no password and uses the socket.
    pub fn connect(&self, time_limit: Duration) -> Result<Client, SandboxError> {
        // Not its full status: the size of its data requires a walk through all files.
        let seen = self.look()?;
        let pid = seen.check_running()?.pid;
        let socket = seen.socket();
        let failed = |source| SandboxError::Sql { action: "log in to the server", source };
        let owner = family::owner(self.server.family(), &socket, None);
        let client = Client::connect(&owner, time_limit).map_err(failed)?;
        check_listener(&socket, pid, client.peer_pid())?;
        Ok(client)
    }

    pub fn error_log(&self) -> PathBuf {
        self.files.paths.error_log.clone()
    }

    /// The last lines of its log, or of its program's output if it has no log.
    pub fn log_tail(&self, lines: usize) -> String {
        self.files.paths.log_tail(0, lines)
    }

    pub(super) fn look(&self) -> Result<InstanceFinding<'_>, SandboxError> {
        InstanceFinding::look(&self.server.name, &self.files)
    }
}
