//! Changes of files beside their zeros: where a file ends, and names that are durable.

use std::ffi::{CStr, c_int};
use std::sync::atomic::Ordering;

use truetps_binlog::state::StatusWord;

use crate::files::{BinlogFile, FileProgress, NO_END};
use crate::{next, status};

/// Makes the file end where its content does. `false`: the zeros are still there.
pub(crate) fn cut_to_content(file: &BinlogFile, progress: &mut FileProgress, fd: c_int) -> bool {
    let logical = file.logical_end();
    progress.round_end = 0;
    if progress.filled <= logical || logical == NO_END {
        return true;
    }
    if next::ftruncate(fd, logical as i64) != 0 {
        status::add(StatusWord::errors, 1);
        return false;
    }
    file.set_filled(progress, logical);
    if file.number.load(Ordering::Relaxed) > 0 {
        status::add(StatusWord::truncations, 1);
    }
    true
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &CStr) {
    if let Some(fd) = next::open(folder, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
        if !next::fsync(fd) {
            status::add(StatusWord::errors, 1);
        }
        next::close(fd);
    }
}
