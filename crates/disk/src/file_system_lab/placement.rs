//! Where files lie on the modelled device: in chunks, in the order in which they were first
//! written. A file that is written from its beginning to its end lies in one piece.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::DiskRange;
use crate::undo::BLOCK_BYTES;

/// The number of a file for the kernel. It is never used again.
pub(super) type NodeId = u64;

/// Small enough for thousands of small files, large enough for few seeks in a large one.
pub(super) const CHUNK_BYTES: u64 = 64 << 10;
pub(super) const CHUNK_BLOCKS: u64 = CHUNK_BYTES / BLOCK_BYTES;
/// The journal of the modelled file system is at the beginning of the device.
pub(super) const JOURNAL_BYTES: u64 = 16 << 20;

/// The chunks of the device.
pub(super) struct DeviceChunks {
    /// Those from here on were never used.
    next: u64,
    end: u64,
    free: BTreeSet<u64>,
    /// File and number of the chunk in it.
    owners: HashMap<u64, (NodeId, u64)>,
}

impl DeviceChunks {
    pub(super) fn new(device_bytes: u64) -> Self {
        let (next, end) = (JOURNAL_BYTES / CHUNK_BYTES, device_bytes / CHUNK_BYTES);
        Self { next, end, free: BTreeSet::new(), owners: HashMap::new() }
    }

    /// `None`: the device is full. Chunks of removed files are used last.
    fn allocate(&mut self, node: NodeId, chunk: u64) -> Option<u64> {
        let number = if self.next < self.end {
            self.next += 1;
            self.next - 1
        } else {
            self.free.pop_first()?
        };
        self.owners.insert(number, (node, chunk));
        Some(number)
    }

    fn release(&mut self, number: u64) {
        self.owners.remove(&number);
        self.free.insert(number);
    }

    /// The file that a block of the device belongs to, and the number of the block in it.
    pub(super) fn owner_of(&self, device_block: u64) -> Option<(NodeId, u64)> {
        let (node, chunk) = self.owners.get(&(device_block / CHUNK_BLOCKS))?;
        Some((*node, chunk * CHUNK_BLOCKS + device_block % CHUNK_BLOCKS))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.end * CHUNK_BYTES
    }

    pub(super) fn free_bytes(&self) -> u64 {
        (self.end.saturating_sub(self.next) + self.free.len() as u64) * CHUNK_BYTES
    }
}

#[derive(Debug, Clone, Copy)]
struct PlacedChunk {
    number: u64,
    /// A bit for each block that was written to the device.
    written: u16,
}

/// Where the chunks of one file are.
#[derive(Default)]
pub(super) struct FilePlaces {
    chunks: BTreeMap<u64, PlacedChunk>,
}

impl FilePlaces {
    /// Gives each block from `first` to before `end` a place. `false`: the device is full.
    pub(super) fn place(
        &mut self,
        device: &mut DeviceChunks,
        node: NodeId,
        first: u64,
        end: u64,
    ) -> bool {
        (first / CHUNK_BLOCKS..end.div_ceil(CHUNK_BLOCKS)).all(|chunk| {
            self.chunks.contains_key(&chunk)
                || device.allocate(node, chunk).is_some_and(|number| {
                    self.chunks.insert(chunk, PlacedChunk { number, written: 0 });
                    true
                })
        })
    }

    /// The block of the device.
    pub(super) fn device_block(&self, block: u64) -> Option<u64> {
        Some(self.chunks.get(&(block / CHUNK_BLOCKS))?.number * CHUNK_BLOCKS + block % CHUNK_BLOCKS)
    }

    /// Whether the block was ever written to the device: else it is a hole, or was only allocated.
    pub(super) fn is_written(&self, block: u64) -> bool {
        self.chunks
            .get(&(block / CHUNK_BLOCKS))
            .is_some_and(|chunk| chunk.written & bit(block) != 0)
    }

