//! A server with a name that runs until it is stopped: it outlives the truetps that started it.
//!
//! It has one data folder, made from the template at its first start and kept. Who runs there is noted with pid and
//! start ticks, and looked up in /proc each time: a process is ours when both fit and it holds that data folder.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use truetps_driver::{Client, DriverError};
use truetps_record::{SettingValue, write_atomically};

use crate::binary::ServerBinary;
use crate::catalogue::Catalogue;
use crate::error::SandboxError;
use crate::family::{Family, Places};
use crate::home::{Home, give, make_private, remove_tree};
use crate::log_tail::{excerpt, tail, tail_text};
use crate::named::{Named, NamedServer};
use crate::named_error::NamedError;
use crate::old_redo;
use crate::processes::{has_ended, holder_of, is_server, running_for, start_ticks};
use crate::registry::disk_bytes;
use crate::run::wait_for;
use crate::settings::Settings;
use crate::spawn::spawn_detached;
use crate::template::copy_template;
use crate::variables::taken_differently;

const SCHEMA_VERSION: u32 = 1;
const PROBE_TIME_LIMIT: Duration = Duration::from_secs(5);
/// Bytes in the path of a unix socket, without the closing zero.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// One that does not become a server is ended; a stuck disk may take this long.
const KILL_TIME_LIMIT: Duration = Duration::from_mins(1);

/// How an instance is started: nothing that is not said here is set.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    pub settings: IndexMap<String, SettingValue>,
    /// On the loopback address alone; `None`: by its socket only.
    pub port: Option<u16>,
    pub ready_time_limit: Duration,
}

/// `instance.json`: who was started here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) schema_version: u32,
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pub(crate) port: Option<u16>,
    pub(crate) settings: IndexMap<String, SettingValue>,
    /// What the data folder was made with.
    pub(crate) initial: IndexMap<String, SettingValue>,
    /// How it was ended by us; `None`: it was not.
    pub(crate) ended: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    NeverStarted,
    Running,
    Stopped,
    /// It ended, and nobody here asked it to.
    Died,
}

/// What there is to say of an instance.
#[derive(Debug, Clone)]
pub struct Status {
    pub state: State,
    pub pid: Option<u32>,
    pub uptime: Option<Duration>,
    pub socket: PathBuf,
    pub port: Option<u16>,
    pub settings: IndexMap<String, SettingValue>,
    pub datadir: PathBuf,
    /// What it takes on the disk.
    pub data_bytes: u64,
    pub error_log: PathBuf,
}

/// The one place where a named server runs.
#[derive(Debug, Clone)]
pub struct Instance<'a> {
    pub(crate) named: Named<'a>,
    pub(crate) server: &'a NamedServer,
    folder: PathBuf,
}

