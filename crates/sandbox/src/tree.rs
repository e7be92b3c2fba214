//! Files and folders that another user may have created: root works below the datadirs of a server's user, who could
//! create a link, or a pipe, there at any moment. Each step goes from an open folder to a name in it, and follows no
//! link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;
use truetps_files::{open_no_link, regular_file};

/// A server's state files have a hundredth of this.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The text of a small file. `None`: it does not exist, or is something else.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = open_no_link(File::options().read(true), path).ok()?;
    file.take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Refuses a file with more than one name and another owner than its folder: the owner of the folder may have created a
/// hard link in it to a file that only root may read or write.
pub(crate) fn check_names(file: &File, owner: u32) -> io::Result<()> {
    let metadata = file.metadata()?;
    if metadata.nlink() > 1 && metadata.uid() != owner {
        let problem =
            format!("it is a hard link to a file of uid {}; the owner of its folder is uid {owner}", metadata.uid());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(())
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// The parent folders belong to truetps, so that none of them is a link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_at(CWD, path.as_os_str())
    }

    fn open_at(folder: impl AsFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(folder, name, flags, Mode::empty())?))
    }

    pub(crate) fn folder(&self, name: &OsStr) -> io::Result<Self> {
        Self::open_at(&self.0, name)
    }

    /// Opens a file that may be read: see [`check_names`].
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = regular_file(openat(&self.0, name, flags, Mode::empty())?.into())?;
        check_names(&file, fstat(&self.0)?.st_uid)?;
        Ok(file)
    }

    /// Creates a folder that only truetps can access.
    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<Self> {
        mkdirat(&self.0, name, Mode::RWXU)?;
        self.folder(name)
    }

    /// Creates a file that only truetps can access.
    pub(crate) fn make_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Its entries, without those removed in the meantime.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, Stat)>> {
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

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

pub(crate) fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Passes everything below a folder to `each`, except folders, with its relative path.
pub(crate) fn walk(path: &Path, each: &mut dyn FnMut(PathBuf, &Stat)) -> io::Result<()> {
    walk_below(&OpenFolder::open(path)?, Path::new(""), each)
}

fn walk_below(folder: &OpenFolder, at: &Path, each: &mut dyn FnMut(PathBuf, &Stat)) -> io::Result<()> {
    for (name, stat) in folder.entries()? {
        if kind_of(&stat) != FileType::Directory {
            each(at.join(&name), &stat);
            continue;
        }
        match folder.folder(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            below => walk_below(&below?, &at.join(&name), each)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_and_no_pipe_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        let data = dir.path().join("data");
        for folder in [&outside, &data] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(outside.join("file"), "secret").unwrap();
        symlink(&outside, data.join("folder")).unwrap();
        symlink(outside.join("file"), data.join("file")).unwrap();
        rustix::fs::mknodat(CWD, data.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let open = OpenFolder::open(&data).unwrap();
        assert!(open.folder("folder".as_ref()).is_err() && OpenFolder::open(&data.join("folder")).is_err());
        for name in ["file", "pipe", "folder"] {
            assert!(open.file(name.as_ref()).is_err() && read_text(&data.join(name)).is_none(), "{name}");
            assert!(open.make_file(name.as_ref()).is_err() && open.make_folder(name.as_ref()).is_err(), "{name}");
        }
        let mut found = Vec::new();
        walk(&data, &mut |path, _| found.push(path)).unwrap();
        found.sort();
        assert_eq!(found, ["file", "folder", "pipe"].map(PathBuf::from));
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "secret");
    }
}
