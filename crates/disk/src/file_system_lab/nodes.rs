//! The files and folders of the mounted file system, each with a handle on its counterpart in the
//! backing folder: a rename or an unlink does not change which file is meant.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileType, INodeNo};
use rustix::fs::{Mode, OFlags, Stat, fstat, openat};

use super::placement::{FilePlaces, NodeId};
use crate::undo::BlockContent;

pub(super) const ROOT: NodeId = INodeNo::ROOT.0;

/// What of a file is where.
#[derive(Default)]
pub(super) struct FileContent {
    pub(super) places: FilePlaces,
    /// What blocks held before they were written without a sync: they are in the page cache only.
    pub(super) dirty: BTreeMap<u64, BlockContent>,
    /// Size on the device, and size after its last flush.
    pub(super) device_size: u64,
    pub(super) durable_size: u64,
}

pub(super) struct FileNode {
    handle: OwnedFd,
    /// Its number in the backing folder.
    inode: u64,
    /// References of the kernel.
    lookups: u64,
    opens: u32,
    /// While it is open.
    data: Option<Arc<File>>,
    is_writable: bool,
    pub(super) is_unlinked: bool,
    /// The journal's commit that has the newest change, of its size and blocks, and of anything; 0:
    /// none.
    pub(super) metadata_change: u64,
    pub(super) any_change: u64,
    /// Its last write was synchronous: a flush for it was done.
    pub(super) is_flushed: bool,
    pub(super) content: FileContent,
}

impl FileNode {
    fn new(handle: OwnedFd, inode: u64) -> Self {
        Self {
            handle,
            inode,
            lookups: 0,
            opens: 0,
            data: None,
            is_writable: false,
            is_unlinked: false,
            metadata_change: 0,
            any_change: 0,
            is_flushed: false,
            content: FileContent::default(),
        }
    }

    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// A path that leads to it, whatever its names are.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(fstat(&self.handle)?)
    }

    pub(super) fn size(&self) -> io::Result<u64> {
        Ok(self.stat()?.st_size as u64)
    }

    /// Its data, for reading and, if possible, writing.
    pub(super) fn data(&self) -> io::Result<Arc<File>> {
        match &self.data {
            Some(data) => Ok(Arc::clone(data)),
            None => Ok(Arc::new(self.open_data()?.0)),
        }
    }

    /// Both: what a write replaces has to be read first.
    fn open_data(&self) -> io::Result<(File, bool)> {
        let both = File::options().read(true).write(true).open(self.path());
        both.map(|file| (file, true))
            .or_else(|error| Ok((File::open(self.path()).map_err(|_| error)?, false)))
    }

    /// Its data for writing, regardless of its mode: what a crash takes back does not ask for
    /// permission.
    pub(super) fn data_for_restore(&self) -> io::Result<Arc<File>> {
        if let Some(data) = self.data.as_ref().filter(|_| self.is_writable) {
            return Ok(Arc::clone(data));
        }
        if let (file, true) = self.open_data()? {
            return Ok(Arc::new(file));
        }
        let mode = self.stat()?.st_mode;
        fs::set_permissions(self.path(), Permissions::from_mode(mode | 0o600))?;
        let opened = self.open_data();
        fs::set_permissions(self.path(), Permissions::from_mode(mode))?;
        Ok(Arc::new(opened?.0))
    }

    pub(super) fn open(&mut self, is_for_writing: bool) -> io::Result<()> {
        if self.data.is_none() || (is_for_writing && !self.is_writable) {
            let (data, is_writable) = self.open_data()?;
            if is_for_writing && !is_writable {
                return Err(io::Error::from(io::ErrorKind::PermissionDenied));
            }
            self.opened(data, is_writable);
        } else {
            self.opens += 1;
        }
        Ok(())
    }

    /// It was opened with this.
    pub(super) fn opened(&mut self, data: File, is_writable: bool) {
        self.data = Some(Arc::new(data));
        self.is_writable = is_writable;
        self.opens += 1;
    }

    pub(super) fn close(&mut self) {
        self.opens = self.opens.saturating_sub(1);
        if self.opens == 0 {
            self.data = None;
        }
    }
}

/// All files that the kernel has asked for, and that still exist.
pub(super) struct NodeTable {
    nodes: HashMap<NodeId, FileNode>,
    /// By the number in the backing folder: two names of one file are one node.
    by_inode: HashMap<u64, NodeId>,
    next: NodeId,
}

impl NodeTable {
    pub(super) fn new(backing: OwnedFd) -> io::Result<Self> {
        let inode = fstat(&backing)?.st_ino;
        let root = FileNode::new(backing, inode);
        Ok(Self {
            nodes: HashMap::from([(ROOT, root)]),
            by_inode: HashMap::from([(inode, ROOT)]),
            next: ROOT + 1,
        })
    }

    pub(super) fn get(&self, id: NodeId) -> Result<&FileNode, Errno> {
        self.nodes.get(&id).ok_or(Errno::ESTALE)
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Result<&mut FileNode, Errno> {
        self.nodes.get_mut(&id).ok_or(Errno::ESTALE)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (NodeId, &mut FileNode)> {
        self.nodes.iter_mut().map(|(id, node)| (*id, node))
    }

    /// A name in a folder. The kernel has one reference more afterwards.
    pub(super) fn look_up(
        &mut self,
        parent: NodeId,
        name: &OsStr,
    ) -> Result<(NodeId, FileAttr), Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle =
            openat(&self.get(parent)?.handle, name, flags, Mode::empty()).map_err(errno)?;
        let stat = fstat(&handle).map_err(errno)?;
        let id = *self.by_inode.entry(stat.st_ino).or_insert(self.next);
        if id == self.next {
            self.next += 1;
            self.nodes.insert(id, FileNode::new(handle, stat.st_ino));
        }
        self.get_mut(id)?.lookups += 1;
        Ok((id, attributes(id, &stat)))
    }

    /// The file of a name, if the kernel knows it.
    pub(super) fn known(&self, parent: NodeId, name: &OsStr) -> Option<NodeId> {
        let parent = self.get(parent).ok()?;
        let stat =
            rustix::fs::statat(&parent.handle, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        self.by_inode.get(&stat.st_ino).copied()
    }

    /// The kernel gives up references. Returns whether nothing refers to the file any more.
    pub(super) fn forget(&mut self, id: NodeId, lookups: u64) -> bool {
        self.nodes.get_mut(&id).is_some_and(|node| {
            node.lookups = node.lookups.saturating_sub(lookups);
            node.lookups == 0 && node.is_unlinked
        })
    }

    /// The kernel has no references and no open files any more. Returns the files that are gone
    /// with them.
    pub(super) fn forget_all(&mut self) -> Vec<NodeId> {
        for node in self.nodes.values_mut() {
            (node.lookups, node.opens, node.data) = (0, 0, None);
        }
        self.nodes.iter().filter(|(_, node)| node.is_unlinked).map(|(id, _)| *id).collect()
    }

    pub(super) fn remove(&mut self, id: NodeId) -> Option<FileNode> {
        let node = self.nodes.remove(&id)?;
        self.by_inode.remove(&node.inode);
        Some(node)
    }
}

pub(super) fn errno(errno: rustix::io::Errno) -> Errno {
    Errno::from_i32(errno.raw_os_error())
}

pub(super) fn attributes(id: NodeId, stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(id),
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(stat),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: stat.st_blksize as u32,
        flags: 0,
    }
}

fn kind(stat: &Stat) -> FileType {
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::Fifo => FileType::NamedPipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        rustix::fs::FileType::CharacterDevice => FileType::CharDevice,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds as u32)
}
