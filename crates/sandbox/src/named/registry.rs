//! All named servers: their names, folders and registrations.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use truetps_record::near_matches;

use super::folder::ServerFolder;
use super::locks::{NameLocks, Use, is_lock_file};
use super::server::{NamedServer, REGISTRATION};
use crate::check_server_name;
use crate::error::{NamedError, SandboxError};
use crate::home::home_folder::{Home, NAMED_FOLDER, default_path};
use crate::named::UNFINISHED;
use crate::named::name_of_entry;
use crate::system::datadir_servers::servers_on;
use crate::system::folders::is_folder;
use crate::system::json_file::read_json;

/// A registered name.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    /// An error: its registration cannot be read.
    pub server: Result<NamedServer, SandboxError>,
}

/// All named servers.
#[derive(Debug, Clone, Copy)]
pub struct NamedServers<'a> {
    home: &'a Home,
}

impl<'a> NamedServers<'a> {
    pub fn of(home: &'a Home) -> Self {
        Self { home }
    }

    pub(crate) fn home(self) -> &'a Home {
        self.home
    }

    pub(crate) fn folder(self, name: &str) -> ServerFolder {
        ServerFolder::new(self.home.named().join(name))
    }

    pub(crate) fn locks(self, name: &'a str) -> NameLocks<'a> {
        NameLocks::of(self.home, name)
    }

    /// Sorted by name.
    pub fn list(self) -> Result<Vec<Listed>, SandboxError> {
        let folder = self.home.named();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(SandboxError::io("read", &folder))?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| check_server_name(name).is_ok()).collect();
        names.sort();
        let listed = names.into_iter().filter_map(|name| {
            Some(Listed { server: self.folder(&name).registration().transpose()?, name })
        });
        Ok(listed.collect())
    }

    /// The server of that name.
    pub fn get(self, name: &str) -> Result<NamedServer, SandboxError> {
        check_server_name(name)?;
        self.folder(name).registration()?.ok_or_else(|| self.unknown(name))
    }

    /// The error for a name that is not registered.
    pub(crate) fn unknown(self, name: &str) -> SandboxError {
        let known: Vec<_> = match self.list() {
            Ok(list) => list.into_iter().map(|listed| listed.name).collect(),
            Err(error) => return error,
        };
        let near = near_matches(name, known.iter().map(String::as_str));
        NamedError::Unknown { name: name.to_owned(), near, known }.into()
    }

    /// For a run that needs the server's program until its end. The instance can still be started
    /// and stopped.
    pub fn use_server(self, name: &str) -> Result<(NamedServer, Use), SandboxError> {
        let server = self.get(name)?;
        let locks = self.locks(name);
        let used = locks.lock_use()?;
        // The program may have been replaced since it was read.
        if self.folder(name).registration()?.as_ref() != Some(&server) {
            return Err(locks.in_replacement());
        }
        Ok((server, used))
    }

    /// Unmounts emulated disks whose process was killed, and on which no server runs. Returns the
    /// servers' folders. What cannot be unmounted is left to the next start or removal, which
    /// reports the problem.
    pub(crate) fn unmount_orphaned_disks(self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.named()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let unmounted = names.filter_map(|name| {
            let folder = self.folder(&name);
            if !folder.is_ours() || !folder.disk().is_orphaned() {
                return None;
            }
            let _lock = NameLocks::of(self.home, &name).lock().ok()?;
            let is_free = folder.disk().is_orphaned() && servers_on(&folder.datadir()).is_empty();
            (is_free && folder.disk().unmount_by_force().is_ok()).then(|| folder.path().to_owned())
        });
        unmounted.collect()
    }
}

/// The names that are registered in a folder for private servers, or in the default one, for the
/// completion of command lines: it creates nothing, and a folder that cannot be read has none.
pub fn server_names_in(folder: Option<&Path>) -> Vec<String> {
    let folder = folder.map_or_else(default_path, |folder| Ok(folder.to_owned()));
    let entries = folder
        .map(|folder| folder.join(NAMED_FOLDER).read_dir())
        .into_iter()
        .flatten()
        .flatten()
        .flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().join(REGISTRATION).exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.retain(|name| check_server_name(name).is_ok());
    names.sort();
    names
}

/// Whether an entry beside these folders was created by truetps.
pub(crate) fn is_known(path: &Path, entry: &str) -> bool {
    let is_unfinished = name_of_entry(entry, UNFINISHED).is_some() && is_folder(path);
    let is_registered = ServerFolder::new(path.to_owned()).is_ours()
        && read_json::<NamedServer>(&path.join(REGISTRATION)).is_some();
    is_lock_file(path, entry) || is_unfinished || is_registered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for fine in ["mysql-8.0", "a", "5.7", "maria_11"] {
            assert!(check_server_name(fine).is_ok(), "{fine}");
        }
        let long = "a".repeat(41);
        for wrong in ["", ".", "..", "-x", "a/b", "A", "a b", ".x.lock", &long] {
            assert!(check_server_name(wrong).is_err(), "{wrong}");
        }
    }
}
