//! The functions that the server calls in place of the C library's, and what runs when the program
//! is loaded.
//!
//! `open` and `openat` take their mode as an ordinary third or fourth argument: on the processors
//! that servers run on, it is in the same place as a variable one, and is not looked at unless a
//! file may be made.
#![allow(unsafe_code, reason = "functions that C code calls by name, with its own pointers")]

use std::ffi::{CStr, c_char, c_int, c_void};

use libc::{
    AT_FDCWD, AT_SYMLINK_NOFOLLOW, iovec, mode_t, off64_t, stat64 as FileStatus, statx as Statx,
};

use crate::files::is_other;
use crate::hooks;
use crate::library::{library, load};
use crate::next::{self, OpenRequest};

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    load(loaded);
}

/// # Safety
/// `path` is a string, or null.
unsafe fn text<'a>(path: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as above.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

unsafe fn opened(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the server's own string, handed on.
    unsafe {
        let real = || next::openat(folder, path, flags, mode);
        match text(path).filter(|_| library().is_some()) {
            Some(path) => hooks::open(OpenRequest { folder, path, flags }, real),
            None => real(),
        }
    }
}

macro_rules! open_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the server's own string.
            unsafe { opened(AT_FDCWD, path, flags, mode) }
        }
    )+ };
}
open_functions!(open open64);

macro_rules! openat_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the server's own string.
            unsafe { opened(folder, path, flags, mode) }
        }
    )+ };
}
openat_functions!(openat openat64);

/// Opens for programs that were built with more checks: without a mode, so that no file can be
/// made.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the server's own string.
    unsafe { opened(AT_FDCWD, path, flags, 0) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the server's own string.
    unsafe { opened(AT_FDCWD, path, flags, 0) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __openat_2(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the server's own string.
    unsafe { opened(folder, path, flags, 0) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __openat64_2(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the server's own string.
    unsafe { opened(folder, path, flags, 0) }
}

macro_rules! creat_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(path: *const c_char, mode: mode_t) -> c_int {
            // SAFETY: the server's own string.
            unsafe { opened(AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode) }
        }
    )+ };
}
creat_functions!(creat creat64);

#[unsafe(no_mangle)]
pub(crate) extern "C" fn close(fd: c_int) -> c_int {
    if is_other(fd) { next::close(fd) } else { hooks::close(fd) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    // SAFETY: the server's own buffer.
    let real = || unsafe { next::write(fd, buffer, count) };
    if is_other(fd) { real() } else { hooks::write(fd, count as u64, real) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> isize {
    // SAFETY: the server's own buffers.
    let real = || unsafe { next::writev(fd, parts, count) };
    if is_other(fd) { real() } else { hooks::write(fd, u64::MAX, real) }
}

macro_rules! pwrite_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(fd: c_int, buffer: *const c_void, count: usize, at: off64_t) -> isize {
            // SAFETY: the server's own buffer.
            let real = || unsafe { next::pwrite(fd, buffer, count, at) };
            if is_other(fd) { real() } else { hooks::pwrite(fd, count as u64, at, real) }
        }
    )+ };
}
pwrite_functions!(pwrite pwrite64);

macro_rules! pwritev_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> isize {
            // SAFETY: the server's own buffers.
            let real = || unsafe { next::pwritev(fd, parts, count, at) };
            if is_other(fd) { real() } else { hooks::pwrite(fd, u64::MAX, at, real) }
        }
    )+ };
}
pwritev_functions!(pwritev pwritev64);

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: the server's own buffer, and not more than it has.
    let real = |count: usize| unsafe { next::read(fd, buffer, count) };
    if is_other(fd) { real(count) } else { hooks::read(fd, count, real) }
}

/// `size`: bytes of the buffer, which the caller's compiler has seen.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __read_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: usize,
    size: usize,
) -> isize {
    // SAFETY: the server's own buffer, and not more than it has.
    unsafe { read(fd, buffer, count.min(size)) }
}

macro_rules! pread_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(fd: c_int, buffer: *mut c_void, count: usize, at: off64_t) -> isize {
            // SAFETY: the server's own buffer, and not more than it has.
            let real = |count: usize| unsafe { next::pread(fd, buffer, count, at) };
            if is_other(fd) { real(count) } else { hooks::pread(fd, count, at, real) }
        }
    )+ };
}
pread_functions!(pread pread64);

macro_rules! checked_pread_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            fd: c_int,
            buffer: *mut c_void,
            count: usize,
            at: off64_t,
            size: usize,
        ) -> isize {
            // SAFETY: the server's own buffer, and not more than it has.
            unsafe { pread64(fd, buffer, count.min(size), at) }
        }
    )+ };
}
checked_pread_functions!(__pread_chk __pread64_chk);

/// Not used for binlogs by any server: the file is shown as it is from here on.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> isize {
    if !is_other(fd) {
        hooks::abandon_descriptor(fd);
    }
    // SAFETY: the server's own buffers.
    unsafe { next::readv(fd, parts, count) }
}

macro_rules! preadv_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> isize {
            if !is_other(fd) {
                hooks::abandon_descriptor(fd);
            }
            // SAFETY: the server's own buffers.
            unsafe { next::preadv(fd, parts, count, at) }
        }
    )+ };
}
preadv_functions!(preadv preadv64);

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn copy_file_range(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    count: usize,
    flags: u32,
) -> isize {
    for fd in [from, to].into_iter().filter(|fd| !is_other(*fd)) {
        hooks::abandon_descriptor(fd);
    }
    // SAFETY: the server's own offsets.
    unsafe { next::copy_file_range(from, from_at, to, to_at, count, flags) }
}

