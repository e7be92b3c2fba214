//! After a crash: files that were preallocated are cut to their content before the server reads
//! them.

use std::ffi::{CStr, c_int};

use truetps_binlog::state::StatusWord;
use truetps_binlog::{BinlogAge, ReadAt, TailDecision, Untrimmable, decide, file_number};

use crate::config::PreallocConfig;
use crate::{next, notes, status};

const COPY_BYTES: usize = 64 << 10;

/// A file that is read by system calls.
struct OpenFile(c_int);

/// The number of a failed call.
#[derive(Debug, Clone, Copy)]
struct CallError(c_int);

impl CallError {
    fn last() -> Self {
        Self(next::errno())
    }
}

impl ReadAt for OpenFile {
    type Error = CallError;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, CallError> {
        usize::try_from(next::pread_bytes(self.0, buffer, offset)).map_err(|_| CallError::last())
    }
}

/// Trims the newest file, those from the marker's number on, and all others that end in a zero
/// byte; a whole event ends in one of its checksum, in 1 of 256 files. Files of a pool and of a
/// self-test are removed.
///
/// The folder is read and not the index: a file that a crash has left out of the index is trimmed
/// as well, to what the server would have left.
pub(crate) fn trim_all(config: &PreallocConfig, marker: Option<u64>) {
    let names = next::names_in(&config.folder);
    let leftover = [&config.base[..], b".prealloc-"].concat();
    let numbers = names.iter().filter_map(|name| file_number(&config.base, name.to_bytes()));
    let newest = numbers.max().unwrap_or(0);
    for name in &names {
        let path = config.in_folder(name.to_bytes());
        if name.to_bytes().starts_with(&leftover) {
            next::unlink(&path);
        } else if let Some(number) = file_number(&config.base, name.to_bytes()) {
            trim(&path, &name.to_string_lossy(), BinlogAge::of(number, newest, marker));
        }
    }
}

fn trim(path: &CStr, name: &str, age: BinlogAge) {
    let Some(fd) = next::open(path, libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0) else {
        return;
    };
    if let Some(facts) = next::facts_of(fd).filter(|facts| facts.is_regular() && facts.bytes > 0)
        && (age != BinlogAge::Closed || ends_in_zero(fd, facts.bytes))
        && let Err(CallError(number)) = trim_open(fd, path, name, (facts.bytes, age))
    {
        status::add(StatusWord::errors, 1);
        notes::write_note("Warning", &format!("{name} could not be trimmed: error {number}"));
    }
    next::close(fd);
}

fn ends_in_zero(fd: c_int, bytes: u64) -> bool {
    let mut last = [1];
    next::pread_bytes(fd, &mut last, bytes.saturating_sub(1)) == 1 && last == [0]
}

fn trim_open(
    fd: c_int,
    path: &CStr,
    name: &str,
    (bytes, age): (u64, BinlogAge),
) -> Result<(), CallError> {
    if next::is_open_elsewhere(fd) {
        // A stock server that still runs: its file may end within an event at this moment.
        status::add(StatusWord::untrimmed, 1);
        notes::write_note(
            "Warning",
            &format!("{name} was not trimmed: another process has it open"),
        );
        return Ok(());
    }
    let (at, kept) = match decide(&mut OpenFile(fd), bytes, age)? {
        TailDecision::Sound => return Ok(()),
        TailDecision::CutZeros { at } => (at, 0),
        TailDecision::CutAndKeep { at, keep_to } => {
            keep(fd, path, at, keep_to)?;
            (at, keep_to.saturating_sub(at))
        }
        TailDecision::LeaveAlone(why) => {
            status::add(StatusWord::untrimmed, 1);
            notes::write_note("Warning", &format!("{name} was not trimmed: {}", why_left(why)));
            return Ok(());
        }
    };
    if next::ftruncate(fd, at as i64) != 0 || !next::fsync(fd) {
        return Err(CallError::last());
    }
    status::add(StatusWord::trims, 1);
    status::add(StatusWord::cut_bytes, kept);
    let rest = if kept > 0 {
        format!("; {kept} bytes of unfinished events are beside it")
    } else {
        String::new()
    };
    notes::write_note(
        "Note",
        &format!("{name} was trimmed after a crash: {bytes} to {at} bytes{rest}"),
    );
    Ok(())
}

fn why_left(why: Untrimmable) -> String {
    match why {
        Untrimmable::Encrypted => "it is encrypted".to_owned(),
        Untrimmable::NoChecksums => "its events have no checksums".to_owned(),
        Untrimmable::NotABinlog => "it does not begin as binlogs do".to_owned(),
        Untrimmable::Damaged { at } => {
            format!("the event at {at} is damaged, and no power cut explains that")
        }
    }
}

/// Copies the bytes to `FILE.cut-SECONDS`, durably.
fn keep(fd: c_int, path: &CStr, from: u64, to: u64) -> Result<(), CallError> {
    let seconds = next::wall_ns().checked_div(1_000_000_000).unwrap_or(0);
    let beside = [path.to_bytes(), format!(".cut-{seconds}").as_bytes()].concat();
    let beside = std::ffi::CString::new(beside).map_err(|_| CallError(libc::EINVAL))?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW;
    let copy = next::open(&beside, flags, 0o640).ok_or_else(CallError::last)?;
    let copied = copy_range(fd, copy, from, to);
    let is_durable = next::fsync(copy);
    next::close(copy);
    copied?;
    if is_durable { Ok(()) } else { Err(CallError(libc::EIO)) }
}

fn copy_range(from_fd: c_int, to_fd: c_int, mut from: u64, to: u64) -> Result<(), CallError> {
    let mut buffer = vec![0; COPY_BYTES];
    let start = from;
    while from < to {
        let wanted = to.saturating_sub(from).min(COPY_BYTES as u64) as usize;
        let count =
            OpenFile(from_fd).read_at(from, buffer.get_mut(..wanted).unwrap_or_default())?;
        let bytes = buffer.get(..count).unwrap_or_default();
        if count == 0
            || next::pwrite_bytes(to_fd, bytes, from.saturating_sub(start)) != count as isize
        {
            return Err(CallError(libc::EIO));
        }
        from = from.saturating_add(count as u64);
    }
    Ok(())
}
