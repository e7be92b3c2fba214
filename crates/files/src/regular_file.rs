//! Opens regular files only: a pipe would block its reader for ever, and a link leads to another
//! file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file, without blocking. A link, a pipe, a device or a folder at the path is an
/// error.
pub fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open(options, OFlags::NOFOLLOW, path)
}

/// Opens a regular file for reading; a link is followed.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(File::options().read(true), OFlags::empty(), path)
}

fn open(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    regular_file(options.custom_flags(flags.bits().cast_signed()).open(path)?)
}

/// The file, where it is a regular one.
pub fn regular_file(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_link_a_pipe_a_device_and_a_folder_are_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, pipe, missing] =
            ["file", "link", "pipe", "missing"].map(|name| dir.path().join(name));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        symlink(&missing, dir.path().join("to nothing")).unwrap();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let lock = || File::options().write(true).create(true).truncate(false).clone();
        for mut options in
            [File::options().read(true).clone(), lock(), File::options().append(true).clone()]
        {
            open_no_link(&mut options, &file).unwrap();
            for other in
                [&link, &pipe, Path::new("/dev/null"), dir.path(), &dir.path().join("to nothing")]
            {
                open_no_link(&mut options, other).expect_err(&other.display().to_string());
            }
        }
        assert!(!missing.exists(), "a file was made through a link");
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        open_regular(&link).unwrap();
        for other in [&pipe, Path::new("/dev/null"), dir.path()] {
            assert_eq!(open_regular(other).unwrap_err().to_string(), "is not a regular file");
        }
        open_no_link(&mut lock(), &missing).unwrap();
    }
}
