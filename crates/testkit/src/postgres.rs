//! One private server: creates its data, starts it, waits until it is ready, ends it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use thiserror::Error;
use truetps_driver::{Client, DriverError, Endpoint, Login, Password, Target, Tls};
use truetps_record::SqlDialect;

use crate::machine::{MachineGuard, share_machine};
use crate::os_user::OsUser;
use crate::port::free_port;
use crate::programs::Programs;
use crate::spawn::{command, spawn};
use crate::templates::copy_or_make;

/// The superuser of every server here; it needs no password unless the options say so.
const SUPERUSER: &str = "truetps";
/// The port in the unix socket's name if there is no TCP listener.
const UNIX_PORT: u16 = 5432;
const READY_TIMEOUT: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A unix socket path may have 107 bytes; the folder for temporary files may have this many of
/// them.
const TEMP_DIR_BYTES_MAX: usize = 60;
/// Another process can take a free port between the check and the server's start.
const PORT_TRIES: u32 = 5;

/// A certificate and its key, as PEM text.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate_pem: String,
    pub key_pem: String,
}

/// Options of a server.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    /// Settings as for `postgres -c`; they override the built-in ones.
    pub settings: Vec<(String, String)>,
    /// The lines of pg_hba.conf; without lines all users are trusted.
    pub hba: Vec<String>,
    /// Also listens on 127.0.0.1, on a free port.
    pub tcp: bool,
    /// TLS with these certificates.
    pub tls: Option<TlsFiles>,
}

#[derive(Debug, Error)]
pub enum PostgresError {
    #[error("root cannot run PostgreSQL, and there is no user `postgres` or `nobody` to run it as")]
    NoUser,
    #[error("{doing}: {source}")]
    Io { doing: &'static str, source: io::Error },
    #[error("initdb failed:\n{0}")]
    Initdb(String),
    #[error("the server did not become ready; its log:\n{0}")]
    NotReady(String),
}

/// Adds the failed operation to an I/O error.
trait ErrorContext<T> {
    fn doing(self, doing: &'static str) -> Result<T, PostgresError>;
}

impl<T> ErrorContext<T> for io::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, PostgresError> {
        self.map_err(|source| PostgresError::Io { doing, source })
    }
}

/// A running server. Dropping it ends it and removes its folder.
#[derive(Debug)]
pub struct PostgresServer {
    child: Child,
    port: Option<u16>,
    /// After the child: it is removed last.
    folder: TempDir,
    _machine: MachineGuard,
}

impl PostgresServer {
    /// Creates the data and starts the server. `None`: no PostgreSQL was found, and the test is
    /// skipped with a message.
    ///
    /// # Panics
    ///
    /// If the server cannot be started; and if there is none and `TRUETPS_REQUIRE_POSTGRES` is 1.
    #[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
    pub fn start(test: &str, options: &PostgresOptions) -> Option<Self> {
        let programs = Programs::find_or_skip(test)?;
        match Self::start_with(&programs, options) {
            Ok(server) => Some(server),
            Err(error) => panic!("{test}: {error}"),
        }
    }

    /// Like [`Self::start`], with programs that were found before.
    pub fn start_with(
        programs: &Programs,
        options: &PostgresOptions,
    ) -> Result<Self, PostgresError> {
        let user = OsUser::choose();
        if user.is_none() && rustix::process::geteuid().is_root() {
            return Err(PostgresError::NoUser);
        }
        let machine = share_machine();
        let folder = make_folder(user)?;
        copy_or_make(&programs.initdb, &folder.path().join("data"), || {
            make_data(&programs.initdb, folder.path(), user)
        })?
        .doing("copying the data of another server")?;
        write_files(folder.path(), options, user)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let port = options.tcp.then(free_port);
            let mut command =
                server_command(&programs.postgres, folder.path(), options, port, user);
            let log = File::create(folder.path().join("log")).doing("making the log")?;
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            let mut child = spawn(command).doing("starting postgres")?;
            if wait_until_ready(&mut child, folder.path()) {
                return Ok(Self { child, port, folder, _machine: machine });
            }
            end(&mut child, Signal::KILL);
            let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            if tries == PORT_TRIES || !log.contains("Address already in use") {
                return Err(PostgresError::NotReady(log));
            }
        }
    }

    /// The pid of the postmaster.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.port.unwrap_or(UNIX_PORT)))
    }

    /// The port on 127.0.0.1, if the options asked for one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The address of the superuser at the unix socket, without a password.
    pub fn target(&self) -> Target {
        self.target_for(SUPERUSER, None)
    }

    /// The address of a user at the unix socket.
    pub fn target_for(&self, user: &str, password: Option<&str>) -> Target {
        let login = Login {
            user: user.to_owned(),
            password: password.map(Password::new),
            database: Some("postgres".to_owned()),
        };
        Target::new(
            SqlDialect::Postgres,
            vec![Endpoint::Unix(self.socket())],
            login,
            Tls::default(),
        )
    }

    /// Connects by TCP, to `host`, which must lead to 127.0.0.1.
    ///
    /// # Panics
    ///
    /// If the options asked for no TCP.
    #[expect(clippy::expect_used, reason = "a mistake in the test")]
    pub fn tcp_target_for(&self, host: &str, user: &str, password: Option<&str>) -> Target {
        let port = self.port.expect("PostgresOptions::tcp");
        let endpoints = vec![Endpoint::Tcp { host: host.to_owned(), port }];
        Target { endpoints, ..self.target_for(user, password) }
    }

    /// A client of the superuser.
    pub fn connect(&self) -> Result<Client, DriverError> {
        Client::connect(&self.target(), CLIENT_TIMEOUT)
    }

    /// Kills the postmaster with SIGKILL: the other processes notice it at once, and end, too.
    pub fn kill(&mut self) {
        let memory = shared_memory(self.folder.path());
        end(&mut self.child, Signal::KILL);
        if let Some(id) = memory {
            remove_shared_memory(&id);
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // "Immediate" shutdown: no checkpoint, which is not needed; shared memory is released.
        end(&mut self.child, Signal::QUIT);
    }
}

