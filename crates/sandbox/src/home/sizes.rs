//! Sizes on disk of folders in a home.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::home::server_paths::DISK;
use crate::system::folders::is_folder;
use crate::system::tree::walk;

/// Of a count of blocks, regardless of the file system's block size.
const BLOCK_BYTES: u64 = 512;

/// Without what is mounted there, which may answer nothing: of an emulated disk, its image counts.
pub(crate) fn disk_bytes(path: &Path) -> u64 {
    if !is_folder(&path.join(DISK)) {
        return tree_disk_bytes(path);
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let bytes_of = |entry: fs::DirEntry| match entry.path() {
        path if entry.file_name() == DISK => image_bytes(&path),
        path if is_folder(&path) => tree_disk_bytes(&path),
        path => file_bytes(&path),
    };
    entries.map(bytes_of).sum()
}

/// Of the emulated disk in this folder.
pub(crate) fn image_bytes(disk: &Path) -> u64 {
    file_bytes(&truetps_disk::image_in(disk))
}

fn file_bytes(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |metadata| metadata.blocks() * BLOCK_BYTES)
}

fn tree_disk_bytes(path: &Path) -> u64 {
    let mut blocks = 0;
    // The size that can be read.
    let _ = walk(path, &mut |_, stat| blocks += stat.st_blocks.cast_unsigned());
    blocks * BLOCK_BYTES
}