impl<'a> Instance<'a> {
    pub fn of(named: Named<'a>, server: &'a NamedServer) -> Self {
        Self { named, server, folder: named.folder(&server.name) }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn family(&self) -> Family {
        self.server.family()
    }

    fn places(&self, port: Option<u16>) -> Places {
        Places {
            data: self.data(),
            tmp: self.folder.join("tmp"),
            socket: self.folder.join("run").join(self.family().socket_name(port)),
            pid_file: self.pid_file(),
            error_log: self.error_log(),
            console_log: self.console_log(),
            option_file: self.folder.join("options"),
        }
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.folder.join("run/pid")
    }

    pub fn error_log(&self) -> PathBuf {
        self.folder.join("error.log")
    }

    fn console_log(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// The last lines that it logged; of what its program printed, where it came to no log.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = tail(&self.error_log(), 0, lines);
        if log.is_empty() { tail(&self.console_log(), 0, lines) } else { log }
    }

    pub(crate) fn note(&self) -> Result<Option<Note>, SandboxError> {
        let path = self.folder.join("instance.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(SandboxError::io("read", &path))?,
        };
        let note = serde_json::from_slice(&text);
        note.map(Some).map_err(|error| SandboxError::Content { path, problem: error.to_string() })
    }

    pub(crate) fn write_note(&self, note: &Note) -> Result<(), SandboxError> {
        let path = self.folder.join("instance.json");
        let wrong = |problem: String| SandboxError::Content { path: path.clone(), problem };
        let text = serde_json::to_vec_pretty(note).map_err(|error| wrong(error.to_string()))?;
        write_atomically(&path, &text).map_err(|error| wrong(error.to_string()))
    }

    pub(crate) fn runs(&self, note: &Note) -> bool {
        is_server(note.pid, note.start_ticks, &self.data())
    }

    pub fn status(&self) -> Result<Status, SandboxError> {
        let note = self.note()?;
        let runs = note.as_ref().is_some_and(|note| self.runs(note));
        let state = match &note {
            None => State::NeverStarted,
            Some(_) if runs => State::Running,
            Some(Note { ended: Some(_), .. }) => State::Stopped,
            Some(_) => State::Died,
        };
        let running = note.as_ref().filter(|_| runs);
        Ok(Status {
            state,
            pid: running.map(|note| note.pid),
            uptime: running.and_then(|note| running_for(note.start_ticks)),
            port: running.and_then(|note| note.port),
            socket: self.places(running.and_then(|note| note.port)).socket,
            datadir: self.data(),
            data_bytes: disk_bytes(&self.data()),
            error_log: self.error_log(),
            settings: note.map(|note| note.settings).unwrap_or_default(),
        })
    }

    /// A connection as the server's owner, who has no password and comes by the socket.
    pub fn connect(&self, time_limit: Duration) -> Result<Client, SandboxError> {
        let status = self.status()?;
        let Some(pid) = status.pid else { return Err(self.not_running(status.state).into()) };
        let failed = |source| SandboxError::Sql { action: "log in to the server", source };
        let owner = self.family().owner(&status.socket, None);
        let client = Client::connect(&owner, time_limit).map_err(failed)?;
        match client.peer_pid() {
            Some(found) if found != pid => {
                Err(SandboxError::OtherServer { socket: status.socket, started: pid, found })
            }
            _ => Ok(client),
        }
    }

    pub(crate) fn not_running(&self, state: State) -> NamedError {
        let how = match state {
            State::NeverStarted => "it was never started",
            State::Died => "it died, or was killed",
            State::Running | State::Stopped => "it was stopped",
        };
        NamedError::NotRunning { name: self.server.name.clone(), how }
    }

    pub(crate) fn check_stopped(&self) -> Result<(), SandboxError> {
        if let Some(note) = self.note()? {
            if self.runs(&note) {
                return Err(NamedError::Runs { name: self.server.name.clone(), pid: note.pid }.into());
            }
            // One that is ending holds its files for a moment.
            let began = Instant::now();
            while !has_ended(note.pid, note.start_ticks) && began.elapsed() < KILL_TIME_LIMIT {
                thread::sleep(Duration::from_millis(10));
            }
        }
        // It would wait for the other's lock on its files, and the other would answer our first look meanwhile.
        holder_of(&self.data()).map_or(Ok(()), |pid| Err(SandboxError::Held { path: self.data(), pid }))
    }

    /// Starts it and waits until it answers. Everything that can be refused is refused before it is started.
    pub fn start(&self, options: &InstanceOptions) -> Result<Status, SandboxError> {
        let _lock = self.named.lock(&self.server.name)?;
        self.check_stopped()?;
        options.port.map_or(Ok(()), check_port)?;
        let home = self.named.home();
        let binary = self.server.binary(home)?;
        self.check_settings(&binary, options)?;
        let pairs = options.settings.iter().map(|(name, value)| (name.as_str(), value));
        let settings = Settings::default().with(pairs);
        let places = self.places(options.port);
        let initial = self.prepare(home, &binary, &settings, &places.socket)?;
        let settings = initial.clone().with(settings.iter());
        if binary.keeps_redo_size() {
            old_redo::fit(&self.data(), &settings)?;
        }
        let log_from = fs::metadata(self.error_log()).map_or(0, |metadata| metadata.len());
        self.family().forget_dead(&places.data, home.user())?;
        let lines = self.family().lines(&binary, &places, &settings, options.port);
        let command = self.family().command(&binary.path, &places, &lines, home.user())?;
        let mut child = spawn_detached(command, home.user()).map_err(SandboxError::io("start", &binary.path))?;
        let ready = self.note_child(&child, options, &initial).and_then(|()| {
            self.wait_until_ready(&binary, &mut child, options, log_from)?;
            self.read_back(&settings)
        });
        if let Err(error) = ready {
            self.give_up(&mut child);
            return Err(error);
        }
        self.status()
    }

    fn check_settings(&self, binary: &ServerBinary, options: &InstanceOptions) -> Result<(), SandboxError> {
        if options.settings.is_empty() {
            return Ok(());
        }
        let catalogue = Catalogue::ask(binary, self.named.home().user())?;
        for (name, value) in &options.settings {
            catalogue.check(name, value)?;
        }
        Ok(())
    }

    /// Makes its folders where they are missing. Returns the settings that its data were made with.
    fn prepare(
        &self,
        home: &Home,
        binary: &ServerBinary,
        settings: &Settings,
        socket: &Path,
    ) -> Result<Settings, SandboxError> {
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(NamedError::LongSocket { path: socket.to_owned() }.into());
        }
        for name in ["run", "tmp"] {
            let path = self.folder.join(name);
            remove_tree(&path)?;
            make_private(&path, home.user())?;
        }
        for log in [self.error_log(), self.console_log()] {
            let mut options = OpenOptions::new();
            match options.write(true).create_new(true).mode(0o600).open(&log) {
                Ok(_) => give(&log, home.user())?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SandboxError::io("make", &log)(error)),
            }
        }
        let wanted = settings.initial();
        if self.data().exists() {
            let made = self.note()?.map(|note| note.initial).unwrap_or_default();
            let made = Settings::default().with(made.iter().map(|(name, value)| (name.as_str(), value)));
            let changed = wanted.iter().find(|(name, value)| made.get(name) != Some(*value));
            return match changed {
                None => Ok(made),
                Some((name, _)) => {
                    let (server, name) = (self.server.name.clone(), name.to_owned());
                    Err(NamedError::Initial { server, name }.into())
                }
            };
        }
        // Renamed when whole: a copy that was cut short is no data folder.
        let beside = self.folder.join("data.copying");
        remove_tree(&beside)?;
        copy_template(home, binary, &wanted, &beside)?;
        fs::rename(&beside, self.data()).map_err(SandboxError::io("rename", &beside))?;
        Ok(wanted)
    }

    fn note_child(&self, child: &Child, options: &InstanceOptions, initial: &Settings) -> Result<(), SandboxError> {
        let pairs = initial.iter().map(|(name, value)| (name.to_owned(), value.clone()));
        self.write_note(&Note {
            schema_version: SCHEMA_VERSION,
            pid: child.id(),
            // One that has ended already is found dead at the first look.
            start_ticks: start_ticks(child.id()).unwrap_or(0),
            port: options.port,
            settings: options.settings.clone(),
            initial: pairs.collect(),
            ended: None,
        })
    }

    /// Ready is: our child lives, the kernel says that it is the one that listens, and it answers a query.
    fn wait_until_ready(
        &self,
        binary: &ServerBinary,
        child: &mut Child,
        options: &InstanceOptions,
        log_from: u64,
    ) -> Result<(), SandboxError> {
        let (time_limit, places) = (options.ready_time_limit, self.places(options.port));
        let began = Instant::now();
        let log = || {
            let log = tail_text(&self.error_log(), log_from);
            excerpt(if log.trim().is_empty() { tail_text(&self.console_log(), 0) } else { log }.as_str())
        };
        let mut last = "it has not opened its socket".to_owned();
        loop {
            let status = child.try_wait().map_err(SandboxError::io("look at", &binary.path))?;
            if let Some(status) = status {
                return Err(SandboxError::Start { binary: binary.path.clone(), how: status.to_string(), log: log() });
            }
            if !self.family().may_answer(&places) && began.elapsed() < time_limit {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
            match self.probe(&places.socket, child.id()) {
                Ok(None) => return Ok(()),
                Ok(Some(found)) => {
                    return Err(SandboxError::OtherServer { socket: places.socket, started: child.id(), found });
                }
                Err(error) if places.socket.exists() => last = error.to_string(),
                Err(_) => {}
            }
            if began.elapsed() >= time_limit {
                return Err(SandboxError::NotReady {
                    binary: binary.path.clone(),
                    waited: time_limit,
                    last,
                    log: log(),
                });
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// `None`: it answers; else who listens there in its place.
    fn probe(&self, socket: &Path, pid: u32) -> Result<Option<u32>, DriverError> {
        let mut client = Client::connect(&self.family().owner(socket, None), PROBE_TIME_LIMIT)?;
        if let Some(found) = client.peer_pid().filter(|found| *found != pid) {
            return Ok(Some(found));
        }
        client.query("SELECT 1").map(|_| None)
    }

    /// A setting that was adjusted in silence would make everything that is learned from this server wrong.
    fn read_back(&self, settings: &Settings) -> Result<(), SandboxError> {
        let asked = |source| SandboxError::Sql { action: "read the server's settings back", source };
        let mut client = self.connect(PROBE_TIME_LIMIT)?;
        match taken_differently(&mut client, settings).map_err(asked)?.into_iter().next() {
            None => Ok(()),
            Some(wrong) => {
                Err(NamedError::Mismatch { name: wrong.name, wanted: wrong.wanted, found: wrong.found }.into())
            }
        }
    }

    /// Ends what did not become the server that was asked for.
    fn give_up(&self, child: &mut Child) {
        let status = self.status().ok();
        if status.is_some_and(|status| status.pid.is_some()) {
            let _ = self.end_running("gave up", false, KILL_TIME_LIMIT, Some(&mut *child));
        }
        let _ = child.kill();
        let _ = wait_for(child, KILL_TIME_LIMIT);
        if let Ok(Some(note)) = self.note() {
            let _ = self.write_note(&Note { ended: Some("gave up".to_owned()), ..note });
        }
    }
}

fn check_port(port: u16) -> Result<(), SandboxError> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let in_use = error.kind() == io::ErrorKind::AddrInUse;
            let problem = if in_use { "another process listens on it".to_owned() } else { error.to_string() };
            Err(NamedError::Port { port, problem }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = check_port(port).unwrap_err();
        assert_eq!(error.to_string(), format!("port {port} cannot be used: another process listens on it"));
    }
}
