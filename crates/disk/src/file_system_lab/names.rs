//! Operations on names and attributes. They are done in the backing folder, and durable at once:
//! loss of metadata is not modelled. What they cost is: the next sync of the file or folder needs a
//! commit of the journal.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use fuser::{Errno, FileAttr, Request, TimeOrNow};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, linkat,
    mkdirat, mknodat, openat, readlinkat, renameat_with, symlinkat, unlinkat, utimensat,
};

use super::nodes::{attributes, errno};
use super::placement::NodeId;
use super::state::FileSystemState;

/// What of a file's attributes is to change.
pub(super) struct AttributeChange {
    pub(super) mode: Option<u32>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) size: Option<u64>,
    pub(super) accessed: Option<TimeOrNow>,
    pub(super) modified: Option<TimeOrNow>,
}

type NewNode = Result<(NodeId, FileAttr), Errno>;

pub(super) fn change_attributes(
    state: &mut FileSystemState,
    id: NodeId,
    change: &AttributeChange,
) -> Result<(), Errno> {
    if let Some(size) = change.size {
        state.truncate(id, size)?;
    }
    let path = state.nodes.get(id)?.path();
    if change.uid.is_some() || change.gid.is_some() {
        std::os::unix::fs::chown(&path, change.uid, change.gid)?;
    }
    if let Some(mode) = change.mode {
        fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
    }
    if change.accessed.is_some() || change.modified.is_some() {
        let times = Timestamps {
            last_access: timespec(change.accessed),
            last_modification: timespec(change.modified),
        };
        utimensat(CWD, &path, &times, AtFlags::empty()).map_err(errno)?;
    }
    // Times are written with each write: a sync of the data alone does not wait for them.
    if change.mode.is_some() || change.uid.is_some() || change.gid.is_some() {
        state.note_change(id, false)?;
    }
    Ok(())
}

fn timespec(time: Option<TimeOrNow>) -> Timespec {
    match time {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            Timespec { tv_sec: since.as_secs() as i64, tv_nsec: since.subsec_nanos().into() }
        }
    }
}

pub(super) fn read_link(state: &FileSystemState, id: NodeId) -> Result<Vec<u8>, Errno> {
    let target = readlinkat(state.nodes.get(id)?.handle(), "", Vec::new()).map_err(errno)?;
    Ok(target.into_bytes())
}

/// Creates a file, and opens it.
pub(super) fn create(
    state: &mut FileSystemState,
    request: &Request,
    parent: NodeId,
    name: &OsStr,
    (mode, flags): (u32, i32),
) -> NewNode {
    let exclusive = OFlags::from_bits_retain(flags as u32) & OFlags::EXCL;
    // Readable, too: what a write replaces has to be read first.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | exclusive;
    let file = openat(state.nodes.get(parent)?.handle(), name, flags, Mode::RUSR | Mode::WUSR)
        .map_err(errno)?;
    let (id, attributes) = made(state, request, parent, name, Some(mode))?;
    state.nodes.get_mut(id)?.opened(File::from(file), true);
    Ok((id, attributes))
}

/// A file, a FIFO or a socket. Devices are of no use here.
pub(super) fn make_node(
    state: &mut FileSystemState,
    request: &Request,
    parent: NodeId,
    name: &OsStr,
    mode: u32,
) -> NewNode {
    let kind = FileType::from_raw_mode(mode);
    if !matches!(kind, FileType::RegularFile | FileType::Fifo | FileType::Socket) {
        return Err(Errno::EPERM);
    }
    let private = Mode::RUSR | Mode::WUSR;
    mknodat(state.nodes.get(parent)?.handle(), name, kind, private, 0).map_err(errno)?;
    made(state, request, parent, name, Some(mode))
}

pub(super) fn make_folder(
    state: &mut FileSystemState,
    request: &Request,
    parent: NodeId,
    name: &OsStr,
    mode: u32,
) -> NewNode {
    mkdirat(state.nodes.get(parent)?.handle(), name, Mode::RWXU).map_err(errno)?;
    made(state, request, parent, name, Some(mode))
}

pub(super) fn make_link(
    state: &mut FileSystemState,
    request: &Request,
    parent: NodeId,
    name: &OsStr,
    target: &Path,
) -> NewNode {
    symlinkat(target, state.nodes.get(parent)?.handle(), name).map_err(errno)?;
    made(state, request, parent, name, None)
}

/// Gives what was made to the user who wanted it, with the wanted mode: the umask of this process
/// does not count.
fn made(
    state: &mut FileSystemState,
    request: &Request,
    parent: NodeId,
    name: &OsStr,
    mode: Option<u32>,
) -> NewNode {
    let (id, _) = state.nodes.look_up(parent, name)?;
    let path = state.nodes.get(id)?.path();
    if rustix::process::geteuid().is_root() {
        give_to_caller(state, id, request)?;
    }
    if let Some(mode) = mode {
        fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
    }
    state.note_change(parent, true)?;
    state.note_change(id, true)?;
    Ok((id, attributes(id, &state.nodes.get(id)?.stat()?)))
}

fn give_to_caller(state: &FileSystemState, id: NodeId, request: &Request) -> Result<(), Errno> {
    let node = state.nodes.get(id)?;
    let (uid, gid) =
        (rustix::fs::Uid::from_raw(request.uid()), rustix::fs::Gid::from_raw(request.gid()));
    rustix::fs::chownat(node.handle(), "", Some(uid), Some(gid), AtFlags::EMPTY_PATH).map_err(errno)
}

pub(super) fn add_name(
    state: &mut FileSystemState,
    id: NodeId,
    parent: NodeId,
    name: &OsStr,
) -> NewNode {
    let path = state.nodes.get(id)?.path();
    linkat(CWD, &path, state.nodes.get(parent)?.handle(), name, AtFlags::SYMLINK_FOLLOW)
        .map_err(errno)?;
    state.note_change(parent, true)?;
    state.note_change(id, true)?;
    state.nodes.look_up(parent, name)
}

pub(super) fn unlink(
    state: &mut FileSystemState,
    parent: NodeId,
    name: &OsStr,
    is_folder: bool,
) -> Result<(), Errno> {
    let gone = state.nodes.known(parent, name);
    let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    unlinkat(state.nodes.get(parent)?.handle(), name, flags).map_err(errno)?;
    state.note_change(parent, true)?;
    if let Some(gone) = gone {
        state.note_links(gone);
    }
    Ok(())
}

pub(super) fn rename(
    state: &mut FileSystemState,
    (parent, name): (NodeId, &OsStr),
    (new_parent, new_name): (NodeId, &OsStr),
    flags: u32,
) -> Result<(), Errno> {
    let (moved, replaced) =
        (state.nodes.known(parent, name), state.nodes.known(new_parent, new_name));
    let (from, to) = (state.nodes.get(parent)?.handle(), state.nodes.get(new_parent)?.handle());
    let flags = rustix::fs::RenameFlags::from_bits_retain(flags);
    renameat_with(from, name, to, new_name, flags).map_err(errno)?;
    for changed in [Some(parent), Some(new_parent), moved].into_iter().flatten() {
        state.note_change(changed, true)?;
    }
    if let Some(replaced) = replaced {
        state.note_links(replaced);
    }
    Ok(())
}
