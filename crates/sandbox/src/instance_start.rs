//! Starting an instance: everything that can be refused is checked first; then the server must answer, and have the
//! requested settings.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::geteuid;

use crate::binary::ServerBinary;
use crate::catalogue::Catalogue;
use crate::error::SandboxError;
use crate::family;
use crate::home::{Home, give, make_private, remove_tree};
use crate::instance::{Instance, InstanceOptions, Status};
use crate::instance_note::{Note, Process};
use crate::named_error::NamedError;
use crate::old_redo;
use crate::options::CommandOption;
use crate::processes::start_ticks;
use crate::readiness::{Awaited, PROBE_TIME_LIMIT};
use crate::server_user::ServerUser;
use crate::settings::Settings;
use crate::spawn::spawn_detached;
use crate::template::copy_template;
use crate::unfinished::COPY;
use crate::variables::taken_differently;

/// Maximum path length of a unix socket, without the terminating zero.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A started server that has not answered yet.
struct Starting {
    binary: ServerBinary,
    child: Child,
    process: Process,
    settings: Settings,
    /// Size of the error log before the start.
    log_from: u64,
}

impl Instance<'_> {
    /// Starts it and waits until it answers. Setting `stop` ends the start.
    pub fn start(&self, options: &InstanceOptions, stop: &AtomicBool) -> Result<Status, SandboxError> {
        let mut starting = self.launch(options, stop)?;
        let ready =
            self.wait_until_ready(&mut starting, options, stop).and_then(|()| self.read_back(&starting.settings));
        // After an error no server is left.
        ready.and_then(|()| self.status()).inspect_err(|_| self.give_up(&mut starting.child, starting.process))
    }

    /// Runs until there is a process and a note about it. The lock is released then: a server that does not answer can
    /// be stopped.
    fn launch(&self, options: &InstanceOptions, stop: &AtomicBool) -> Result<Starting, SandboxError> {
        let _lock = self.named.lock(&self.server.name)?;
        self.check_stopped()?;
        let binary = self.server.binary(self.named.home())?;
        options.port.map_or(Ok(()), |port| check_port(port, self.named.home().user()))?;
        self.check_settings(&binary, options)?;
        let pairs = options.settings.iter().map(|(name, value)| (name.as_str(), value));
        let settings = Settings::default().with(pairs);
        let initial = self.prepare(self.named.home(), &binary, &settings, &self.places(options.port).socket)?;
        let settings = initial.with(settings.iter());
        self.check_wanted(stop)?;
        family::forget_dead(self.family(), &self.data(), self.named.home().user())?;
        let log_from = fs::metadata(self.error_log()).map_or(0, |metadata| metadata.len());
        let note = Note::starting(options);
        self.write_note(&note)?;
        let mut child = self.spawn_fitting(&binary, &settings, options.port)?;
        // A process that has already ended is found at the first check.
        let process = Process { pid: child.id(), start_ticks: start_ticks(child.id()).unwrap_or(0) };
        if let Err(error) = self.write_note(&Note { process: Some(process), ..note }) {
            self.end_child(&mut child, true);
            return Err(error);
        }
        Ok(Starting { binary, child, process, settings, log_from })
    }

    fn check_wanted(&self, stop: &AtomicBool) -> Result<(), SandboxError> {
        if stop.load(Ordering::Relaxed) {
            return Err(NamedError::Interrupted { name: self.server.name.clone() }.into());
        }
        Ok(())
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

    /// Creates missing folders. Returns the settings with which the datadir was created.
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
            let made = self.initial()?;
            let changed = wanted.iter().find(|(name, value)| made.get(name) != Some(*value));
            return match changed {
                None => Ok(made),
                Some((name, _)) => {
                    let (server, name) = (self.server.name.clone(), name.to_owned());
                    Err(NamedError::Initial { server, name }.into())
                }
            };
        }
        // Renamed when complete: a partial copy is not a datadir.
        let beside = self.folder.join(COPY);
        remove_tree(&beside)?;
        copy_template(home, binary, &wanted, &beside)?;
        self.write_initial(&wanted)?;
        fs::rename(&beside, self.data()).map_err(SandboxError::io("rename", &beside))?;
        Ok(wanted)
    }

    /// If no process was created, the data are unchanged: a redo log that was not needed still is not.
    fn spawn_fitting(
        &self,
        binary: &ServerBinary,
        settings: &Settings,
        port: Option<u16>,
    ) -> Result<Child, SandboxError> {
        let was_stopped = binary.keeps_redo_size() && old_redo::fit(&self.data(), settings)?;
        self.spawn(binary, settings, port).inspect_err(|_| {
            if was_stopped {
                let _ = old_redo::note_stopped(&self.data());
            }
        })
    }

    fn spawn(&self, binary: &ServerBinary, settings: &Settings, port: Option<u16>) -> Result<Child, SandboxError> {
        let (user, places) = (self.named.home().user(), self.places(port));
        let mut lines = family::lines(self.family(), binary, &places, settings, port);
        if binary.is_of_mysql() && settings.get("server_id").is_none() {
            // MySQL 5.7 writes no binlog without it.
            lines.push(CommandOption::new("server-id", "1"));
        }
        let command = family::command(self.family(), &binary.path, &places, &lines, user)?;
        spawn_detached(command, user).map_err(SandboxError::io("start", &binary.path))
    }

    fn wait_until_ready(
        &self,
        starting: &mut Starting,
        options: &InstanceOptions,
        stop: &AtomicBool,
    ) -> Result<(), SandboxError> {
        let Starting { binary, child, process, log_from, .. } = starting;
        let (family, places, program) = (self.family(), self.places(options.port), binary.path.as_path());
        let awaited = Awaited { family, places: &places, program, pid: process.pid, log_from: *log_from };
        let look = || match child.try_wait().map_err(SandboxError::io("look at", program))? {
            None => self.check_wanted(stop).map(|()| None),
            ended => Ok(ended),
        };
        awaited.wait(options.ready_time_limit, look).map(|_| ())
    }

    /// A silently adjusted setting would invalidate everything measured with this server.
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
}

fn check_port(port: u16, user: &ServerUser) -> Result<(), SandboxError> {
    // A port that root may use can be forbidden to the server's user.
    let first = first_free_port();
    if port < first && (user.switch || !geteuid().is_root()) {
        let problem = format!("ports below {first} are reserved for root, and the server runs as `{}`", user.name);
        return Err(NamedError::Port { port, problem }.into());
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let in_use = error.kind() == io::ErrorKind::AddrInUse;
            let problem = if in_use { "another process listens on it".to_owned() } else { error.to_string() };
            Err(NamedError::Port { port, problem }.into())
        }
    }
}

/// The first port that every user may listen on.
fn first_free_port() -> u16 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").ok();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = check_port(port, &ServerUser::choose()).unwrap_err();
        assert_eq!(error.to_string(), format!("port {port} cannot be used: another process listens on it"));
        if first_free_port() > 80 {
            let nobody = ServerUser { switch: true, ..ServerUser::choose() };
            let error = check_port(80, &nobody).unwrap_err();
            assert!(error.to_string().contains("are reserved for root, and the server runs as"), "{error}");
        }
    }
}