macro_rules! sendfile_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(to: c_int, from: c_int, at: *mut off64_t, count: usize) -> isize {
            for fd in [from, to].into_iter().filter(|fd| !is_other(*fd)) {
                hooks::abandon_descriptor(fd);
            }
            // SAFETY: the server's own offset.
            unsafe { next::sendfile(to, from, at, count) }
        }
    )+ };
}
sendfile_functions!(sendfile sendfile64);

macro_rules! fallocate_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(fd: c_int, mode: c_int, at: off64_t, count: off64_t) -> c_int {
            if !is_other(fd) {
                hooks::abandon_descriptor(fd);
            }
            next::fallocate(fd, mode, at, count)
        }
    )+ };
}
fallocate_functions!(fallocate fallocate64);

macro_rules! lseek_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(fd: c_int, offset: off64_t, whence: c_int) -> off64_t {
            if is_other(fd) { next::lseek(fd, offset, whence) } else { hooks::lseek(fd, offset, whence) }
        }
    )+ };
}
lseek_functions!(lseek lseek64);

/// # Safety
/// Both are strings, or null.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the server's own strings, handed on.
    unsafe {
        let result = next::rename(from, to);
        if result == 0
            && let (Some(from), Some(to)) = (text(from), text(to))
        {
            hooks::renamed(from, to);
        }
        result
    }
}

macro_rules! ftruncate_functions {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(fd: c_int, bytes: off64_t) -> c_int {
            if is_other(fd) { next::ftruncate(fd, bytes) } else { hooks::ftruncate(fd, bytes) }
        }
    )+ };
}
ftruncate_functions!(ftruncate ftruncate64);

/// # Safety
/// `facts` was filled if `result` is 0.
unsafe fn corrected(result: c_int, facts: *mut FileStatus) -> c_int {
    if result == 0 {
        // SAFETY: as above.
        let facts = unsafe { &mut *facts };
        if let Some(bytes) = hooks::shown_bytes(facts.st_dev, facts.st_ino) {
            facts.st_size = i64::try_from(bytes).unwrap_or(facts.st_size);
        }
    }
    result
}

unsafe fn facts_by_path(
    folder: c_int,
    path: *const c_char,
    facts: *mut FileStatus,
    flags: c_int,
) -> c_int {
    // SAFETY: the server's own string and structure, handed on.
    unsafe {
        if library().is_some()
            && let Some(path) = text(path)
        {
            hooks::before_stat(folder, path);
        }
        corrected(next::fstatat(folder, path, facts, flags), facts)
    }
}

unsafe fn facts_by_fd(fd: c_int, facts: *mut FileStatus) -> c_int {
    // SAFETY: the server's own structure, handed on.
    unsafe {
        let result = next::fstat_into(fd, facts);
        if is_other(fd) { result } else { corrected(result, facts) }
    }
}

macro_rules! stat_functions {
    ($($name:ident $old:ident $flags:expr,)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(path: *const c_char, facts: *mut FileStatus) -> c_int {
            // SAFETY: the server's own string and structure.
            unsafe { facts_by_path(AT_FDCWD, path, facts, $flags) }
        }

        /// As C libraries before 2.33 have it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $old(_version: c_int, path: *const c_char, facts: *mut FileStatus) -> c_int {
            // SAFETY: the server's own string and structure.
            unsafe { facts_by_path(AT_FDCWD, path, facts, $flags) }
        }
    )+ };
}
stat_functions!(
    stat __xstat 0,
    stat64 __xstat64 0,
    lstat __lxstat AT_SYMLINK_NOFOLLOW,
    lstat64 __lxstat64 AT_SYMLINK_NOFOLLOW,
);

macro_rules! fstat_functions {
    ($($name:ident $old:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(fd: c_int, facts: *mut FileStatus) -> c_int {
            // SAFETY: the server's own structure.
            unsafe { facts_by_fd(fd, facts) }
        }

        /// As C libraries before 2.33 have it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $old(_version: c_int, fd: c_int, facts: *mut FileStatus) -> c_int {
            // SAFETY: the server's own structure.
            unsafe { facts_by_fd(fd, facts) }
        }
    )+ };
}
fstat_functions!(fstat __fxstat fstat64 __fxstat64);

macro_rules! fstatat_functions {
    ($($name:ident $old:ident)+) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            folder: c_int,
            path: *const c_char,
            facts: *mut FileStatus,
            flags: c_int,
        ) -> c_int {
            // SAFETY: the server's own string and structure.
            unsafe { facts_by_path(folder, path, facts, flags) }
        }

        /// As C libraries before 2.33 have it.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $old(
            _version: c_int,
            folder: c_int,
            path: *const c_char,
            facts: *mut FileStatus,
            flags: c_int,
        ) -> c_int {
            // SAFETY: the server's own string and structure.
            unsafe { facts_by_path(folder, path, facts, flags) }
        }
    )+ };
}
fstatat_functions!(fstatat __fxstatat fstatat64 __fxstatat64);

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: u32,
    facts: *mut Statx,
) -> c_int {
    // SAFETY: the server's own string and structure; the kernel has filled the latter where the
    // result is 0.
    unsafe {
        if library().is_some()
            && let Some(path) = text(path)
        {
            hooks::before_stat(folder, path);
        }
        let result = next::statx_into(folder, path, flags, mask, facts);
        if result == 0 {
            let facts = &mut *facts;
            let dev = libc::makedev(facts.stx_dev_major, facts.stx_dev_minor);
            if let Some(bytes) = hooks::shown_bytes(dev, facts.stx_ino) {
                facts.stx_size = bytes;
            }
        }
        result
    }
}
