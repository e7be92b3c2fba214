//! Journals on the disk: who holds one, and that it is there when it is needed.
//!
//! All that looks at locks, takes them, or removes files does so under one lock of the folder, which is held for moments.
//! A lock file goes with its journal only, and never because of an error: somebody may live who holds it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use truetps_record::{fnv1a, open_no_link};

use super::error::ForeignError;
use super::journal::{Journal, distrust};

/// A journal that is held: nobody else writes or removes it.
#[derive(Debug)]
pub(crate) struct OpenJournal {
    path: PathBuf,
    lock: File,
    pub(crate) journal: Journal,
    /// From the beginning of a restore on, the server's settings matter more than this file.
    is_leaving: bool,
    /// Why the file is older than `journal`.
    unwritten: Option<ForeignError>,
}

impl OpenJournal {
    /// Begins a journal in this folder. One that is there already belongs to a run that lives, or that was killed.
    pub(crate) fn begin(folder: &Path, journal: Journal, sets: bool) -> Result<Self, ForeignError> {
        Self::begin_in(folder, journal, sets).map_err(before_the_first)
    }

    fn begin_in(folder: &Path, mut journal: Journal, sets: bool) -> Result<Self, ForeignError> {
        make_folder(folder)?;
        let _all = lock_folder(folder)?;
        remove_half_written(folder);
        refuse_unfinished_of(folder, &journal, sets)?;
        let path = folder.join(file_name(&journal.server.id, &journal.schema.name));
        let path = std::path::absolute(&path).map_err(|error| problem(&path, &error))?;
        journal.home.clone_from(&path);
        let lock = take_lock(&path, &path)?;
        let mut open = Self { path, lock, journal, is_leaving: false, unwritten: None };
        let _ = fs::remove_file(open.path.with_extension(SESSIONS));
        if let Err(error) = open.reserve().and_then(|()| open.write()) {
            open.remove_beside();
            return Err(error);
        }
        // Some file systems give modes and owners of their own: a journal that nobody trusts puts nothing back.
        if let Err(error) = Journal::read(&open.path) {
            let _ = fs::remove_file(&open.path);
            open.remove_beside();
            return Err(ForeignError::Journal { path: open.path, problem: error.to_string() });
        }
        Ok(open)
    }

    /// Takes the journal of a killed run. A copy is held by the lock of the journal that it was made of.
    pub(crate) fn take(path: &Path) -> Result<Self, ForeignError> {
        let home = Journal::read(path)?.home;
        let is_there = home.parent().is_some_and(Path::is_dir);
        let home = if is_there { home } else { std::path::absolute(path).map_err(|error| problem(path, &error))? };
        let _all = lock_folder(home.parent().unwrap_or(Path::new(".")))?;
        let lock = take_lock(&home, path)?;
        // Between the first look and the lock it may have been put back.
        let journal = Journal::read(path)?;
        Ok(Self { path: path.to_owned(), lock, journal, is_leaving: true, unwritten: None })
    }

