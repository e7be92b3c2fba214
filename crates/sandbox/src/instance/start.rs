//! Starting an instance: everything that can be refused is checked first; then the server must
//! answer, and have the requested settings.

use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use truetps_disk::{DiskProfile, EmulatedDisk, FlushTimes};
use truetps_record::SettingValue;

use super::end::{end_child, give_up};
use super::finding::Status;
use super::handle::Instance;
use super::note::{Note, Process};
use super::port::check_port;
use crate::data::old_redo;
use crate::data::wear::cache_redo;
use crate::error::{NamedError, SandboxError};
use crate::home::server_paths::ServerPaths;
use crate::program::binary::ServerBinary;
use crate::program::catalogue::Catalogue;
use crate::program::variables::{Mismatch, taken_differently};
use crate::server::family;
use crate::server::readiness::{Awaited, PROBE_TIME_LIMIT};
use crate::settings::names::canonical_name;
use crate::settings::options::CommandOption;
use crate::settings::server_settings::Settings;
use crate::system::processes::start_ticks;
use crate::system::spawn::spawn_detached;

/// Options of a start: other settings are not changed.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    pub settings: IndexMap<String, SettingValue>,
    /// On the loopback address only; `None`: the socket only.
    pub port: Option<u16>,
    pub ready_time_limit: Duration,
    /// `None`: the one that it has; at the first start, the host's own.
    pub disk: Option<DiskProfile>,
    /// The program of truetps, which runs the disk.
    pub disk_helper: PathBuf,
}

/// The disk of a server that is about to start.
#[derive(Debug, Clone, Copy)]
pub struct DiskReady<'a> {
    pub profile: &'a DiskProfile,
    pub flush_times: FlushTimes,
}

struct InstanceStart<'a> {
    instance: &'a Instance<'a>,
    options: &'a InstanceOptions,
    /// Setting it ends the start.
    stop: &'a AtomicBool,
    disk_ready: &'a dyn Fn(&DiskReady<'_>),
    paths: ServerPaths,
}

/// A started server that has not answered yet.
struct Starting {
    binary: ServerBinary,
    child: Child,
    process: Process,
    settings: Settings,
    /// Size of the error log before the start.
    log_from: u64,
    disk: Option<DiskProfile>,
}

impl Instance<'_> {
    /// Starts it and waits until it answers. Setting `stop` ends the start. `disk_ready` gets the
    /// measured disk, if it has one, before the server starts.
    pub fn start(
        &self,
        options: &InstanceOptions,
        stop: &AtomicBool,
        disk_ready: &dyn Fn(&DiskReady<'_>),
    ) -> Result<Status, SandboxError> {
        let files = self.files.to_start(options.disk.is_some());
        InstanceStart::new(&Self { files, ..self.clone() }, options, stop, disk_ready).start()
    }
}