    /// Returns whether this was the first time.
    pub(super) fn set_written(&mut self, block: u64) -> bool {
        let Some(chunk) = self.chunks.get_mut(&(block / CHUNK_BLOCKS)) else { return false };
        let is_first = chunk.written & bit(block) == 0;
        chunk.written |= bit(block);
        is_first
    }

    /// Blocks from `first` to before `end` become holes. Returns the written blocks of the device.
    pub(super) fn clear(&mut self, first: u64, end: u64) -> Vec<u64> {
        let mut cleared = Vec::new();
        for (number, chunk) in
            self.chunks.range_mut(first / CHUNK_BLOCKS..end.div_ceil(CHUNK_BLOCKS))
        {
            let blocks = (first.max(number * CHUNK_BLOCKS)..end.min((number + 1) * CHUNK_BLOCKS))
                .filter(|block| chunk.written & bit(*block) != 0);
            let blocks: Vec<_> = blocks.collect();
            for block in blocks {
                chunk.written &= !bit(block);
                cleared.push(chunk.number * CHUNK_BLOCKS + block % CHUNK_BLOCKS);
            }
        }
        cleared
    }

    /// Gives back the chunks from `first_chunk` on. Returns their numbers.
    pub(super) fn release(&mut self, device: &mut DeviceChunks, first_chunk: u64) -> BTreeSet<u64> {
        let released = self.chunks.split_off(&first_chunk);
        for chunk in released.values() {
            device.release(chunk.number);
        }
        released.into_values().map(|chunk| chunk.number).collect()
    }

    /// Numbers of its chunks on the device.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        self.chunks.values().map(|chunk| chunk.number).collect()
    }
}

fn bit(block: u64) -> u16 {
    1 << (block % CHUNK_BLOCKS)
}

/// Blocks as ranges of bytes, neighbours in one.
pub(super) fn merged_ranges(blocks: impl IntoIterator<Item = u64>) -> Vec<DiskRange> {
    let mut ranges: Vec<DiskRange> = Vec::new();
    for offset in blocks.into_iter().map(|block| block * BLOCK_BYTES) {
        match ranges.last_mut() {
            Some(last) if last.offset + last.length == offset => last.length += BLOCK_BYTES,
            _ => ranges.push(DiskRange { offset, length: BLOCK_BYTES }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_in_one_piece_and_a_full_device_uses_what_is_free() {
        let mut device = DeviceChunks::new(JOURNAL_BYTES + 3 * CHUNK_BYTES);
        let (mut first, mut second) = (FilePlaces::default(), FilePlaces::default());
        assert!(first.place(&mut device, 2, 0, CHUNK_BLOCKS + 1));
        let blocks: Vec<_> =
            (0..2 * CHUNK_BLOCKS).map(|block| first.device_block(block).unwrap()).collect();
        assert_eq!(
            merged_ranges(blocks.clone()),
            [DiskRange { offset: JOURNAL_BYTES, length: 2 * CHUNK_BYTES }]
        );
        assert_eq!(device.owner_of(blocks[17]), Some((2, 17)));
        assert!(
            second.place(&mut device, 3, 0, 1)
                && !second.place(&mut device, 3, 0, CHUNK_BLOCKS + 1)
        );
        assert_eq!(first.release(&mut device, 1).len(), 1);
        assert!(
            device.free_bytes() == CHUNK_BYTES && second.place(&mut device, 3, 0, CHUNK_BLOCKS + 1)
        );
        assert_eq!(device.owner_of(blocks[17]), Some((3, 17)));
    }

    #[test]
    fn a_block_is_new_once() {
        let mut device = DeviceChunks::new(1 << 30);
        let mut file = FilePlaces::default();
        assert!(file.place(&mut device, 2, 0, 4));
        assert!(
            !file.is_written(3)
                && file.set_written(3)
                && !file.set_written(3)
                && file.is_written(3)
        );
        assert_eq!(file.clear(0, 100), [file.device_block(3).unwrap()]);
        assert!(!file.is_written(3) && !file.is_written(1000));
    }
}
