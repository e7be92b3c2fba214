//! Files of truetps itself, replaced whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes one of truetps's own files so that a reader (and a power failure) sees the old content or
/// the new, never a part. An existing file is replaced: files that a user has named are written by
/// [`write_named`](crate::write_named).
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let beside = path.with_file_name(name);
    // A partial file is useless; the first error is the one to report.
    write_by_way_of(&beside, path, content).inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn write_by_way_of(beside: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    // Left by a killed process, or a link: the new file is neither.
    let _ = fs::remove_file(beside);
    let mut file = File::create_new(beside)?;
    file.write_all(content)?;
    file.sync_data()?;
    fs::rename(beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_folder(folder.unwrap_or(Path::new(".")))
}

/// Makes a folder's entries survive a power failure.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // The file system cannot sync a folder.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_write_replaces_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a file.json");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
