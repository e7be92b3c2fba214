//! Cuts binlogs that were preallocated to their content, for a server that starts without the
//! library.
//!
//! The library does the same when a server starts with it, with the same decision
//! (`truetps_binlog::decide`).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, Stat, fchmod};
use thiserror::Error;
use truetps_binlog::{BinlogAge, ReadAt, TailDecision, decide, file_number};
use truetps_files::OpenFolder;

use crate::state_file::{StateError, StateFile, StateLock};

/// Endings of files of the library that no server misses: prepared files, and the one of its
/// self-test.
const LEFTOVER: &str = ".prealloc-";
/// A server ends a binlog at 1 GiB, or behind the transaction that reaches it. A hole of exabytes
/// would be read for days.
const BINLOG_BYTES_MAX: u64 = 64 << 30;
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

/// Cuts the binlogs of the basename to their content, as far as a crash may have left more: see
/// [`BinlogAge`]. Refused while a process has one of them open; a server with the library that
/// starts meanwhile does not get the lock of the state page. With `is_dry`, only says what it would
/// do. `seconds` is the time of day since 1970, for names of files.
pub fn trim(basename: &Path, is_dry: bool, seconds: u64) -> Result<Trimmed, TrimError> {
    let path = basename.parent().unwrap_or(Path::new(""));
    let folder = OpenFolder::open_named(path).map_err(failed(path))?;
    let base = basename.file_name().unwrap_or_default();
    let entries = folder.as_owner(|| folder.entries()).flatten().map_err(failed(path))?;
    let mut binlogs: Vec<_> =
        entries.iter().filter_map(|entry| Some((number_of(base, &entry.0)?, entry))).collect();
    binlogs.sort_by_key(|(number, _)| *number);
    let Some((newest, _)) = binlogs.last().copied() else {
        return Err(TrimError::NoBinlog { basename: basename.to_owned() });
    };
    let state = StateFile::of(basename);
    let watched = entries.iter().filter(|(name, _)| {
        number_of(base, name).is_some() || state.path().file_name() == Some(name.as_os_str())
    });
    if let Some((name, process)) = first_open(watched) {
        return Err(TrimError::InUse { path: path.join(name), process });
    }
    let lock = state.lock(&folder, is_dry)?;
    let marker = lock.as_ref().and_then(StateLock::marker);
    let done = folder
        .as_owner(|| {
            let mut done = Trimmed::default();
            for (number, (name, _)) in binlogs {
                let age = BinlogAge::of(number, newest, marker);
                let trimming = BinlogTrimming { folder: &folder, name, age, is_dry, seconds };
                done.files.push(trimming.run(path).map_err(failed(&path.join(name)))?);
            }
            done.removed =
                remove_leftovers(&folder, base, &entries, is_dry).map_err(failed(path))?;
            Ok::<_, TrimError>(done)
        })
        .map_err(failed(path))??;
    if let Some(lock) = lock.filter(|_| !is_dry) {
        lock.clear_marker().map_err(failed(state.path()))?;
    }
    Ok(done)
}

fn number_of(base: &OsStr, name: &OsStr) -> Option<u64> {
    file_number(base.as_bytes(), name.as_bytes())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> TrimError {
    move |source| TrimError::File { path: path.to_owned(), source }
}

fn remove_leftovers(
    folder: &OpenFolder,
    base: &OsStr,
    entries: &[(OsString, Stat)],
    is_dry: bool,
) -> io::Result<Vec<OsString>> {
    let mut leftover = base.to_owned();
    leftover.push(LEFTOVER);
    let mut removed = Vec::new();
    for (name, _) in
        entries.iter().filter(|(name, _)| name.as_bytes().starts_with(leftover.as_bytes()))
    {
        if !is_dry {
            folder.remove_file(name)?;
        }
        removed.push(name.clone());
    }
    if !is_dry {
        folder.sync()?;
    }
    Ok(removed)
}

struct BinlogTrimming<'a> {
    folder: &'a OpenFolder,
    name: &'a OsStr,
    age: BinlogAge,
    is_dry: bool,
    seconds: u64,
}