impl<'a> InstanceStart<'a> {
    fn new(
        instance: &'a Instance<'a>,
        options: &'a InstanceOptions,
        stop: &'a AtomicBool,
        disk_ready: &'a dyn Fn(&DiskReady<'_>),
    ) -> Self {
        Self { instance, options, stop, disk_ready, paths: instance.files.paths_with(options.port) }
    }

    /// See [`Instance::start`]. After an error no server is left.
    fn start(&self) -> Result<Status, SandboxError> {
        let mut starting = self.launch()?;
        let ready = self.wait_until_ready(&mut starting);
        let adjusted = ready.and_then(|()| self.read_back(&starting.settings));
        let Instance { files, locks, .. } = self.instance;
        adjusted
            .and_then(|adjusted| Ok(Status { adjusted, ..self.instance.status()? }))
            .inspect_err(|_| give_up(files, *locks, &mut starting.child, starting.process))
    }

    /// Runs until there is a process and a note about it. The lock is released then: a server that
    /// does not answer can be stopped.
    fn launch(&self) -> Result<Starting, SandboxError> {
        let (disk, user) = (&self.instance.files.disk, self.instance.home.user());
        let _lock = self.instance.locks.lock()?;
        self.instance.check_stopped()?;
        let binary = self.instance.server.binary(self.instance.home)?;
        self.options.port.map_or(Ok(()), |port| check_port(port, user))?;
        self.check_settings(&binary)?;
        let Some(profile) = self.planned_disk()? else {
            return self.launch_on_datadir(binary, None);
        };
        let mounted = disk.mount(&profile, &self.options.disk_helper, user);
        let launched =
            mounted.and_then(|mounted| self.launch_on_datadir(binary, Some((profile, mounted))));
        launched.inspect_err(|_| {
            // The first error is reported.
            let _ = disk.leave();
        })
    }

    /// The profile of its disk, if it has or gets one, and it can be mounted.
    fn planned_disk(&self) -> Result<Option<DiskProfile>, SandboxError> {
        let files = &self.instance.files;
        let noted = files.disk.profile()?;
        if noted.is_none() && self.options.disk.is_some() && files.has_data_on_host() {
            return Err(NamedError::DataOnHost { name: self.instance.server.name.clone() }.into());
        }
        let planned = self.options.disk.clone().or(noted);
        if planned.is_some() {
            files.disk.check()?;
        }
        Ok(planned)
    }

    fn launch_on_datadir(
        &self,
        binary: ServerBinary,
        disk: Option<(DiskProfile, EmulatedDisk)>,
    ) -> Result<Starting, SandboxError> {
        let (files, user) = (&self.instance.files, self.instance.home.user());
        let settings = self.prepare(&binary)?;
        let disk =
            disk.map(|(profile, mounted)| self.leave_mounted(profile, mounted)).transpose()?;
        self.check_wanted()?;
        family::forget_dead(self.instance.server.family(), &self.paths.datadir, user)?;
        let log_from = self.paths.error_log_bytes();
        let note = Note::starting(self.options.port, self.options.settings.clone());
        files.write_note(&note)?;
        let mut child = old_redo::spawn_fitted(&binary, &self.paths.datadir, &settings, || {
            self.spawn(&binary, &settings)
        })?;
        // A process that has already ended is found at the first check.
        let process =
            Process { pid: child.id(), start_ticks: start_ticks(child.id()).unwrap_or(0) };
        if let Err(error) = files.write_note(&note.with_process(process)) {
            end_child(files, &mut child, true);
            return Err(error);
        }
        Ok(Starting { binary, child, process, settings, log_from, disk })
    }

    /// From now on the disk takes its time, and stays mounted.
    fn leave_mounted(
        &self,
        profile: DiskProfile,
        mut mounted: EmulatedDisk,
    ) -> Result<DiskProfile, SandboxError> {
        cache_redo(&self.paths.datadir)?;
        mounted.set_timed(true)?;
        let flush_times = mounted.flush_times()?;
        (self.disk_ready)(&DiskReady { profile: &profile, flush_times });
        self.check_wanted()?;
        self.instance.files.disk.write_profile(&profile)?;
        mounted.stay()?;
        Ok(profile)
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
            let others = self.options.settings.iter().filter(|(other, _)| *other != name);
            catalogue.check_beside(
                name,
                value,
                others.map(|(name, value)| (name.as_str(), value)),
            )?;
        }
        Ok(())
    }

    /// Creates missing folders. Returns all settings of the server, including its datadir's.
    fn prepare(&self, binary: &ServerBinary) -> Result<Settings, SandboxError> {
        let Instance { files, home, server, .. } = self.instance;
        if self.paths.is_socket_too_long() {
            return Err(NamedError::LongSocket { path: self.paths.socket.clone() }.into());
        }
        self.paths.make_folders_and_logs(home.user())?;
        let pairs = self.options.settings.iter().map(|(name, value)| (name.as_str(), value));
        let settings = Settings::empty(server.family()).with(pairs);
        let wanted = settings.initial();
        let initial = files.make_datadir(home, binary, &wanted)?;
        match wanted.iter().find(|(name, value)| initial.get(name) != Some(*value)) {
            None => Ok(initial.with(settings.iter())),
            Some((name, _)) => {
                Err(NamedError::Initial { server: server.name.clone(), name: name.to_owned() }
                    .into())
            }
        }
    }

    fn spawn(&self, binary: &ServerBinary, settings: &Settings) -> Result<Child, SandboxError> {
        let (family, user) = (self.instance.server.family(), self.instance.home.user());
        let mut lines = family::lines(family, binary, &self.paths, settings, self.options.port);
        if binary.is_of_mysql() && settings.get("server_id").is_none() {
            // MySQL 5.7 writes no binlog without it.
            lines.push(CommandOption::new("server-id", "1"));
        }
        let command = family::command(family, &binary.path, &self.paths, &lines, user)?;
        spawn_detached(command, user).map_err(SandboxError::io("start", &binary.path))
    }

    fn wait_until_ready(&self, starting: &mut Starting) -> Result<(), SandboxError> {
        let Starting { binary, child, process, settings, log_from, disk } = starting;
        let (family, program) = (self.instance.server.family(), binary.path.as_path());
        let awaited = Awaited {
            family,
            paths: &self.paths,
            program,
            pid: process.pid,
            settings,
            log_from: *log_from,
        };
        let waited = awaited.wait(self.options.ready_time_limit, || {
            match child.try_wait().map_err(SandboxError::io("look at", program))? {
                None => self.check_wanted().map(|()| None),
                ended => Ok(ended),
            }
        });
        waited.map(drop).map_err(|error| match disk {
            Some(profile) => error.on_disk(profile),
            None => error,
        })
    }

    /// A silently adjusted setting would invalidate everything measured with this server. A value
    /// of its option file is what the server makes of it, as where it comes from.
    fn read_back(&self, settings: &Settings) -> Result<Vec<Mismatch>, SandboxError> {
        let mut client = self.instance.connect(PROBE_TIME_LIMIT)?;
        let found = taken_differently(&mut client, settings).map_err(|source| {
            SandboxError::Sql { action: "read the server's settings back", source }
        })?;
        match found.iter().find(|wrong| !self.is_of_file(wrong)) {
            None => Ok(found),
            Some(Mismatch { name, wanted, found }) => {
                let (name, wanted, found) = (name.clone(), wanted.clone(), found.clone());
                Err(NamedError::Mismatch { name, wanted, found }.into())
            }
        }
    }

    /// Whether the server's option file has the wanted value.
    fn is_of_file(&self, wrong: &Mismatch) -> bool {
        let mut base = self.instance.server.base_settings();
        base.any(|(name, value)| canonical_name(name) == wrong.name && value == wrong.wanted)
    }
}
