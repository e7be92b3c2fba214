//! What a folder has in it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirEntryExt;

use fuser::{Errno, FileType};

use super::nodes::FileNode;
use super::placement::NodeId;

pub(super) struct FolderEntry {
    pub(super) name: OsString,
    /// Only for `ls -i`: the kernel looks names up for anything else.
    pub(super) inode: u64,
    pub(super) kind: FileType,
}

pub(super) fn folder_entries(id: NodeId, node: &FileNode) -> Result<Vec<FolderEntry>, Errno> {
    let mut entries = Vec::from([".", ".."].map(|name| FolderEntry {
        name: name.into(),
        inode: id,
        kind: FileType::Directory,
    }));
    for entry in fs::read_dir(node.path())? {
        let entry = entry?;
        let kind = FileType::from_std(entry.file_type()?).ok_or(Errno::EIO)?;
        entries.push(FolderEntry { name: entry.file_name(), inode: entry.ino(), kind });
    }
    Ok(entries)
}
