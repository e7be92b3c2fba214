//! Journals on disk: who holds one, and that it exists when it is needed.
//!
//! All checks, locking and removal of files happen under one lock of the folder, which is held for
//! moments. A lock file is removed only together with its journal, and never because of an error: a
//! live run may hold it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use truetps_files::open_no_link;

use super::error::ExternalError;
use super::journal::{Journal, distrust, if_there};
use super::journal_name::{file_name, is_journal_name, is_named_for, slug};

/// A journal that is held: no other process writes or removes it.
#[derive(Debug)]
pub(crate) struct OpenJournal {
    pub(super) path: PathBuf,
    lock: File,
    pub(crate) journal: Journal,
    /// The run ends: restoring the server's settings comes before writing this file.
    pub(super) is_leaving: bool,
    /// Why the file is older than `journal`.
    pub(super) unwritten: Option<ExternalError>,
}

impl OpenJournal {
    /// Creates a journal in this folder. An existing one belongs to a live run or a killed one.
    pub(crate) fn begin(
        folder: &Path,
        journal: Journal,
        sets: bool,
    ) -> Result<Self, ExternalError> {
        Self::begin_in(folder, journal, sets).map_err(before_the_first)
    }

    fn begin_in(folder: &Path, mut journal: Journal, sets: bool) -> Result<Self, ExternalError> {
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
        // Some file systems impose modes and owners: a journal that is not trusted cannot be used
        // to restore.
        if let Err(error) = Journal::read(&open.path) {
            let _ = fs::remove_file(&open.path);
            open.remove_beside();
            return Err(ExternalError::Journal { path: open.path, problem: error.to_string() });
        }
        Ok(open)
    }

    /// Opens the journal of a killed run. A copy is protected by the lock of the original journal.
    pub(crate) fn take(path: &Path) -> Result<Self, ExternalError> {
        let home = Journal::read(path)?.home;
        let is_there = home.parent().is_some_and(Path::is_dir);
        let home = if is_there {
            home
        } else {
            std::path::absolute(path).map_err(|error| problem(path, &error))?
        };
        let _all = lock_folder(home.parent().unwrap_or(Path::new(".")))?;
        let lock = take_lock(&home, path)?;
        // It may have been restored between the first check and the lock.
        let journal = Journal::read(path)?;
        Ok(Self { path: path.to_owned(), lock, journal, is_leaving: true, unwritten: None })
    }

    /// Replaces the file; it is on disk when this returns. While leaving, a failure is kept for
    /// [`Self::finish`] to report: the old file also says what to restore.
    pub(crate) fn write(&mut self) -> Result<(), ExternalError> {
        let first = self.replace();
        // The disk space reserved for this.
        let written = if first.is_err() && fs::remove_file(self.spare()).is_ok() {
            self.replace()
        } else {
            first
        };
        match written {
            Err(error) if self.is_leaving => self.unwritten = Some(error),
            other => {
                other?;
                self.unwritten = None;
            }
        }
        Ok(())
    }

    fn replace(&self) -> Result<(), ExternalError> {
        let beside = self.path.with_extension("tmp");
        self.write_and_rename(&beside).map_err(|error| {
            let _ = fs::remove_file(&beside);
            problem(&self.path, &error)
        })
    }

    fn write_and_rename(&self, beside: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(&self.journal)?;
        text.push(b'\n');
        write_synced(beside, &text)?;
        fs::rename(beside, &self.path)?;
        // The directory entry must survive, too.
        File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
    }

    /// The file with the numbers of the run's sessions: see
    /// [`truetps_driver::ConnectionIds::copy_to`].
    pub(crate) fn sessions_file(&self) -> Option<File> {
        let path = self.path.with_extension(SESSIONS);
        open_no_link(File::options().append(true).create(true).mode(0o600), &path).ok()
    }

