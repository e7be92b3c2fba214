//! Programs and folders that root relies on: only root can change them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why root does not rely on a path.
#[derive(Debug, Error)]
pub enum UntrustedPath {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: belongs to uid {uid}, not to root", path.display())]
    Owner { path: PathBuf, uid: u32 },
    #[error("{}: others than root may write it (mode {mode:04o}, group {gid})", path.display())]
    Mode { path: PathBuf, mode: u32, gid: u32 },
}

/// The path without links, where it and each folder above it belong to root and only root may write
/// them. The end of the path need not exist.
pub fn trusted_path(path: &Path) -> Result<PathBuf, UntrustedPath> {
    let path = std::path::absolute(path).map_err(|error| unreadable(path, error))?;
    let there =
        path.ancestors().find(|above| above.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    let end = path.strip_prefix(there).unwrap_or(Path::new(""));
    let there = there.canonicalize().map_err(|error| unreadable(there, error))?;
    for one in there.ancestors() {
        let facts = fs::symlink_metadata(one).map_err(|error| unreadable(one, error))?;
        check(one, facts.uid(), facts.gid(), facts.mode() & 0o7777)?;
    }
    Ok(if end.as_os_str().is_empty() { there } else { there.join(end) })
}

fn unreadable(path: &Path, source: io::Error) -> UntrustedPath {
    UntrustedPath::Io { path: path.to_owned(), source }
}

fn check(path: &Path, uid: u32, gid: u32, mode: u32) -> Result<(), UntrustedPath> {
    let path = path.to_owned();
    if uid != 0 {
        return Err(UntrustedPath::Owner { path, uid });
    }
    // The group of root has no other members on any usual system.
    if mode & 0o002 != 0 || (mode & 0o020 != 0 && gid != 0) {
        return Err(UntrustedPath::Mode { path, mode, gid });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_what_root_alone_can_change_is_trusted() {
        let says = |uid, gid, mode| {
            check(Path::new("/x"), uid, gid, mode).map_err(|error| error.to_string())
        };
        assert_eq!(
            (says(0, 0, 0o755), says(0, 0, 0o775), says(0, 50, 0o2755)),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(says(1000, 0, 0o755), Err("/x: belongs to uid 1000, not to root".to_owned()));
        for (gid, mode) in [(0, 0o777), (0, 0o1777), (50, 0o2775)] {
            assert!(
                says(0, gid, mode).unwrap_err().contains("others than root may write it"),
                "{gid} {mode:o}"
            );
        }
    }

    #[test]
    fn each_folder_above_counts_and_links_are_resolved() {
        assert_eq!(
            trusted_path(Path::new("/usr/bin/env")).unwrap(),
            Path::new("/usr/bin/env").canonicalize().unwrap()
        );
        assert_eq!(
            trusted_path(Path::new("/usr/no such/folder")).unwrap(),
            Path::new("/usr/no such/folder")
        );
        // Either the folder or one above it belongs to this user, or is open to all.
        let dir = tempfile::tempdir().unwrap();
        trusted_path(&dir.path().join("truetps")).unwrap_err();
        symlink("/usr/bin/env", dir.path().join("link")).unwrap();
        assert_eq!(
            trusted_path(&dir.path().join("link")).unwrap(),
            trusted_path(Path::new("/usr/bin/env")).unwrap()
        );
        symlink("missing", dir.path().join("to nothing")).unwrap();
        trusted_path(&dir.path().join("to nothing")).unwrap_err();
    }
}
