//! The library as a file.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use truetps_files::write_atomically;

/// For mysqld and mariadbd, of the same machine type as this program.
pub static LIBRARY: &[u8] = include_bytes!(env!("TRUETPS_PREALLOC_LIBRARY"));
pub const LIBRARY_NAME: &str = "libtruetps_prealloc.so";
/// Every user may load it, and only the owner may change it.
const MODE: u32 = 0o755;

/// Writes the library to a folder, unless it is there. A running server keeps the file that it has loaded: the new one
/// replaces the name only.
pub fn place(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(LIBRARY_NAME);
    if fs::read(&path).is_ok_and(|there| there == LIBRARY) {
        return Ok(path);
    }
    write_atomically(&path, LIBRARY)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(MODE))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_shared_object_and_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = place(folder.path()).unwrap();
        assert!(LIBRARY.starts_with(b"\x7fELF"));
        let made = fs::metadata(&path).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, MODE);
        assert_eq!(fs::metadata(place(folder.path()).unwrap()).unwrap().modified().unwrap(), made.modified().unwrap());
        fs::write(&path, "another").unwrap();
        place(folder.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
    }
}
