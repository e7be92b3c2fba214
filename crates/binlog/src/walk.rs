//! From event to event through a file, to the end of the last good one.

use crate::checksum::Crc32;
use crate::event::{
    BinlogChecksum, CHECKSUM_BYTES, EventHeader, FLAGS_AT, FormatDescription, HEADER_BYTES, IN_USE,
    MAGIC, MAGIC_BYTES, MAGIC_ENCRYPTED, START_ENCRYPTION,
};
use crate::group::OpenGroup;
use crate::window::{FileWindow, ReadAt};

/// What was found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinlogWalk {
    /// Behind the last good event; 0 if the first one is not good.
    pub good_end: u64,
    pub stop: WalkStop,
    /// `None`: there is no good first event that says it.
    pub checksum: Option<BinlogChecksum>,
    pub events: u64,
    /// Where the last group of MariaDB begins, if its end is not among the good events.
    pub open_group: Option<u64>,
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkStop {
    /// The last event ends where the file does.
    EndOfFile,
    /// From `good_end` on there are only zeros. A file without any good event is all zeros.
    Zeros,
    /// An event is shorter than its header, or ends behind the end of the file.
    BadLength,
    /// An event does not end where it says.
    BadEndPosition,
    BadChecksum,
    /// Behind `good_end`, nothing can be read.
    Encrypted,
    NotABinlog,
}

impl BinlogWalk {
    fn stopped(good_end: u64, stop: WalkStop) -> Self {
        Self { good_end, stop, checksum: None, events: 0, open_group: None }
    }
}

/// Walks through the first `length` bytes of a file. Memory is bounded: also the largest event is
/// checked piece by piece.
pub fn walk<R: ReadAt>(reader: &mut R, length: u64) -> Result<BinlogWalk, R::Error> {
    walk_window(&mut FileWindow::new(reader, length))
}

pub(crate) fn walk_window<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
) -> Result<BinlogWalk, R::Error> {
    let magic: [u8; 4] = window.some(0, MAGIC_BYTES)?.first_chunk().copied().unwrap_or_default();
    if magic != MAGIC {
        let stop = match magic {
            MAGIC_ENCRYPTED => WalkStop::Encrypted,
            _ if window.is_zero(0, window.length)? => WalkStop::Zeros,
            _ => WalkStop::NotABinlog,
        };
        return Ok(BinlogWalk::stopped(
            0,
            if window.length == 0 { WalkStop::EndOfFile } else { stop },
        ));
    }
    let mut found = BinlogWalk::stopped(0, WalkStop::EndOfFile);
    let mut at = MAGIC_BYTES;
    let mut group = None;
    loop {
        match step(window, at, found.checksum)? {
            EventStep::Good { end, kind, checksum } => {
                found.checksum = Some(checksum);
                found.events = found.events.saturating_add(1);
                group = OpenGroup::behind(
                    group,
                    window,
                    (kind, at, end),
                    checksum == BinlogChecksum::Crc32,
                )?;
                found.open_group = group.map(|group| group.start);
                (found.good_end, at) = (end, end);
                if kind == START_ENCRYPTION {
                    return Ok(BinlogWalk { stop: WalkStop::Encrypted, ..found });
                }
            }
            EventStep::Stop(stop) => return Ok(BinlogWalk { stop, ..found }),
        }
    }
}

enum EventStep {
    Good { end: u64, kind: u8, checksum: BinlogChecksum },
    Stop(WalkStop),
}

/// One event. `checksum`: how events of this file are checked; `None` before the first one, which
/// says it.
fn step<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
    at: u64,
    checksum: Option<BinlogChecksum>,
) -> Result<EventStep, R::Error> {
    let length = window.length;
    if at >= length {
        // A file of the magic only has no good event.
        let is_end = checksum.is_some();
        return Ok(EventStep::Stop(if is_end { WalkStop::EndOfFile } else { WalkStop::BadLength }));
    }
    let bytes = window.some(at, HEADER_BYTES)?;
    let header = EventHeader::parse(bytes);
    let is_blank = bytes.iter().all(|byte| *byte == 0);
    if is_blank && window.is_zero(at, length)? {
        return Ok(EventStep::Stop(WalkStop::Zeros));
    }
    let Some(header) = header else { return Ok(EventStep::Stop(WalkStop::BadLength)) };
    let end = at.saturating_add(header.bytes.into());
    let tail = if checksum == Some(BinlogChecksum::Crc32) { CHECKSUM_BYTES } else { 0 };
    if u64::from(header.bytes) < HEADER_BYTES.saturating_add(tail) || end > length {
        return Ok(EventStep::Stop(WalkStop::BadLength));
    }
    if header.end != 0 && header.end != end as u32 {
        return Ok(EventStep::Stop(WalkStop::BadEndPosition));
    }
    let checksum = match checksum {
        Some(checksum) => checksum,
        None if !header.is_description()
            || !FormatDescription::is_length_possible(header.bytes.into()) =>
        {
            return Ok(EventStep::Stop(WalkStop::NotABinlog));
        }
        None => match FormatDescription::parse(window.some(at, header.bytes.into())?) {
            Some(description) => description.checksum,
            None => return Ok(EventStep::Stop(WalkStop::BadChecksum)),
        },
    };
    if checksum == BinlogChecksum::Crc32 && !is_sum_right(window, at, end, header.is_description())?
    {
        return Ok(EventStep::Stop(WalkStop::BadChecksum));
    }
    Ok(EventStep::Good { end, kind: header.kind, checksum })
}

fn is_sum_right<R: ReadAt>(
    window: &mut FileWindow<'_, R>,
    start: u64,
    end: u64,
    is_description: bool,
) -> Result<bool, R::Error> {
    let content_end = end.saturating_sub(CHECKSUM_BYTES);
    let mut sum = Crc32::new();
    let mut at = start;
    if is_description {
        // Short enough for the window. The flag of a file in use is in no sum.
        let mut event = window.some(start, content_end.saturating_sub(start))?.to_vec();
        if let Some(flags) = event.get_mut(FLAGS_AT as usize) {
            *flags &= !IN_USE;
        }
        sum.update(&event);
        at = at.saturating_add(event.len() as u64);
    }
    while at < content_end {
        let bytes = window.some(at, content_end.saturating_sub(at))?;
        if bytes.is_empty() {
            return Ok(false);
        }
        sum.update(bytes);
        at = at.saturating_add(bytes.len() as u64);
    }
    let stored = window.some(content_end, CHECKSUM_BYTES)?.first_chunk().copied();
    Ok(stored == Some(sum.value().to_le_bytes()))
}
