//! Files and folders as servers need them: made for truetps or for the server's user, and removed.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown};
use std::path::Path;

use super::server_user::ServerUser;
use crate::error::SandboxError;

/// Creates a folder that only the server's user can access.
pub(crate) fn make_private(path: &Path, user: &ServerUser) -> Result<(), SandboxError> {
    make_own(path)?;
    give(path, user)
}

/// Creates a folder that only truetps can access.
pub(crate) fn make_own(path: &Path) -> Result<(), SandboxError> {
    DirBuilder::new().mode(0o700).create(path).map_err(SandboxError::io("make", path))
}

/// Creates a folder of truetps that the server's user may pass through.
pub(crate) fn make_passable(path: &Path, user: &ServerUser) -> io::Result<()> {
    make_with_mode(path, passable_mode(user))
}

pub(crate) fn passable_mode(user: &ServerUser) -> u32 {
    if user.switch { 0o711 } else { 0o700 }
}

/// Creates a folder with this mode, regardless of the caller's umask: the server's user must get
/// through.
fn make_with_mode(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Creates a folder with this mode, and missing ones above it.
pub(crate) fn make_all(path: &Path, mode: u32) -> io::Result<()> {
    match (make_with_mode(path, mode), path.parent()) {
        (Err(error), Some(above))
            if error.kind() == io::ErrorKind::NotFound && above != Path::new("") =>
        {
            make_all(above, mode)?;
            make_with_mode(path, mode)
        }
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        (made, _) => made,
    }
}

/// Changes the owner of a path in a folder of truetps to the server's user. The owner of a link
/// itself is changed.
pub(crate) fn give(path: &Path, user: &ServerUser) -> Result<(), SandboxError> {
    if !user.switch {
        return Ok(());
    }
    lchown(path, Some(user.uid), Some(user.gid))
        .map_err(SandboxError::io("give to the server's user", path))
}

/// Removes a tree, of any depth. Links in it are removed, never followed.
pub(crate) fn remove_tree(path: &Path) -> Result<(), SandboxError> {
    match truetps_files::remove_tree(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(SandboxError::io("remove", path)),
    }
}

/// Removes a file. Returns whether it existed.
pub(crate) fn remove_file(path: &Path) -> Result<bool, SandboxError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(SandboxError::io("remove", path)),
    }
}

/// Whether a regular file exists, and not a link or folder.
pub(crate) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether a folder exists, and not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

pub(crate) fn is_empty_folder(path: &Path) -> bool {
    is_folder(path) && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
