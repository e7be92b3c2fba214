//! The library as a file.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use truetps_files::OpenFolder;

/// For mysqld and mariadbd, of the same machine type as this program.
pub static LIBRARY: &[u8] = include_bytes!(env!("TRUETPS_PREALLOC_LIBRARY"));
pub const LIBRARY_NAME: &str = "libtruetps_prealloc.so";
/// Every user may load it, and only the owner may change it.
const MODE: u32 = 0o755;

/// Writes the library to a folder of this process's user, unless it is there. A running server
/// keeps the file that it has loaded: the new one replaces the name only.
pub fn place(folder: &Path) -> io::Result<PathBuf> {
    let opened = OpenFolder::open(folder)?;
    opened.check_own()?;
    if !is_there(&opened) {
        opened.replace_file(LIBRARY_NAME.as_ref(), LIBRARY, MODE)?;
    }
    Ok(folder.join(LIBRARY_NAME))
}

fn is_there(folder: &OpenFolder) -> bool {
    let Ok(file) = folder.file(LIBRARY_NAME.as_ref()) else { return false };
    let mut content = Vec::new();
    file.metadata().is_ok_and(|facts| facts.mode() & 0o7777 == MODE)
        && file.take(LIBRARY.len() as u64 + 1).read_to_end(&mut content).is_ok()
        && content == LIBRARY
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_a_shared_object_and_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = place(folder.path()).unwrap();
        assert!(LIBRARY.starts_with(b"\x7fELF"));
        let made = fs::metadata(&path).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, MODE);
        assert_eq!(
            fs::metadata(place(folder.path()).unwrap()).unwrap().modified().unwrap(),
            made.modified().unwrap()
        );
        fs::write(&path, "another").unwrap();
        place(folder.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(
            place(folder.path())
                .unwrap_err()
                .to_string()
                .contains("other users may write in the folder")
        );
    }
}
