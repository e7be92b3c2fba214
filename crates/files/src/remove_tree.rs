//! Removes a tree that another user may have made, of any depth.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, renameat, unlinkat};
use rustix::io::Errno;

use crate::OpenFolder;

/// Removes a folder with all that is below it. Links are removed, never followed. Folders that are
/// not empty are moved up to the top and emptied there: however deep they are, two folders are open
/// at a time.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    let top = OpenFolder::open(path)?;
    let mut moved = 0;
    loop {
        let folders = remove_entries(&top)?;
        if folders.is_empty() {
            return fs::remove_dir(path);
        }
        for name in folders {
            let folder = top.folder(&name)?;
            for below in remove_entries(&folder)? {
                move_up(&folder, &below, &top, &mut moved)?;
            }
            unlinkat(top.fd(), &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes what is in a folder, except folders that are not empty: returns their names.
fn remove_entries(folder: &OpenFolder) -> io::Result<Vec<OsString>> {
    let mut left = Vec::new();
    for (name, stat) in folder.entries()? {
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlinkat(folder.fd(), &name, flags) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => left.push(name),
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(left)
}

/// Gives the folder a free name in `top`; an empty folder is replaced.
fn move_up(
    folder: &OpenFolder,
    name: &OsString,
    top: &OpenFolder,
    moved: &mut u64,
) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(folder.fd(), name, top.fd(), format!(".removed.{moved}")) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            done => return Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{Mode, mkdirat};
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    /// A chain of folders whose path is longer than a system call takes, made as a server's user
    /// would.
    fn chain(path: &Path, levels: u32) {
        fs::create_dir(path).unwrap();
        let mut folder = OpenFolder::open(path).unwrap();
        for _ in 0..levels {
            mkdirat(folder.fd(), "d", Mode::RWXU).unwrap();
            folder = folder.folder("d".as_ref()).unwrap();
        }
    }

    #[test]
    fn a_tree_deeper_than_descriptors_reach_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "kept").unwrap();
        chain(&tree, 5000);
        fs::create_dir_all(tree.join(".removed.1/full")).unwrap();
        fs::write(tree.join(".removed.2"), "a file of this name").unwrap();
        fs::create_dir_all(tree.join("wide/one")).unwrap();
        for link in ["link", "wide/link", "wide/one/link"] {
            symlink(&outside, tree.join(link)).unwrap();
        }
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
        let removed = remove_tree(&tree);
        setrlimit(Resource::Nofile, before).unwrap();
        removed.unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"kept");
        let link = dir.path().join("link");
        symlink(&outside, &link).unwrap();
        remove_tree(&link).unwrap();
        assert!(!link.is_symlink() && outside.is_dir());
        assert_eq!(remove_tree(&link).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
