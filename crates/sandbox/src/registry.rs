//! The folders of private servers: whose they are, which are leftovers of a killed run, and how those go.
//!
//! The owner of a folder holds the lock file in it for its whole life. The kernel lets go of the lock when the owner
//! dies in whatever way, so a folder whose lock is free is a leftover.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use truetps_record::{Flavour, write_atomically};

use crate::binary::ServerBinary;
use crate::error::SandboxError;
use crate::home::{Home, make_passable, open_lock, remove_tree};
use crate::postgres::forget_shared_memory;
use crate::processes::{kill_servers_on, servers_on};
use crate::run;
use crate::unfinished::clean_unfinished;

const SCHEMA_VERSION: u32 = 1;
/// More than this many servers of one process at a time is a mistake of ours.
const SERVERS_MAX: u32 = 10_000;
const KILL_TIME_LIMIT: Duration = Duration::from_secs(20);
const LOCK_TIME_LIMIT: Duration = Duration::from_secs(30);
/// A socket folder of ours outside the home folder starts with this; see `sandbox.rs`.
pub(crate) const SOCKET_DIR_PREFIX: &str = "truetps-";

/// `owner.json`: who made the folder, and what runs in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) schema_version: u32,
    #[serde(rename = "owner_pid")]
    pub(crate) pid: u32,
    pub(crate) flavour: Flavour,
    pub(crate) version: String,
    pub(crate) server_pid: Option<u32>,
    pub(crate) server_start_ticks: Option<u64>,
    /// Folder of the socket, where the path below the home folder would be too long for one.
    pub(crate) socket_dir: Option<PathBuf>,
}

impl Owner {
    fn of(binary: &ServerBinary) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            pid: std::process::id(),
            flavour: binary.flavour,
            version: binary.version.to_string(),
            server_pid: None,
            server_start_ticks: None,
            socket_dir: None,
        }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), SandboxError> {
        let path = folder.join("owner.json");
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| SandboxError::Content { path: path.clone(), problem: error.to_string() })?;
        write_atomically(&path, &text).map_err(|error| SandboxError::Content { path, problem: error.to_string() })
    }

    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join("owner.json")).ok()?).ok()
    }
}

/// A folder that this process owns, until the lock is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    _lock: File,
}

/// Makes a new folder and takes its lock.
pub(crate) fn claim(home: &Home, binary: &ServerBinary) -> Result<Claim, SandboxError> {
    let _making = wait_for_lock(home.lock_file()?, &home.servers())?;
    let path = make_unused(home)?;
    let lock_path = path.join("lock");
    let lock = open_lock(&lock_path).map_err(SandboxError::io("make", &lock_path))?;
    // Free but for a moment's look of somebody who lists the folders.
    let lock = wait_for_lock(lock, &lock_path)?;
    let owner = Owner::of(binary);
    owner.write(&path)?;
    Ok(Claim { path, owner, _lock: lock })
}

/// Names are short, because a socket's path may have 107 bytes in all.
fn make_unused(home: &Home) -> Result<PathBuf, SandboxError> {
    let us = std::process::id();
    for n in 1..=SERVERS_MAX {
        let path = home.servers().join(format!("{us}-{n}"));
        match make_passable(&path, home.user()) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(SandboxError::home(home.path(), error.to_string())),
        }
    }
    Err(SandboxError::home(home.path(), format!("it holds {SERVERS_MAX} servers of this process already")))
}

/// Takes a lock that is held for moments only.
fn wait_for_lock(lock: File, path: &Path) -> Result<File, SandboxError> {
    run::wait_for_lock(&lock, LOCK_TIME_LIMIT).map_err(|error| match error {
        TryLockError::WouldBlock => SandboxError::Busy { path: path.to_owned(), waited: LOCK_TIME_LIMIT },
        TryLockError::Error(source) => SandboxError::io("lock", path)(source),
    })?;
    Ok(lock)
}

/// One server's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub path: PathBuf,
    /// The truetps that made it.
    pub owner_pid: Option<u32>,
    /// `false`: a leftover, which [`clean`] removes.
    pub owner_alive: bool,
    pub server_pid: Option<u32>,
    pub server_alive: bool,
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    pub created: Option<SystemTime>,
    /// What it takes on the disk.
    pub size_bytes: u64,
}

