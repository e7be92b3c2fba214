//! Wears a redo log in.
//!
//! A server makes its redo log with `fallocate`: the blocks are reserved but marked "unwritten", and the first write
//! to each of them costs a commit of the file system's journal on top of the flush. So a fresh log is slower on its
//! first lap than ever after, and whichever configuration is measured first looks worse. Overwriting the log with its
//! own content, while the server is stopped, takes that lap away.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::copy::open_no_link;
use crate::error::SandboxError;

const BLOCK_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WornIn {
    pub files: u32,
    pub bytes: u64,
}

/// Overwrites the redo log of a *stopped* server with its own content, and makes that durable.
pub fn wear_in_redo(datadir: &Path) -> Result<WornIn, SandboxError> {
    let mut worn = WornIn::default();
    for path in redo_files(datadir)? {
        worn.bytes += overwrite(&path).map_err(SandboxError::io("overwrite", &path))?;
        worn.files += 1;
    }
    if worn.files == 0 {
        let problem = "has no redo log: start and stop a server on it first".to_owned();
        return Err(SandboxError::Content { path: datadir.to_owned(), problem });
    }
    Ok(worn)
}

/// MariaDB: `ib_logfile0`. MySQL before 8.0.30: `ib_logfile0` and up. MySQL from there: `#innodb_redo/#ib_redo12`, and
/// with `_tmp` those that come next.
fn redo_files(datadir: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let mut found = files_with_prefix(datadir, "ib_logfile")?;
    let newer = datadir.join("#innodb_redo");
    if newer.is_dir() {
        found.extend(files_with_prefix(&newer, "#ib_redo")?);
    }
    Ok(found)
}

fn files_with_prefix(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, SandboxError> {
    let entries = fs::read_dir(folder).map_err(SandboxError::io("read", folder))?;
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<_> = files
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}

fn overwrite(path: &Path) -> io::Result<u64> {
    let file = open_no_link(OpenOptions::new().read(true).write(true), path)?;
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
    drop_from_cache(&file);
    Ok(length)
}

/// Servers read and write the log past the page cache; what we put there would only take memory. A file system that
/// cannot drop it keeps it, and nothing is lost.
fn drop_from_cache(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_size_stay() {
        let dir = tempfile::tempdir().unwrap();
        let redo = dir.path().join("#innodb_redo");
        fs::create_dir(&redo).unwrap();
        let content: Vec<u8> = (0..(3 << 20) + 17).map(|n: u32| (n / 7) as u8).collect();
        for path in [dir.path().join("ib_logfile0"), redo.join("#ib_redo7"), redo.join("#ib_redo8_tmp")] {
            fs::write(path, &content).unwrap();
        }
        fs::write(dir.path().join("ibdata1"), "not redo").unwrap();
        let worn = wear_in_redo(dir.path()).unwrap();
        assert_eq!((worn.files, worn.bytes), (3, 3 * content.len() as u64));
        assert_eq!(fs::read(redo.join("#ib_redo8_tmp")).unwrap(), content);
    }

    #[test]
    fn a_folder_without_redo_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let error = wear_in_redo(dir.path()).unwrap_err().to_string();
        assert!(error.contains("has no redo log"), "{error}");
    }
}
