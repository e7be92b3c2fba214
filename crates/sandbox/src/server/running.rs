//! A running private server.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use truetps_disk::EmulatedDisk;
use truetps_driver::{Client, DriverError, Target};
use truetps_record::Family;

use crate::data::lap::{lap, needs_lap};
use crate::data::old_redo;
use crate::data::postgres_wal::wear_in;
use crate::error::SandboxError;
use crate::server::family;
use crate::server::folder::Folder;
use crate::server::readiness::Awaited;
use crate::settings::options::CommandOption;
use crate::settings::server_settings::Settings;
use crate::system::children::Children;
use crate::system::datadir_servers::{check_not_held, kill_servers_on};
use crate::system::processes::{KILL_TIME_LIMIT, start_ticks};
use crate::system::run::wait_for;
use crate::system::spawn::spawn_bound_to_us;

/// Duration of one INSERT of 4 MB on a slow disk whose log is full.
const LAP_STATEMENT_TIME_LIMIT: Duration = Duration::from_mins(2);

/// Options of a server's start.
#[derive(Debug, Clone)]
pub struct StartOptions {
    pub settings: Settings,
    /// Environment variables of the server, in addition to the minimal ones.
    pub environment: Vec<(OsString, OsString)>,
    /// A server that recovers from a crash may need long.
    pub ready_time_limit: Duration,
}

impl StartOptions {
    pub fn new(settings: Settings) -> Self {
        Self { settings, environment: Vec::new(), ready_time_limit: Duration::from_mins(2) }
    }
}

/// How a server ended.
#[derive(Debug, Clone, Copy)]
pub struct StoppedServer {
    /// It exited successfully by itself.
    pub clean: bool,
    pub status: ExitStatus,
    pub took: Duration,
}

/// A started server. Dropping it kills it.
#[derive(Debug)]
pub struct RunningServer {
    folder: Arc<Folder>,
    child: Mutex<Child>,
    pid: u32,
    options: Vec<CommandOption>,
    /// Size of the error log before the start.
    log_from: u64,
    /// Zero until it has answered.
    ready_after: Duration,
    ended_by_us: bool,
}

impl RunningServer {
    pub(crate) fn start(
        folder: &Arc<Folder>,
        options: &StartOptions,
    ) -> Result<Self, SandboxError> {
        folder.check_initial(&options.settings)?;
        folder.begin_running()?;
        let server = Self::launch(folder, options).inspect_err(|_| folder.end_running())?;
        server.wait_until_ready(options)
    }

    fn launch(folder: &Arc<Folder>, options: &StartOptions) -> Result<Self, SandboxError> {
        let (paths, datadir) = (&folder.paths, &folder.paths.datadir);
        // A new server would wait for the running server's lock on the data files, while the
        // running server answered the readiness check.
        check_not_held(datadir)?;
        paths.remove_stale()?;
        family::forget_dead(folder.binary.family(), datadir, folder.home.user())?;
        family::forget_changes(folder.binary.family(), datadir)?;
        let log_from = paths.error_log_bytes();
        let (path, family) = (&folder.binary.path, folder.binary.family());
        let lines = family::lines(family, &folder.binary, paths, &options.settings, None);
        let child = old_redo::spawn_fitted(&folder.binary, datadir, &options.settings, || {
            let mut command = family::command(family, path, paths, &lines, folder.home.user())?;
            command.envs(options.environment.iter().map(|(name, value)| (name, value)));
            spawn_bound_to_us(command, folder.home.user()).map_err(SandboxError::io("start", path))
        })?;
        let pid = child.id();
        let server = Self {
            folder: Arc::clone(folder),
            child: Mutex::new(child),
            pid,
            options: lines,
            log_from,
            ready_after: Duration::ZERO,
            ended_by_us: false,
        };
        // From here on every return path kills it: by `drop`.
        folder.note_server(Some((pid, start_ticks(pid))))?;
        Ok(server)
    }

    fn wait_until_ready(mut self, options: &StartOptions) -> Result<Self, SandboxError> {
        let (family, paths) = (self.folder.binary.family(), &self.folder.paths);
        let program = &self.folder.binary.path;
        let (pid, settings, log_from) = (self.pid, &options.settings, self.log_from);
        let awaited = Awaited { family, paths, program, pid, settings, log_from };
        self.ready_after =
            awaited.wait(options.ready_time_limit, || Ok(self.exit_status_if_dead()))?;
        Ok(self)
    }

    /// A control connection as the server's owner.
    pub fn connect(&self, time_limit: Duration) -> Result<Client, DriverError> {
        Client::connect(
            &family::owner(self.folder.binary.family(), self.socket(), None),
            time_limit,
        )
    }

    /// Makes a server with a new redo log at each start (MySQL 8.0.30 and later) write the whole
    /// log once; see `lap.rs`. Returns the bytes of redo written: 0 for all other servers, for
    /// which one [`Sandbox::wear_in_redo`] is enough. Changed pages remain to be flushed.
    ///
    /// [`Sandbox::wear_in_redo`]: crate::Sandbox::wear_in_redo
    pub fn lap_redo(&self) -> Result<u64, SandboxError> {
        if !needs_lap(&self.folder.binary) {
            return Ok(0);
        }
        self.write_log("write the whole redo log once", lap)
    }

