//! Cuts binlogs that were preallocated to their content, for a server that starts without the library.
//!
//! The library does the same when a server starts with it, with the same decision (`truetps_binlog::decide`).

use std::ffi::OsString;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use thiserror::Error;
use truetps_binlog::{ReadAt, TailDecision, decide, file_number};
use truetps_files::sync_folder;

use crate::state_file::{StateError, StateFile};

/// Endings of files of the library that no server misses: prepared files, and the one of its self-test.
const LEFTOVER: &str = ".prealloc-";
/// Mode of the file with the bytes that were cut.
const KEPT_MODE: u32 = 0o640;

/// Why binlogs are not trimmed.
#[derive(Debug, Error)]
pub enum TrimError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: a running process has it open: {process}", path.display())]
    InUse { path: PathBuf, process: String },
    #[error("{}: no binlog of this basename", basename.display())]
    NoBinlog { basename: PathBuf },
    #[error(transparent)]
    State(#[from] StateError),
}

/// One binlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrimmedFile {
    pub name: OsString,
    pub bytes: u64,
    pub decision: TailDecision,
    /// Where the bytes are that were cut and are no zeros.
    pub kept: Option<PathBuf>,
}

/// What was found, and done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// All binlogs of the basename, the oldest first.
    pub files: Vec<TrimmedFile>,
    /// Files of the library that were removed.
    pub removed: Vec<OsString>,
}

/// Cuts each binlog of the basename to its content. Refused while a process has one of them open. With `is_dry`, only says what
/// it would do. `seconds` is the time of day since 1970, for names of files.
pub fn trim(basename: &Path, is_dry: bool, seconds: u64) -> Result<Trimmed, TrimError> {
    let folder = basename.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = basename.file_name().unwrap_or_default();
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
    let entries = entries.map_err(failed(folder))?;
    let number = |entry: &DirEntry| file_number(base.as_bytes(), entry.file_name().as_bytes());
    let mut binlogs: Vec<_> = entries.iter().filter_map(|entry| Some((number(entry)?, entry.path()))).collect();
    binlogs.sort();
    if binlogs.is_empty() {
        return Err(TrimError::NoBinlog { basename: basename.to_owned() });
    }
    let state = StateFile::of(basename);
    let watched = binlogs.iter().map(|(_, path)| path.as_path()).chain([state.path()]);
    if let Some((path, process)) = first_open(watched) {
        return Err(TrimError::InUse { path, process });
    }
    if state.has_server()? {
        return Err(TrimError::InUse {
            path: state.path().to_owned(),
            process: "a server with the library".to_owned(),
        });
    }
    let mut done = Trimmed::default();
    for (_, path) in &binlogs {
        done.files.push(trim_file(path, is_dry, seconds).map_err(failed(path))?);
    }
    let mut leftover = base.to_owned();
    leftover.push(LEFTOVER);
    let is_leftover = |entry: &&DirEntry| entry.file_name().as_bytes().starts_with(leftover.as_bytes());
    for entry in entries.iter().filter(is_leftover) {
        if !is_dry {
            fs::remove_file(entry.path()).map_err(failed(&entry.path()))?;
        }
        done.removed.push(entry.file_name());
    }
    if !is_dry {
        sync_folder(folder).map_err(failed(folder))?;
    }
    Ok(done)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> TrimError {
    move |source| TrimError::File { path: path.to_owned(), source }
}

fn trim_file(path: &Path, is_dry: bool, seconds: u64) -> io::Result<TrimmedFile> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).write(!is_dry).custom_flags(no_link).open(path)?;
    let bytes = file.metadata()?.len();
    let decision = decide(&mut OpenBinlog(&file), bytes)?;
    let mut kept = None;
    if !is_dry {
        let at = match decision {
            TailDecision::Sound | TailDecision::LeaveAlone(_) => None,
            TailDecision::CutZeros { at } => Some(at),
            TailDecision::CutAndKeep { at, keep_to } => {
                kept = Some(keep(&mut file, path, at, keep_to, seconds)?);
                Some(at)
            }
        };
        if let Some(at) = at {
            file.set_len(at)?;
            file.sync_all()?;
        }
    }
    Ok(TrimmedFile { name: path.file_name().unwrap_or_default().to_owned(), bytes, decision, kept })
}

/// Copies the bytes to `FILE.cut-SECONDS`, durably, for the owner of the binlog.
fn keep(file: &mut File, path: &Path, from: u64, to: u64, seconds: u64) -> io::Result<PathBuf> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".cut-{seconds}"));
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(KEPT_MODE).open(&beside)?;
    let owner = file.metadata()?;
    // Only root can give a file away; another user is the owner of both.
    let _ = fchown(&copy, Some(owner.uid()), Some(owner.gid()));
    file.seek(SeekFrom::Start(from))?;
    io::copy(&mut file.take(to.saturating_sub(from)), &mut copy)?;
    copy.flush()?;
    copy.sync_all()?;
    Ok(beside.into())
}

struct OpenBinlog<'a>(&'a File);

impl ReadAt for OpenBinlog<'_> {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

/// The first of these files that a process has open, and which one: a server may have a binlog open without the library.
/// Processes of other users are seen by root only.
fn first_open<'p>(paths: impl Iterator<Item = &'p Path>) -> Option<(PathBuf, String)> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()));
    let files: Vec<_> = paths.filter_map(|path| Some((identity(path)?, path))).collect();
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for open in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let found = identity(&open.path()).and_then(|of| files.iter().find(|(known, _)| *known == of));
            if let Some((_, path)) = found {
                let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                return Some(((*path).to_owned(), format!("{} (process {name})", program.trim())));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_names_stay() {
        let folder = tempfile::tempdir().unwrap();
        let basename = folder.path().join("binlog");
        assert!(matches!(trim(&basename, false, 7), Err(TrimError::NoBinlog { .. })));
        let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        write("binlog.000001", &[0; 9000]);
        write("binlog.prealloc-0", &[0; 10]);
        write("relay-bin.000001", &[0; 10]);
        write("binlog.index", b"./binlog.000001\n");
        let seen = trim(&basename, true, 7).unwrap();
        assert_eq!((seen.files[0].bytes, seen.removed.len()), (9000, 1));
        assert!(folder.path().join("binlog.prealloc-0").exists(), "a dry run changes nothing");
        trim(&basename, false, 7).unwrap();
        let length = |name: &str| fs::metadata(folder.path().join(name)).map(|facts| facts.len()).ok();
        assert_eq!(length("binlog.000001"), Some(0), "zeros without a magic are no content");
        assert_eq!((length("binlog.prealloc-0"), length("relay-bin.000001")), (None, Some(10)));
        assert_eq!(length("binlog.index"), Some(16));
    }

    #[test]
    fn a_file_that_is_open_elsewhere_is_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("binlog.000001"), [0; 100]).unwrap();
        let path = folder.path().join("binlog.000001");
        #[allow(clippy::disallowed_methods, reason = "a process that is not ours has to have it open")]
        let mut other =
            std::process::Command::new("sleep").arg("30").stdin(File::open(&path).unwrap()).spawn().unwrap();
        let refused = trim(&folder.path().join("binlog"), false, 7);
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(matches!(&refused, Err(TrimError::InUse { process, .. }) if process.contains("sleep")), "{refused:?}");
        assert_eq!(fs::metadata(path).unwrap().len(), 100);
    }
}
