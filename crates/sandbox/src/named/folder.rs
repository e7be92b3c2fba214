//! The folder of a name: the registration, the tree that was unpacked for it, and the datadir of
//! its instance.

use std::fs;
use std::path::{Path, PathBuf};

use super::disk::InstanceDisk;
use super::name::check_server_name;
use super::server::{NamedServer, REGISTRATION};
use crate::error::{NamedError, SandboxError};
use crate::home::proof::remove_proven;
use crate::system::folders::{is_empty_folder, is_file, is_folder, remove_tree};

/// The program's tree, in this folder and in the one that is being added.
pub(crate) const TREE: &str = "tree";
/// The copy of a template that becomes the datadir of a named server.
pub(crate) const COPY: &str = "data.copying";
/// The tree that a new one replaces, until the new one is registered.
const OLD_TREE: &str = "tree.old";

#[derive(Debug)]
pub(crate) struct ServerFolder {
    path: PathBuf,
}

impl ServerFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn datadir(&self) -> PathBuf {
        datadir_of(&self.path)
    }

    pub(crate) fn has_data(&self) -> bool {
        has_data(&self.path)
    }

    pub(crate) fn disk(&self) -> InstanceDisk {
        InstanceDisk::of(&self.path)
    }

    /// Whether truetps created this folder: judged by its name and its registration, readable or
    /// not.
    pub(crate) fn is_ours(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_str().unwrap_or_default();
        check_server_name(name).is_ok()
            && is_folder(&self.path)
            && is_file(&self.path.join(REGISTRATION))
    }

    /// Refuses a folder of the user.
    pub(crate) fn check_ours(&self) -> Result<(), SandboxError> {
        if self.path.symlink_metadata().is_err() || is_empty_folder(&self.path) || self.is_ours() {
            return Ok(());
        }
        Err(NamedError::Foreign { path: self.path.clone() }.into())
    }

    /// `None`: no server has this name.
    pub(crate) fn registration(&self) -> Result<Option<NamedServer>, SandboxError> {
        NamedServer::read(&self.path)
    }

    /// Removes leftovers of an interrupted replacement: the old tree is the registered one until
    /// the new one is in place.
    pub(crate) fn mend_tree(&self) -> Result<(), SandboxError> {
        let (tree, old) = (self.path.join(TREE), self.path.join(OLD_TREE));
        if old.is_dir() && !tree.exists() {
            return fs::rename(&old, &tree).map_err(SandboxError::io("rename", &old));
        }
        remove_tree(&old)
    }

    /// Registers a server whose tree, if it was unpacked, is in the folder `beside`; `beside` is
    /// gone then.
    pub(crate) fn put(&self, server: &NamedServer, beside: &Path) -> Result<(), SandboxError> {
        if !self.is_ours() {
            // Renamed once the registration is in it: a folder without one does not belong to
            // truetps.
            server.write(beside)?;
            return fs::rename(beside, &self.path).map_err(SandboxError::io("rename", beside));
        }
        let (tree, old) = (self.path.join(TREE), self.path.join(OLD_TREE));
        if tree.exists() {
            fs::rename(&tree, &old).map_err(SandboxError::io("rename", &tree))?;
        }
        if let Err(error) = self.put_tree(server, beside, &tree) {
            remove_tree(&tree)?;
            self.mend_tree()?;
            return Err(error);
        }
        remove_tree(&old)
    }

    fn put_tree(
        &self,
        server: &NamedServer,
        beside: &Path,
        tree: &Path,
    ) -> Result<(), SandboxError> {
        if server.unpacked {
            fs::rename(beside.join(TREE), tree).map_err(SandboxError::io("rename", beside))?;
        }
        remove_tree(beside)?;
        server.write(&self.path)
    }

    pub(crate) fn remove(&self) -> Result<(), SandboxError> {
        remove_proven(&self.path, &[REGISTRATION])
    }
}

pub(crate) fn host_datadir(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// Where the data of a named server are.
pub(crate) fn datadir_of(folder: &Path) -> PathBuf {
    let disk = InstanceDisk::of(folder);
    if disk.exists() { disk.datadir() } else { host_datadir(folder) }
}

/// Whether a named server has data.
pub(crate) fn has_data(folder: &Path) -> bool {
    InstanceDisk::of(folder).exists() || host_datadir(folder).exists()
}

#[cfg(test)]
mod tests {
    use truetps_record::Flavour;

    use super::super::server::tests::named_server;
    use super::*;

    #[test]
    fn a_replacement_that_was_cut_short_is_mended() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, beside) = (ServerFolder::new(dir.path().join("a")), dir.path().join("beside"));
        fs::create_dir(&beside).unwrap();
        folder.put(&named_server("a", Flavour::Mysql, "8.0.36"), &beside).unwrap();
        let make = |name: &str| {
            fs::create_dir(folder.path.join(name)).unwrap();
            fs::write(folder.path.join(name).join("of"), name).unwrap();
        };
        make(OLD_TREE);
        folder.mend_tree().unwrap();
        let tree_of = || fs::read_to_string(folder.path.join("tree/of")).unwrap();
        assert_eq!(tree_of(), OLD_TREE, "the old one is the registered one");
        make(OLD_TREE);
        folder.mend_tree().unwrap();
        assert!(folder.path.join(TREE).is_dir() && !folder.path.join(OLD_TREE).exists());
        // A tree that cannot be registered leaves the old tree: nothing is in its source folder.
        let mut new = named_server("a", Flavour::Mysql, "8.0.37");
        new.unpacked = true;
        folder.put(&new, &beside).unwrap_err();
        assert_eq!(tree_of(), OLD_TREE);
        assert_eq!(folder.registration().unwrap().unwrap().version, "8.0.36");
    }
}
