//! Lock files: the kernel releases a lock however its holder ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use truetps_files::open_no_link;

use crate::error::SandboxError;

/// Opens a lock file, creating it if missing.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_no_link(options.write(true).create(true).truncate(false).mode(0o600), path)
}

/// Takes an exclusive lock that another process may hold, waiting at most `time_limit`.
pub(crate) fn wait_for_lock(lock: &File, time_limit: Duration) -> Result<(), TryLockError> {
    let end = Instant::now() + time_limit;
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// The same for a file at this path; the error of a holder that keeps it names the path.
pub(crate) fn locked_within(
    time_limit: Duration,
    lock: File,
    path: &Path,
) -> Result<File, SandboxError> {
    match wait_for_lock(&lock, time_limit) {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            Err(SandboxError::Busy { path: path.to_owned(), waited: time_limit })
        }
        Err(TryLockError::Error(source)) => Err(SandboxError::io("lock", path)(source)),
    }
}

/// A lock of the same process counts, too: locks belong to the open file, not to the process.
pub(crate) fn is_held(lock: &Path) -> bool {
    let opened = open_no_link(File::options().read(true), lock);
    opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
