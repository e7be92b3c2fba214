//! The kernel's side: system calls, past the functions that this library intercepts.
//!
//! Functions that take the server's pointers are `unsafe`; all others are safe, because they take
//! references.
#![allow(unsafe_code, reason = "system calls; each function passes what its types guarantee")]

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::mem::MaybeUninit;

use libc::{iovec, mode_t, off64_t, stat64, statx};

/// A system call with up to six numbers or pointers.
macro_rules! call {
    ($number:expr $(, $argument:expr)*) => {
        // SAFETY: the kernel checks every argument; memory is what the caller of this macro vouches
        // for.
        unsafe { libc::syscall($number $(, $argument)*) }
    };
}

fn int(result: c_long) -> c_int {
    result as c_int
}

/// # Safety
/// `path` is a string, or not readable at all.
pub(crate) unsafe fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    int(call!(libc::SYS_openat, folder, path, flags, mode))
}

/// # Safety
/// `buffer` has `count` bytes.
pub(crate) unsafe fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    call!(libc::SYS_write, fd, buffer, count) as isize
}

/// # Safety
/// `buffer` has `count` bytes.
pub(crate) unsafe fn pwrite(fd: c_int, buffer: *const c_void, count: usize, at: off64_t) -> isize {
    call!(libc::SYS_pwrite64, fd, buffer, count, at) as isize
}

/// # Safety
/// `buffer` has `count` bytes that may be written.
pub(crate) unsafe fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    call!(libc::SYS_read, fd, buffer, count) as isize
}

/// # Safety
/// `buffer` has `count` bytes that may be written.
pub(crate) unsafe fn pread(fd: c_int, buffer: *mut c_void, count: usize, at: off64_t) -> isize {
    call!(libc::SYS_pread64, fd, buffer, count, at) as isize
}

/// # Safety
/// `parts` has `count` entries that describe the server's memory.
pub(crate) unsafe fn writev(fd: c_int, parts: *const iovec, count: c_int) -> isize {
    call!(libc::SYS_writev, fd, parts, count) as isize
}

/// # Safety
/// `parts` has `count` entries that describe the server's memory.
pub(crate) unsafe fn readv(fd: c_int, parts: *const iovec, count: c_int) -> isize {
    call!(libc::SYS_readv, fd, parts, count) as isize
}

