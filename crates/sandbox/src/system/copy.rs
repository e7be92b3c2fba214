//! Copies a datadir in a way that has no cost during a measurement.
//!
//! Every byte is written: no holes, and no blocks shared with the original, because either makes
//! the server's first write to a block slower than its second. The file system is synced at the
//! end, so that the kernel does not write the copy during a measurement.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::fchown;
use std::path::Path;

use rustix::fs::{FileType, fstatfs, fsync, syncfs};
use truetps_files::OpenFolder;

use crate::error::SandboxError;
use crate::system::folders::make_own;
use crate::system::server_user::ServerUser;
use crate::system::space::check_free;
use crate::system::tree::{kind_of, walk};

const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of all files below `path`.
pub(crate) fn tree_bytes(path: &Path) -> Result<u64, SandboxError> {
    let mut bytes = 0;
    walk(path, &mut |_, stat| bytes += stat.st_size.cast_unsigned())
        .map_err(SandboxError::io("read", path))?;
    Ok(bytes)
}

/// Copies a folder to a new path, and changes its owner to the server's user. Returns the bytes
/// written.
///
/// Only truetps can access the copy until everything in it is written: no other user can insert
/// anything. The original may belong to the user.
pub(crate) fn copy_datadir(from: &Path, to: &Path, user: &ServerUser) -> Result<u64, SandboxError> {
    let parent = to.parent().unwrap_or(to);
    check_free(parent, "a copy of the datadir", tree_bytes(from)?)?;
    let source = OpenFolder::open(from).map_err(SandboxError::io("open", from))?;
    make_own(to)?;
    let target = OpenFolder::open(to).map_err(SandboxError::io("open", to))?;
    let syncs_each = is_fuse(target.fd()).map_err(SandboxError::io("look at", to))?;
    let mut copying = Copying { user, buffer: vec![0; BLOCK_BYTES], bytes: 0, syncs_each };
    copying.tree(&source, from, &target)?;
    // One sync for all files: a sync for each would cost a journal commit for each of about 300
    // files.
    syncfs(target.fd()).map_err(|error| SandboxError::io("sync", to)(error.into()))?;
    Ok(copying.bytes)
}

fn is_fuse(folder: impl AsFd) -> io::Result<bool> {
    const FUSE_SUPER_MAGIC: i64 = 0x6573_5546;
    Ok(fstatfs(folder)?.f_type as i64 == FUSE_SUPER_MAGIC)
}

struct Copying<'a> {
    user: &'a ServerUser,
    buffer: Vec<u8>,
    bytes: u64,
    /// The kernel does not pass a sync of a whole file system on to FUSE.
    syncs_each: bool,
}

