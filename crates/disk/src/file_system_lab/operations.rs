//! The operations of the mounted file system, each on the counterpart in the backing folder. The
//! kernel checks permissions, keeps locks, and caches pages and names: only this mount changes what
//! it shows.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenAccMode, OpenFlags,
    RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, SessionACL, TimeOrNow, WriteFlags,
};
use rustix::fs::OFlags;

use super::folders::{FolderEntry, folder_entries};
use super::names::{self, AttributeChange};
use super::nodes::{attributes, errno};
use super::placement::NodeId;
use super::state::{FileSystemState, SharedState, locked};
use super::sync::sync_file;
use crate::answers::DelayedAnswers;
use crate::served_file::{BACKGROUND_MAX, SUBTYPE, THREADS, TTL, WRITE_BYTES_MAX};
use crate::undo::BLOCK_BYTES;

/// `O_DSYNC` and `O_SYNC`: rustix has one name for both.
pub(super) const DATA_SYNC: u32 = 0o10_000;
const ALL_SYNC: u32 = 0o4_010_000;
const NAME_BYTES_MAX: u32 = 255;
/// Number of files for `df -i`: there is no limit.
const FILES_MAX: u64 = 1 << 20;

struct MountedFileSystem {
    state: SharedState,
    answers: DelayedAnswers,
    /// What folders had in them when they were opened.
    folders: Mutex<HashMap<u64, Arc<Vec<FolderEntry>>>>,
    next_folder: AtomicU64,
}

/// Serves the file system at this folder, until the session is dropped.
pub(super) fn serve_file_system(
    state: SharedState,
    folder: &Path,
) -> io::Result<BackgroundSession> {
    let file_system = MountedFileSystem {
        state,
        answers: DelayedAnswers::start()?,
        folders: Mutex::default(),
        next_folder: AtomicU64::new(1),
    };
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(SUBTYPE.to_owned()),
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::DefaultPermissions,
    ];
    // A server that root starts runs as another user; other users may mount for themselves only.
    if rustix::process::geteuid().is_root() {
        config.acl = SessionACL::All;
    }
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    fuser::spawn_mount(file_system, folder, &config)
}

impl MountedFileSystem {
    /// The state, unless the host has crashed.
    fn state(&self) -> Result<MutexGuard<'_, FileSystemState>, Errno> {
        let held = locked(&self.state);
        if held.device.is_cut() { Err(Errno::EIO) } else { Ok(held) }
    }

    fn attributes(&self, id: NodeId) -> Result<FileAttr, Errno> {
        Ok(attributes(id, &self.state()?.nodes.get(id)?.stat()?))
    }

    fn write_and_answer(&self, id: NodeId, write: &WriteRequest<'_>, reply: ReplyWrite) {
        let length = write.data.len() as u32;
        let written = self.state().and_then(|mut state| {
            if write.is_direct {
                state.write_direct(id, write.offset, write.data).map(Some)
            } else {
                state.write_buffered(id, write.offset, write.data).map(|()| None)
            }
        });
        match written {
            Err(error) => reply.error(error),
            Ok(_) if write.sync != WriteSync::Later => {
                self.sync_write(id, length, write.sync, reply);
            }
            Ok(None) => reply.written(length),
            Ok(Some(at)) => self.answers.give(at, move || reply.written(length)),
        }
    }

    /// Answers a write of a file that was opened with `O_DSYNC` or `O_SYNC`.
    fn sync_write(&self, id: NodeId, length: u32, sync: WriteSync, reply: ReplyWrite) {
        let state = Arc::clone(&self.state);
        sync_file(&self.state, self.answers.queue(), id, sync == WriteSync::Data, move |is_done| {
            if let Ok(node) = locked(&state).nodes.get_mut(id) {
                node.is_flushed = is_done;
            }
            if is_done { reply.written(length) } else { reply.error(Errno::EIO) }
        });
    }

    fn sync_and_answer(&self, id: NodeId, is_data_only: bool, reply: ReplyEmpty) {
        // Some kernels sync after a synchronous write by themselves: that flush was done.
        let was_flushed = self.state().and_then(|mut state| {
            let node = state.nodes.get_mut(id)?;
            Ok(std::mem::take(&mut node.is_flushed))
        });
        match was_flushed {
            Err(error) => reply.error(error),
            Ok(true) => reply.ok(),
            Ok(false) => {
                sync_file(&self.state, self.answers.queue(), id, is_data_only, move |is_done| {
                    if is_done { reply.ok() } else { reply.error(Errno::EIO) }
                });
            }
        }
    }

    fn open_folder(&self, id: NodeId) -> Result<u64, Errno> {
        let entries = folder_entries(id, self.state()?.nodes.get(id)?)?;
        let handle = self.next_folder.fetch_add(1, Ordering::Relaxed);
        self.folders().insert(handle, Arc::new(entries));
        Ok(handle)
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<u64, Arc<Vec<FolderEntry>>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At its beginning, a folder is read anew: `rewinddir` shows what is new.
    fn entries_from(
        &self,
        id: NodeId,
        handle: u64,
        offset: u64,
    ) -> Result<Arc<Vec<FolderEntry>>, Errno> {
        if offset == 0 {
            let entries = Arc::new(folder_entries(id, self.state()?.nodes.get(id)?)?);
            self.folders().insert(handle, entries);
        }
        self.folders().get(&handle).cloned().ok_or(Errno::EBADF)
    }
}

struct WriteRequest<'a> {
    offset: u64,
    data: &'a [u8],
    /// Past the page cache.
    is_direct: bool,
    sync: WriteSync,
}

