//! What may be cut behind the last good event of a file that was preallocated.
//!
//! A preallocated file is overwritten in place. After a power cut any of the 512-byte sectors that
//! were not yet synced may have their new content, in any order; the others have their old content,
//! which ends in zeros. After a crash of the server alone, all that was written is there, and zeros
//! are behind it.

use crate::event::BinlogChecksum;
use crate::walk::{BinlogWalk, WalkStop, walk_window};
use crate::window::{FileWindow, ReadAt};

/// What a disk writes whole.
const SECTOR_BYTES: u64 = 512;

/// What to do with a file before a server reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailDecision {
    /// It ends with its last event, and with the end of a transaction.
    Sound,
    /// Truncate it at `at`: only zeros are behind it.
    CutZeros {
        at: u64,
    },
    /// Truncate it at `at`, and first keep the bytes up to `keep_to` beside it: they are of events
    /// that were never whole on the disk, or that stood behind such a one, and the events of their
    /// transaction before them.
    CutAndKeep {
        at: u64,
        keep_to: u64,
    },
    LeaveAlone(Untrimmable),
}

/// Why a file that is not sound is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untrimmable {
    Encrypted,
    /// Torn events without a checksum look like whole ones. (Zeros behind events of the right
    /// lengths are cut from such files, too: they are no event of any kind, so that nothing is
    /// lost, and replicas fail at them.)
    NoChecksums,
    NotABinlog,
    /// An event is bad in a way that lost sectors do not explain: none of them ends in zeros. The
    /// events behind it may have been acknowledged long ago.
    Damaged {
        at: u64,
    },
}

/// What a crash may have done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinlogAge {
    /// No file follows it: its last events, and its size, may not have been durable.
    Newest,
    /// It may have been written to at the crash. A server syncs it before it makes the next one, so
    /// that its size is durable.
    Open,
    /// It was closed before: its events are durable, whatever they look like. Its cut to them may
    /// not be: zeros.
    Closed,
}

impl BinlogAge {
    /// `newest`: the largest number in the folder; `marker`: of the state page.
    pub fn of(number: u64, newest: u64, marker: Option<u64>) -> Self {
        match marker {
            _ if number >= newest => Self::Newest,
            Some(marker) if number >= marker => Self::Open,
            _ => Self::Closed,
        }
    }
}

/// Decides about the first `length` bytes of a file.
pub fn decide<R: ReadAt>(
    reader: &mut R,
    length: u64,
    age: BinlogAge,
) -> Result<TailDecision, R::Error> {
    let mut window = FileWindow::new(reader, length);
    let found = walk_window(&mut window)?;
    let at = found.good_end;
    let unfinished = found.open_group.filter(|_| age == BinlogAge::Newest);
    if let (WalkStop::EndOfFile | WalkStop::Zeros, Some(start)) = (found.stop, unfinished) {
        return Ok(TailDecision::CutAndKeep { at: start, keep_to: at });
    }
    match found.stop {
        WalkStop::EndOfFile => Ok(TailDecision::Sound),
        // A magic without any event is what a server leaves that ended while it made the file.
        WalkStop::Zeros => Ok(TailDecision::CutZeros { at }),
        WalkStop::Encrypted => Ok(TailDecision::LeaveAlone(Untrimmable::Encrypted)),
        WalkStop::NotABinlog => Ok(TailDecision::LeaveAlone(Untrimmable::NotABinlog)),
        WalkStop::BadLength | WalkStop::BadEndPosition | WalkStop::BadChecksum => {
            torn_or_damaged(&mut window, found, age)
        }
    }
}

fn torn_or_damaged<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
    found: BinlogWalk,
    age: BinlogAge,
) -> Result<TailDecision, R::Error> {
    let at = found.good_end;
    if !matches!(found.checksum, None | Some(BinlogChecksum::Crc32)) {
        return Ok(TailDecision::LeaveAlone(Untrimmable::NoChecksums));
    }
    let (start, end) = event_extent(window, &found)?;
    let is_explained = match age {
        BinlogAge::Closed => false,
        _ if end > window.length => age == BinlogAge::Newest,
        _ => has_lost_sector(window, start, end)?,
    };
    if !is_explained {
        return Ok(TailDecision::LeaveAlone(Untrimmable::Damaged { at }));
    }
    Ok(TailDecision::CutAndKeep {
        at: found.open_group.unwrap_or(at),
        keep_to: window.end_of_content(at)?,
    })
}

/// Where the bad event is, as far as its header can be believed.
fn event_extent<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
    found: &BinlogWalk,
) -> Result<(u64, u64), R::Error> {
    use crate::event::{EventHeader, HEADER_BYTES, MAGIC_BYTES};
    let start = found.good_end.max(MAGIC_BYTES);
    let header = EventHeader::parse(window.some(start, HEADER_BYTES)?);
    let bytes = header.map_or(HEADER_BYTES, |header| u64::from(header.bytes).max(HEADER_BYTES));
    Ok((start, start.saturating_add(bytes)))
}

/// Whether an event may be bad because a sector of it has its old content: its bytes in that sector
/// end in zeros.
fn has_lost_sector<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
    start: u64,
    end: u64,
) -> Result<bool, R::Error> {
    let mut at = start;
    while at < end {
        let sector = at.checked_div(SECTOR_BYTES).unwrap_or(0).saturating_add(1);
        let next = sector.saturating_mul(SECTOR_BYTES).min(end);
        if window.some(next.saturating_sub(1), 1)? == [0] {
            return Ok(true);
        }
        at = next;
    }
    Ok(false)
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