impl Copying<'_> {
    /// `path`: in the original, for messages. The owner of a folder is changed after everything in
    /// it.
    fn tree(
        &mut self,
        from: &OpenFolder,
        path: &Path,
        to: &OpenFolder,
    ) -> Result<(), SandboxError> {
        for (name, stat) in from.entries().map_err(SandboxError::io("read", path))? {
            let source = path.join(&name);
            match kind_of(&stat) {
                FileType::Directory => {
                    let below =
                        from.folder(&name).and_then(|below| Ok((below, to.make_folder(&name)?)));
                    let (below, copy) = below.map_err(SandboxError::io("copy", &source))?;
                    self.tree(&below, &source, &copy)?;
                }
                FileType::RegularFile => {
                    let copied =
                        from.file(&name).and_then(|file| self.file(file, to.make_file(&name)?));
                    copied.map_err(SandboxError::io("copy", &source))?;
                }
                _ => {
                    let problem = "is neither a file nor a folder; a datadir contains nothing else"
                        .to_owned();
                    return Err(SandboxError::Content { path: source, problem });
                }
            }
        }
        self.give(to.fd()).map_err(SandboxError::io("give to the server's user", path))?;
        if self.syncs_each {
            fsync(to.fd()).map_err(|error| SandboxError::io("sync", path)(error.into()))?;
        }
        Ok(())
    }

    fn file(&mut self, mut source: File, mut target: File) -> io::Result<()> {
        loop {
            match source.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(n) => {
                    target.write_all(&self.buffer[..n])?;
                    self.bytes += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.give(&target)?;
        if self.syncs_each { target.sync_all() } else { Ok(()) }
    }

    fn give(&self, file: impl AsFd) -> io::Result<()> {
        if self.user.switch {
            fchown(file, Some(self.user.uid), Some(self.user.gid))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_copy_is_the_same_and_has_no_holes() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("a copy"));
        fs::create_dir_all(from.join("mysql")).unwrap();
        fs::write(from.join("mysql/table"), "rows").unwrap();
        let hole = File::create(from.join("log")).unwrap();
        hole.set_len(3 << 20).unwrap();
        let user = ServerUser::ourselves();
        let bytes = copy_datadir(&from, &to, &user).unwrap();
        assert_eq!(bytes, (3 << 20) + 4);
        assert_eq!(fs::read(to.join("mysql/table")).unwrap(), b"rows");
        let log = fs::metadata(to.join("log")).unwrap();
        assert!(
            log.len() == 3 << 20 && log.blocks() * 512 >= 3 << 20,
            "has holes: {} blocks",
            log.blocks()
        );
        assert!(copy_datadir(&from, &to, &user).unwrap_err().to_string().contains("a copy"));
    }

    #[test]
    fn a_copy_is_given_away_when_it_is_whole() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("mysql")).unwrap();
        fs::write(from.join("mysql/table"), "rows").unwrap();
        let user = ServerUser { name: "test".to_owned(), uid: 4711, gid: 4712, switch: true };
        copy_datadir(&from, &to, &user).unwrap();
        for path in [to.clone(), to.join("mysql"), to.join("mysql/table")] {
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (4711, 4712), "{}", path.display());
            assert_eq!(metadata.mode() & 0o077, 0, "{}", path.display());
        }
        // An error before the end: the user, who could create links in the way, cannot enter the
        // folder.
        fs::remove_dir_all(&to).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        copy_datadir(&from, &to, &user).unwrap_err();
        let metadata = fs::metadata(&to).unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (0, 0o700));
    }

    /// A hard link created by the server's user to a file that this user may not read.
    #[test]
    fn a_hard_link_to_a_file_of_another_user_is_not_copied() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (from, to, secret) =
            (dir.path().join("from"), dir.path().join("to"), dir.path().join("secret"));
        let user = ServerUser { name: "test".to_owned(), uid: 4711, gid: 4712, switch: true };
        fs::create_dir(&from).unwrap();
        fs::write(from.join("his"), "rows").unwrap();
        fs::hard_link(from.join("his"), from.join("his too")).unwrap();
        for path in [&from, &from.join("his")] {
            std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid)).unwrap();
        }
        copy_datadir(&from, &to, &user).unwrap();
        fs::remove_dir_all(&to).unwrap();
        fs::write(&secret, "secret").unwrap();
        fs::hard_link(&secret, from.join("ibdata1")).unwrap();
        let error = copy_datadir(&from, &to, &user).unwrap_err().to_string();
        assert!(error.contains("ibdata1: it is a hard link to a file of uid 0"), "{error}");
        assert!(!to.join("ibdata1").exists() && fs::metadata(&secret).unwrap().uid() == 0);
    }

    #[test]
    fn links_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir(&from).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        let error =
            copy_datadir(&from, &dir.path().join("to"), &ServerUser::ourselves()).unwrap_err();
        assert!(error.to_string().contains("neither a file nor a folder"), "{error}");
    }

    #[test]
    fn a_full_disk_is_reported_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let error = check_free(dir.path(), "a test", u64::MAX / 2).unwrap_err().to_string();
        assert!(error.contains("a test needs") && error.contains("free"), "{error}");
    }
}