/// Every server's folder, ours and those of other runs, oldest first.
pub fn list(home: &Home) -> Result<Vec<Entry>, SandboxError> {
    let mut entries: Vec<_> = folders(home)?.into_iter().map(|path| entry(&path)).collect();
    entries.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
    Ok(entries)
}

fn entry(path: &Path) -> Entry {
    let owner = Owner::read(path);
    let lock = path.join("lock");
    let server_alive = !servers_on(&path.join("data")).is_empty();
    Entry {
        id: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_owned(),
        owner_pid: owner.as_ref().map(|owner| owner.pid),
        owner_alive: is_held(&lock),
        server_pid: owner.as_ref().and_then(|owner| owner.server_pid),
        server_alive,
        flavour: owner.as_ref().map(|owner| owner.flavour),
        created: fs::metadata(&lock).and_then(|metadata| metadata.modified()).ok(),
        size_bytes: disk_bytes(path),
        version: owner.map(|owner| owner.version),
    }
}

fn folders(home: &Home) -> Result<Vec<PathBuf>, SandboxError> {
    let servers = home.servers();
    let mut found = Vec::new();
    for entry in fs::read_dir(&servers).map_err(SandboxError::io("read", &servers))? {
        let entry = entry.map_err(SandboxError::io("read", &servers))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// A lock of our own process counts too: locks belong to the open file, not to the process.
pub(crate) fn is_held(lock: &Path) -> bool {
    File::open(lock).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

pub(crate) fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        // A block is 512 bytes here, whatever the file system's own is.
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

/// A leftover that is gone now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    pub entry: Entry,
    /// Servers that still ran on it and were killed.
    pub servers_killed: u32,
}

/// Removes what killed runs left: folders whose owner is dead, killing a server that still runs there first.
pub fn clean(home: &Home) -> Result<Vec<Cleaned>, SandboxError> {
    let leftovers = take_leftovers(home)?;
    let cleaned: Result<Vec<_>, _> = leftovers.into_iter().map(|(path, _lock)| remove_leftover(home, &path)).collect();
    // What cannot be removed now is in nobody's way: the next one tries again.
    let _ = clean_unfinished(home);
    cleaned
}

/// Folders whose lock was free, with the lock: from here on no other cleaner takes them.
fn take_leftovers(home: &Home) -> Result<Vec<(PathBuf, Option<File>)>, SandboxError> {
    let _looking = wait_for_lock(home.lock_file()?, &home.servers())?;
    let mut taken = Vec::new();
    for path in folders(home)? {
        match File::open(path.join("lock")) {
            Ok(lock) if lock.try_lock().is_ok() => taken.push((path, Some(lock))),
            Ok(_) => {}
            // Its owner died between making the folder and the lock.
            Err(error) if error.kind() == io::ErrorKind::NotFound => taken.push((path, None)),
            Err(error) => return Err(SandboxError::io("open", &path.join("lock"))(error)),
        }
    }
    Ok(taken)
}

fn remove_leftover(home: &Home, path: &Path) -> Result<Cleaned, SandboxError> {
    let mut entry = entry(path);
    entry.owner_alive = false;
    let servers_killed =
        kill_servers_on(&path.join("data"), KILL_TIME_LIMIT).map_err(SandboxError::io("stop the server of", path))?;
    if let Some(socket_dir) = Owner::read(path).and_then(|owner| owner.socket_dir) {
        remove_socket_dir(&socket_dir, home);
    }
    forget_shared_memory(&path.join("data"), home.user());
    remove_tree(path)?;
    Ok(Cleaned { entry, servers_killed })
}

/// Removes a socket folder that we made below a folder which is open to everybody: only one that has our name, is no
/// link, and belongs to the server's user. What is left is harmless, so a failure is not worth an error.
pub(crate) fn remove_socket_dir(path: &Path, home: &Home) {
    let named_by_us = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOCKET_DIR_PREFIX));
    let ours = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == home.user().uid);
    if named_by_us && ours {
        let _ = fs::remove_dir_all(path);
    }
}
