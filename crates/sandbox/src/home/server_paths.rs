//! The files of a server in the folder that truetps made for it: a private one, or a named one.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use truetps_record::Family;

use crate::error::SandboxError;

use crate::system::folders::{give, is_folder, make_private, remove_file, remove_tree};
use crate::system::log_tail::tail;
use crate::system::server_user::ServerUser;

/// Maximum path length of a unix socket, without the terminating zero.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The port in the name of a PostgreSQL's socket if it listens on none.
pub(crate) const POSTGRES_PORT: u16 = 5432;

/// The folder of an emulated disk, in the folder of its server.
pub(crate) const DISK: &str = "disk";

/// Where a server's data is: on its emulated disk, if it has one.
pub(crate) fn datadir_in(folder: &Path) -> PathBuf {
    let disk = folder.join(DISK);
    if is_folder(&disk) { truetps_disk::files_in(&disk).join("data") } else { folder.join("data") }
}

#[derive(Debug, Clone)]
pub(crate) struct ServerPaths {
    pub(crate) datadir: PathBuf,
    pub(crate) tmp: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) pid_file: PathBuf,
    pub(crate) error_log: PathBuf,
    /// The program's output.
    pub(crate) console_log: PathBuf,
    /// The settings file, if the family uses one.
    pub(crate) option_file: PathBuf,
}

impl ServerPaths {
    /// See also `processes::marks`.
    pub(crate) fn in_folder(folder: &Path, family: Family, port: Option<u16>) -> Self {
        Self {
            datadir: datadir_in(folder),
            tmp: folder.join("tmp"),
            socket: folder.join("run").join(socket_name(family, port)),
            pid_file: folder.join("run/pid"),
            error_log: folder.join("error.log"),
            console_log: folder.join("console.log"),
            option_file: folder.join("options"),
        }
    }

    pub(crate) fn is_socket_too_long(&self) -> bool {
        self.socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX
    }

    /// Empties the folders of a server that ended, and creates missing logs.
    pub(crate) fn make_folders_and_logs(&self, user: &ServerUser) -> Result<(), SandboxError> {
        for folder in [self.pid_file.parent().unwrap_or(&self.tmp), &self.tmp] {
            remove_tree(folder)?;
            make_private(folder, user)?;
        }
        for log in [&self.error_log, &self.console_log] {
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(log) {
                Ok(_) => give(log, user)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SandboxError::io("make", log)(error)),
            }
        }
        Ok(())
    }

    /// Leftovers of a killed server. They would not disturb the next one, but its socket would be
    /// found at the first check, and a pid file whose pid another process now has would stop the
    /// start.
    pub(crate) fn remove_stale(&self) -> Result<(), SandboxError> {
        let lock = self.socket.with_added_extension("lock");
        [&self.socket, &lock, &self.pid_file]
            .into_iter()
            .try_for_each(|path| remove_file(path).map(drop))
    }

    /// The present size of the error log.
    pub(crate) fn error_log_bytes(&self) -> u64 {
        fs::metadata(&self.error_log).map_or(0, |metadata| metadata.len())
    }

    /// The last lines of the log after its first `from` bytes, or of the program's output if there
    /// are none.
    pub(crate) fn log_tail(&self, from: u64, lines: usize) -> String {
        let log = tail(&self.error_log, from, lines);
        if log.is_empty() { tail(&self.console_log, 0, lines) } else { log }
    }
}

/// Name of the socket in its folder. PostgreSQL names it after its port, even if it listens on
/// none.
pub(crate) fn socket_name(family: Family, port: Option<u16>) -> String {
    match family {
        Family::Mysql => "sock".to_owned(),
        Family::Postgresql => format!(".s.PGSQL.{}", port.unwrap_or(POSTGRES_PORT)),
    }
}