/// # Safety
/// `parts` has `count` entries that describe the server's memory.
pub(crate) unsafe fn pwritev(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> isize {
    // The kernel takes the offset in two halves, of which 64-bit machines use the first.
    call!(libc::SYS_pwritev, fd, parts, count, at, 0) as isize
}

/// # Safety
/// `parts` has `count` entries that describe the server's memory.
pub(crate) unsafe fn preadv(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> isize {
    call!(libc::SYS_preadv, fd, parts, count, at, 0) as isize
}

/// # Safety
/// `path` is a string, or not readable at all; `facts` may be written.
pub(crate) unsafe fn fstatat(
    folder: c_int,
    path: *const c_char,
    facts: *mut stat64,
    flags: c_int,
) -> c_int {
    int(call!(libc::SYS_newfstatat, folder, path, facts, flags))
}

/// # Safety
/// `facts` may be written.
pub(crate) unsafe fn fstat_into(fd: c_int, facts: *mut stat64) -> c_int {
    int(call!(libc::SYS_fstat, fd, facts))
}

/// # Safety
/// `path` is a string, or not readable at all; `facts` may be written.
pub(crate) unsafe fn statx_into(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: u32,
    facts: *mut statx,
) -> c_int {
    int(call!(libc::SYS_statx, folder, path, flags, mask, facts))
}

/// # Safety
/// The offsets may be written, or are null.
pub(crate) unsafe fn copy_file_range(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    count: usize,
    flags: u32,
) -> isize {
    call!(libc::SYS_copy_file_range, from, from_at, to, to_at, count, flags) as isize
}

/// # Safety
/// The offset may be written, or is null.
pub(crate) unsafe fn sendfile(to: c_int, from: c_int, at: *mut off64_t, count: usize) -> isize {
    call!(libc::SYS_sendfile, to, from, at, count) as isize
}

pub(crate) fn fallocate(fd: c_int, mode: c_int, at: off64_t, count: off64_t) -> c_int {
    int(call!(libc::SYS_fallocate, fd, mode, at, count))
}

pub(crate) fn lseek(fd: c_int, offset: off64_t, whence: c_int) -> off64_t {
    call!(libc::SYS_lseek, fd, offset, whence)
}

pub(crate) fn ftruncate(fd: c_int, bytes: off64_t) -> c_int {
    int(call!(libc::SYS_ftruncate, fd, bytes))
}

pub(crate) fn close(fd: c_int) -> c_int {
    int(call!(libc::SYS_close, fd))
}

pub(crate) fn fdatasync(fd: c_int) -> bool {
    call!(libc::SYS_fdatasync, fd) == 0
}

pub(crate) fn fsync(fd: c_int) -> bool {
    call!(libc::SYS_fsync, fd) == 0
}

/// Writes these pages out and waits for it, without a flush of the device.
pub(crate) fn write_out(fd: c_int, at: u64, bytes: u64) -> bool {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    call!(libc::SYS_sync_file_range, fd, at, bytes, flags) == 0
}

pub(crate) fn open(path: &CStr, flags: c_int, mode: mode_t) -> Option<c_int> {
    open_in(libc::AT_FDCWD, path, flags, mode)
}

pub(crate) fn open_in(folder: c_int, path: &CStr, flags: c_int, mode: mode_t) -> Option<c_int> {
    // SAFETY: a string.
    let fd = unsafe { openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC, mode) };
    (fd >= 0).then_some(fd)
}

pub(crate) fn unlink(path: &CStr) -> bool {
    call!(libc::SYS_unlinkat, libc::AT_FDCWD, path.as_ptr(), 0) == 0
}

/// # Safety
/// Both are strings.
pub(crate) unsafe fn rename(from: *const c_char, to: *const c_char) -> c_int {
    int(call!(libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0))
}

/// Fails if `to` exists.
pub(crate) fn rename_new(from: &CStr, to_folder: c_int, to: &CStr) -> bool {
    call!(
        libc::SYS_renameat2,
        libc::AT_FDCWD,
        from.as_ptr(),
        to_folder,
        to.as_ptr(),
        libc::RENAME_NOREPLACE
    ) == 0
}

pub(crate) fn change_mode(fd: c_int, mode: mode_t) -> bool {
    call!(libc::SYS_fchmod, fd, mode) == 0
}

pub(crate) fn change_owner(fd: c_int, uid: u32, gid: u32) -> bool {
    call!(libc::SYS_fchown, fd, uid, gid) == 0
}

/// Whether no other open file has this lock. It ends with the process.
pub(crate) fn lock_alone(fd: c_int) -> bool {
    call!(libc::SYS_flock, fd, libc::LOCK_EX | libc::LOCK_NB) == 0
}

/// Whether another process has this file open. A lease is given only where none has; file systems
/// without leases do not know it, and answer `false`.
pub(crate) fn is_open_elsewhere(fd: c_int) -> bool {
    if call!(libc::SYS_fcntl, fd, libc::F_SETLEASE, libc::F_WRLCK) == 0 {
        call!(libc::SYS_fcntl, fd, libc::F_SETLEASE, libc::F_UNLCK);
        return false;
    }
    errno() == libc::EAGAIN
}

pub(crate) fn status_flags(fd: c_int) -> c_int {
    int(call!(libc::SYS_fcntl, fd, libc::F_GETFL, 0))
}

pub(crate) fn write_bytes(fd: c_int, bytes: &[u8]) -> isize {
    // SAFETY: a slice has its length.
    unsafe { write(fd, bytes.as_ptr().cast(), bytes.len()) }
}

pub(crate) fn pwrite_bytes(fd: c_int, bytes: &[u8], at: u64) -> isize {
    // SAFETY: a slice has its length.
    unsafe { pwrite(fd, bytes.as_ptr().cast(), bytes.len(), at as off64_t) }
}

pub(crate) fn pread_bytes(fd: c_int, bytes: &mut [u8], at: u64) -> isize {
    // SAFETY: a slice has its length.
    unsafe { pread(fd, bytes.as_mut_ptr().cast(), bytes.len(), at as off64_t) }
}

/// How a file is opened.
#[derive(Clone, Copy)]
pub(crate) struct OpenRequest<'a> {
    pub(crate) folder: c_int,
    pub(crate) path: &'a CStr,
    pub(crate) flags: c_int,
}

impl OpenRequest<'_> {
    pub(crate) fn writes(&self) -> bool {
        self.flags & libc::O_ACCMODE != libc::O_RDONLY
    }

    pub(crate) fn makes(&self) -> bool {
        self.writes() && self.flags & libc::O_CREAT != 0 && self.flags & libc::O_APPEND == 0
    }
}

/// What `stat` says, as far as it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) bytes: u64,
    pub(crate) mode: mode_t,
    pub(crate) links: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl FileFacts {
    /// Whether both are facts of one file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    pub(crate) fn is_regular(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }

    #[allow(clippy::useless_conversion, reason = "these types differ between processors")]
    fn of(facts: &stat64) -> Self {
        Self {
            dev: facts.st_dev,
            ino: facts.st_ino,
            bytes: u64::try_from(facts.st_size).unwrap_or(0),
            mode: facts.st_mode,
            links: facts.st_nlink.into(),
            uid: facts.st_uid,
            gid: facts.st_gid,
        }
    }
}

