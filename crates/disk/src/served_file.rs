//! A FUSE file system with one file in it: the disk's data, whose answers take as long as the disk
//! does.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr,
    ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use crate::answers::DelayedAnswers;
use crate::device::EmulatedDevice;

/// The name of the file.
pub(crate) const FILE: &str = "disk";
/// The type of this file system in /proc/self/mountinfo.
pub(crate) const SUBTYPE: &str = "truetps-disk";

const DISK: INodeNo = INodeNo(2);
/// Nothing changes without the kernel's knowledge.
pub(crate) const TTL: Duration = Duration::from_hours(1);
/// Requests that the kernel sends without an answer to those before.
pub(crate) const BACKGROUND_MAX: u16 = 256;
pub(crate) const WRITE_BYTES_MAX: u32 = 1 << 20;
pub(crate) const THREADS: usize = 2;

pub(crate) type SharedDevice = Arc<Mutex<EmulatedDevice>>;

pub(crate) fn locked(device: &SharedDevice) -> MutexGuard<'_, EmulatedDevice> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ServedFile {
    device: SharedDevice,
    answers: DelayedAnswers,
    bytes: u64,
}

/// Serves the disk's file in this folder, until the session is dropped.
pub(crate) fn serve(device: SharedDevice, folder: &Path) -> io::Result<BackgroundSession> {
    let bytes = locked(&device).bytes();
    let file = ServedFile { device, answers: DelayedAnswers::start()?, bytes };
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName(SUBTYPE.to_owned()), MountOption::NoDev, MountOption::NoSuid];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    fuser::spawn_mount(file, folder, &config)
}

impl ServedFile {
    /// The device, for a write or flush of the host that runs now. A file system that was unmounted
    /// in a crash lives on where another mount namespace has a copy of its mount, and nothing that
    /// it writes may reach the disk.
    fn device_of(&self, file: FileHandle) -> Option<MutexGuard<'_, EmulatedDevice>> {
        let device = locked(&self.device);
        (device.state.crashes() == file.0).then_some(device)
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_disk = inode == DISK;
        FileAttr {
            ino: inode,
            size: if is_disk { self.bytes } else { 0 },
            blocks: if is_disk { self.bytes / 512 } else { 0 },
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_disk { FileType::RegularFile } else { FileType::Directory },
            perm: if is_disk { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for ServedFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an old kernel does not have costs speed and nothing else.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(BACKGROUND_MAX);
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE {
            reply.entry(&TTL, &self.attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let crashes = locked(&self.device).state.crashes();
        reply.opened(
            FileHandle(crashes),
            FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
        );
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = locked(&self.device).read(offset, size);
        match read {
            Ok((content, at)) => self.answers.give(at, move || reply.data(&content)),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        file: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = data.len() as u32;
        let Some(mut device) = self.device_of(file) else { return reply.written(length) };
        let written = device.write(offset, data);
        drop(device);
        match written {
            Ok(at) => self.answers.give(at, move || reply.written(length)),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => reply.error(Errno::ENOSPC),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    /// A close is no flush of the disk.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, file: FileHandle, _: bool, reply: ReplyEmpty) {
        let Some(mut device) = self.device_of(file) else { return reply.ok() };
        let (flush, at) = device.state.flush();
        drop(device);
        let device = Arc::clone(&self.device);
        self.answers.give(at, move || {
            if let Some(flush) = flush {
                locked(&device).state.flush_done(flush);
            }
            reply.ok();
        });
    }
}
