//! Which file descriptors are of binlogs, and how far each binlog is written and filled.
//!
//! A file has a slot in `FILES` from when the server makes it until its last descriptor is closed.
//! `logical` is what the server has written, `filled` how far there are real zeros: at least to
//! `logical`. Readers use atomics only. All that writes or truncates holds the file's lock; while
//! zeros are being written (`filling_from`), the server may write in front of them, and waits only
//! to write into them.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::next::{self, FileFacts};

/// The kernel's own limit of descriptors is this, unless an administrator raises it.
const DESCRIPTORS: usize = 1 << 20;
/// The active file, and old ones that a slow replica still reads.
const FILES_MAX: usize = 64;
/// An owner byte: 0 for other files, `INTERNAL` for descriptors of this library, else the slot of
/// the file plus one, and `WRITER` if the server writes through it.
const WRITER: u8 = 0x80;
const INTERNAL: u8 = 0xff;

static OWNERS: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(0) }; DESCRIPTORS];
static FILES: [BinlogFile; FILES_MAX] = [const { BinlogFile::new() }; FILES_MAX];
/// Slots that are in use or were: the others need not be looked at.
static FILES_USED: AtomicUsize = AtomicUsize::new(0);
/// Held to take and to leave a slot.
static SLOTS: Mutex<()> = Mutex::new(());
/// The server's child after a fork: its descriptors are the parent's business.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Bytes of the newest file that ended: a hint of how much is worth filling.
pub(crate) static LAST_BYTES: AtomicU64 = AtomicU64::new(0);

/// `logical` of a file that is not looked after any more: all of it is shown.
pub(crate) const NO_END: u64 = u64::MAX;

/// Whether a file may be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillVerdict {
    /// Its first events are not there yet.
    Open,
    Fill,
    Never,
}

/// What the lock of a file protects.
#[derive(Debug)]
pub(crate) struct FileProgress {
    /// Descriptors of the server that may write.
    pub(crate) writers: u32,
    pub(crate) filled: u64,
    /// Where zeros are being written; `NO_END`: nowhere.
    pub(crate) filling_from: u64,
    /// Up to where the filling in progress goes; 0: none is.
    pub(crate) round_end: u64,
    pub(crate) verdict: FillVerdict,
    /// The library's own descriptor, to read and to write zeros; -1 if there is none.
    pub(crate) own_fd: c_int,
    /// The server has closed it.
    pub(crate) is_closed: bool,
}

#[derive(Debug)]
pub(crate) struct BinlogFile {
    /// Descriptors that refer to it, and one for the thread. 0: the slot is free.
    references: AtomicU32,
    dev: AtomicU64,
    ino: AtomicU64,
    pub(crate) number: AtomicU64,
    pub(crate) logical: AtomicU64,
    /// For the status only.
    pub(crate) filled_shown: AtomicU64,
    /// With less than this ahead of the server's writes the thread is woken.
    pub(crate) low_bytes: AtomicU64,
    /// There may be zeros behind its content: a crash leaves them.
    pub(crate) is_exposed: AtomicBool,
    progress: Mutex<FileProgress>,
    changed: Condvar,
}

