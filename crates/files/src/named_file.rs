//! Files that a user has named. They may be anything writable.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file as `>` of a shell does: it follows links, writes to pipes and devices, and keeps
/// mode and owner of an existing file. It never replaces the file by another one: only truetps's
/// own files are written with [`write_atomically`](crate::write_atomically).
pub fn write_named(path: &Path, content: &[u8]) -> io::Result<()> {
    match File::create_new(path) {
        Ok(file) => write(file, content).inspect_err(|_| {
            // A partial new file is useless; the first error is the one to report.
            let _ = fs::remove_file(path);
        }),
        // Also a link to a file that is yet to be made.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            write(File::create(path)?, content)
        }
        Err(error) => Err(error),
    }
}

fn write(mut file: File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    // Only a regular file can be flushed.
    if file.metadata()?.is_file() { file.sync_data() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::thread;

    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

    use super::*;

    #[test]
    fn a_file_keeps_its_mode_and_all_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        write_named(&path("one"), b"a long first text").unwrap();
        fs::set_permissions(path("one"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(path("one"), path("second name")).unwrap();
        let inode = fs::metadata(path("one")).unwrap().ino();
        write_named(&path("one"), b"short").unwrap();
        let facts = fs::metadata(path("one")).unwrap();
        assert_eq!((facts.ino(), facts.permissions().mode() & 0o777), (inode, 0o600));
        assert_eq!(fs::read(path("second name")).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside them");
    }

    #[test]
    fn links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("there"), "old").unwrap();
        for name in ["there", "yet to be made"] {
            let link = path(&format!("link to {name}"));
            symlink(path(name), &link).unwrap();
            write_named(&link, b"new").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{name}");
            assert_eq!(fs::read(path(name)).unwrap(), b"new", "{name}");
        }
    }

    #[test]
    fn a_pipe_is_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_named(&pipe, b"through it").unwrap();
        assert_eq!(reader.join().unwrap(), b"through it");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    /// A node of the test's own, as only root may make one: the one that takes nothing.
    #[test]
    fn a_device_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("full");
        let made =
            mknodat(CWD, &node, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, makedev(1, 7));
        // Where the file system is mounted without devices, it can be made and not be opened.
        if made.is_err() || File::options().write(true).open(&node).is_err() {
            return;
        }
        let error = write_named(&node, b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(fs::metadata(&node).unwrap().file_type().is_char_device());
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(write_named(dir.path(), b"x").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(
            write_named(&dir.path().join("no/file"), b"x").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
