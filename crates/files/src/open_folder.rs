//! Folders in which another user may create links, pipes and hard links at any moment. Each step
//! goes from an open folder to a name in it and follows no link; where root works in such a folder,
//! it does so as the folder's owner.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;

use rustix::fs::{
    AtFlags, CWD, Dir, Gid, Mode, OFlags, Stat, Uid, fchmod, fstat, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::regular_file::regular_file;

const WRITABLE_FOR_OTHERS: u32 = 0o022;

/// An open folder.
#[derive(Debug)]
pub struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Opens a folder that is no link; the folders above it are trusted.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(CWD, path.as_os_str(), OFlags::NOFOLLOW)
    }

    /// Opens a folder that a user has named: links lead to it. What is done in it is done by
    /// [`as_owner`](Self::as_owner).
    pub fn open_named(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Self::open_at(CWD, path.as_os_str(), OFlags::empty())
    }

    fn open_at(folder: impl AsFd, name: &OsStr, flags: OFlags) -> io::Result<Self> {
        let flags = flags | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(openat(folder, name, flags, Mode::empty())?))
    }

    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_at(&self.0, name, OFlags::NOFOLLOW)
    }

    /// Opens a regular file for reading; see [`check_names`].
    pub fn file(&self, name: &OsStr) -> io::Result<File> {
        self.existing(name, OFlags::RDONLY)
    }

    /// Opens a file in it for reading and writing.
    pub fn file_to_change(&self, name: &OsStr) -> io::Result<File> {
        self.existing(name, OFlags::RDWR)
    }

    fn existing(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match openat(&self.0, name, flags, Mode::empty()) {
            Err(Errno::LOOP) => return Err(denied("is a symbolic link".to_owned())),
            other => other?,
        };
        let file = regular_file(opened.into())?;
        check_names(&file, fstat(&self.0)?.st_uid)?;
        Ok(file)
    }

    /// Creates a folder that only this process's user can access.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<Self> {
        mkdirat(&self.0, name, Mode::RWXU)?;
        self.folder(name)
    }

    /// Creates a file that only this process's user can access.
    pub fn make_file(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Replaces a file: readers see the old content or the new one, with this mode.
    pub fn replace_file(&self, name: &OsStr, content: &[u8], mode: u32) -> io::Result<()> {
        let mut beside = name.to_owned();
        beside.push(".tmp");
        let _ = unlinkat(&self.0, &beside, AtFlags::empty());
        let written = self.write_file(&beside, content, mode).and_then(|()| {
            renameat(&self.0, &beside, &self.0, name)?;
            self.sync()
        });
        // A partial file is useless; the first error is the one to report.
        written.inspect_err(|_| {
            let _ = unlinkat(&self.0, &beside, AtFlags::empty());
        })
    }

    fn write_file(&self, name: &OsStr, content: &[u8], mode: u32) -> io::Result<()> {
        let mut file = self.make_file(name)?;
        file.write_all(content)?;
        // Before the file has its name, and by its descriptor: a path could lead to another file by
        // now.
        fchmod(&file, Mode::from_raw_mode(mode))?;
        file.sync_all()
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.0, Mode::from_raw_mode(mode))?)
    }

    /// Makes the entries survive a power failure.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.0) {
            // The file system cannot sync a folder.
            Err(Errno::INVAL) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Its entries, without those removed in the meantime.
    pub fn entries(&self) -> io::Result<Vec<(OsString, Stat)>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            match statat(&self.0, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                stat => found.push((name, stat?)),
            }
        }
        Ok(found)
    }

    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Refuses a folder in which another user can replace files.
    pub fn check_own(&self) -> io::Result<()> {
        let stat = fstat(&self.0)?;
        if stat.st_uid != geteuid().as_raw() {
            return Err(denied(format!("the folder belongs to uid {}", stat.st_uid)));
        }
        check_mode(&stat)
    }

    /// Runs `work` with the rights of the folder's owner if root calls: the owner can lead root to
    /// no file that is not the owner's already, by links, hard links or names. Root's own folders
    /// are worked in as root, and refused if others may write there.
    pub fn as_owner<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let stat = fstat(&self.0)?;
        if !geteuid().is_root() {
            return Ok(work());
        }
        if stat.st_uid == 0 {
            check_mode(&stat)?;
            return Ok(work());
        }
        // In Linux the ids belong to the thread. It ends with them, so that none has to be
        // restored.
        let as_owner = || {
            let (uid, gid) = (stat.st_uid, stat.st_gid);
            // Root of a container may lack the capabilities.
            become_user(Uid::from_raw(uid), Gid::from_raw(gid)).map_err(|errno| {
                denied(format!("cannot get the rights of the folder's owner, uid {uid}: {errno}"))
            })?;
            Ok(work())
        };
        thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, as_owner)?.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