/// What of a write is durable before its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteSync {
    Later,
    Data,
    /// With the file's times.
    All,
}

impl<'a> WriteRequest<'a> {
    fn new(offset: u64, data: &'a [u8], write_flags: WriteFlags, flags: OpenFlags) -> Self {
        let flags = flags.0 as u32;
        // What the kernel writes out of its page cache is synced by a request of its own.
        let is_of_caller = !write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let is_direct = is_of_caller && flags & OFlags::DIRECT.bits() != 0;
        let sync = match flags & ALL_SYNC {
            ALL_SYNC if is_of_caller => WriteSync::All,
            DATA_SYNC if is_of_caller => WriteSync::Data,
            _ => WriteSync::Later,
        };
        Self { offset, data, is_direct, sync }
    }
}

fn answer_entry(found: Result<(NodeId, FileAttr), Errno>, reply: ReplyEntry) {
    match found {
        Ok((_, attributes)) => reply.entry(&TTL, &attributes, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn answer_attributes(found: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match found {
        Ok(attributes) => reply.attr(&TTL, &attributes),
        Err(error) => reply.error(error),
    }
}

fn answer_empty(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for MountedFileSystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an old kernel does not have costs speed and nothing else.
        for wanted in [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_WRITEBACK_CACHE,
            InitFlags::FUSE_PARALLEL_DIROPS,
        ] {
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(self.state().and_then(|mut state| state.nodes.look_up(parent.0, name)), reply);
    }

    fn forget(&self, _: &Request, inode: INodeNo, lookups: u64) {
        let mut state = locked(&self.state);
        if !state.device.is_cut() && state.nodes.forget(inode.0, lookups) {
            state.remove_node(inode.0);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer_attributes(self.attributes(inode.0), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = AttributeChange { mode, uid, gid, size, accessed, modified };
        let changed = self
            .state()
            .and_then(|mut state| names::change_attributes(&mut state, inode.0, &change));
        answer_attributes(changed.and_then(|()| self.attributes(inode.0)), reply);
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.state().and_then(|state| names::read_link(&state, inode.0)) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let made = self
            .state()
            .and_then(|mut state| names::make_node(&mut state, request, parent.0, name, mode));
        answer_entry(made, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let made = self
            .state()
            .and_then(|mut state| names::make_folder(&mut state, request, parent.0, name, mode));
        answer_entry(made, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(
            self.state().and_then(|mut state| names::unlink(&mut state, parent.0, name, false)),
            reply,
        );
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(
            self.state().and_then(|mut state| names::unlink(&mut state, parent.0, name, true)),
            reply,
        );
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let made = self
            .state()
            .and_then(|mut state| names::make_link(&mut state, request, parent.0, name, target));
        answer_entry(made, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((parent.0, name), (new_parent.0, new_name));
        answer_empty(
            self.state().and_then(|mut state| names::rename(&mut state, from, to, flags.bits())),
            reply,
        );
    }

    fn link(&self, _: &Request, inode: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(
            self.state().and_then(|mut state| names::add_name(&mut state, inode.0, parent.0, name)),
            reply,
        );
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let is_for_writing = flags.acc_mode() != OpenAccMode::O_RDONLY;
        let opened = self
            .state()
            .and_then(|mut state| Ok(state.nodes.get_mut(inode.0)?.open(is_for_writing)?));
        match opened {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.state().and_then(|mut state| {
            names::create(&mut state, request, parent.0, name, (mode, flags))
        });
        match made {
            Ok((_, attributes)) => {
                let flags = FopenFlags::FOPEN_KEEP_CACHE;
                reply.created(&TTL, &attributes, Generation(0), FileHandle(0), flags);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.state().and_then(|mut state| state.read(inode.0, offset, size)) {
            Ok((content, at)) => self.answers.give(at, move || reply.data(&content)),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.write_and_answer(inode.0, &WriteRequest::new(offset, data, write_flags, flags), reply);
    }

    /// A close is no sync.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if let Ok(node) = locked(&self.state).nodes.get_mut(inode.0) {
            node.close();
        }
        reply.ok();
    }

    fn fsync(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        is_data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.sync_and_answer(inode.0, is_data_only, reply);
    }

    fn opendir(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.open_folder(inode.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        match self.entries_from(inode.0, handle.0, offset) {
            Err(error) => reply.error(error),
            Ok(entries) => {
                for (number, entry) in entries.iter().enumerate().skip(offset as usize) {
                    if reply.add(INodeNo(entry.inode), number as u64 + 1, entry.kind, &entry.name) {
                        break;
                    }
                }
                reply.ok();
            }
        }
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.folders().remove(&handle.0);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        is_data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.sync_and_answer(inode.0, is_data_only, reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let found = self.state().and_then(|state| {
            let host = rustix::fs::fstatvfs(state.nodes.get(super::nodes::ROOT)?.handle())
                .map_err(errno)?;
            Ok((
                state.chunks.bytes(),
                state.chunks.free_bytes().min(host.f_bavail.saturating_mul(host.f_frsize)),
            ))
        });
        match found {
            Err(error) => reply.error(error),
            Ok((bytes, free)) => {
                let (blocks, free) = (bytes / BLOCK_BYTES, free / BLOCK_BYTES);
                let size = BLOCK_BYTES as u32;
                reply.statfs(blocks, free, free, FILES_MAX, FILES_MAX, size, NAME_BYTES_MAX, size);
            }
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let done =
            self.state().and_then(|mut state| state.allocate(inode.0, offset, length, mode as u32));
        answer_empty(done, reply);
    }
}