impl BinlogFile {
    const fn new() -> Self {
        let progress = FileProgress {
            writers: 0,
            filled: 0,
            filling_from: NO_END,
            round_end: 0,
            verdict: FillVerdict::Never,
            own_fd: -1,
            is_closed: false,
        };
        Self {
            references: AtomicU32::new(0),
            dev: AtomicU64::new(0),
            ino: AtomicU64::new(0),
            number: AtomicU64::new(0),
            logical: AtomicU64::new(0),
            filled_shown: AtomicU64::new(0),
            low_bytes: AtomicU64::new(0),
            is_exposed: AtomicBool::new(false),
            progress: Mutex::new(progress),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn is(&self, facts: &FileFacts) -> bool {
        self.is_at(facts.dev, facts.ino)
    }

    pub(crate) fn is_at(&self, dev: u64, ino: u64) -> bool {
        self.ino.load(Ordering::Relaxed) == ino && self.dev.load(Ordering::Relaxed) == dev
    }

    pub(crate) fn is_in_use(&self) -> bool {
        self.references.load(Ordering::Acquire) > 0
    }

    pub(crate) fn logical_end(&self) -> u64 {
        self.logical.load(Ordering::Acquire)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, FileProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it when no zeros are being written in front of `end`.
    pub(crate) fn lock_up_to(&self, end: u64) -> MutexGuard<'_, FileProgress> {
        self.changed
            .wait_while(self.lock(), |progress| progress.filling_from < end)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// After zeros were written.
    pub(crate) fn wake_writers(&self) {
        self.changed.notify_all();
    }

    pub(crate) fn set_filled(&self, progress: &mut FileProgress, filled: u64) {
        progress.filled = filled;
        self.filled_shown.store(filled, Ordering::Relaxed);
    }

    /// One descriptor less, or the thread does not need it any more.
    pub(crate) fn release(&self) {
        let _slots = SLOTS.lock();
        self.references.fetch_sub(1, Ordering::Release);
    }
}

/// Whose a descriptor is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DescriptorOwner {
    Other,
    Internal,
    Binlog { file: &'static BinlogFile, is_writer: bool },
}

fn owner_byte(fd: c_int) -> Option<&'static AtomicU8> {
    usize::try_from(fd).ok().and_then(|fd| OWNERS.get(fd))
}

/// Whether a descriptor is of no interest: all that happens to the other files of a server.
#[inline]
pub(crate) fn is_other(fd: c_int) -> bool {
    owner_byte(fd).is_none_or(|owner| owner.load(Ordering::Relaxed) == 0)
}

pub(crate) fn owner_of(fd: c_int) -> DescriptorOwner {
    let byte = owner_byte(fd).map_or(0, |owner| owner.load(Ordering::Acquire));
    if byte == 0 || IS_CHILD.load(Ordering::Relaxed) {
        return DescriptorOwner::Other;
    }
    if byte == INTERNAL {
        return DescriptorOwner::Internal;
    }
    let slot = usize::from(byte & !WRITER).wrapping_sub(1);
    FILES.get(slot).map_or(DescriptorOwner::Other, |file| DescriptorOwner::Binlog {
        file,
        is_writer: byte & WRITER != 0,
    })
}

/// The binlog of a descriptor, if it is still the file that was opened with it.
pub(crate) fn binlog_of(fd: c_int) -> Option<(&'static BinlogFile, bool)> {
    let DescriptorOwner::Binlog { file, is_writer } = owner_of(fd) else { return None };
    let facts = next::facts_of(fd)?;
    if file.is(&facts) {
        return Some((file, is_writer));
    }
    // It was closed by a way that this library does not see, and is another file now.
    forget(fd);
    None
}

pub(crate) fn forget(fd: c_int) {
    let Some(owner) = owner_byte(fd) else { return };
    let byte = owner.swap(0, Ordering::AcqRel);
    if byte != 0
        && byte != INTERNAL
        && let Some(file) = FILES.get(usize::from(byte & !WRITER).wrapping_sub(1))
    {
        file.release();
    }
}

/// A descriptor of the library itself: the server can neither close nor use it by accident.
pub(crate) fn protect(fd: c_int) {
    if let Some(owner) = owner_byte(fd) {
        owner.store(INTERNAL, Ordering::Release);
    }
}

pub(crate) fn close_own(fd: c_int) {
    if let Some(owner) = owner_byte(fd) {
        owner.store(0, Ordering::Release);
    }
    next::close(fd);
}

pub(crate) fn in_use() -> impl Iterator<Item = &'static BinlogFile> {
    let used = FILES_USED.load(Ordering::Acquire);
    FILES.iter().take(used).filter(|file| file.is_in_use())
}

pub(crate) fn find(facts: &FileFacts) -> Option<&'static BinlogFile> {
    in_use().find(|file| file.is(facts))
}

/// One more descriptor of a known file. `false`: the file is not known, or the number is too high.
pub(crate) fn add_descriptor(fd: c_int, facts: &FileFacts, is_writer: bool) -> bool {
    let _slots = SLOTS.lock();
    let slot = FILES.iter().position(|file| file.is_in_use() && file.is(facts));
    let (Some(slot), Some(owner)) = (slot, owner_byte(fd)) else { return false };
    let Some(file) = FILES.get(slot) else { return false };
    file.references.fetch_add(1, Ordering::AcqRel);
    if is_writer {
        let mut progress = file.lock();
        progress.writers = progress.writers.saturating_add(1);
    }
    owner.store(byte_of(slot, is_writer), Ordering::Release);
    true
}

fn byte_of(slot: usize, is_writer: bool) -> u8 {
    let byte = u8::try_from(slot.saturating_add(1)).unwrap_or(INTERNAL);
    if is_writer { byte | WRITER } else { byte }
}

/// A file that the server has just made, and writes through `fd`. `filled`: bytes of zeros that it
/// has already. `None`: all slots are taken.
pub(crate) fn add_file(
    fd: c_int,
    facts: &FileFacts,
    number: u64,
    filled: u64,
    own_fd: Option<c_int>,
    verdict: FillVerdict,
) -> Option<&'static BinlogFile> {
    let _slots = SLOTS.lock();
    let owner = owner_byte(fd)?;
    let slot = FILES.iter().position(|file| !file.is_in_use())?;
    let file = FILES.get(slot)?;
    file.dev.store(facts.dev, Ordering::Relaxed);
    file.ino.store(facts.ino, Ordering::Relaxed);
    file.number.store(number, Ordering::Relaxed);
    file.logical.store(0, Ordering::Relaxed);
    file.low_bytes.store(0, Ordering::Relaxed);
    file.is_exposed.store(filled > 0, Ordering::Relaxed);
    let mut progress = file.lock();
    *progress = FileProgress {
        writers: 1,
        filled,
        filling_from: NO_END,
        round_end: 0,
        verdict,
        own_fd: own_fd.unwrap_or(-1),
        is_closed: false,
    };
    file.filled_shown.store(filled, Ordering::Relaxed);
    file.references.store(if own_fd.is_some() { 2 } else { 1 }, Ordering::Release);
    FILES_USED.fetch_max(slot.saturating_add(1), Ordering::AcqRel);
    owner.store(byte_of(slot, true), Ordering::Release);
    Some(file)
}

/// The first file of which a crash would leave more than its content.
pub(crate) fn first_exposed() -> u64 {
    let exposed = in_use().filter(|file| file.is_exposed.load(Ordering::Acquire));
    exposed
        .map(|file| file.number.load(Ordering::Relaxed))
        .filter(|number| *number > 0)
        .min()
        .unwrap_or(0)
}

/// From now on nothing is intercepted in this process.
pub(crate) fn stop_in_child() {
    IS_CHILD.store(true, Ordering::Release);
}

pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Acquire)
}
