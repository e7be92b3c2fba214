//! Mode `pool`: whole files of zeros, `BASENAME.prealloc-N`, which get the name of the server's new
//! file. While one is made it is `BASENAME.prealloc-new`. Servers number their files by names of
//! digits only, and ignore these.

use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use truetps_binlog::state::StatusWord;

use crate::config::FillMode;
use crate::library::PreallocLibrary;
use crate::next::OpenRequest;
use crate::{changes, files, next, notes, status};

/// Bytes that a write of the server may have to wait for.
pub(crate) const STEP_BYTES: usize = 512 << 10;
pub(crate) static ZEROS: [u8; STEP_BYTES] = [0; STEP_BYTES];
const NEW_ENDING: &str = ".prealloc-new";
const POOL_FILES_MAX: usize = 64;

/// Which of the names exist; one bit each.
static READY: AtomicU64 = AtomicU64::new(0);
/// The newest file could be filled: the next one can be as well.
static IS_ALLOWED: AtomicBool = AtomicBool::new(false);
static MAKING: Mutex<Option<PoolFile>> = Mutex::new(None);

/// The file that is being made.
struct PoolFile {
    fd: c_int,
    written: u64,
}

fn ready_path(library: &PreallocLibrary, slot: usize) -> CString {
    library.config.beside(&format!(".prealloc-{slot}"))
}

fn ready_count() -> u64 {
    READY.load(Ordering::Acquire).count_ones().into()
}

/// The first file of which a crash may leave more than its content: an open one, or the next one,
/// if it will be of the pool.
pub(crate) fn marker() -> u64 {
    let (open, active) = (files::first_exposed(), status::get(StatusWord::active_file));
    match (open, ready_count(), active) {
        (0, 1.., 1..) => active.saturating_add(1),
        (open, ..) => open,
    }
}

pub(crate) fn allow(is_allowed: bool) {
    IS_ALLOWED.store(is_allowed, Ordering::Release);
}

/// Gives the server's new file the zeros of a prepared one. Returns its bytes.
pub(crate) fn take(library: &PreallocLibrary, request: &OpenRequest<'_>) -> Option<u64> {
    let FillMode::Pool { file_bytes, .. } = library.config.mode else { return None };
    let excluded = libc::O_EXCL | libc::O_TRUNC;
    let may = request.makes() && request.flags & excluded == 0 && library.is_on();
    if !may || !IS_ALLOWED.load(Ordering::Acquire) {
        return None;
    }
    for slot in 0..POOL_FILES_MAX {
        let bit = 1_u64.checked_shl(slot as u32).unwrap_or(0);
        if READY.fetch_and(!bit, Ordering::AcqRel) & bit == 0 {
            continue;
        }
        status::set(StatusWord::pool_ready, ready_count());
        let path = ready_path(library, slot);
        if next::rename_new(&path, request.folder, request.path) {
            // The sync of a commit would make the name of a new file durable, and does not for one
            // that exists already.
            changes::sync_folder(&library.config.folder);
            return Some(file_bytes);
        }
        // It exists, or the prepared one is gone.
        next::unlink(&path);
        return None;
    }
    None
}

/// One step of making a file. `None`: there is nothing to do, or not now.
pub(crate) fn step(library: &PreallocLibrary, wanted: u64, file_bytes: u64) -> Option<u64> {
    if !IS_ALLOWED.load(Ordering::Acquire) || !library.is_on() {
        if ready_count() > 0 && !IS_ALLOWED.load(Ordering::Acquire) {
            remove_ready(library);
        }
        return None;
    }
    let mut making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if making.is_none() {
        if ready_count() >= wanted {
            return None;
        }
        let path = library.config.beside(NEW_ENDING);
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW;
        let fd = next::open(&path, flags, 0o600)?;
        files::protect(fd);
        *making = Some(PoolFile { fd, written: 0 });
    }
    let file = making.as_mut()?;
    let count = file_bytes.saturating_sub(file.written).min(STEP_BYTES as u64);
    let floor = library.config.free_floor_bytes.saturating_add(count);
    let has_space = next::free_bytes(file.fd).is_none_or(|free| free >= floor);
    let zeros = ZEROS.get(..count as usize).unwrap_or_default();
    let written = if has_space { next::pwrite_bytes(file.fd, zeros, file.written) } else { 0 };
    let Ok(written @ 1..) = u64::try_from(written) else {
        let word = if written == 0 { StatusWord::floor_stops } else { StatusWord::errors };
        status::add(word, 1);
        give_up(library, making.take());
        return None;
    };
    next::write_out(file.fd, file.written, written);
    file.written = file.written.saturating_add(written);
    if file.written >= file_bytes {
        finish(library, making.take());
    }
    Some(written)
}

fn finish(library: &PreallocLibrary, file: Option<PoolFile>) {
    let Some(file) = file else { return };
    let is_durable = next::fsync(file.fd);
    files::close_own(file.fd);
    let taken = READY.load(Ordering::Acquire);
    let slot = (!taken).trailing_zeros() as usize;
    // In the page first: a crash behind the renaming finds the marker.
    status::set(StatusWord::marker, status::get(StatusWord::active_file).saturating_add(1));
    let new = library.config.beside(NEW_ENDING);
    let is_marked = files::first_exposed() > 0 || status::write_page_durably();
    if is_durable && is_marked && next::rename_new(&new, libc::AT_FDCWD, &ready_path(library, slot))
    {
        READY.fetch_or(1_u64.checked_shl(slot as u32).unwrap_or(0), Ordering::AcqRel);
        status::set(StatusWord::pool_ready, ready_count());
        status::add(StatusWord::chunks, 1);
    } else {
        next::unlink(&new);
        status::add(StatusWord::errors, 1);
    }
}

fn give_up(library: &PreallocLibrary, file: Option<PoolFile>) {
    if let Some(file) = file {
        files::close_own(file.fd);
        next::unlink(&library.config.beside(NEW_ENDING));
        IS_ALLOWED.store(false, Ordering::Release);
        notes::leave_note(
            "Warning",
            "no more binlogs are prepared until the next one: there is no space",
        );
    }
}

fn remove_ready(library: &PreallocLibrary) {
    for slot in 0..POOL_FILES_MAX {
        let bit = 1_u64.checked_shl(slot as u32).unwrap_or(0);
        if READY.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
            next::unlink(&ready_path(library, slot));
        }
    }
    status::set(StatusWord::pool_ready, 0);
}