    /// Numbers written by a killed run.
    pub(crate) fn sessions(&self) -> Vec<u32> {
        let beside = [&self.path, &self.journal.home].map(|path| path.with_extension(SESSIONS));
        let text = beside.iter().find_map(|path| read_trusted(path).ok()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn spare(&self) -> PathBuf {
        self.path.with_extension(SPARE)
    }

    /// Reserves disk space for later writes: other programs may fill the disk during the run.
    fn reserve(&self) -> Result<(), ExternalError> {
        const BYTES: usize = 128 << 10;
        let path = self.spare();
        write_synced(&path, &vec![0; BYTES]).map_err(|error| problem(&path, &error))
    }

    /// The lock is removed if it no longer protects a journal: it may protect the original of a
    /// copy.
    fn remove_beside(&self) {
        let _ = fs::remove_file(self.spare());
        let _ = fs::remove_file(self.path.with_extension(SESSIONS));
        if !self.journal.home.exists() {
            let _ = fs::remove_file(lock_path(&self.journal.home));
        }
    }

    /// Nothing is left to restore. `keep`: a variable was left with a value set by another session,
    /// and the file, under a new name, is the only record of the original value.
    pub(crate) fn finish(self, keep: bool) -> Result<Option<PathBuf>, ExternalError> {
        if !self.path.exists() && self.lock.metadata().is_ok_and(|lock| lock.nlink() == 0) {
            // The user removed the folder. If the disk was unmounted, the lock is still in its
            // folder.
            return Ok(None);
        }
        let was_unmounted = self.was_unmounted();
        let home = self.journal.home.parent().filter(|folder| folder.is_dir());
        let _all =
            lock_folder(home.unwrap_or_else(|| self.path.parent().unwrap_or(Path::new("."))))?;
        let kept = keep.then(|| free_name(&self.path, &self.journal.begun_at));
        match &kept {
            Some(kept) => fs::rename(&self.path, kept),
            None => fs::remove_file(&self.path),
        }
        .map_err(|error| problem(&self.path, &error))?;
        self.remove_beside();
        if was_unmounted {
            let problem =
                "its disk was unmounted during the run and still has the journal".to_owned();
            return Err(ExternalError::Journal { path: self.path, problem });
        }
        drop(self.lock);
        Ok(kept)
    }

    /// Whether the locked file still exists, but not at its path: its disk was unmounted.
    fn was_unmounted(&self) -> bool {
        let Ok(lock) = self.lock.metadata() else { return false };
        let (home, path) = (&self.journal.home, &self.path);
        let paths = [lock_path(home), lock_path(path), home.clone(), path.clone()];
        let mut found = paths.iter().filter_map(|path| fs::metadata(path).ok());
        lock.nlink() > 0 && !found.any(|it| (it.dev(), it.ino()) == (lock.dev(), lock.ino()))
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file =
        open_no_link(File::options().write(true).create(true).truncate(true).mode(0o600), path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Two runs that set variables of one server would each restore the other's values. Creates no
/// file.
pub(crate) fn refuse_unfinished(
    folder: &Path,
    ours: &Journal,
    sets: bool,
) -> Result<(), ExternalError> {
    if !folder.is_dir() {
        return Ok(());
    }
    let _all = lock_folder_if_there(folder).map_err(before_the_first)?;
    refuse_unfinished_of(folder, ours, sets).map_err(before_the_first)
}

/// Nothing has been changed in the server so far.
fn before_the_first(error: ExternalError) -> ExternalError {
    match error {
        ExternalError::Journal { path, problem } => ExternalError::NoJournal { path, problem },
        other => other,
    }
}

fn refuse_unfinished_of(folder: &Path, ours: &Journal, sets: bool) -> Result<(), ExternalError> {
    for path in journals(folder)? {
        let other = match Journal::read_if_there(&path) {
            Ok(Some(other)) => other,
            Ok(None) => continue,
            // The file's name identifies it, if nothing else does.
            Err(ExternalError::Damaged { .. } | ExternalError::Untrusted { .. })
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
            return Err(ExternalError::InUse { path });
        }
        // The lock is free: the run that could restore it is dead.
        return Err(ExternalError::Unfinished { what: other.contents_text(), path });
    }
    Ok(())
}

/// The journals of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftJournals {
    /// Journals of killed runs.
    pub left: Vec<PathBuf>,
    /// Journals held by a live run, or by a restore.
    pub held: Vec<PathBuf>,
}

/// Leftovers of killed runs, and journals in use.
pub fn unfinished(folder: &Path) -> Result<LeftJournals, ExternalError> {
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

/// Removes temporary files of processes killed while writing a journal: a live writer holds the
/// journal's lock. The caller holds the folder's lock.
fn remove_half_written(folder: &Path) {
    for path in files(folder, "tmp").unwrap_or_default() {
        if is_journal_name(&path) && matches!(is_held(&path), Ok(false)) {
            let _ = fs::remove_file(path);
        }
    }
}

pub(crate) fn journals(folder: &Path) -> Result<Vec<PathBuf>, ExternalError> {
    files(folder, "json")
}

fn files(folder: &Path, end: &str) -> Result<Vec<PathBuf>, ExternalError> {
    let entries = if_there(fs::read_dir(folder)).map_err(|error| problem(folder, &error))?;
    let Some(entries) = entries else { return Ok(Vec::new()) };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == end)).collect();
    found.sort();
    Ok(found)
}

fn problem(path: &Path, error: &io::Error) -> ExternalError {
    ExternalError::Journal { path: path.to_owned(), problem: error.to_string() }
}

fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// The lock of a journal; `named` is the file name known to the user.
fn take_lock(journal: &Path, named: &Path) -> Result<File, ExternalError> {
    let file = open_lock(&lock_path(journal), named).map_err(|error| problem(named, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ExternalError::InUse { path: named.to_owned() }),
        Err(TryLockError::Error(error)) => Err(problem(named, &error)),
    }
}

/// Whether a live process holds it. A missing lock file is held by no process, and is not created.
fn is_held(journal: &Path) -> Result<bool, ExternalError> {
    let path = lock_path(journal);
    let file = match open_no_link(File::options().write(true), &path) {
        Err(error) if takes_no_file(&error) => open_no_link(File::options().read(true), &path),
        other => other,
    };
    let Some(file) = if_there(file).map_err(|error| problem(journal, &error))? else {
        return Ok(false);
    };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(problem(journal, &error)),
    }
}

/// Opens a lock. A full or read-only disk takes no new file: then an existing lock is opened for
/// reading, or `instead`.
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
        io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
    )
}