    /// The address of a load whose tables are in `schema`; see `family::owner`.
    pub fn target(&self, schema: &str) -> Target {
        family::owner(self.folder.binary.family(), self.socket(), Some(schema))
    }

    /// Fills the WAL of a PostgreSQL with reusable files; see `postgres/wal.rs`. Returns the bytes
    /// written: 0 for all other servers.
    pub fn wear_in_wal(&self) -> Result<u64, SandboxError> {
        if self.folder.binary.family() != Family::Postgresql {
            return Ok(0);
        }
        self.write_log("fill the WAL with reusable files", wear_in)
    }

    fn write_log(
        &self,
        action: &'static str,
        write: fn(&mut Client) -> Result<u64, DriverError>,
    ) -> Result<u64, SandboxError> {
        let written =
            self.connect(LAP_STATEMENT_TIME_LIMIT).and_then(|mut client| write(&mut client));
        written.map_err(|source| SandboxError::Sql { action, source })
    }

    pub fn socket(&self) -> &Path {
        &self.folder.paths.socket
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn datadir(&self) -> PathBuf {
        self.folder.paths.datadir.clone()
    }

    pub fn error_log_path(&self) -> PathBuf {
        self.folder.paths.error_log.clone()
    }

    /// From its start to its first answer.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The settings of this server as an option file, for the record of a run: the file name, and
    /// its text.
    pub fn option_file(&self) -> (&'static str, String) {
        let (family, paths) = (self.folder.binary.family(), &self.folder.paths);
        let comment = format!(
            "Settings of a private server that truetps started: {}\nThe folders are from that run. \
             To try the settings by hand, change them and start\n  {}",
            self.folder.binary.version_text,
            family::by_hand(family, &self.folder.binary.path, paths),
        );
        family::option_file(family, &comment, paths, &self.options)
    }

    /// The last lines of this server's log, or of its program's output if it has no log.
    pub fn error_log_tail(&self, lines: usize) -> String {
        self.folder.paths.log_tail(self.log_from, lines)
    }

    /// How it ended, if it did.
    pub fn exit_status_if_dead(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// How the process of its emulated disk ended, if it did.
    pub fn disk_ended(&self) -> Option<ExitStatus> {
        self.folder.disk().as_mut().and_then(EmulatedDisk::ended)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the server to stop, and kills it if it has not ended after `time_limit`.
    pub fn stop(self, time_limit: Duration) -> Result<StoppedServer, SandboxError> {
        self.end(|server| server.terminate(time_limit))
    }

    /// Kills the server with SIGKILL.
    pub fn kill(self) -> Result<StoppedServer, SandboxError> {
        self.end(|server| server.kill_and_wait().map(|status| (status, false)))
    }

    fn end(
        mut self,
        by: impl Fn(&Self) -> io::Result<(ExitStatus, bool)>,
    ) -> Result<StoppedServer, SandboxError> {
        let started = Instant::now();
        let (status, clean) =
            by(&self).map_err(SandboxError::io("stop", &self.folder.binary.path))?;
        let took = started.elapsed();
        self.ended_by_us = true;
        self.folder.note_server(None)?;
        let clean = clean && status.success();
        if clean && self.folder.binary.keeps_redo_size() {
            old_redo::note_stopped(&self.folder.paths.datadir)?;
        }
        Ok(StoppedServer { clean, status, took })
    }

    /// Asks the server to stop, and does not wait for it.
    pub fn ask_to_stop(&self) -> io::Result<()> {
        let mut child = self.child();
        if child.try_wait()?.is_none() {
            kill_process(
                Pid::from_child(&child),
                family::stop_signal(self.folder.binary.family()),
            )?;
        }
        Ok(())
    }

    fn terminate(&self, time_limit: Duration) -> io::Result<(ExitStatus, bool)> {
        self.ask_to_stop()?;
        let mut child = self.child();
        if let Some(status) = wait_for(&mut child, time_limit)? {
            return Ok((status, true));
        }
        drop(child);
        self.kill_and_wait().map(|status| (status, false))
    }

    fn kill_and_wait(&self) -> io::Result<ExitStatus> {
        let mut child = self.child();
        let children = Children::of_child(&mut child);
        // A child that was not waited for keeps its pid, so the signal cannot reach another
        // process.
        if child.try_wait()?.is_none() {
            kill_process_group(Pid::from_child(&child), Signal::KILL)?;
        }
        let status = wait_for(&mut child, KILL_TIME_LIMIT)?;
        children.kill(KILL_TIME_LIMIT);
        status.ok_or_else(|| {
            io::Error::new(io::ErrorKind::TimedOut, "it was killed but has not ended")
        })
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let was_the_server =
            self.ready_after > Duration::ZERO && self.exit_status_if_dead().is_none();
        // A server that cannot be killed ends with truetps.
        let _ = self.kill_and_wait();
        if !was_the_server && !self.ended_by_us {
            // It may be a wrapper that started the server in the background.
            let _ = kill_servers_on(&self.folder.paths.datadir, KILL_TIME_LIMIT);
        }
        self.folder.end_running();
    }
}
