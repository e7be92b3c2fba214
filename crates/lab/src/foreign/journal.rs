//! The journal of a guest: what a server was set to before, and what was made in it. It is on disk before anything is
//! changed, and is gone when everything is as it was.
//!
//! One file for each server and schema, beside a lock that the system gives back however a process ends: a journal whose
//! lock is free is what a killed run has left. Passwords are in none.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ForeignError;
use super::identity::Identity;

const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    pub schema_version: u32,
    pub tool_version: String,
    pub begun_at: String,
    pub server: Identity,
    /// Where it was reached, without a password.
    pub address: String,
    pub schema: LeftSchema,
    /// In the order in which they were set.
    pub settings: Vec<JournalEntry>,
}

/// A schema that was made, or one of the user's with tables that were made in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftSchema {
    pub name: String,
    /// What our table in it says: without that, nothing there is ours.
    pub mark: String,
    /// Tables of ours in a schema of the user's; `None` where the schema itself is ours.
    pub tables: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub name: String,
    pub original: String,
    /// What it was set to last, and what it is about to be set to.
    pub ours: Vec<String>,
}

impl Journal {
    pub(crate) fn new(tool_version: &str, server: Identity, address: String, schema: LeftSchema) -> Self {
        let begun_at = truetps_probe::clock::now_rfc3339();
        let (tool_version, settings) = (tool_version.to_owned(), Vec::new());
        Self { schema_version: VERSION, tool_version, begun_at, server, address, schema, settings }
    }

    pub fn read(path: &Path) -> Result<Self, ForeignError> {
        let problem = |problem: String| ForeignError::Journal { path: path.to_owned(), problem };
        let text = fs::read(path).map_err(|error| problem(error.to_string()))?;
        let journal: Self = serde_json::from_slice(&text).map_err(|error| problem(error.to_string()))?;
        if journal.schema_version > VERSION {
            return Err(problem(format!("written by a newer truetps ({})", journal.tool_version)));
        }
        Ok(journal)
    }

    /// What may be left in the server.
    pub fn told(&self) -> String {
        let names: Vec<_> = self.settings.iter().map(|entry| entry.name.as_str()).collect();
        let schema = format!("the schema `{}`", self.schema.name);
        if names.is_empty() { schema } else { format!("settings ({}) and {schema}", names.join(", ")) }
    }
}

/// A journal that is held: nobody else writes or removes it.
pub(crate) struct OpenJournal {
    path: PathBuf,
    lock: File,
    pub(crate) journal: Journal,
}

impl OpenJournal {
    /// Begins a journal in this folder. One that is there already belongs to a run that lives, or that was killed.
    pub(crate) fn begin(folder: &Path, journal: Journal, sets: bool) -> Result<Self, ForeignError> {
        make_folder(folder)?;
        let _all = lock_folder(folder)?;
        refuse_unfinished(folder, &journal, sets)?;
        let path = folder.join(format!("{}--{}.json", slug(&journal.server.id), slug(&journal.schema.name)));
        let lock = take_lock(&path)?;
        let open = Self { path, lock, journal };
        open.write()?;
        Ok(open)
    }

