//! The folders of private servers, and their owners.
//!
//! The owner of a folder holds the lock file in it for its whole life. The kernel releases the lock
//! however the owner dies, so that a folder whose lock is free is a leftover.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use truetps_record::Flavour;

use crate::error::SandboxError;
use crate::home::home_folder::{HOME_LOCK, Home};
use crate::home::server_paths::datadir_in;
use crate::home::sizes::disk_bytes;
use crate::program::binary::ServerBinary;
use crate::system::datadir_servers::servers_on;
use crate::system::folders::{is_empty_folder, is_file, is_folder, make_passable};
use crate::system::json_file::{read_json, write_json_file};
use crate::system::locks::{is_held, locked_within, open_lock};
use crate::system::processes::start_ticks;

const SCHEMA_VERSION: u32 = 1;
const OWNER: &str = "owner.json";
pub(crate) const LOCK: &str = "lock";
/// Contents of a new folder.
const FIRST_FILES: [&str; 3] = [OWNER, "owner.json.tmp", LOCK];
/// Files that prove the origin of a folder; removed last.
pub(crate) const PROOFS: [&str; 2] = [LOCK, OWNER];
/// More servers of one process at a time are a bug of truetps.
const SERVERS_MAX: u32 = 10_000;
/// Suffix of a folder that has no owner yet; its name also starts with a dot.
const MAKING: &str = ".making";
/// Locks here are held for moments only.
pub(crate) const LOCK_TIME_LIMIT: Duration = Duration::from_secs(30);
/// Prefix of a socket folder outside the home folder; see `server/sandbox.rs`.
pub(crate) const SOCKET_DIR_PREFIX: &str = "truetps-";

/// `owner.json`: the process that created the folder, and the process that runs in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) schema_version: u32,
    #[serde(rename = "owner_pid")]
    pub(crate) pid: u32,
    pub(crate) flavour: Flavour,
    pub(crate) version: String,
    pub(crate) server_pid: Option<u32>,
    pub(crate) server_start_ticks: Option<u64>,
    /// Folder of the socket, if the path below the home folder is too long for one.
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
        write_json_file(&folder.join(OWNER), self)
    }

    pub(crate) fn read(folder: &Path) -> Option<Self> {
        read_json(&folder.join(OWNER))
    }
}

/// A folder that this process owns, until the lock is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    _lock: File,
}

/// Creates a new folder and takes its lock.
pub(crate) fn claim(home: &Home, binary: &ServerBinary) -> Result<Claim, SandboxError> {
    let _making = locked_within(LOCK_TIME_LIMIT, home.lock_file()?, &home.servers())?;
    let path = unused_path(home)?;
    let beside =
        path.with_file_name(format!(".{}{MAKING}", path.file_name().unwrap_or_default().display()));
    remove_first_files(&beside);
    make_passable(&beside, home.user())
        .map_err(|error| SandboxError::home(home.path(), error.to_string()))?;
    let made = make_owned(&beside, &path, Owner::of(binary));
    if made.is_err() {
        remove_first_files(&beside);
    }
    made
}

/// The folder is renamed once its owner is written: a folder without one does not belong to
/// truetps.
fn make_owned(beside: &Path, path: &Path, owner: Owner) -> Result<Claim, SandboxError> {
    let lock_path = beside.join(LOCK);
    let lock = open_lock(&lock_path).map_err(SandboxError::io("make", &lock_path))?;
    let lock = locked_within(LOCK_TIME_LIMIT, lock, &lock_path)?;
    owner.write(beside)?;
    fs::rename(beside, path).map_err(SandboxError::io("rename", beside))?;
    Ok(Claim { path: path.to_owned(), owner, _lock: lock })
}

/// Names are short, because a socket path has at most 107 bytes.
fn unused_path(home: &Home) -> Result<PathBuf, SandboxError> {
    let us = std::process::id();
    let mut paths = (1..=SERVERS_MAX).map(|n| home.servers().join(format!("{us}-{n}")));
    let unused = paths.find(|path| path.symlink_metadata().is_err());
    unused.ok_or_else(|| {
        SandboxError::home(
            home.path(),
            format!("it holds {SERVERS_MAX} servers of this process already"),
        )
    })
}