/// Only the effective ids change, so that the owner can neither trace nor signal this process.
/// Root's capabilities are not effective from then on.
fn become_user(uid: Uid, gid: Gid) -> io::Result<()> {
    set_thread_groups(&[])?;
    set_thread_res_gid(None, gid, None)?;
    Ok(set_thread_res_uid(None, uid, None)?)
}

fn check_mode(stat: &Stat) -> io::Result<()> {
    if stat.st_mode & WRITABLE_FOR_OTHERS == 0 {
        return Ok(());
    }
    Err(denied(format!("other users may write in the folder (mode {:04o})", stat.st_mode & 0o7777)))
}

/// Refuses a file with more than one name and another owner than its folder: the owner of the
/// folder may have created a hard link in it to a file that only root may read or write.
pub fn check_names(file: &File, owner: u32) -> io::Result<()> {
    let metadata = file.metadata()?;
    if metadata.nlink() > 1 && metadata.uid() != owner {
        return Err(denied(format!(
            "it is a hard link to a file of uid {}; the owner of its folder is uid {owner}",
            metadata.uid()
        )));
    }
    Ok(())
}

fn denied(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, problem)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use rustix::fs::{FileType, mknodat};

    use super::*;

    const OTHER: u32 = 65_534;

    #[test]
    fn a_file_is_replaced_under_its_name_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open(dir.path()).unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "victim").unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
        symlink(&victim, dir.path().join("library.tmp")).unwrap();
        symlink(&victim, dir.path().join("library")).unwrap();
        folder.replace_file("library".as_ref(), b"new", 0o755).unwrap();
        let facts = fs::symlink_metadata(dir.path().join("library")).unwrap();
        assert!(facts.is_file() && facts.mode() & 0o777 == 0o755);
        assert_eq!(fs::read(dir.path().join("library")).unwrap(), b"new");
        assert_eq!(
            (fs::read(&victim).unwrap(), fs::metadata(&victim).unwrap().mode() & 0o777),
            (b"victim".to_vec(), 0o600)
        );
        assert_eq!(folder.entries().unwrap().len(), 2, "nothing is left beside them");
    }

    #[test]
    fn no_link_no_pipe_and_no_folder_is_opened_as_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open(dir.path()).unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for name in ["link", "folder", "pipe", "missing"].map(OsStr::new) {
            assert!(
                folder.file(name).is_err() && folder.file_to_change(name).is_err(),
                "{}",
                name.display()
            );
        }
        folder.file_to_change("file".as_ref()).unwrap();
    }

    /// Root works in a folder of another user as that user: a file of root's, reached by a link or
    /// by any other path, is as closed as it is to the user.
    #[test]
    fn root_works_in_a_folder_of_another_user_with_the_rights_of_that_user() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let (secret, data) = (dir.path().join("secret"), dir.path().join("data"));
        fs::write(&secret, "secret").unwrap();
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(&data).unwrap();
        fs::hard_link(&secret, data.join("hard")).unwrap();
        chown(&data, Some(OTHER), Some(OTHER)).unwrap();
        let folder = OpenFolder::open_named(&data).unwrap();
        let opened = folder.as_owner(|| File::open(&secret).map(drop)).unwrap();
        assert_eq!(opened.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(folder.as_owner(|| folder.file("hard".as_ref()).is_err()).unwrap());
        folder.as_owner(|| folder.make_file("new".as_ref())).unwrap().unwrap();
        assert_eq!(fs::metadata(data.join("new")).unwrap().uid(), OTHER);
        File::open(&secret).expect("this thread is still root");
    }

    #[test]
    fn folders_that_others_may_write_are_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open(dir.path()).unwrap();
        folder.check_own().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(folder.check_own().unwrap_err().to_string().contains("mode 0777"));
        assert_eq!(folder.as_owner(|| ()).is_err(), geteuid().is_root());
        if geteuid().is_root() {
            chown(dir.path(), Some(OTHER), Some(OTHER)).unwrap();
            assert!(folder.check_own().unwrap_err().to_string().contains("belongs to uid 65534"));
        }
    }
}
