//! The state page: counters in memory, and the file beside the binlogs that others read. See
//! `truetps_binlog::state`.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use truetps_binlog::state::{
    CONTROL_AT, CONTROL_BYTES, PreallocCondition, RefusalReason, STATE_BYTES, STATUS_AT,
    STATUS_WORDS, StatePage, StatusWord, WANTED_OFF, new_page, status_bytes,
};

use crate::{files, next};

static WORDS: [AtomicU64; STATUS_WORDS] = [const { AtomicU64::new(0) }; STATUS_WORDS];
static PAGE_FD: AtomicI32 = AtomicI32::new(-1);
static PAGE_INO: AtomicU64 = AtomicU64::new(0);
/// Held while the page is written.
static WRITER: Mutex<WrittenStatus> =
    Mutex::new(WrittenStatus { version: String::new(), sequence: 0 });

struct WrittenStatus {
    /// The server's version, as its binlogs have it.
    version: String,
    sequence: u64,
}

fn writer() -> MutexGuard<'static, WrittenStatus> {
    WRITER.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn get(word: StatusWord) -> u64 {
    WORDS.get(word as usize).map_or(0, |counter| counter.load(Ordering::Relaxed))
}

pub(crate) fn set(word: StatusWord, value: u64) {
    if let Some(counter) = WORDS.get(word as usize) {
        counter.store(value, Ordering::Relaxed);
    }
}

pub(crate) fn add(word: StatusWord, count: u64) {
    if let Some(counter) = WORDS.get(word as usize) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

pub(crate) fn set_version(version: &str) {
    version.clone_into(&mut writer().version);
}

pub(crate) fn refusal() -> Option<RefusalReason> {
    RefusalReason::from_code(get(StatusWord::reason))
}

pub(crate) fn condition() -> PreallocCondition {
    PreallocCondition::from_code(get(StatusWord::condition)).unwrap_or(PreallocCondition::Undecided)
}

pub(crate) fn set_condition(condition: PreallocCondition) {
    set(StatusWord::condition, condition as u64);
}

pub(crate) fn refuse(reason: RefusalReason) {
    set(StatusWord::reason, reason as u64);
    set_condition(PreallocCondition::Refused);
}

pub(crate) fn clear_refusal() {
    set(StatusWord::reason, 0);
}

/// The page of the server before, if there is one. `fd` is kept for this server's.
pub(crate) fn take_page(fd: c_int) -> Option<StatePage> {
    let mut page = [0; STATE_BYTES];
    let count = next::pread_bytes(fd, &mut page, 0);
    PAGE_INO.store(next::facts_of(fd).map_or(0, |facts| facts.ino), Ordering::Relaxed);
    PAGE_FD.store(fd, Ordering::Release);
    files::protect(fd);
    StatePage::parse(page.get(..usize::try_from(count).unwrap_or(0))?).ok()
}

/// Makes the page new. `false`: it cannot be written.
pub(crate) fn begin_page(wanted: u64) -> bool {
    let fd = PAGE_FD.load(Ordering::Acquire);
    let is_written = next::pwrite_bytes(fd, &new_page(wanted), 0) == STATE_BYTES as isize;
    write_page() && is_written && next::fdatasync(fd)
}

/// The control words: what is wanted, and the number of the request.
pub(crate) fn read_control() -> Option<(bool, u64)> {
    let mut bytes = [0; CONTROL_BYTES];
    if next::pread_bytes(page_fd()?, &mut bytes, CONTROL_AT) != CONTROL_BYTES as isize {
        return None;
    }
    let (wanted, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*wanted) != WANTED_OFF, u64::from_le_bytes(*rest.first_chunk::<8>()?)))
}

/// The page's descriptor, if it still is the page: a server that closes all descriptors may have
/// closed it.
fn page_fd() -> Option<c_int> {
    let fd = PAGE_FD.load(Ordering::Acquire);
    let is_page = fd >= 0 && next::facts_of(fd)?.ino == PAGE_INO.load(Ordering::Relaxed);
    is_page.then_some(fd)
}

/// Writes the status to the page.
pub(crate) fn write_page() -> bool {
    let Some(fd) = page_fd() else { return false };
    let mut written = writer();
    written.sequence = written.sequence.wrapping_add(1);
    let sequence = written.sequence;
    set(StatusWord::sequence_begin, sequence);
    set(StatusWord::sequence_end, sequence);
    let words = StatusWord::ALL.map(get);
    let bytes = status_bytes(&words, &written.version);
    next::pwrite_bytes(fd, &bytes, STATUS_AT) == bytes.len() as isize
}

/// Writes the status to the page durably.
pub(crate) fn write_page_durably() -> bool {
    write_page() && page_fd().is_some_and(next::fdatasync)
}
