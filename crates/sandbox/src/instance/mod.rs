//! A named server that runs until it is stopped: it outlives the truetps process that started it.
//!
//! It has one datadir, created from the template at its first start and kept. Its process is noted with pid and start
//! ticks, and looked up in /proc each time: a process belongs to the instance if it has exactly that datadir as its
//! argument.

mod disk;
mod end;
mod files;
mod finding;
mod note;
mod port;
mod start;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use truetps_driver::{Client, Target};

use crate::error::SandboxError;
use crate::home::home_folder::Home;
use crate::named::{NameLocks, NamedServer, NamedServers};
use crate::server::family;
use crate::server::readiness::check_listener;

pub(crate) use disk::InstanceDisk;
pub use end::Ended;
use files::InstanceFiles;
pub(crate) use files::{datadir_of, has_data};
use finding::InstanceFinding;
pub use finding::{DiskStatus, InstanceState, Status};
use start::InstanceStart;
pub use start::{DiskReady, InstanceOptions};

/// A named server's instance.
#[derive(Debug, Clone)]
pub struct Instance<'a> {
    home: &'a Home,
    server: &'a NamedServer,
    locks: NameLocks<'a>,
    files: InstanceFiles,
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

    /// Starts it and waits until it answers. Setting `stop` ends the start. `disk_ready` gets the measured disk, if it has
    /// one, before the server starts.
    pub fn start(
        &self,
        options: &InstanceOptions,
        stop: &AtomicBool,
        disk_ready: &dyn Fn(&DiskReady<'_>),
    ) -> Result<Status, SandboxError> {
        let files = self.files.to_start(options.disk.is_some());
        InstanceStart::new(&Self { files, ..self.clone() }, options, stop, disk_ready).start()
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

    fn look(&self) -> Result<InstanceFinding<'_>, SandboxError> {
        InstanceFinding::look(&self.server.name, &self.files)
    }
}