impl BinlogTrimming<'_> {
    /// `path`: of the folder.
    fn run(&self, path: &Path) -> io::Result<TrimmedFile> {
        let Self { folder, name, age, is_dry, .. } = *self;
        let mut file = if is_dry { folder.file(name)? } else { folder.file_to_change(name)? };
        let bytes = file.metadata()?.len();
        if bytes > BINLOG_BYTES_MAX {
            return Err(io::Error::other(format!("has {bytes} bytes, more than any binlog")));
        }
        let decision = decide(&mut OpenBinlog(&file), bytes, age)?;
        let mut kept = None;
        if !is_dry {
            let at = match decision {
                TailDecision::Sound | TailDecision::LeaveAlone(_) => None,
                TailDecision::CutZeros { at } => Some(at),
                TailDecision::CutAndKeep { at, keep_to } => {
                    kept = Some(path.join(self.keep(&mut file, at, keep_to)?));
                    Some(at)
                }
            };
            if let Some(at) = at {
                file.set_len(at)?;
                file.sync_all()?;
            }
        }
        Ok(TrimmedFile { name: name.to_owned(), bytes, decision, kept })
    }

    /// Copies the bytes to `FILE.cut-SECONDS`, durably. Returns its name.
    fn keep(&self, file: &mut File, from: u64, to: u64) -> io::Result<OsString> {
        let mut beside = self.name.to_owned();
        beside.push(format!(".cut-{}", self.seconds));
        let mut copy = self.folder.make_file(&beside)?;
        fchmod(&copy, Mode::from_raw_mode(KEPT_MODE))?;
        file.seek(SeekFrom::Start(from))?;
        io::copy(&mut file.take(to.saturating_sub(from)), &mut copy)?;
        copy.sync_all()?;
        Ok(beside)
    }
}

struct OpenBinlog<'a>(&'a File);

impl ReadAt for OpenBinlog<'_> {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

