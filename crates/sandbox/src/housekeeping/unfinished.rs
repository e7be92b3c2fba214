//! Unfinished folders of killed runs: a template, the tree of an archive, a copy of a datadir.
//!
//! The creating process holds a lock, which the kernel releases when the process dies: a folder
//! whose lock is free is abandoned.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::template;
use crate::error::SandboxError;
use crate::home::home_folder::Home;
use crate::home::server_paths::DISK;
use crate::home::sizes::{disk_bytes, image_bytes};
use crate::named::COPY;
use crate::named::{NameLocks, ServerFolder, UNFINISHED, is_at, name_of_entry};
use crate::system::folders::{is_folder, remove_tree};
use crate::system::locks::{is_held, open_lock};

/// An abandoned folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedFolder {
    pub path: PathBuf,
    /// Its size on disk.
    pub size_bytes: u64,
}

/// A folder in creation, or an abandoned one, and the lock of its creator.
struct Beside {
    path: PathBuf,
    lock: PathBuf,
    /// Name of the server that it is for; `None`: a template.
    name: Option<String>,
}

impl Beside {
    fn described(&self) -> UnfinishedFolder {
        let size_bytes =
            if self.is_disk() { image_bytes(&self.path) } else { disk_bytes(&self.path) };
        UnfinishedFolder { path: self.path.clone(), size_bytes }
    }

    /// An emulated disk without data on it.
    fn is_disk(&self) -> bool {
        self.name.is_some() && self.path.ends_with(DISK)
    }

    fn remove(&self) -> Result<(), SandboxError> {
        if self.is_disk() {
            truetps_disk::clean_disk(&self.path)?;
        }
        remove_tree(&self.path)
    }
}

/// Abandoned folders.
pub fn unfinished(home: &Home) -> Vec<UnfinishedFolder> {
    let found = all(home).into_iter();
    found.filter(|one| !is_held(&one.lock)).map(|one| one.described()).collect()
}

/// Removes them. Returns the removed ones.
pub fn clean_unfinished(home: &Home) -> Result<Vec<UnfinishedFolder>, SandboxError> {
    clean(home, all(home))
}

/// Removes abandoned templates.
pub(crate) fn clean_templates(home: &Home) {
    // What cannot be removed now does no harm: the next cleaning tries again.
    let _ = clean(home, templates(home));
}

fn clean(home: &Home, found: Vec<Beside>) -> Result<Vec<UnfinishedFolder>, SandboxError> {
    let mut removed = Vec::new();
    for one in found {
        // The name may just have been unregistered, and its lock removed: then nothing is left,
        // either.
        let Ok(lock) = open_lock(&one.lock) else { continue };
        if lock.try_lock().is_err() || !is_at(&lock, &one.lock) {
            continue;
        }
        // Its creator may have finished it since the first check.
        if is_folder(&one.path) {
            let described = one.described();
            one.remove()?;
            removed.push(described);
        }
        if let Some(name) = &one.name {
            NameLocks::of(home, name).remove_if_unregistered();
        }
    }
    Ok(removed)
}

fn all(home: &Home) -> Vec<Beside> {
    let mut found = templates(home);
    found.extend(of_named(home));
    found
}

fn templates(home: &Home) -> Vec<Beside> {
    let mut found = template::unfinished(home);
    found.sort();
    found.into_iter().map(|(path, lock)| Beside { path, lock, name: None }).collect()
}

/// `.NAME.adding`, and the copy or the disk in a name's folder.
fn of_named(home: &Home) -> Vec<Beside> {
    let entries = fs::read_dir(home.named()).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter().filter_map(|entry| beside(home, entry)).collect()
}

/// What an entry beside the servers' folders, or in one of them, has that is unfinished.
fn beside(home: &Home, entry: String) -> Option<Beside> {
    let path = home.named().join(&entry);
    let (name, path) = match name_of_entry(&entry, UNFINISHED) {
        Some(name) => (name.to_owned(), path),
        None if ServerFolder::new(path.clone()).is_ours() => (entry, unfinished_data(&path)),
        None => return None,
    };
    let lock = NameLocks::of(home, &name).change_path();
    is_folder(&path).then_some(Beside { path, lock, name: Some(name) })
}

/// The disk without data in the folder of a name, or the copy that a start has begun.
fn unfinished_data(folder: &Path) -> PathBuf {
    let disk = ServerFolder::new(folder.to_owned()).disk();
    disk.unfinished().map_or_else(|| folder.join(COPY), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const KEY: &str = "mysql-8.0.36-0123456789abcdef";

    #[test]
    fn unfinished_folders_are_found_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let home = Home::open(Some(&dir.path().join("home"))).unwrap();
        let named = home.make_named().unwrap();
        let folders = [
            home.templates().join(format!("{KEY}.building")),
            named.join(".a.adding"),
            named.join("b").join(COPY),
        ];
        for folder in &folders {
            fs::create_dir_all(folder.join("tree")).unwrap();
            fs::write(folder.join("tree/of"), "a killed run").unwrap();
        }
        fs::write(named.join("b/server.json"), "{").unwrap();
        // Files of the user: names that truetps does not use, and a folder without registration.
        let foreign = [
            home.templates().join("mine.building"),
            named.join(".A b.adding"),
            named.join("c").join(COPY),
        ];
        for folder in &foreign {
            fs::create_dir_all(folder).unwrap();
        }
        let paths = |found: Vec<UnfinishedFolder>| {
            found.into_iter().map(|one| one.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(unfinished(&home)), folders);
        // A folder in creation is not touched.
        let locks = [
            home.templates().join(format!("{KEY}.lock")),
            named.join(".a.lock"),
            named.join(".b.lock"),
        ];
        let held = locks.each_ref().map(|lock| open_lock(lock).unwrap());
        for lock in &held {
            lock.lock().unwrap();
        }
        assert_eq!((paths(unfinished(&home)), clean_unfinished(&home).unwrap()), (vec![], vec![]));
        drop(held);
        assert_eq!(paths(clean_unfinished(&home).unwrap()), folders);
        assert!(foreign.iter().all(|folder| folder.is_dir()));
        assert!(folders.iter().all(|folder| !folder.exists()) && named.join("b").is_dir());
        let left: Vec<_> =
            fs::read_dir(&named).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name == ".a.lock"), "an unused lock: {left:?}");
        assert!(clean_unfinished(&home).unwrap().is_empty());
    }
}
