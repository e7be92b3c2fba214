//! Overwrites a redo log once, so that later writes to it cost the same.
//!
//! A server creates its redo log with `fallocate`: the blocks are reserved but marked "unwritten",
//! and the first write to each costs a commit of the file system's journal in addition to the
//! flush. So a fresh log is slower during its first pass than ever after, and the configuration
//! measured first looks worse. Overwriting the log with its own content, while the server is
//! stopped, avoids that.
//!
//! MySQL 8.0.30 and later creates new files at each start, so this has no effect there, and the
//! running server writes the whole log once instead: see `lap.rs`.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use truetps_files::{check_names, open_no_link};

use crate::error::SandboxError;

const BLOCK_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WornIn {
    pub files: u32,
    pub bytes: u64,
}

/// Overwrites the redo log of a *stopped* server with its own content, and syncs it. Does nothing,
/// and counts no file, if the server would delete the files at its next start.
pub fn wear_in_redo(datadir: &Path) -> Result<WornIn, SandboxError> {
    let mut worn = WornIn::default();
    let owner = fs::metadata(datadir).map_err(SandboxError::io("look at", datadir))?.uid();
    for path in redo_files(datadir)? {
        worn.bytes += overwrite(&path, owner).map_err(SandboxError::io("overwrite", &path))?;
        worn.files += 1;
    }
    if worn.files == 0 && !datadir.join("#innodb_redo").is_dir() {
        let problem = "has no redo log: start and stop a server on it first".to_owned();
        return Err(SandboxError::Content { path: datadir.to_owned(), problem });
    }
    Ok(worn)
}

/// MariaDB: `ib_logfile0`. MySQL before 8.0.30: `ib_logfile0` and up.
fn redo_files(datadir: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let entries = fs::read_dir(datadir).map_err(SandboxError::io("read", datadir))?;
    let files = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<_> = files
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("ib_logfile"))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}

/// Reads the redo log into the page cache. A server that buffers its log writes parts of pages, and
/// each first write to a page that is not cached waits for a read: on a spinning disk a revolution
/// for each ten commits. A log that was written before is cached, as long as there is memory.
pub(crate) fn cache_redo(datadir: &Path) -> Result<(), SandboxError> {
    let owner = fs::metadata(datadir).map_err(SandboxError::io("look at", datadir))?.uid();
    let mut files = redo_files(datadir)?.into_iter();
    files.try_for_each(|path| read_all(&path, owner).map_err(SandboxError::io("read", &path)))
}

fn read_all(path: &Path, owner: u32) -> io::Result<()> {
    let file = open_no_link(OpenOptions::new().read(true), path)?;
    check_names(&file, owner)?;
    io::copy(&mut &file, &mut io::sink()).map(drop)
}

fn overwrite(path: &Path, owner: u32) -> io::Result<u64> {
    let file = open_no_link(OpenOptions::new().read(true).write(true), path)?;
    check_names(&file, owner)?;
    let length = file.metadata()?.len();
    let mut block = vec![0; BLOCK_BYTES];
    let mut at = 0;
    while at < length {
        let n = BLOCK_BYTES.min((length - at) as usize);
        file.read_exact_at(&mut block[..n], at)?;
        file.write_all_at(&block[..n], at)?;
        at += n as u64;
    }
    file.sync_data()?;
    // Servers read and write the log with direct I/O; the pages written here would only take
    // memory. A file system that cannot drop them keeps them, which does no harm.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hard_link_to_a_file_of_another_user_is_not_overwritten() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (data, secret) = (dir.path().join("data"), dir.path().join("secret"));
        fs::create_dir(&data).unwrap();
        fs::write(&secret, "secret").unwrap();
        fs::hard_link(&secret, data.join("ib_logfile0")).unwrap();
        wear_in_redo(&data).unwrap();
        std::os::unix::fs::chown(&data, Some(4711), Some(4711)).unwrap();
        let error = wear_in_redo(&data).unwrap_err().to_string();
        assert!(error.contains("is a hard link to a file of uid 0"), "{error}");
    }

    #[test]
    fn content_and_size_stay() {
        let dir = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..(3 << 20) + 17).map(|n: u32| (n / 7) as u8).collect();
        for name in ["ib_logfile0", "ib_logfile1"] {
            fs::write(dir.path().join(name), &content).unwrap();
        }
        fs::write(dir.path().join("ibdata1"), "not redo").unwrap();
        let worn = wear_in_redo(dir.path()).unwrap();
        assert_eq!((worn.files, worn.bytes), (2, 2 * content.len() as u64));
        assert_eq!(fs::read(dir.path().join("ib_logfile1")).unwrap(), content);
    }

    #[test]
    fn files_that_the_next_start_throws_away_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("#innodb_redo")).unwrap();
        assert_eq!(wear_in_redo(dir.path()).unwrap(), WornIn::default());
    }

    #[test]
    fn a_folder_without_redo_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let error = wear_in_redo(dir.path()).unwrap_err().to_string();
        assert!(error.contains("has no redo log"), "{error}");
    }
}