/// The first of these files that a process has open, and which one: a server may have a binlog open
/// without the library. Processes of other users are seen by root only.
fn first_open<'e>(
    files: impl Iterator<Item = &'e (OsString, Stat)>,
) -> Option<(&'e OsStr, String)> {
    let files: Vec<_> = files.map(|(name, stat)| ((stat.st_dev, stat.st_ino), name)).collect();
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for open in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let facts = fs::metadata(open.path()).map(|facts| (facts.dev(), facts.ino())).ok();
            if let Some((_, file)) = files.iter().find(|(known, _)| Some(*known) == facts) {
                let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                return Some((file.as_os_str(), format!("{} (process {name})", program.trim())));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use rustix::fs::{CWD, FileType, mknodat};
    use rustix::process::geteuid;
    use truetps_binlog::Untrimmable;
    use truetps_binlog::state::{STATUS_AT, StatusWord, WANTED_ON, new_page};

    use super::*;

    #[test]
    fn files_of_other_names_stay() {
        let folder = tempfile::tempdir().unwrap();
        let basename = folder.path().join("binlog");
        assert!(matches!(trim(&basename, false, 7), Err(TrimError::NoBinlog { .. })));
        let write =
            |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        write("binlog.000001", &[0; 9000]);
        write("binlog.prealloc-0", &[0; 10]);
        write("relay-bin.000001", &[0; 10]);
        write("binlog.index", b"./binlog.000001\n");
        let seen = trim(&basename, true, 7).unwrap();
        assert_eq!((seen.files[0].bytes, seen.removed.len()), (9000, 1));
        assert!(folder.path().join("binlog.prealloc-0").exists(), "a dry run changes nothing");
        trim(&basename, false, 7).unwrap();
        let length =
            |name: &str| fs::metadata(folder.path().join(name)).map(|facts| facts.len()).ok();
        assert_eq!(length("binlog.000001"), Some(0), "zeros without a magic are no content");
        assert_eq!((length("binlog.prealloc-0"), length("relay-bin.000001")), (None, Some(10)));
        assert_eq!(length("binlog.index"), Some(16));
    }

    /// A binlog with one event whose length has a flipped bit; the file behind it has only its
    /// magic and zeros.
    fn damaged() -> Vec<u8> {
        let mut description = vec![4, 0];
        description.extend(b"10.11.6-MariaDB");
        description.resize(52, 0);
        description.extend([1, 2, 3, 4, 19, 1]);
        let mut event = vec![5, 0, 0, 0, 15, 1, 0, 0, 0];
        event.extend((19 + description.len() as u32 + 4 + 0x4000_0000).to_le_bytes());
        event.extend([0; 6]);
        [&b"\xfebin"[..], &event, &description, &[9; 4], &[7; 5000]].concat()
    }

    #[test]
    fn a_damaged_file_that_others_follow_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let basename = folder.path().join("binlog");
        fs::write(folder.path().join("binlog.000001"), damaged()).unwrap();
        fs::write(folder.path().join("binlog.000002"), [&b"\xfebin"[..], &[0; 100]].concat())
            .unwrap();
        let done = trim(&basename, false, 7).unwrap();
        assert_eq!(
            done.files[0].decision,
            TailDecision::LeaveAlone(Untrimmable::Damaged { at: 0 })
        );
        assert_eq!(done.files[1].decision, TailDecision::CutZeros { at: 0 });
        assert_eq!(fs::read(folder.path().join("binlog.000001")).unwrap(), damaged());
    }

    #[test]
    fn the_lock_of_the_state_page_is_held_and_the_marker_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let basename = folder.path().join("binlog");
        let state = StateFile::of(&basename);
        let mut page = new_page(WANTED_ON);
        page[STATUS_AT as usize + 8 * StatusWord::marker as usize] = 1;
        fs::write(state.path(), page).unwrap();
        fs::write(folder.path().join("binlog.000001"), [0; 100]).unwrap();
        let held = state.lock(&OpenFolder::open(folder.path()).unwrap(), false).unwrap();
        assert!(state.has_server().unwrap(), "as a server finds it that starts meanwhile");
        assert!(matches!(
            trim(&basename, false, 7),
            Err(TrimError::State(StateError::HasServer { .. }))
        ));
        drop(held);
        trim(&basename, true, 7).unwrap();
        assert_eq!(state.read().unwrap().unwrap().marker(), Some(1), "a dry run changes nothing");
        trim(&basename, false, 7).unwrap();
        assert_eq!(state.read().unwrap().unwrap().marker(), None);
    }

    /// A name in the datadir, and what makes it.
    type Attack<'a> = (&'a str, &'a dyn Fn(&Path));

    /// What the server's user may put in place of a binlog, its index, its state page or a prepared
    /// file, while root trims.
    #[test]
    fn nothing_outside_of_the_folder_is_touched() {
        let place = tempfile::tempdir().unwrap();
        let (data, secret) = (place.path().join("data"), place.path().join("secret"));
        fs::create_dir(&data).unwrap();
        fs::write(&secret, [0; 100]).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let facts =
            || fs::metadata(&secret).map(|facts| (facts.len(), facts.mode(), facts.uid())).unwrap();
        let before = facts();
        let attacks: [Attack<'_>; 8] = [
            ("binlog.000002", &|path| symlink(&secret, path).unwrap()),
            ("binlog.000002", &|path| fs::hard_link(&secret, path).unwrap()),
            ("binlog.000002", &|path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap()),
            ("binlog.000002", &|path| fs::create_dir(path).unwrap()),
            ("binlog.000002", &|path| File::create(path).unwrap().set_len(1 << 40).unwrap()),
            ("binlog.prealloc", &|path| symlink(&secret, path).unwrap()),
            ("binlog.prealloc", &|path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap()),
            ("binlog.prealloc-0", &|path| symlink(&secret, path).unwrap()),
        ];
        if geteuid().is_root() {
            chown(&data, Some(65_534), Some(65_534)).unwrap();
        }
        // A hard link to a file of one's own is no attack.
        let attacks = attacks
            .into_iter()
            .enumerate()
            .filter(|(number, _)| *number != 1 || geteuid().is_root());
        for (number, (name, attack)) in attacks {
            fs::write(data.join("binlog.000001"), [0; 100]).unwrap();
            if geteuid().is_root() {
                chown(data.join("binlog.000001"), Some(65_534), Some(65_534)).unwrap();
            }
            fs::write(data.join("binlog.index"), "../secret\n").unwrap();
            attack(&data.join(name));
            let is_refused = trim(&data.join("binlog"), false, 7).is_err();
            assert!(is_refused || name.ends_with("-0"), "{number}: {name}");
            assert_eq!(facts(), before, "{number}: {name}");
            let path = data.join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
    }

    #[test]
    fn a_file_that_is_open_elsewhere_is_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("binlog.000001"), [0; 100]).unwrap();
        let path = folder.path().join("binlog.000001");
        #[allow(
            clippy::disallowed_methods,
            reason = "a process that is not ours has to have it open"
        )]
        let mut other = std::process::Command::new("sleep")
            .arg("30")
            .stdin(File::open(&path).unwrap())
            .spawn()
            .unwrap();
        let refused = trim(&folder.path().join("binlog"), false, 7);
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(
            matches!(&refused, Err(TrimError::InUse { process, .. }) if process.contains("sleep")),
            "{refused:?}"
        );
        assert_eq!(fs::metadata(path).unwrap().len(), 100);
    }
}