    /// The run ends: from here on a disk that takes no journal keeps no setting from its restore.
    pub(crate) fn begin_leaving(&mut self) {
        self.is_leaving = true;
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file; it is on the disk when this returns. While leaving, a failure is kept for [`Self::finish`] to
    /// report: the old file says what to restore, too.
    pub(crate) fn write(&mut self) -> Result<(), ForeignError> {
        let first = self.replace();
        // The room that was reserved for this.
        let written = if first.is_err() && fs::remove_file(self.spare()).is_ok() { self.replace() } else { first };
        match written {
            Err(error) if self.is_leaving => self.unwritten = Some(error),
            other => {
                other?;
                self.unwritten = None;
            }
        }
        Ok(())
    }

    fn replace(&self) -> Result<(), ForeignError> {
        let beside = self.path.with_extension("tmp");
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(&self.journal)?;
            text.push(b'\n');
            let mut file = open_no_link(File::options().write(true).create(true).truncate(true).mode(0o600), &beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            // The name must survive, too.
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&beside);
            problem(&self.path, &error)
        })
    }

    /// The file of the numbers of the run's sessions: see [`truetps_driver::ConnectionIds::copy_to`].
    pub(crate) fn sessions_file(&self) -> Option<File> {
        let path = self.path.with_extension(SESSIONS);
        open_no_link(File::options().append(true).create(true).mode(0o600), &path).ok()
    }

    /// What a killed run has written there.
    pub(crate) fn sessions(&self) -> Vec<u32> {
        let beside = [&self.path, &self.journal.home].map(|path| path.with_extension(SESSIONS));
        let text = beside.iter().find_map(|path| read_trusted(path).ok()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn spare(&self) -> PathBuf {
        self.path.with_extension(SPARE)
    }

    /// Takes room on the disk for later writes: other programs may fill it while the run lasts.
    fn reserve(&self) -> Result<(), ForeignError> {
        const BYTES: usize = 128 << 10;
        let path = self.spare();
        let write = || -> io::Result<()> {
            let mut file = open_no_link(File::options().write(true).create(true).truncate(true).mode(0o600), &path)?;
            file.write_all(&vec![0; BYTES])?;
            file.sync_all()
        };
        write().map_err(|error| problem(&path, &error))
    }

    /// The lock goes where no journal is left that it stands for: it may be the lock of the file that this is a copy of.
    fn remove_beside(&self) {
        let _ = fs::remove_file(self.spare());
        let _ = fs::remove_file(self.path.with_extension(SESSIONS));
        if !self.journal.home.exists() {
            let _ = fs::remove_file(lock_path(&self.journal.home));
        }
    }

    /// Why the file on the disk is older than what is known.
    pub(crate) fn unwritten(&self) -> Option<&ForeignError> {
        self.unwritten.as_ref()
    }

    /// Nothing is left to restore. `keep`: a variable was left with a value of another session, and the file, under a new
    /// name, is the only record of the value before.
    pub(crate) fn finish(self, keep: bool) -> Result<Option<PathBuf>, ForeignError> {
        if !self.path.exists() && self.lock.metadata().is_ok_and(|lock| lock.nlink() == 0) {
            // Its user has removed the folder. On a disk that was unmounted, the lock is still in its folder.
            return Ok(None);
        }
        let was_unmounted = self.was_unmounted();
        let home = self.journal.home.parent().filter(|folder| folder.is_dir());
        let _all = lock_folder(home.unwrap_or_else(|| self.path.parent().unwrap_or(Path::new("."))))?;
        let kept = keep.then(|| free_name(&self.path, &self.journal.begun_at));
        match &kept {
            Some(kept) => fs::rename(&self.path, kept),
            None => fs::remove_file(&self.path),
        }
        .map_err(|error| problem(&self.path, &error))?;
        self.remove_beside();
        if was_unmounted {
            let problem = "its disk was unmounted during the run, and still has the journal".to_owned();
            return Err(ForeignError::Journal { path: self.path, problem });
        }
        drop(self.lock);
        Ok(kept)
    }

    /// Whether the file that is locked is in a folder still, and not in this one.
    fn was_unmounted(&self) -> bool {
        let Ok(lock) = self.lock.metadata() else { return false };
        let (home, path) = (&self.journal.home, &self.path);
        let is_it = |path: &Path| fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (lock.dev(), lock.ino()));
        lock.nlink() > 0 && !is_it(&lock_path(home)) && !is_it(&lock_path(path)) && !is_it(home) && !is_it(path)
    }
}

/// Two runs that set variables of one server would put back each other's values. Makes no file.
pub(crate) fn refuse_unfinished(folder: &Path, ours: &Journal, sets: bool) -> Result<(), ForeignError> {
    if !folder.is_dir() {
        return Ok(());
    }
    let look = || {
        let _all = lock_folder_if_there(folder)?;
        refuse_unfinished_of(folder, ours, sets)
    };
    look().map_err(before_the_first)
}

/// Nothing has been changed in the server so far.
fn before_the_first(error: ForeignError) -> ForeignError {
    match error {
        ForeignError::Journal { path, problem } => ForeignError::NoJournal { path, problem },
        other => other,
    }
}

fn refuse_unfinished_of(folder: &Path, ours: &Journal, sets: bool) -> Result<(), ForeignError> {
    for path in journals(folder)? {
        let other = match Journal::read_if_there(&path) {
            Ok(Some(other)) => other,
            Ok(None) => continue,
            // Its name says whose it is, where nothing else does.
            Err(ForeignError::Damaged { .. } | ForeignError::Untrusted { .. })
                if !is_named_for(&path, &ours.server.id) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_same = other.schema.name == ours.schema.name;
        if other.server.id != ours.server.id || !(is_same || (sets && !other.settings.is_empty())) {
            continue;
        }
        if is_held(&path)? {
            return Err(ForeignError::InUse { path });
        }
        // The lock is free: nobody lives who could put it back.
        return Err(ForeignError::Unfinished { what: other.contents_text(), path });
    }
    Ok(())
}

/// The journals of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftJournals {
    /// Of runs that were killed.
    pub left: Vec<PathBuf>,
    /// A run that lives has them, or somebody who puts back.
    pub held: Vec<PathBuf>,
}

