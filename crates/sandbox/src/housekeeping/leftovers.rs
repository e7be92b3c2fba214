//! Removal of what killed runs have left.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use truetps_files::open_no_link;

use crate::data::postgres_state::forget_shared_memory;
use crate::error::SandboxError;
use crate::home::owners::{
    LOCK, LOCK_TIME_LIMIT, Owner, PROOFS, entry, folders, is_in_the_making, remove_first_files,
    remove_socket_dir,
};
use crate::home::proof::remove_proven;
use crate::home::server_paths::{DISK, datadir_in};
use crate::system::datadir_servers::{holder_of, kill_marked, marks, servers_on};
use crate::system::folders::is_folder;
use crate::system::locks::locked_within;
use crate::{Home, NamedServers, RegistryEntry, clean_unfinished};

const KILL_TIME_LIMIT: Duration = Duration::from_secs(20);

/// A removed leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    pub entry: RegistryEntry,
    /// Servers that still ran on it and were killed.
    pub servers_killed: u32,
}

/// A leftover that stays: a server not started by truetps runs on its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub path: PathBuf,
    pub server_pid: u32,
}

/// Result of the cleaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaning {
    pub removed: Vec<Cleaned>,
    pub kept: Vec<Kept>,
    /// Folders of named servers whose emulated disk was mounted without its process.
    pub unmounted: Vec<PathBuf>,
}

/// Removes leftovers of killed runs: folders whose owner is dead; a server that still runs there is
/// killed first.
pub fn clean(home: &Home) -> Result<Cleaning, SandboxError> {
    let mut cleaning = Cleaning::default();
    let done = take_leftovers(home)?
        .into_iter()
        .try_for_each(|(path, _lock)| remove_leftover(home, &path, &mut cleaning));
    // What cannot be removed now does no harm: the next cleaning tries again.
    let _ = clean_unfinished(home);
    cleaning.unmounted = NamedServers::of(home).unmount_orphaned_disks();
    done.map(|()| cleaning)
}

/// Folders whose lock was free, with the lock, so that no other process cleans them.
fn take_leftovers(home: &Home) -> Result<Vec<(PathBuf, Option<File>)>, SandboxError> {
    let _looking = locked_within(LOCK_TIME_LIMIT, home.lock_file()?, &home.servers())?;
    remove_unmade(home);
    let mut taken = Vec::new();
    for path in folders(home)? {
        match open_no_link(File::options().read(true), &path.join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => taken.push((path, Some(lock))),
            Ok(_) => {}
            // Its removal was interrupted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => taken.push((path, None)),
            Err(error) => return Err(SandboxError::io("open", &path.join(LOCK))(error)),
        }
    }
    Ok(taken)
}

/// Folders whose creating process is dead: all are created under the lock that is held here.
fn remove_unmade(home: &Home) {
    for entry in fs::read_dir(home.servers()).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_in_the_making) {
            remove_first_files(&entry.path());
        }
    }
}

fn remove_leftover(home: &Home, path: &Path, cleaning: &mut Cleaning) -> Result<(), SandboxError> {
    let (mut entry, datadir, disk) = (entry(path), datadir_in(path), path.join(DISK));
    entry.owner_alive = false;
    let killed = kill_marked(&datadir, &marks(path), KILL_TIME_LIMIT);
    let servers_killed = killed.map_err(SandboxError::io("stop the server of", path))?;
    // The files of a disk are not looked at: it may answer nothing any more.
    let holder =
        if is_folder(&disk) { servers_on(&datadir).first().copied() } else { holder_of(&datadir) };
    if let Some(server_pid) = holder {
        cleaning.kept.push(Kept { path: path.to_owned(), server_pid });
        return Ok(());
    }
    if let Some(socket_dir) = Owner::read(path).and_then(|owner| owner.socket_dir) {
        remove_socket_dir(&socket_dir, home);
    }
    forget_shared_memory(&datadir, home.user());
    if is_folder(&disk) {
        truetps_disk::clean_disk(&disk)?;
    }
    remove_proven(path, &PROOFS)?;
    cleaning.removed.push(Cleaned { entry, servers_killed });
    Ok(())
}
