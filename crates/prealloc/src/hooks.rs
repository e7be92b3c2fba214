//! What happens in the server's calls. `real` is the call itself.

use std::ffi::{CStr, CString, c_int};
use std::sync::atomic::{AtomicU32, Ordering};

use truetps_binlog::file_number;
use truetps_binlog::state::StatusWord;

use crate::files::{self, BinlogFile, DescriptorOwner, FillVerdict, NO_END};
use crate::library::{PreallocLibrary, library};
use crate::next::{self, FileFacts, OpenRequest};
use crate::{changes, filler, notes, pool, self_test, status};

/// Mode of the newest binlog that the server made itself, with its umask; 0: none yet.
static LAST_MODE: AtomicU32 = AtomicU32::new(0);

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathRole {
    Other,
    /// A file beside the binlogs, such as their index.
    Beside,
    Binlog(u64),
    SelfTest,
}

fn role_of(library: &PreallocLibrary, folder: c_int, path: &CStr) -> PathRole {
    let bytes = path.to_bytes();
    let cut = bytes.iter().rposition(|byte| *byte == b'/');
    let name = cut.and_then(|cut| bytes.get(cut.saturating_add(1)..)).unwrap_or(bytes);
    let Some(ending) =
        name.strip_prefix(&library.config.base[..]).filter(|ending| ending.starts_with(b"."))
    else {
        return PathRole::Other;
    };
    let parent = match cut {
        None => c".".to_owned(),
        Some(0) => c"/".to_owned(),
        Some(cut) => {
            std::ffi::CString::new(bytes.get(..cut).unwrap_or_default()).unwrap_or_default()
        }
    };
    let (here, there) =
        (next::facts_at(folder, &parent), next::facts_at(libc::AT_FDCWD, &library.config.folder));
    if !here.zip(there).is_some_and(|(here, there)| here.is_same(&there)) {
        return PathRole::Other;
    }
    if ending == self_test::TEST_ENDING.as_bytes() && self_test::is_running() {
        return PathRole::SelfTest;
    }
    file_number(&library.config.base, name).map_or(PathRole::Beside, PathRole::Binlog)
}

pub(crate) fn open(request: OpenRequest<'_>, real: impl FnOnce() -> c_int) -> c_int {
    let Some(library) = library() else { return real() };
    let before = next::errno();
    let role = role_of(library, request.folder, request.path);
    let number = match role {
        PathRole::SelfTest => 0,
        PathRole::Binlog(number) if library.is_our_process() && library.start() => number,
        PathRole::Beside if library.is_our_process() => {
            library.start();
            next::set_errno(before);
            return real();
        }
        _ => {
            next::set_errno(before);
            return real();
        }
    };
    if number > 0 && request.makes() {
        library.test();
    }
    notes::write_waiting();
    let from_pool = if number > 0 { pool::take(library, &request) } else { None };
    next::set_errno(before);
    let fd = real();
    if fd >= 0 {
        register(library, request, fd, number, from_pool);
        next::set_errno(before);
    }
    fd
}

fn register(
    library: &'static PreallocLibrary,
    request: OpenRequest<'_>,
    fd: c_int,
    number: u64,
    from_pool: Option<u64>,
) {
    let Some(facts) = next::facts_of(fd).filter(FileFacts::is_regular) else { return };
    if files::find(&facts).is_some() {
        if !files::add_descriptor(fd, &facts, request.writes()) {
            // A reader that cannot be looked after must see the real file.
            files::find(&facts).inspect(|file| abandon(file));
        }
        return;
    }
    let is_new =
        request.makes() && facts.links == 1 && (facts.bytes == 0 || from_pool == Some(facts.bytes));
    if !is_new || (status::refusal().is_some_and(is_final) && from_pool.is_none()) {
        return;
    }
    let verdict = if number > 0 { FillVerdict::Open } else { FillVerdict::Never };
    let own_fd = if number > 0 { open_own(library, request, &facts) } else { None };
    let added = files::add_file(fd, &facts, number, from_pool.unwrap_or(0), own_fd, verdict);
    if added.is_none() {
        own_fd.inspect(|own| files::close_own(*own));
        status::add(StatusWord::errors, 1);
    }
    if number > 0 {
        note_new_file(fd, &facts, number, from_pool.is_some());
    }
}

/// A descriptor for the thread. It is not a copy of the server's: an error of a sync is reported to
/// each opening of a file once, and the server must not miss one.
fn open_own(
    library: &'static PreallocLibrary,
    request: OpenRequest<'_>,
    facts: &FileFacts,
) -> Option<c_int> {
    let own_fd = next::open_in(request.folder, request.path, libc::O_RDWR | libc::O_NOFOLLOW, 0)?;
    files::protect(own_fd);
    let is_same = next::facts_of(own_fd).is_some_and(|own| own.is_same(facts));
    if is_same && filler::start(library) {
        return Some(own_fd);
    }
    files::close_own(own_fd);
    None
}