const FOLDER_LOCK: &str = ".lock";
/// Disk space reserved for a journal.
const SPARE: &str = "spare";
/// The text of a file written by this user or by root, as a journal is; see `journal.rs`. Links are
/// not followed.
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

/// It is held for moments only: a process that holds it longer was stopped, or the file system has
/// lost the lock.
const FOLDER_LOCK_WAIT: Duration = Duration::from_secs(30);

fn lock_folder(folder: &Path) -> Result<File, ExternalError> {
    lock_folder_within(folder, FOLDER_LOCK_WAIT)
}

fn lock_folder_within(folder: &Path, wait: Duration) -> Result<File, ExternalError> {
    const PAUSE: Duration = Duration::from_millis(5);
    let path = folder.join(FOLDER_LOCK);
    let file = open_lock(&path, folder).map_err(|error| problem(&path, &error))?;
    let end = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let problem = format!(
                    "another process of truetps has held this lock for {} s",
                    wait.as_secs()
                );
                return Err(ExternalError::Journal { path, problem });
            }
            Err(TryLockError::Error(error)) => return Err(problem(&path, &error)),
        }
    }
}

/// The lock of the folder, for readers: without that file there was never a journal here.
fn lock_folder_if_there(folder: &Path) -> Result<Option<File>, ExternalError> {
    if folder.join(FOLDER_LOCK).exists() { lock_folder(folder).map(Some) } else { Ok(None) }
}

fn make_folder(folder: &Path) -> Result<(), ExternalError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| problem(folder, &error))
}

