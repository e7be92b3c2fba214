//! Starting an instance: everything that can be refused is checked first; then the server must answer, and have the
//! requested settings.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use truetps_record::SettingValue;

use super::end::{end_child, give_up};
use super::note::{Note, Process};
use super::port::check_port;
use super::{Instance, Status};
use crate::binary::ServerBinary;
use crate::catalogue::Catalogue;
use crate::error::SandboxError;
use crate::family;
use crate::named_error::NamedError;
use crate::old_redo;
use crate::options::CommandOption;
use crate::processes::start_ticks;
use crate::readiness::{Awaited, PROBE_TIME_LIMIT};
use crate::server_paths::ServerPaths;
use crate::settings::Settings;
use crate::spawn::spawn_detached;
use crate::variables::taken_differently;

/// Options of a start: other settings are not changed.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    pub settings: IndexMap<String, SettingValue>,
    /// On the loopback address only; `None`: the socket only.
    pub port: Option<u16>,
    pub ready_time_limit: Duration,
}

pub(super) struct InstanceStart<'a> {
    instance: &'a Instance<'a>,
    options: &'a InstanceOptions,
    /// Setting it ends the start.
    stop: &'a AtomicBool,
    places: ServerPaths,
}

/// A started server that has not answered yet.
struct Starting {
    binary: ServerBinary,
    child: Child,
    process: Process,
    settings: Settings,
    /// Size of the error log before the start.
    log_from: u64,
}

impl<'a> InstanceStart<'a> {
    pub(super) fn new(instance: &'a Instance<'a>, options: &'a InstanceOptions, stop: &'a AtomicBool) -> Self {
        Self { instance, options, stop, places: instance.files.places(options.port) }
    }

    /// See [`Instance::start`]. After an error no server is left.
    pub(super) fn start(&self) -> Result<Status, SandboxError> {
        let mut starting = self.launch()?;
        let ready = self.wait_until_ready(&mut starting).and_then(|()| self.read_back(&starting.settings));
        let Instance { files, locks, .. } = self.instance;
        ready
            .and_then(|()| self.instance.status())
            .inspect_err(|_| give_up(files, *locks, &mut starting.child, starting.process))
    }

    /// Runs until there is a process and a note about it. The lock is released then: a server that does not answer can
    /// be stopped.
    fn launch(&self) -> Result<Starting, SandboxError> {
        let (files, user) = (&self.instance.files, self.instance.home.user());
        let _lock = self.instance.locks.lock()?;
        self.instance.check_stopped()?;
        let binary = self.instance.server.binary(self.instance.home)?;
        self.options.port.map_or(Ok(()), |port| check_port(port, user))?;
        self.check_settings(&binary)?;
        let settings = self.prepare(&binary)?;
        self.check_wanted()?;
        family::forget_dead(self.instance.server.family(), &self.places.datadir, user)?;
        let log_from = self.places.error_log_bytes();
        let note = Note::starting(self.options);
        files.write_note(&note)?;
        let mut child =
            old_redo::spawn_fitted(&binary, &self.places.datadir, &settings, || self.spawn(&binary, &settings))?;
        // A process that has already ended is found at the first check.
        let process = Process { pid: child.id(), start_ticks: start_ticks(child.id()).unwrap_or(0) };
        if let Err(error) = files.write_note(&note.with_process(process)) {
            end_child(files, &mut child, true);
            return Err(error);
        }
        Ok(Starting { binary, child, process, settings, log_from })
    }

    fn check_wanted(&self) -> Result<(), SandboxError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(NamedError::Interrupted { name: self.instance.server.name.clone() }.into());
        }
        Ok(())
    }

    fn check_settings(&self, binary: &ServerBinary) -> Result<(), SandboxError> {
        if self.options.settings.is_empty() {
            return Ok(());
        }
        let catalogue = Catalogue::ask(binary, self.instance.home.user())?;
        for (name, value) in &self.options.settings {
            catalogue.check(name, value)?;
        }
        Ok(())
    }

    /// Creates missing folders. Returns all settings of the server, including its datadir's.
    fn prepare(&self, binary: &ServerBinary) -> Result<Settings, SandboxError> {
        let Instance { files, home, server, .. } = self.instance;
        if self.places.is_socket_too_long() {
            return Err(NamedError::LongSocket { path: self.places.socket.clone() }.into());
        }
        self.places.make_folders_and_logs(home.user())?;
        let pairs = self.options.settings.iter().map(|(name, value)| (name.as_str(), value));
        let settings = Settings::default().with(pairs);
        let wanted = settings.initial();
        let initial = files.make_datadir(home, binary, &wanted)?;
        match wanted.iter().find(|(name, value)| initial.get(name) != Some(*value)) {
            None => Ok(initial.with(settings.iter())),
            Some((name, _)) => Err(NamedError::Initial { server: server.name.clone(), name: name.to_owned() }.into()),
        }
    }

    fn spawn(&self, binary: &ServerBinary, settings: &Settings) -> Result<Child, SandboxError> {
        let (family, user) = (self.instance.server.family(), self.instance.home.user());
        let mut lines = family::lines(family, binary, &self.places, settings, self.options.port);
        if binary.is_of_mysql() && settings.get("server_id").is_none() {
            // MySQL 5.7 writes no binlog without it.
            lines.push(CommandOption::new("server-id", "1"));
        }
        let command = family::command(family, &binary.path, &self.places, &lines, user)?;
        spawn_detached(command, user).map_err(SandboxError::io("start", &binary.path))
    }

    fn wait_until_ready(&self, starting: &mut Starting) -> Result<(), SandboxError> {
        let Starting { binary, child, process, log_from, .. } = starting;
        let (family, program) = (self.instance.server.family(), binary.path.as_path());
        let awaited = Awaited { family, places: &self.places, program, pid: process.pid, log_from: *log_from };
        let look = || match child.try_wait().map_err(SandboxError::io("look at", program))? {
            None => self.check_wanted().map(|()| None),
            ended => Ok(ended),
        };
        awaited.wait(self.options.ready_time_limit, look).map(|_| ())
    }

    /// A silently adjusted setting would invalidate everything measured with this server.
    fn read_back(&self, settings: &Settings) -> Result<(), SandboxError> {
        let asked = |source| SandboxError::Sql { action: "read the server's settings back", source };
        let mut client = self.instance.connect(PROBE_TIME_LIMIT)?;
        match taken_differently(&mut client, settings).map_err(asked)?.into_iter().next() {
            None => Ok(()),
            Some(wrong) => {
                Err(NamedError::Mismatch { name: wrong.name, wanted: wrong.wanted, found: wrong.found }.into())
            }
        }
    }
}