/// What runs have left, and what some are still about.
pub fn unfinished(folder: &Path) -> Result<LeftJournals, ForeignError> {
    let mut found = LeftJournals::default();
    if !folder.is_dir() {
        return Ok(found);
    }
    if let Some(_all) = lock_folder_if_there(folder)? {
        remove_half_written(folder);
        for path in journals(folder)? {
            if is_held(&path)? { found.held.push(path) } else { found.left.push(path) }
        }
    } else {
        found.left = journals(folder)?;
    }
    Ok(found)
}

/// Removes what processes left that were killed while they wrote a journal: whoever writes one has its lock. For those who
/// have the folder's.
fn remove_half_written(folder: &Path) {
    for path in files(folder, "tmp").unwrap_or_default() {
        if is_journal_name(&path) && matches!(is_held(&path), Ok(false)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a file has a name that we have given it: see [`file_name`].
pub(crate) fn is_journal_name(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let number = stem.rsplit_once("--").map(|(_, number)| number).unwrap_or_default();
    number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn journals(folder: &Path) -> Result<Vec<PathBuf>, ForeignError> {
    files(folder, "json")
}

fn files(folder: &Path, end: &str) -> Result<Vec<PathBuf>, ForeignError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(problem(folder, &error)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == end)).collect();
    found.sort();
    Ok(found)
}

fn problem(path: &Path, error: &io::Error) -> ForeignError {
    ForeignError::Journal { path: path.to_owned(), problem: error.to_string() }
}

fn is_named_for(path: &Path, id: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(&format!("{}--", slug(id)))
}

fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// The lock of a journal; `named` is the file that the user knows it by.
fn take_lock(journal: &Path, named: &Path) -> Result<File, ForeignError> {
    let file = open_lock(&lock_path(journal), named).map_err(|error| problem(named, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ForeignError::InUse { path: named.to_owned() }),
        Err(TryLockError::Error(error)) => Err(problem(named, &error)),
    }
}

/// Whether somebody lives who holds it. A lock file that is not there is held by nobody, and is not made.
fn is_held(journal: &Path) -> Result<bool, ForeignError> {
    let path = lock_path(journal);
    let file = match open_no_link(File::options().write(true), &path) {
        Err(error) if takes_no_file(&error) => open_no_link(File::options().read(true), &path),
        other => other,
    };
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(problem(journal, &error)),
    };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(problem(journal, &error)),
    }
}

/// Opens a lock. A disk that is full or read-only takes no new file: there the lock is what can be read of it, or `instead`.
fn open_lock(path: &Path, instead: &Path) -> io::Result<File> {
    match open_no_link(File::options().write(true).create(true).truncate(false).mode(0o600), path) {
        Err(error) if takes_no_file(&error) => {
            open_no_link(File::options().read(true), path).or_else(|_| File::open(instead))
        }
        other => other,
    }
}

fn takes_no_file(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

const FOLDER_LOCK: &str = ".lock";
/// Room on the disk that a journal has for itself.
const SPARE: &str = "spare";
/// The text of a file that was written by this user or by root, as a journal is; see `journal.rs`. No link is followed.
fn read_trusted(path: &Path) -> io::Result<String> {
    const BYTES_MAX: u64 = 64 << 20;
    let file = open_no_link(File::options().read(true), path)?;
    if distrust(&file.metadata()?).is_some() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Numbers of the run's sessions.
const SESSIONS: &str = "sessions";

/// It is held for moments only: whoever has it for so long was stopped, or the file system has lost it.
const FOLDER_LOCK_WAIT: Duration = Duration::from_secs(30);

fn lock_folder(folder: &Path) -> Result<File, ForeignError> {
    lock_folder_within(folder, FOLDER_LOCK_WAIT)
}

fn lock_folder_within(folder: &Path, wait: Duration) -> Result<File, ForeignError> {
    const PAUSE: Duration = Duration::from_millis(5);
    let path = folder.join(FOLDER_LOCK);
    let file = open_lock(&path, folder).map_err(|error| problem(&path, &error))?;
    let end = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let problem = format!("another truetps has held this lock for {} s", wait.as_secs());
                return Err(ForeignError::Journal { path, problem });
            }
            Err(TryLockError::Error(error)) => return Err(problem(&path, &error)),
        }
    }
}