    /// Takes the journal of a killed run.
    pub(crate) fn take(path: &Path) -> Result<Self, ForeignError> {
        let lock = take_lock(path)?;
        match Journal::read(path) {
            Ok(journal) => Ok(Self { path: path.to_owned(), lock, journal }),
            Err(error) => {
                let _ = fs::remove_file(lock_path(path));
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file; it is on the disk when this returns.
    pub(crate) fn write(&self) -> Result<(), ForeignError> {
        let beside = self.path.with_extension("tmp");
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_vec_pretty(&self.journal)?;
            text.push(b'\n');
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            // The name must survive, too.
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| ForeignError::Journal { path: self.path.clone(), problem: error.to_string() })
    }

    /// Everything is as it was.
    pub(crate) fn finish(self) -> Result<(), ForeignError> {
        let failed = |error: io::Error| ForeignError::Journal { path: self.path.clone(), problem: error.to_string() };
        fs::remove_file(&self.path).map_err(failed)?;
        let _all = self.path.parent().map(lock_folder).transpose()?;
        let _ = fs::remove_file(lock_path(&self.path));
        drop(self.lock);
        Ok(())
    }
}

/// Two runs that set variables of one server would put back each other's values.
pub(crate) fn refuse_unfinished(folder: &Path, ours: &Journal, sets: bool) -> Result<(), ForeignError> {
    for path in journals(folder)? {
        let other = Journal::read(&path)?;
        let is_same = other.schema.name == ours.schema.name;
        if other.server.id != ours.server.id || !(is_same || (sets && !other.settings.is_empty())) {
            continue;
        }
        // The lock is free: nobody lives who could put it back.
        drop(take_lock(&path)?);
        return Err(ForeignError::Unfinished { what: other.told(), path });
    }
    Ok(())
}

/// Journals of runs that were killed.
pub fn unfinished(folder: &Path) -> Result<Vec<PathBuf>, ForeignError> {
    Ok(journals(folder)?.into_iter().filter(|path| take_lock(path).is_ok()).collect())
}

fn journals(folder: &Path) -> Result<Vec<PathBuf>, ForeignError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(ForeignError::Journal { path: folder.to_owned(), problem: error.to_string() });
        }
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    found.sort();
    Ok(found)
}

fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

fn take_lock(path: &Path) -> Result<File, ForeignError> {
    locked(&lock_path(path)).map_err(|error| match error {
        TryLockError::WouldBlock => ForeignError::InUse { path: path.to_owned() },
        TryLockError::Error(error) => ForeignError::Journal { path: path.to_owned(), problem: error.to_string() },
    })
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn locked(path: &Path) -> Result<File, TryLockError> {
    let file = open_lock(path).map_err(TryLockError::Error)?;
    file.try_lock()?;
    Ok(file)
}

/// Held for moments only, so that it is waited for.
fn lock_folder(folder: &Path) -> Result<File, ForeignError> {
    let path = folder.join(".lock");
    let lock = || -> io::Result<File> {
        let file = open_lock(&path)?;
        file.lock()?;
        Ok(file)
    };
    lock().map_err(|error| ForeignError::Journal { path: path.clone(), problem: error.to_string() })
}

fn make_folder(folder: &Path) -> Result<(), ForeignError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| ForeignError::Journal { path: folder.to_owned(), problem: error.to_string() })
}

/// An identity as a part of a file's name; identities are told apart by what is in the file.
fn slug(text: &str) -> String {
    const LENGTH_MAX: usize = 100;
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let all: String = plain.collect();
    all[all.len().saturating_sub(LENGTH_MAX)..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(schema: &str) -> Journal {
        let server = Identity { id: "host:3306:/var/lib/x/".into(), started_s: 1.0 };
        let schema = LeftSchema { name: schema.into(), mark: "m".into(), tables: None };
        Journal::new("1", server, "mysql://root@h:1/".into(), schema)
    }

    #[test]
    fn a_journal_is_private_and_belongs_to_one_run() {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("truetps-journal-{}", std::process::id()));
        let folder = dir.join("journals");
        let open = OpenJournal::begin(&folder, journal("a"), false).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(open.path()), mode(&folder)), (0o600, 0o700));
        assert!(matches!(OpenJournal::begin(&folder, journal("a"), false), Err(ForeignError::InUse { .. })));
        // Another schema may be worked in at the same time.
        OpenJournal::begin(&folder, journal("b"), true).unwrap().finish().unwrap();
        assert!(unfinished(&folder).unwrap().is_empty());
        // As when the process is killed: the lock goes, the file stays.
        let path = open.path().to_owned();
        drop(open);
        assert_eq!(unfinished(&folder).unwrap(), std::slice::from_ref(&path));
        assert!(matches!(OpenJournal::begin(&folder, journal("a"), false), Err(ForeignError::Unfinished { .. })));
        OpenJournal::take(&path).unwrap().finish().unwrap();
        assert!(unfinished(&folder).unwrap().is_empty());
        fs::remove_dir_all(&dir).unwrap();
    }
}