/// In a short path, because it contains a unix socket; the server's user must be able to enter it.
fn make_folder(user: Option<OsUser>) -> Result<TempDir, PostgresError> {
    let usual = std::env::temp_dir();
    let parent =
        if usual.as_os_str().len() > TEMP_DIR_BYTES_MAX { Path::new("/tmp") } else { &usual };
    let folder = tempfile::Builder::new()
        .prefix("truetps-pg-")
        .tempdir_in(parent)
        .doing("making a folder")?;
    give(folder.path(), user)?;
    Ok(folder)
}

fn give(path: &Path, user: Option<OsUser>) -> Result<(), PostgresError> {
    let Some(user) = user else { return Ok(()) };
    chown(path, Some(user.uid), Some(user.gid)).doing("giving a file to the server's user")
}

fn make_data(initdb: &Path, folder: &Path, user: Option<OsUser>) -> Result<(), PostgresError> {
    let mut command = command(initdb, user);
    command.arg("-D").arg(folder.join("data")).args(["-U", SUPERUSER, "--auth=trust"]);
    command.args(["--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]);
    // initdb returns to its starting folder, which its user may not be able to enter.
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = spawn(command).and_then(Child::wait_with_output).doing("running initdb")?;
    if output.status.success() {
        return Ok(());
    }
    Err(PostgresError::Initdb(String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn write_files(
    folder: &Path,
    options: &PostgresOptions,
    user: Option<OsUser>,
) -> Result<(), PostgresError> {
    let trust = ["local all all trust".to_owned(), "host all all 127.0.0.1/32 trust".to_owned()];
    let lines = if options.hba.is_empty() { &trust[..] } else { &options.hba };
    fs::write(folder.join("data/pg_hba.conf"), lines.join("\n") + "\n")
        .doing("writing pg_hba.conf")?;
    if let Some(tls) = &options.tls {
        for (name, text) in [("server.crt", &tls.certificate_pem), ("server.key", &tls.key_pem)] {
            let path = folder.join("data").join(name);
            fs::write(&path, text).doing("writing a certificate")?;
            // The server refuses a key that other users can read.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).doing("hiding a key")?;
            give(&path, user)?;
        }
    }
    Ok(())
}

fn server_command(
    postgres: &Path,
    folder: &Path,
    options: &PostgresOptions,
    port: Option<u16>,
    user: Option<OsUser>,
) -> Command {
    let mut command = command(postgres, user);
    command.arg("-D").arg(folder.join("data")).current_dir(folder);
    let folder = folder.display().to_string();
    let (address, port) =
        (if port.is_some() { "127.0.0.1" } else { "" }, port.unwrap_or(UNIX_PORT));
    let (port, tls) = (port.to_string(), if options.tls.is_some() { "on" } else { "off" });
    let ours = [
        ("unix_socket_directories", folder.as_str()),
        ("listen_addresses", address),
        ("port", &port),
        ("ssl", tls),
        ("fsync", "off"),
        // In files of the datadir, not of /dev/shm: a killed server's would stay.
        ("dynamic_shared_memory_type", "mmap"),
        ("shared_buffers", "16MB"),
        ("max_connections", "50"),
        ("log_statement", "none"),
    ];
    let asked = options.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in ours.into_iter().chain(asked) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command
}

/// The server writes its state to a file: reading it requires no login, which the options may
/// forbid.
fn wait_until_ready(child: &mut Child, folder: &Path) -> bool {
    let ends = Instant::now() + READY_TIMEOUT;
    while Instant::now() < ends {
        let state = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
        if state.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
            return true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
    false
}

/// The id of the System V shared memory segment by which a server detects another one on its data:
/// the second word of a line of its state file.
fn shared_memory(folder: &Path) -> Option<String> {
    let state = fs::read_to_string(folder.join("data/postmaster.pid")).ok()?;
    state.lines().nth(6)?.split_whitespace().nth(1).map(str::to_owned)
}

/// A killed server leaves that segment. It is removed once no process is attached.
fn remove_shared_memory(id: &str) {
    let mut command = command(Path::new("/usr/bin/ipcrm"), None);
    command.args(["-m", id]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = spawn(command).and_then(|mut child| child.wait());
}

/// Sends the signal, then SIGKILL if that does not help.
fn end(child: &mut Child, signal: Signal) {
    let ends = Instant::now() + STOP_TIMEOUT;
    if let Ok(None) = child.try_wait() {
        let _ = kill_process(Pid::from_child(child), signal);
    }
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > ends {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}