/// Removes a folder whose owner was killed while creating it, with its files.
pub(crate) fn remove_first_files(beside: &Path) {
    for name in FIRST_FILES {
        let _ = fs::remove_file(beside.join(name));
    }
    let _ = fs::remove_dir(beside);
}

/// `4711-1`: the names of servers' folders.
fn is_id(name: &str) -> bool {
    name.split_once('-').is_some_and(|(pid, n)| is_number(pid) && is_number(n))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `.4711-1.making`
pub(crate) fn is_in_the_making(name: &str) -> bool {
    name.strip_prefix('.').and_then(|rest| rest.strip_suffix(MAKING)).is_some_and(is_id)
}

/// Whether truetps created this folder: judged by its name and owner, or by its name alone if it is
/// empty or has only a lock.
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_str().unwrap_or_default();
    is_id(name)
        && is_folder(path)
        && (Owner::read(path).is_some() || is_empty_folder(path) || has_only_a_lock(path, name))
}

/// Older versions created the lock before the owner; this one was killed in between. Its process is
/// dead, and the lock is an empty file without other names; both belong to truetps.
fn has_only_a_lock(path: &Path, name: &str) -> bool {
    let us = geteuid().as_raw();
    let pid = name.split_once('-').and_then(|(pid, _)| pid.parse().ok());
    pid.is_some_and(|pid| start_ticks(pid).is_none())
        && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.uid() == us)
        && names_in(path).is_ok_and(|names| names == [LOCK])
        && fs::symlink_metadata(path.join(LOCK)).is_ok_and(|lock| {
            lock.is_file() && lock.uid() == us && lock.nlink() == 1 && lock.len() == 0
        })
}

fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Whether an entry beside these folders was created by truetps.
pub(crate) fn is_known(path: &Path, name: &str) -> bool {
    name == HOME_LOCK && is_file(path) || is_in_the_making(name) && is_folder(path) || is_ours(path)
}

/// One server's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryEntry {
    pub id: String,
    pub path: PathBuf,
    /// The process of truetps that created it.
    pub owner_pid: Option<u32>,
    /// `false`: a leftover, which [`clean`](crate::clean) removes.
    pub owner_alive: bool,
    /// The pid of a server that runs there.
    pub server_pid: Option<u32>,
    pub server_alive: bool,
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    pub created: Option<SystemTime>,
    /// Its size on disk.
    pub size_bytes: u64,
}

/// Every server's folder, of this run and of others, oldest first.
pub fn list(home: &Home) -> Result<Vec<RegistryEntry>, SandboxError> {
    let mut entries: Vec<_> = folders(home)?.into_iter().map(|path| entry(&path)).collect();
    entries.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
    Ok(entries)
}

pub(crate) fn entry(path: &Path) -> RegistryEntry {
    let owner = Owner::read(path);
    let lock = path.join(LOCK);
    let servers = servers_on(&datadir_in(path));
    // The noted process, if it is among them: the pid alone may have been reused.
    let noted =
        owner.as_ref().and_then(|owner| owner.server_pid).filter(|pid| servers.contains(pid));
    RegistryEntry {
        id: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_owned(),
        owner_pid: owner.as_ref().map(|owner| owner.pid),
        owner_alive: is_held(&lock),
        server_pid: noted.or_else(|| servers.first().copied()),
        server_alive: !servers.is_empty(),
        flavour: owner.as_ref().map(|owner| owner.flavour),
        created: fs::metadata(&lock).and_then(|metadata| metadata.modified()).ok(),
        size_bytes: disk_bytes(path),
        version: owner.map(|owner| owner.version),
    }
}

pub(crate) fn folders(home: &Home) -> Result<Vec<PathBuf>, SandboxError> {
    let servers = home.servers();
    let read =
        fs::read_dir(&servers).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut found: Vec<_> = read.map_err(SandboxError::io("read", &servers))?;
    found.retain(|path| is_ours(path));
    found.sort();
    Ok(found)
}

/// Removes a socket folder below a folder that is open to all users: only if it has truetps's name,
/// is not a link, and belongs to the server's user. A failure is harmless, and ignored.
pub(crate) fn remove_socket_dir(path: &Path, home: &Home) {
    let named_by_us =
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOCKET_DIR_PREFIX));
    let ours = fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == home.user().uid);
    if named_by_us && ours {
        let _ = fs::remove_dir_all(path);
    }
}
