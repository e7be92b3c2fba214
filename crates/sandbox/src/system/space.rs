//! Free space of a disk.

use std::path::Path;

use rustix::fs::statvfs;

use crate::error::SandboxError;

/// Disk space left free in addition: the server's own temporary files, logs, and a margin.
pub(crate) const SPARE_BYTES: u64 = 128 << 20;

/// Bytes that an unprivileged user may still write on the file system of `path`.
pub fn free_bytes(path: &Path) -> Result<u64, SandboxError> {
    let facts = statvfs(path).map_err(|error| SandboxError::io("look at", path)(error.into()))?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

pub(crate) fn check_free(path: &Path, what: &'static str, needed: u64) -> Result<(), SandboxError> {
    let (free, needed) = (free_bytes(path)?, needed.saturating_add(SPARE_BYTES));
    if free >= needed {
        return Ok(());
    }
    Err(SandboxError::DiskFull { what, path: path.to_owned(), needed, free })
}