fn note_new_file(fd: c_int, facts: &FileFacts, number: u64, is_from_pool: bool) {
    let last_mode = LAST_MODE.load(Ordering::Relaxed);
    if !is_from_pool {
        LAST_MODE.store(facts.mode & 0o7777, Ordering::Relaxed);
    } else if last_mode != 0 {
        next::change_mode(fd, last_mode);
    }
    let word =
        if is_from_pool { StatusWord::rotations_ready } else { StatusWord::rotations_not_ready };
    status::add(word, 1);
    status::set(StatusWord::active_file, number);
    status::set(StatusWord::marker, pool::marker());
    status::write_page();
    filler::wake();
}

/// Whether no later file of this process can be filled either.
fn is_final(reason: truetps_binlog::state::RefusalReason) -> bool {
    use truetps_binlog::state::RefusalReason as R;
    matches!(reason, R::SelfTest | R::StateFile | R::OtherServer | R::Configuration | R::Thread)
}

pub(crate) fn close(fd: c_int) -> c_int {
    match files::owner_of(fd) {
        DescriptorOwner::Other => return next::close(fd),
        DescriptorOwner::Internal => {
            next::set_errno(libc::EBADF);
            return -1;
        }
        DescriptorOwner::Binlog { .. } => {}
    }
    if !library().is_some_and(PreallocLibrary::is_our_process) {
        return next::close(fd);
    }
    let before = next::errno();
    if let Some((file, is_writer)) = files::binlog_of(fd) {
        if is_writer {
            end_writer(file, fd);
        }
        files::forget(fd);
    }
    next::set_errno(before);
    next::close(fd)
}

fn end_writer(file: &'static BinlogFile, fd: c_int) {
    let mut progress = file.lock_up_to(NO_END);
    progress.writers = progress.writers.saturating_sub(1);
    if progress.writers > 0 {
        return;
    }
    let is_cut = changes::cut_to_content(file, &mut progress, fd);
    progress.is_closed = true;
    progress.verdict = FillVerdict::Never;
    let is_binlog = file.number.load(Ordering::Relaxed) > 0;
    drop(progress);
    if is_binlog {
        files::LAST_BYTES.store(file.logical_end(), Ordering::Relaxed);
        if file.number.load(Ordering::Relaxed) == status::get(StatusWord::active_file) {
            status::set(StatusWord::logical_end, file.logical_end());
            status::set(StatusWord::filled_end, file.filled_shown.load(Ordering::Relaxed));
        }
        if is_cut {
            file.is_exposed.store(false, Ordering::Release);
        }
        status::set(StatusWord::marker, pool::marker());
        status::write_page();
        notes::write_waiting();
        filler::wake();
    }
}

/// Stops to look after a file: the server uses it in a way that is not followed here. The server
/// sees the real file.
fn abandon(file: &'static BinlogFile) {
    let before = next::errno();
    let mut progress = file.lock_up_to(NO_END);
    let own_fd = progress.own_fd;
    progress.verdict = FillVerdict::Never;
    if changes::cut_to_content(file, &mut progress, own_fd) {
        file.is_exposed.store(false, Ordering::Release);
    }
    file.logical.store(NO_END, Ordering::Release);
    progress.filled = NO_END;
    next::set_errno(before);
}

/// For calls that are not followed, such as `sendfile`.
pub(crate) fn abandon_descriptor(fd: c_int) {
    if let Some((file, _)) = files::binlog_of(fd) {
        abandon(file);
    }
}

/// A write at the descriptor's own offset. `count`: bytes at most.
pub(crate) fn write(fd: c_int, count: u64, real: impl FnOnce() -> isize) -> isize {
    if matches!(files::owner_of(fd), DescriptorOwner::Internal) {
        next::set_errno(libc::EBADF);
        return -1;
    }
    let Some((file, _)) = files::binlog_of(fd) else { return real() };
    let at = u64::try_from(next::lseek(fd, 0, libc::SEEK_CUR)).unwrap_or(0);
    write_at(file, at, count, real)
}

/// A write at an offset that the server gives.
pub(crate) fn pwrite(fd: c_int, count: u64, at: i64, real: impl FnOnce() -> isize) -> isize {
    if matches!(files::owner_of(fd), DescriptorOwner::Internal) {
        next::set_errno(libc::EBADF);
        return -1;
    }
    let (Some((file, _)), Ok(at)) = (files::binlog_of(fd), u64::try_from(at)) else {
        return real();
    };
    write_at(file, at, count, real)
}