pub(crate) fn facts_of(fd: c_int) -> Option<FileFacts> {
    let mut facts = MaybeUninit::<stat64>::uninit();
    // SAFETY: room for the answer, which the kernel fills when it succeeds.
    unsafe {
        (fstat_into(fd, facts.as_mut_ptr()) == 0).then(|| FileFacts::of(facts.assume_init_ref()))
    }
}

pub(crate) fn facts_at(folder: c_int, path: &CStr) -> Option<FileFacts> {
    let mut facts = MaybeUninit::<stat64>::uninit();
    // SAFETY: a string, and room for the answer, which the kernel fills when it succeeds.
    unsafe {
        (fstatat(folder, path.as_ptr(), facts.as_mut_ptr(), 0) == 0)
            .then(|| FileFacts::of(facts.assume_init_ref()))
    }
}

/// Bytes that unprivileged users may still write.
pub(crate) fn free_bytes(fd: c_int) -> Option<u64> {
    let mut facts = MaybeUninit::<libc::statfs64>::uninit();
    if call!(libc::SYS_fstatfs, fd, facts.as_mut_ptr()) != 0 {
        return None;
    }
    // SAFETY: the kernel has filled it.
    let facts = unsafe { facts.assume_init() };
    Some(facts.f_bavail.saturating_mul(u64::try_from(facts.f_bsize).unwrap_or(0)))
}

pub(crate) fn process_id() -> u32 {
    call!(libc::SYS_getpid) as u32
}

pub(crate) fn is_root() -> bool {
    call!(libc::SYS_geteuid) == 0
}

/// Nanoseconds of the wall clock.
pub(crate) fn wall_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    let (seconds, rest) =
        (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

pub(crate) fn errno() -> c_int {
    // SAFETY: the address of the thread's own number.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: the address of the thread's own number.
    unsafe { *libc::__errno_location() = value }
}

/// The names in a folder. The C library reads folders without the functions that are intercepted.
pub(crate) fn names_in(folder: &CStr) -> Vec<CString> {
    let mut names = Vec::new();
    // SAFETY: a string; entries are read before the next call, and the folder is closed once.
    unsafe {
        let open = libc::opendir(folder.as_ptr());
        if open.is_null() {
            return names;
        }
        while let Some(entry) = libc::readdir64(open).as_ref() {
            names.push(CStr::from_ptr(entry.d_name.as_ptr()).to_owned());
        }
        libc::closedir(open);
    }
    names
}

pub(crate) fn read_link(path: &CStr) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let count =
        call!(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), bytes.as_mut_ptr(), bytes.len());
    bytes.truncate(usize::try_from(count).unwrap_or(0));
    bytes
}

/// The first bytes of a small file; none if it cannot be read.
pub(crate) fn read_file(path: &CStr, bytes_max: usize) -> Vec<u8> {
    let mut bytes = vec![0; bytes_max];
    let count = open(path, libc::O_RDONLY, 0).map_or(0, |fd| {
        let count = pread_bytes(fd, &mut bytes, 0);
        close(fd);
        count
    });
    bytes.truncate(usize::try_from(count).unwrap_or(0));
    bytes
}

/// A variable of the environment. Only while the process is loaded, when it has one thread.
pub(crate) fn environment(name: &CStr) -> Option<CString> {
    // SAFETY: one thread: the value is copied before anything can change it.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_owned())
    }
}

/// Sets a variable of the environment, or removes it. Only while the process is loaded, when it has
/// one thread.
pub(crate) fn set_environment(name: &CStr, value: Option<&CStr>) {
    // SAFETY: one thread: no other reads the environment.
    unsafe {
        match value {
            Some(value) => libc::setenv(name.as_ptr(), value.as_ptr(), 1),
            None => libc::unsetenv(name.as_ptr()),
        };
    }
}

/// The path of the library that has this function in it.
pub(crate) fn library_of(function: extern "C" fn()) -> Option<CString> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: room for the answer; the name lives as long as the library.
    unsafe {
        if libc::dladdr(function as *const c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = found.assume_init().dli_fname;
        (!name.is_null()).then(|| CStr::from_ptr(name).to_owned())
    }
}

/// Calls this in each child that the server forks.
pub(crate) fn in_each_child(action: extern "C" fn()) {
    // SAFETY: the action only uses atomics and system calls.
    unsafe { libc::pthread_atfork(None, None, Some(action)) };
}

/// Runs `action` with all signals blocked: a thread that it starts has them blocked for ever.
/// Servers wait for signals in a thread of their own.
pub(crate) fn without_signals<T>(action: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: room for the sets; the second is filled by the first call of `pthread_sigmask`.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = action();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    result
}
