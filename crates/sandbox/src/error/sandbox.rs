//! Errors of private servers, with hints for the user.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use truetps_disk::{DiskError, DiskProfile};
use truetps_driver::DriverError;

use super::binary::BinaryError;
use super::catalogue::CatalogueError;
use super::limit::{LimitError, megabytes};
use super::named::NamedError;

#[derive(Debug, Error)]
pub enum SandboxError {
    #[error(transparent)]
    Binary(#[from] BinaryError),
    #[error(transparent)]
    Setting(#[from] CatalogueError),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the folder for private servers, {}, cannot be used: {problem}", path.display())]
    Home { path: PathBuf, problem: String },
    #[error(
        "{} is not a folder of private servers: it has no file `truetps-home`, and truetps has not \
         created {}",
        path.display(), found.display()
    )]
    ForeignHome { path: PathBuf, found: PathBuf },
    #[error(
        "not enough disk space: {what} needs {}, and {} has {} free",
        megabytes(*needed), path.display(), megabytes(*free)
    )]
    DiskFull { what: &'static str, path: PathBuf, needed: u64, free: u64 },
    #[error(
        "{version_text} is too old: private servers need at least MySQL 5.5, MariaDB 10.4 or \
         PostgreSQL 13"
    )]
    TooOld { version_text: String },
    #[error("{} could not initialise a datadir ({how}):\n{log}", binary.display())]
    Initialise { binary: PathBuf, how: String, log: String },
    #[error("{} did not start ({how}):\n{log}", binary.display())]
    Start { binary: PathBuf, how: String, log: String },
    #[error("{} was not ready after {} s{}: {last}\n{log}", binary.display(), waited.as_secs(), on(disk.as_deref()))]
    NotReady {
        binary: PathBuf,
        waited: Duration,
        last: String,
        log: String,
        disk: Option<Box<DiskProfile>>,
    },
    #[error(
        "{} listens on {}, not the server that was started (process {started})", process(*found), socket.display()
    )]
    OtherServer { socket: PathBuf, started: u32, found: Option<u32> },
    #[error("a server already runs on {}", path.display())]
    Running { path: PathBuf },
    #[error("process {pid} holds the datadir {}: it runs a server there", path.display())]
    Held { path: PathBuf, pid: u32 },
    #[error("another process of truetps has held {} for {} s", path.display(), waited.as_secs())]
    Busy { path: PathBuf, waited: Duration },
    #[error("cannot {action}: {source}")]
    Sql { action: &'static str, source: DriverError },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Named(#[from] NamedError),
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
}

impl SandboxError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn home(path: &Path, problem: impl Into<String>) -> Self {
        Self::Home { path: path.to_owned(), problem: problem.into() }
    }

    /// Adds the emulated disk to an error of a server on it.
    pub(crate) fn on_disk(self, profile: &DiskProfile) -> Self {
        match self {
            Self::NotReady { binary, waited, last, log, disk: None } => {
                Self::NotReady { binary, waited, last, log, disk: Some(Box::new(profile.clone())) }
            }
            other => other,
        }
    }

    /// A hint for the user, as one sentence.
    pub fn hint(&self) -> Option<String> {
        let elsewhere = "name another folder with --sandbox-dir";
        match self {
            Self::Binary(error) => error.hint(),
            Self::Setting(error) => error.hint(),
            Self::Limit(error) => Some(error.hint()),
            Self::Named(error) => error.hint(),
            Self::Disk(error) => error.hint(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some(format!("free some space, or {elsewhere}"))
            }
            Self::Home { .. } => Some(elsewhere.to_owned()),
            Self::ForeignHome { path, .. } => {
                let below = path.join("truetps");
                Some(format!(
                    "name a new or empty folder on that disk: --sandbox-dir {}",
                    below.display()
                ))
            }
            Self::DiskFull { .. } => Some(format!(
                "free some space (`truetps server clean` removes leftovers), or \
                              {elsewhere}"
            )),
            Self::TooOld { .. } => Some(
                "name a newer server: --basedir, or `truetps server add \
                                         NAME PATH`"
                    .to_owned(),
            ),
            Self::NotReady { disk: Some(profile), .. } => Some(format!(
                "a page written and flushed takes {:.1} ms on this disk: use a faster profile, or \
                 wait longer (`truetps server start --wait`)",
                profile.overwrite_us() / 1e3
            )),
            Self::Initialise { log, .. } | Self::Start { log, .. } | Self::NotReady { log, .. } => {
                hint_for_log(log)
            }
            Self::OtherServer { found: None, .. } => Some(
                "run truetps in the pid namespace of the server, or name another folder with \
                 --sandbox-dir"
                    .to_owned(),
            ),
            Self::OtherServer { .. } => {
                Some("if the program is a wrapper script, it must `exec` the server".to_owned())
            }
            Self::Busy { .. } => Some("`truetps server list` shows the running servers".to_owned()),
            Self::Held { pid, .. } => Some(format!(
                "truetps did not start it here: `ps -fp {pid}` shows what it is; stop it as its \
                 owner does"
            )),
            Self::Io { .. } | Self::Running { .. } | Self::Sql { .. } | Self::Content { .. } => {
                None
            }
        }
    }
}

