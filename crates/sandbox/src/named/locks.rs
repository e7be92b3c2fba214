//! The two locks of a server's name: one for changes, one for runs that need its program.
//!
//! Their files are beside the server's folder, so that they outlive its removal; the holder of both
//! removes them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::name::name_of_entry;
use crate::error::{NamedError, SandboxError};
use crate::home::home_folder::Home;
use crate::system::folders::is_file;
use crate::system::locks::{open_lock, wait_for_lock};

/// Suffixes of the lock files.
const CHANGE: &str = ".lock";
const USE: &str = ".use";
/// A lock for checks and signals is held for a moment; a start creates data, which takes a few
/// seconds.
const LOCK_TIME_LIMIT: Duration = Duration::from_secs(10);
/// Listing leftovers of killed runs tries the lock for a moment.
const LOOK_TIME_LIMIT: Duration = Duration::from_millis(100);

/// While it exists, the server's program is neither removed nor replaced.
#[derive(Debug)]
pub struct Use {
    _lock: File,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NameLocks<'a> {
    home: &'a Home,
    name: &'a str,
}

impl<'a> NameLocks<'a> {
    pub(crate) fn of(home: &'a Home, name: &'a str) -> Self {
        Self { home, name }
    }

    pub(crate) fn change_path(self) -> PathBuf {
        self.home.named().join(format!(".{}{CHANGE}", self.name))
    }

    fn use_path(self) -> PathBuf {
        self.home.named().join(format!(".{}{USE}", self.name))
    }

    /// Held while a server of that name is changed or started.
    pub(crate) fn lock(self) -> Result<File, SandboxError> {
        self.lock_within(LOOK_TIME_LIMIT)
    }

    /// Takes the lock for changes, waiting for another holder: to remove or signal the server, or
    /// to note its end.
    pub(crate) fn wait(self) -> Result<File, SandboxError> {
        self.lock_within(LOCK_TIME_LIMIT)
    }

    fn lock_within(self, time_limit: Duration) -> Result<File, SandboxError> {
        self.home.make_named()?;
        let (path, lock) = opened(self.change_path())?;
        match wait_for_lock(&lock, time_limit) {
            Ok(()) if is_at(&lock, &path) => Ok(lock),
            Ok(()) | Err(TryLockError::WouldBlock) => {
                let problem =
                    "another process of truetps is starting, stopping or changing this server"
                        .to_owned();
                Err(SandboxError::Content { path, problem })
            }
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// Takes the lock for changes to write a note about a server; `None`: it was removed, and no
    /// lock of it is left or created.
    pub(crate) fn wait_if_registered(self) -> Result<Option<File>, SandboxError> {
        if !self.is_registered() {
            return Ok(None);
        }
        match self.wait() {
            Ok(lock) if self.is_registered() => Ok(Some(lock)),
            // Removed since the first check: the lock was created here.
            Ok(_lock) => {
                self.remove_files();
                Ok(None)
            }
            Err(_) if !self.is_registered() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_registered(self) -> bool {
        self.home.named().join(self.name).is_dir()
    }

    /// Held by a run that needs the server's program; runs share it.
    pub(crate) fn lock_use(self) -> Result<Use, SandboxError> {
        let (path, lock) = opened(self.use_path())?;
        match lock.try_lock_shared() {
            Ok(()) if is_at(&lock, &path) => Ok(Use { _lock: lock }),
            Ok(()) | Err(TryLockError::WouldBlock) => Err(self.in_replacement()),
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// The error of a run that finds the program in replacement.
    pub(crate) fn in_replacement(self) -> SandboxError {
        let problem = "another process of truetps is removing or replacing this server".to_owned();
        SandboxError::Content { path: self.use_path(), problem }
    }

    /// Held while the program is removed or replaced.
    pub(crate) fn lock_unused(self) -> Result<File, SandboxError> {
        let (path, lock) = opened(self.use_path())?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => {
                Err(NamedError::InUse { name: self.name.to_owned() }.into())
            }
            Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", &path)(source)),
        }
    }

    /// For a holder of both locks: an unregistered name leaves nothing.
    pub(crate) fn remove_files(self) {
        for path in [self.use_path(), self.change_path()] {
            let _ = fs::remove_file(path);
        }
    }

    /// For a holder of the lock for changes of a name that may be unregistered.
    pub(crate) fn remove_if_unregistered(self) {
        if !self.home.named().join(self.name).exists() {
            self.remove_files();
        }
    }
}

fn opened(path: PathBuf) -> Result<(PathBuf, File), SandboxError> {
    let lock = open_lock(&path).map_err(SandboxError::io("open", &path))?;
    Ok((path, lock))
}

/// A lock file that was removed in the meantime protects nothing.
pub(crate) fn is_at(lock: &File, path: &Path) -> bool {
    inode(fs::metadata(path)) == inode(lock.metadata())
}

fn inode(metadata: io::Result<fs::Metadata>) -> Option<u64> {
    metadata.map(|metadata| metadata.ino()).ok()
}

/// Whether an entry beside the servers' folders is a lock file.
pub(crate) fn is_lock_file(path: &Path, entry: &str) -> bool {
    [CHANGE, USE].iter().any(|ending| name_of_entry(entry, ending).is_some()) && is_file(path)
}
