//! A spinning disk: the head moves to a track and waits until the data passes under it. Where the
//! platter is follows from the time alone; with a random angle, a log that is written in place
//! would cost half of what it does.

use std::collections::BTreeMap;

use super::request::{DiskRange, DiskRequest, us};
use crate::profile::{DiskProfile, Geometry};

/// Requests among which the disk chooses the next one, as with native command queuing.
const QUEUE: usize = 32;

#[derive(Debug)]
pub(super) struct RotatingModel {
    head: DiskHead,
    write_ns: u64,
    flush_ns: u64,
    cache_bytes: u64,
    /// Data that is only in the cache, by its offset.
    dirty: BTreeMap<u64, Dirty>,
    dirty_bytes: u64,
    /// When the newest of it arrived.
    newest_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Dirty {
    length: u64,
    arrived_ns: u64,
}

impl RotatingModel {
    pub(super) fn new(profile: &DiskProfile, geometry: Geometry) -> Self {
        Self {
            head: DiskHead::new(geometry),
            write_ns: us(profile.write_us),
            flush_ns: us(profile.flush_us),
            cache_bytes: profile.cache_bytes(),
            dirty: BTreeMap::new(),
            dirty_bytes: 0,
            newest_ns: 0,
        }
    }

    pub(super) fn done_ns(&mut self, now_ns: u64, request: DiskRequest) -> u64 {
        while self.destage_one(Some(now_ns)) {}
        match request {
            DiskRequest::Read(range) if self.is_cached(range) => now_ns + self.write_ns,
            DiskRequest::Read(range) => self.head.serve(now_ns, range),
            DiskRequest::Write(range) if range.length > self.cache_bytes => {
                self.head.serve(now_ns, range)
            }
            DiskRequest::Write(range) => self.write_into_cache(now_ns, range),
            DiskRequest::Flush => {
                while self.destage_one(None) {}
                self.head.free_ns.max(now_ns) + self.flush_ns
            }
        }
    }

    /// A full cache takes a write when others have left it.
    fn write_into_cache(&mut self, now_ns: u64, range: DiskRange) -> u64 {
        self.forget(range);
        self.dirty.insert(range.offset, Dirty { length: range.length, arrived_ns: now_ns });
        self.dirty_bytes += range.length;
        self.newest_ns = now_ns;
        let mut room_ns = now_ns;
        while self.dirty_bytes > self.cache_bytes && self.destage_one(None) {
            room_ns = self.head.free_ns.max(now_ns);
        }
        room_ns + self.write_ns
    }

    /// Drops what the cache has of a range that is written again.
    fn forget(&mut self, range: DiskRange) {
        let end = range.offset + range.length;
        // Pieces do not overlap, so only the last one before the range reaches into it.
        let before = self.dirty.range(..range.offset).next_back();
        let before = before.filter(|(offset, dirty)| *offset + dirty.length > range.offset);
        let pieces = before.into_iter().chain(self.dirty.range(range.offset..end));
        let pieces: Vec<_> = pieces.map(|(offset, dirty)| (*offset, *dirty)).collect();
        for (offset, dirty) in pieces {
            self.dirty.remove(&offset);
            self.dirty_bytes -= dirty.length;
            let left = range.offset.saturating_sub(offset);
            let right = (offset + dirty.length).saturating_sub(end);
            for (offset, length) in [(offset, left), (end, right)] {
                if length > 0 {
                    self.dirty.insert(offset, Dirty { length, ..dirty });
                    self.dirty_bytes += length;
                }
            }
        }
    }

    fn is_cached(&self, range: DiskRange) -> bool {
        let last = self.dirty.range(..=range.offset).next_back();
        last.is_some_and(|(offset, dirty)| offset + dirty.length >= range.offset + range.length)
    }

    /// Writes the piece that the head reaches first; a disk does that in the background, too.
    /// `until_ns`: only if it is done by then. Returns whether there was one.
    fn destage_one(&mut self, until_ns: Option<u64>) -> bool {
        let first_ns = if self.head.free_ns >= self.newest_ns {
            0
        } else {
            self.dirty.values().map(|dirty| dirty.arrived_ns).min().unwrap_or(0)
        };
        let begin_ns = self.head.free_ns.max(first_ns);
        let after_head = self.dirty.range(self.head.offset..);
        let before_head = self.dirty.range(..self.head.offset);
        let arrived = after_head
            .chain(before_head)
            .filter(|(_, dirty)| dirty.arrived_ns <= begin_ns)
            .take(QUEUE);
        let ranges =
            arrived.map(|(offset, dirty)| DiskRange { offset: *offset, length: dirty.length });
        let Some((done_ns, range)) =
            ranges.map(|range| (self.head.done_ns(begin_ns, range), range)).min_by_key(|it| it.0)
        else {
            return false;
        };
        if until_ns.is_some_and(|until_ns| done_ns > until_ns) {
            return false;
        }
        self.head.serve(begin_ns, range);
        self.dirty.remove(&range.offset);
        self.dirty_bytes -= range.length;
        true
    }
}

/// The arm and the platter.
#[derive(Debug)]
struct DiskHead {
    /// Duration of a revolution.
    turn_ns: u64,
    track_bytes: u64,
    near_ns: f64,
    full_ns: f64,
    full_tracks: f64,
    /// Where it is: behind what it has served last.
    offset: u64,
    /// When that is done.
    free_ns: u64,
}

impl DiskHead {
    fn new(geometry: Geometry) -> Self {
        let track_bytes = u64::from(geometry.track_kb) << 10;
        Self {
            turn_ns: 60_000_000_000 / u64::from(geometry.rpm),
            track_bytes,
            near_ns: us(geometry.seek_near_us) as f64,
            full_ns: us(geometry.seek_full_us) as f64,
            full_tracks: f64::from(geometry.full_stroke_gb) * 1e9 / track_bytes as f64,
            offset: 0,
            free_ns: 0,
        }
    }

    /// Moves to this range, not before the head is free, and passes over it.
    fn serve(&mut self, now_ns: u64, range: DiskRange) -> u64 {
        self.free_ns = self.done_ns(now_ns.max(self.free_ns), range);
        self.offset = range.offset + range.length;
        self.free_ns
    }

    /// When it would have passed over this range, if it began now.
    fn done_ns(&self, now_ns: u64, range: DiskRange) -> u64 {
        let there_ns = now_ns + self.seek_ns(range.offset);
        let angle_ns = self.passing_ns(range.offset % self.track_bytes);
        let turned_ns = there_ns % self.turn_ns;
        let wait_ns = (angle_ns + self.turn_ns - turned_ns) % self.turn_ns;
        there_ns + wait_ns + self.passing_ns(range.length)
    }

    /// Duration for so many bytes to pass under the head.
    fn passing_ns(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.turn_ns) / u128::from(self.track_bytes)) as u64
    }

    /// Grows with the root of the distance: the arm accelerates over one half of it and brakes over
    /// the other.
    fn seek_ns(&self, offset: u64) -> u64 {
        let tracks = (self.offset / self.track_bytes).abs_diff(offset / self.track_bytes);
        if tracks == 0 {
            return 0;
        }
        let share = (tracks as f64 / self.full_tracks).min(1.0);
        (self.near_ns + (self.full_ns - self.near_ns) * share.sqrt()) as u64
    }
}