/// Where a journal is archived: earlier ones of this server and schema stay.
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
        assert!(
            open_lock(&lock, dir.path()).is_err()
                && lock_folder_within(dir.path(), Duration::ZERO).is_err()
        );
        fs::remove_file(&lock).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &lock,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
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
        let dir =
            std::env::temp_dir().join(format!("truetps-journal-{name}-{}", std::process::id()));
        (dir.clone(), dir.join("journals"))
    }

    #[test]
    fn a_journal_is_private_and_belongs_to_one_run() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, folder) = place("private");
        let ours = || journal("host:3306:/var/lib/x/", "a");
        let open = OpenJournal::begin(&folder, ours(), false).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&open.path), mode(&folder)), (0o600, 0o700));
        assert!(matches!(
            OpenJournal::begin(&folder, ours(), false),
            Err(ExternalError::InUse { .. })
        ));
        // Another schema may be in use at the same time.
        OpenJournal::begin(&folder, journal("host:3306:/var/lib/x/", "b"), true)
            .unwrap()
            .finish(false)
            .unwrap();
        assert!(unfinished(&folder).unwrap().left.is_empty());
        // As after a kill: the lock is released, the file stays.
        let path = open.path.clone();
        assert_eq!(unfinished(&folder).unwrap().held, std::slice::from_ref(&path));
        // During a write, and after a kill during it.
        let half = path.with_extension("tmp");
        fs::write(&half, "{").unwrap();
        unfinished(&folder).unwrap();
        assert!(half.exists());
        drop(open);
        assert_eq!(unfinished(&folder).unwrap().left, std::slice::from_ref(&path));
        assert!(!half.exists() && path.exists());
        assert!(matches!(
            OpenJournal::begin(&folder, ours(), false),
            Err(ExternalError::Unfinished { .. })
        ));
        let kept = OpenJournal::take(&path).unwrap().finish(true).unwrap().unwrap();
        assert!(kept.exists() && !path.exists() && unfinished(&folder).unwrap().left.is_empty());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_journal_of_a_run_that_lives_is_not_taken_by_a_copy() {
        let (dir, folder) = place("copy");
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        let copy = dir.join("copy.json");
        fs::copy(&open.path, &copy).unwrap();
        assert!(matches!(OpenJournal::take(&copy), Err(ExternalError::InUse { .. })));
        // A process that cannot have the lock does not remove it.
        assert!(matches!(OpenJournal::take(&open.path), Err(ExternalError::InUse { .. })));
        assert!(lock_path(&open.path).exists());
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
        assert_ne!(one.path, other.path);
        drop(one);
        // The journal of a killed run is not overwritten by a run on the other schema.
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
            kept.push(
                OpenJournal::begin(&folder, ours, true).unwrap().finish(true).unwrap().unwrap(),
            );
        }
        let was = |path: &PathBuf| Journal::read(path).unwrap().settings[0].original.clone();
        assert_eq!([was(&kept[0]), was(&kept[1])], ["1", "2"]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_locked_folder_is_not_waited_for_without_end() {
        let (dir, folder) = place("held");
        make_folder(&folder).unwrap();
        let held = lock_folder(&folder).unwrap();
        let error = lock_folder_within(&folder, Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains(".lock") && error.contains("another process of truetps"), "{error}");
        drop(held);
        lock_folder_within(&folder, Duration::ZERO).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_damaged_journal_is_in_the_way_of_its_own_server_only() {
        let (dir, folder) = place("damaged");
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        let path = open.path.clone();
        drop(open);
        fs::write(&path, "{").unwrap();
        refuse_unfinished(&folder, &journal("t", "a"), true).unwrap();
        let error = refuse_unfinished(&folder, &journal("s", "b"), true).unwrap_err();
        assert!(matches!(error, ExternalError::Damaged { .. }), "{error}");
        assert!(error.hint().unwrap().contains(path.to_str().unwrap()) && error.is_usage());
        assert!(matches!(OpenJournal::take(&path), Err(ExternalError::Damaged { .. })));
        let other = Journal::read(Path::new("/etc/passwd")).unwrap_err();
        assert!(!other.hint().unwrap().contains("away"), "{other}");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_journal_that_others_may_write_to_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, folder) = place("trust");
        let open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        let path = open.path.clone();
        drop(open);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(matches!(OpenJournal::take(&path), Err(ExternalError::Untrusted { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        OpenJournal::take(&path).unwrap();
        assert!(matches!(Journal::read(&dir), Err(ExternalError::Damaged { .. })), "a folder");
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_disk_that_is_gone_keeps_no_run_from_leaving() {
        let (dir, folder) = place("gone");
        let mut open = OpenJournal::begin(&folder, journal("s", "a"), true).unwrap();
        assert!(open.spare().exists());
        fs::rename(&folder, dir.join("elsewhere")).unwrap();
        assert!(open.write().is_err(), "nothing is set without a journal");
        open.is_leaving = true;
        open.write().unwrap();
        assert!(open.unwritten.as_ref().unwrap().to_string().contains("No such file"));
        let error = open.finish(false).unwrap_err();
        assert!(matches!(error, ExternalError::Journal { .. }), "{error}");
        // A journal that its user removed causes no error.
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
        let error =
            OpenJournal::begin(&file.join("journals"), journal("s", "a"), true).unwrap_err();
        assert!(error.is_usage() && error.hint().unwrap().contains("XDG_STATE_HOME"), "{error}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