/// The same for who only looks: without that file there was never a journal here.
fn lock_folder_if_there(folder: &Path) -> Result<Option<File>, ForeignError> {
    if folder.join(FOLDER_LOCK).exists() { lock_folder(folder).map(Some) } else { Ok(None) }
}

fn make_folder(folder: &Path) -> Result<(), ForeignError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| problem(folder, &error))
}

/// Where a journal is kept for good: earlier ones of this server and schema stay.
fn free_name(path: &Path, begun_at: &str) -> PathBuf {
    let mut stem = slug(begun_at);
    loop {
        let free = path.with_extension(format!("{stem}.left"));
        if !free.exists() {
            return free;
        }
        stem.push_str("-again");
    }
}

/// One name for each server and schema: what can be read of them, and a number for what cannot be in a name.
fn file_name(server: &str, schema: &str) -> String {
    let both = [server.as_bytes(), &[0], schema.as_bytes()].concat();
    format!("{}--{}--{:016x}.json", slug(server), slug(schema), fnv1a(&both))
}

/// A text as a part of a file's name.
fn slug(text: &str) -> String {
    const LENGTH_MAX: usize = 100;
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let all: String = plain.collect();
    all[all.len().saturating_sub(LENGTH_MAX)..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::identity::Identity;
    use crate::external::journal::{JournalEntry, LeftSchema};

    #[test]
    fn no_lock_and_no_session_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, lock) = (dir.path().join("precious"), dir.path().join(FOLDER_LOCK));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &lock).unwrap();
        assert!(open_lock(&lock, dir.path()).is_err() && lock_folder_within(dir.path(), Duration::ZERO).is_err());
        fs::remove_file(&lock).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert!(open_lock(&lock, dir.path()).is_err(), "a pipe is no lock");
        let open = OpenJournal::begin(&dir.path().join("state"), journal("s", "x"), false).unwrap();
        std::os::unix::fs::symlink(&precious, open.path.with_extension(SESSIONS)).unwrap();
        assert!(open.sessions_file().is_none());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }

    fn journal(server: &str, schema: &str) -> Journal {
        let server = Identity { id: server.into(), is_unique: true, started_s: 1.0 };
        let schema = LeftSchema {
            name: schema.into(),
            mark: "m".into(),
            is_theirs: false,
            namespace: None,
            planned: Vec::new(),
            making: Vec::new(),
            made: Vec::new(),
        };
        Journal::new("1", server, "mysql://root@h:1/".into(), schema)
    }

    fn place(name: &str) -> (PathBuf, PathBuf) {
        let dir = std::env::temp_dir().join(format!("truetps-journal-{name}-{}", std::process::id()));
        (dir.clone(), dir.join("journals"))
    }

    #[test]
    fn a_journal_is_private_and_belongs_to_one_run() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, folder) = place("private");
        let ours = || journal("host:3306:/var/lib/x/", "a");
        let open = OpenJournal::begin(&folder, ours(), false).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(open.path()), mode(&folder)), (0o600, 0o700));
        assert!(matches!(OpenJournal::begin(&folder, ours(), false), Err(ForeignError::InUse { .. })));
        // Another schema may be worked in at the same time.
        OpenJournal::begin(&folder, journal("host:3306:/var/lib/x/", "b"), true).unwrap().finish(false).unwrap();
        assert!(unfinished(&folder).unwrap().left.is_empty());
        // As when the process is killed: the lock goes, the file stays.
        let path = open.path().to_owned();
        assert_eq!(unfinished(&folder).unwrap().held, std::slice::from_ref(&path));
        // While it is being written, and after that was killed.
        let half = path.with_extension("tmp");
        fs::write(&half, "{").unwrap();
        unfinished(&folder).unwrap();
        assert!(half.exists());
        drop(open);
        assert_eq!(unfinished(&folder).unwrap().left, std::slice::from_ref(&path));
        assert!(!half.exists() && path.exists());
        assert!(matches!(OpenJournal::begin(&folder, ours(), false), Err(ForeignError::Unfinished { .. })));
        let kept = OpenJournal::take(&path).unwrap().finish(true).unwrap().unwrap();
        assert!(kept.exists() && !path.exists() && unfinished(&folder).unwrap().left.is_empty());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_journal_of_a_run_that_lives_is_not_taken_by_a_copy() {
        let (dir, folder) = place("copy");
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        let copy = dir.join("copy.json");
        fs::copy(open.path(), &copy).unwrap();
        assert!(matches!(OpenJournal::take(&copy), Err(ForeignError::InUse { .. })));
        // Nobody's lock is removed by who could not have it.
        assert!(matches!(OpenJournal::take(open.path()), Err(ForeignError::InUse { .. })));
        assert!(lock_path(open.path()).exists());
        drop(open);
        OpenJournal::take(&copy).unwrap().finish(false).unwrap();
        assert_eq!(unfinished(&folder).unwrap().left.len(), 1, "the journal itself is still there");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn names_that_look_alike_are_two_journals() {
        let (dir, folder) = place("alike");
        let one = OpenJournal::begin(&folder, journal("s", "app.1"), false).unwrap();
        let other = OpenJournal::begin(&folder, journal("s", "app-1"), false).unwrap();
        assert_ne!(one.path(), other.path());
        drop(one);
        // What a killed run has left is not written over by a run in the other one.
        other.finish(false).unwrap();
        let left = unfinished(&folder).unwrap().left;
        assert_eq!(Journal::read(&left[0]).unwrap().schema.name, "app.1");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_was_kept_before_stays() {
        let (dir, folder) = place("kept");
        let mut kept = Vec::new();
        for was in ["1", "2"] {
            let mut ours = journal("s", "a");
            ours.begun_at = "2026-01-01T00:00:00Z".to_owned();
            ours.settings.push(JournalEntry::new("x", was.to_owned()));
            kept.push(OpenJournal::begin(&folder, ours, true).unwrap().finish(true).unwrap().unwrap());
        }
        let was = |path: &PathBuf| Journal::read(path).unwrap().settings[0].original.clone();
        assert_eq!([was(&kept[0]), was(&kept[1])], ["1", "2"]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_folder_that_somebody_holds_is_not_waited_for_without_end() {
        let (dir, folder) = place("held");
        make_folder(&folder).unwrap();
        let held = lock_folder(&folder).unwrap();
        let error = lock_folder_within(&folder, Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains(".lock") && error.contains("another truetps"), "{error}");
        drop(held);
        lock_folder_within(&folder, Duration::ZERO).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_damaged_journal_is_in_the_way_of_its_own_server_only() {
        let (dir, folder) = place("damaged");
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        let path = open.path().to_owned();
        drop(open);
        fs::write(&path, "{").unwrap();
        refuse_unfinished(&folder, &journal("t", "a"), true).unwrap();
        let error = refuse_unfinished(&folder, &journal("s", "b"), true).unwrap_err();
        assert!(matches!(error, ForeignError::Damaged { .. }), "{error}");
        assert!(error.hint().unwrap().contains(path.to_str().unwrap()) && error.is_usage());
        assert!(matches!(OpenJournal::take(&path), Err(ForeignError::Damaged { .. })));
        let other = Journal::read(Path::new("/etc/passwd")).unwrap_err();
        assert!(!other.hint().unwrap().contains("away"), "{other}");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_journal_that_others_may_write_to_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, folder) = place("trust");
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        let path = open.path().to_owned();
        drop(open);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(matches!(OpenJournal::take(&path), Err(ForeignError::Untrusted { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        OpenJournal::take(&path).unwrap();
        assert!(matches!(Journal::read(&dir), Err(ForeignError::Damaged { .. })), "a folder");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_disk_that_is_gone_keeps_no_run_from_leaving() {
        let (dir, folder) = place("gone");
        let mut open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        assert!(open.spare().exists());
        fs::rename(&folder, dir.join("elsewhere")).unwrap();
        assert!(open.write().is_err(), "nothing is set without a journal");
        open.begin_leaving();
        open.write().unwrap();
        assert!(open.unwritten().unwrap().to_string().contains("No such file"));
        let error = open.finish(false).unwrap_err();
        assert!(matches!(error, ForeignError::Journal { .. }), "{error}");
        // One that its user has removed is not missed.
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        open.finish(false).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_folder_that_takes_no_journal_is_for_its_user_to_change() {
        let (dir, _) = place("no-folder");
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("file");
        fs::write(&file, "").unwrap();
        let error = OpenJournal::begin(&file.join("journals"), journal("s", "a"), true).unwrap_err();
        assert!(error.is_usage() && error.hint().unwrap().contains("XDG_STATE_HOME"), "{error}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
