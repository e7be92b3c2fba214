//! Copies a data folder so that the copy costs nothing later.
//!
//! Every byte is really written: no holes and no blocks shared with the original, either of which would make the
//! server's first write to a place dearer than its second. The file system is synced at the end, so that the kernel
//! does not write the copy back behind a measurement.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::Path;

use rustix::fs::{OFlags, statvfs, syncfs};

use crate::error::SandboxError;
use crate::home::make_private;
use crate::server_user::ServerUser;

const BLOCK_BYTES: usize = 1 << 20;
/// Left free beside what is needed: the server's own temporary files, logs, and a margin.
pub(crate) const SPARE_BYTES: u64 = 128 << 20;

/// What an unprivileged user may still write on the file system of `path`.
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

/// Bytes of all files below `path`.
pub(crate) fn tree_bytes(path: &Path) -> Result<u64, SandboxError> {
    let mut bytes = 0;
    for entry in fs::read_dir(path).map_err(SandboxError::io("read", path))? {
        let entry = entry.map_err(SandboxError::io("read", path))?;
        let metadata = entry.metadata().map_err(SandboxError::io("look at", &entry.path()))?;
        bytes += if metadata.is_dir() { tree_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Copies a folder to a place where nothing is yet, and gives it to the server's user. Returns the bytes written.
pub(crate) fn copy_datadir(from: &Path, to: &Path, user: &ServerUser) -> Result<u64, SandboxError> {
    let parent = to.parent().unwrap_or(to);
    check_free(parent, "a copy of the data folder", tree_bytes(from)?)?;
    let mut buffer = vec![0; BLOCK_BYTES];
    let bytes = copy_tree(from, to, user, &mut buffer)?;
    let folder = File::open(to).map_err(SandboxError::io("open", to))?;
    // One sync for all: a sync a file would cost a journal commit for each of some 300 files.
    syncfs(&folder).map_err(|error| SandboxError::io("sync", to)(error.into()))?;
    Ok(bytes)
}

fn copy_tree(from: &Path, to: &Path, user: &ServerUser, buffer: &mut [u8]) -> Result<u64, SandboxError> {
    make_private(to, user)?;
    let mut bytes = 0;
    for entry in fs::read_dir(from).map_err(SandboxError::io("read", from))? {
        let entry = entry.map_err(SandboxError::io("read", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(SandboxError::io("look at", &source))?;
        if kind.is_dir() {
            bytes += copy_tree(&source, &target, user, buffer)?;
        } else if kind.is_file() {
            bytes += copy_file(&source, &target, user, buffer).map_err(SandboxError::io("copy", &source))?;
        } else {
            let problem = "is neither a file nor a folder, and a data folder has nothing else".to_owned();
            return Err(SandboxError::Content { path: source, problem });
        }
    }
    Ok(bytes)
}

fn copy_file(from: &Path, to: &Path, user: &ServerUser, buffer: &mut [u8]) -> io::Result<u64> {
    let mut source = open_no_link(OpenOptions::new().read(true), from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    if user.switch {
        fchown(&target, Some(user.uid), Some(user.gid))?;
    }
    let mut bytes = 0;
    loop {
        let n = match source.read(buffer) {
            Ok(0) => return Ok(bytes),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        target.write_all(&buffer[..n])?;
        bytes += n as u64;
    }
}

/// Opens a file that another user may have put there: no link is followed, and no pipe waited for.
pub(crate) fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_copy_is_the_same_and_has_no_holes() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("a copy"));
        fs::create_dir_all(from.join("mysql")).unwrap();
        fs::write(from.join("mysql/table"), "rows").unwrap();
        let hole = File::create(from.join("log")).unwrap();
        hole.set_len(3 << 20).unwrap();
        let user = ServerUser::ourselves();
        let bytes = copy_datadir(&from, &to, &user).unwrap();
        assert_eq!(bytes, (3 << 20) + 4);
        assert_eq!(fs::read(to.join("mysql/table")).unwrap(), b"rows");
        let log = fs::metadata(to.join("log")).unwrap();
        assert!(log.len() == 3 << 20 && log.blocks() * 512 >= 3 << 20, "has holes: {} blocks", log.blocks());
        assert!(copy_datadir(&from, &to, &user).unwrap_err().to_string().contains("a copy"));
    }

    #[test]
    fn links_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir(&from).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        let error = copy_datadir(&from, &dir.path().join("to"), &ServerUser::ourselves()).unwrap_err();
        assert!(error.to_string().contains("neither a file nor a folder"), "{error}");
    }

    #[test]
    fn a_full_disk_is_told_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let error = check_free(dir.path(), "a test", u64::MAX / 2).unwrap_err().to_string();
        assert!(error.contains("a test needs") && error.contains("free"), "{error}");
    }
}