fn write_at(file: &'static BinlogFile, at: u64, count: u64, real: impl FnOnce() -> isize) -> isize {
    notes::write_waiting();
    let mut progress = file.lock_up_to(at.saturating_add(count));
    let result = real();
    let after = next::errno();
    let logical = file.logical_end();
    if let Ok(written @ 1..) = u64::try_from(result)
        && logical != NO_END
    {
        let end = at.saturating_add(written);
        if end > logical {
            file.logical.store(end, Ordering::Release);
        }
        let is_beyond = end > progress.filled;
        if is_beyond {
            file.set_filled(&mut progress, end);
        }
        let word = if is_beyond { StatusWord::writes_beyond } else { StatusWord::writes_inside };
        status::add(word, 1);
        let ahead = progress.filled.saturating_sub(end);
        let is_wanted = progress.round_end == 0 && ahead < file.low_bytes.load(Ordering::Relaxed);
        let needs_thread = progress.verdict == FillVerdict::Open || is_wanted;
        drop(progress);
        if needs_thread {
            filler::wake();
        }
    }
    next::set_errno(after);
    result
}

/// A read at the descriptor's own offset; `real` takes how many bytes it may read.
pub(crate) fn read(fd: c_int, count: usize, real: impl FnOnce(usize) -> isize) -> isize {
    if matches!(files::owner_of(fd), DescriptorOwner::Internal) {
        next::set_errno(libc::EBADF);
        return -1;
    }
    let Some((file, _)) = files::binlog_of(fd) else { return real(count) };
    let at = u64::try_from(next::lseek(fd, 0, libc::SEEK_CUR)).unwrap_or(0);
    real(shown_count(file, at, count))
}

pub(crate) fn pread(fd: c_int, count: usize, at: i64, real: impl FnOnce(usize) -> isize) -> isize {
    let Some((file, _)) = files::binlog_of(fd) else { return real(count) };
    real(u64::try_from(at).map_or(count, |at| shown_count(file, at, count)))
}

fn shown_count(file: &BinlogFile, at: u64, count: usize) -> usize {
    let shown = file.logical_end().saturating_sub(at);
    count.min(usize::try_from(shown).unwrap_or(usize::MAX))
}

pub(crate) fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64 {
    if whence != libc::SEEK_END {
        return next::lseek(fd, offset, whence);
    }
    let shown =
        files::binlog_of(fd).map(|(file, _)| file.logical_end()).filter(|end| *end != NO_END);
    match shown.and_then(|end| i64::try_from(end).ok()) {
        Some(end) => next::lseek(fd, end.saturating_add(offset), libc::SEEK_SET),
        None => next::lseek(fd, offset, whence),
    }
}

/// What MySQL calls a new index before it takes the place of the old one.
const NEW_INDEX_ENDING: &[u8] = b"index_crash_safe";

/// After a rename that succeeded. MySQL does not sync the folder of its new index: the next commit
/// grows a binlog, and its sync commits the rename as well. In a preallocated binlog it would not,
/// and a crash could leave an index without the newest binlog, whose transactions were
/// acknowledged.
pub(crate) fn renamed(from: &CStr, to: &CStr) {
    if library().is_none() || !from.to_bytes().ends_with(NEW_INDEX_ENDING) {
        return;
    }
    let errno = next::errno();
    let path = to.to_bytes();
    let end = path.iter().rposition(|byte| *byte == b'/');
    match end.and_then(|end| path.get(..end)) {
        None => changes::sync_folder(c"."),
        Some(b"") => changes::sync_folder(c"/"),
        Some(folder) => changes::sync_folder(&CString::new(folder).unwrap_or_default()),
    }
    next::set_errno(errno);
}

pub(crate) fn ftruncate(fd: c_int, bytes: i64) -> c_int {
    let Some((file, _)) = files::binlog_of(fd) else { return next::ftruncate(fd, bytes) };
    let mut progress = file.lock_up_to(NO_END);
    let result = next::ftruncate(fd, bytes);
    let after = next::errno();
    if let (0, Ok(end)) = (result, u64::try_from(bytes)) {
        // The server repairs something: from here on the file is its own.
        progress.verdict = FillVerdict::Never;
        progress.round_end = 0;
        file.set_filled(&mut progress, end);
        file.logical.store(end, Ordering::Release);
        file.is_exposed.store(false, Ordering::Release);
    }
    next::set_errno(after);
    result
}

/// The size that the server may see of a file, if it is not the real one.
pub(crate) fn shown_bytes(dev: u64, ino: u64) -> Option<u64> {
    library()?;
    let file = files::in_use().find(|file| file.is_at(dev, ino))?;
    Some(file.logical_end()).filter(|end| *end != NO_END)
}

/// Before the size of a path is asked: files that a crash has left are trimmed.
pub(crate) fn before_stat(folder: c_int, path: &CStr) {
    let Some(library) = library().filter(|library| !library.is_started()) else { return };
    let before = next::errno();
    if matches!(role_of(library, folder, path), PathRole::Binlog(_) | PathRole::Beside)
        && library.is_our_process()
    {
        library.start();
    }
    next::set_errno(before);
}