fn on(disk: Option<&DiskProfile>) -> String {
    disk.map_or_else(String::new, |profile| format!(" on the emulated disk `{}`", profile.name))
}

/// The listening process, by its pid in the current pid namespace.
fn process(found: Option<u32>) -> String {
    found.map_or_else(
        || "a process of another pid namespace".to_owned(),
        |pid| format!("process {pid}"),
    )
}

/// Words of a server's log, and their usual meaning.
const LOG_HINTS: [(&[&str], &str); 7] = [
    (
        &["permission denied", "errno: 13", "os errno 13", "error: 13"],
        "the server may not read or write there: a security profile (AppArmor, SELinux) may \
         confine this binary to its usual folders; see `aa-status`, or name a folder it may use \
         with --sandbox-dir",
    ),
    (
        &["no space left", "errno: 28", "error: 28"],
        "the disk is full: free some space, or name another folder with --sandbox-dir",
    ),
    (
        &["cannot allocate memory", "out of memory", "errno: 12"],
        "not enough memory: set a smaller innodb_buffer_pool_size (PostgreSQL: shared_buffers)",
    ),
    (
        &["io_uring", "io_setup"],
        "asynchronous I/O is limited here: try innodb_use_native_aio = OFF",
    ),
    (
        &["prepared transactions"],
        "after a crash, the binlog says which prepared transactions were committed: start once \
         with the log_bin that the server crashed with, stop it, and change log_bin then",
    ),
    (
        &["is of different size", "of different sizes"],
        "this version accepts another redo log size only after a clean stop: start it once with \
         the previous size",
    ),
    (
        &["unknown variable", "unknown option", "unrecognized configuration parameter"],
        "this version does not know one of the settings: remove it",
    ),
];

/// The first of [`LOG_HINTS`] that fits a server's last log lines.
fn hint_for_log(log: &str) -> Option<String> {
    let log = log.to_lowercase();
    let mut hints = LOG_HINTS.iter();
    let known = hints.find(|(words, _)| words.iter().any(|word| log.contains(word)));
    known.map(|(_, hint)| (*hint).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_place_cause_and_way_out() {
        let path = PathBuf::from("/a b/c");
        let full = SandboxError::DiskFull {
            what: "a copy",
            path: path.clone(),
            needed: 1_000_001,
            free: 0,
        };
        assert_eq!(
            full.to_string(),
            "not enough disk space: a copy needs 2 MB, and /a b/c has 0 MB free"
        );
        assert!(full.hint().unwrap().contains("--sandbox-dir"));
        let log = "[ERROR] InnoDB: Operating system error number 13 (Permission denied)".to_owned();
        let start = SandboxError::Start { binary: path, how: "exit status 1".to_owned(), log };
        assert!(start.hint().unwrap().contains("AppArmor"), "{start}");
        let hint = |log: &str| hint_for_log(log).unwrap();
        assert!(
            hint("[ERROR] Found 1 prepared transactions! It means that").contains("crashed with")
        );
        assert!(
            hint("InnoDB: Error: log file ./ib_logfile0 is of different size 0 5 bytes")
                .contains("clean stop")
        );
    }
}
