//! Functions as the programs and libraries of this process find them, for the self-test.
#![allow(
    unsafe_code,
    reason = "functions are looked up by name and called with the types of the C library"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;

use libc::{mode_t, off64_t, stat64};

type OpenFunction = unsafe extern "C" fn(*const c_char, c_int, mode_t) -> c_int;
type CloseFunction = unsafe extern "C" fn(c_int) -> c_int;
type WriteFunction = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
type ReadFunction = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
type PreadFunction = unsafe extern "C" fn(c_int, *mut c_void, usize, off64_t) -> isize;
type SeekFunction = unsafe extern "C" fn(c_int, off64_t, c_int) -> off64_t;
type FstatFunction = unsafe extern "C" fn(c_int, *mut stat64) -> c_int;
type StatFunction = unsafe extern "C" fn(*const c_char, *mut stat64) -> c_int;
type OldFstatFunction = unsafe extern "C" fn(c_int, c_int, *mut stat64) -> c_int;
type OldStatFunction = unsafe extern "C" fn(c_int, *const c_char, *mut stat64) -> c_int;

/// The first argument of the functions that C libraries before 2.33 have for `stat`.
const OLD_STAT_VERSION: c_int = 1;

/// The function of this name, as a program finds it that was linked with the C library.
fn find<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(std::mem::size_of::<F>() == std::mem::size_of::<*mut c_void>()) };
    // SAFETY: a string; each caller names the type that the C library documents for this name.
    unsafe {
        let address = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        (!address.is_null()).then(|| std::mem::transmute_copy(&address))
    }
}

fn done(result: isize) -> Option<i64> {
    i64::try_from(result).ok()
}

pub(crate) fn open(path: &CStr, flags: c_int, mode: mode_t) -> Option<c_int> {
    let function: OpenFunction = find(c"open64")?;
    // SAFETY: a string.
    Some(unsafe { function(path.as_ptr(), flags, mode) }).filter(|fd| *fd >= 0)
}

pub(crate) fn close(fd: c_int) {
    if let Some(function) = find::<CloseFunction>(c"close") {
        // SAFETY: a number.
        unsafe { function(fd) };
    }
}

pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Option<i64> {
    let function: WriteFunction = find(c"write")?;
    // SAFETY: a slice has its length.
    done(unsafe { function(fd, bytes.as_ptr().cast(), bytes.len()) })
}

pub(crate) fn read(fd: c_int, bytes: &mut [u8]) -> Option<i64> {
    let function: ReadFunction = find(c"read")?;
    // SAFETY: a slice has its length.
    done(unsafe { function(fd, bytes.as_mut_ptr().cast(), bytes.len()) })
}

pub(crate) fn pread(fd: c_int, bytes: &mut [u8], at: i64) -> Option<i64> {
    let function: PreadFunction = find(c"pread64")?;
    // SAFETY: a slice has its length.
    done(unsafe { function(fd, bytes.as_mut_ptr().cast(), bytes.len(), at) })
}

pub(crate) fn seek_end(fd: c_int) -> Option<i64> {
    let function: SeekFunction = find(c"lseek64")?;
    // SAFETY: numbers.
    Some(unsafe { function(fd, 0, libc::SEEK_END) })
}

/// By `fstat`.
pub(crate) fn size_of(fd: c_int) -> Option<i64> {
    let mut facts = MaybeUninit::<stat64>::zeroed();
    // SAFETY: room for the answer, which is zeros where the call fails.
    unsafe {
        match find::<FstatFunction>(c"fstat64") {
            Some(function) => function(fd, facts.as_mut_ptr()),
            None => {
                find::<OldFstatFunction>(c"__fxstat64")?(OLD_STAT_VERSION, fd, facts.as_mut_ptr())
            }
        };
        Some(facts.assume_init_ref().st_size)
    }
}

/// By `stat`.
pub(crate) fn size_at(path: &CStr) -> Option<i64> {
    let mut facts = MaybeUninit::<stat64>::zeroed();
    // SAFETY: a string, and room for the answer, which is zeros where the call fails.
    unsafe {
        match find::<StatFunction>(c"stat64") {
            Some(function) => function(path.as_ptr(), facts.as_mut_ptr()),
            None => find::<OldStatFunction>(c"__xstat64")?(
                OLD_STAT_VERSION,
                path.as_ptr(),
                facts.as_mut_ptr(),
            ),
        };
        Some(facts.assume_init_ref().st_size)
    }
}
