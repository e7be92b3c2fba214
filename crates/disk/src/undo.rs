//! What the blocks of a disk held before they were written, until a flush makes the new contents
//! durable.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use truetps_random::{RandomStream, UnitSource};

/// What is kept together.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// What a disk writes as a whole: each sector of a block survives a power cut or not.
const SECTOR_BYTES: usize = 512;

/// Number of a flush that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlushNumber(u64);

/// The content of a block; `None`: all zeros.
pub(crate) type BlockContent = Option<Box<[u8]>>;

/// Copies the content of a block.
pub(crate) fn block_content(content: &[u8]) -> BlockContent {
    content.iter().any(|byte| *byte != 0).then(|| content.into())
}

/// A block of which the cache has lost something.
#[derive(Debug)]
pub(crate) struct LostBlock {
    pub(crate) block: u64,
    before: BlockContent,
    /// One bit for each sector.
    lost_sectors: u8,
}

impl LostBlock {
    /// Gives the lost sectors the contents that they had, in a file in which the block begins at
    /// `at`.
    pub(crate) fn restore(&self, data: &File, at: u64) -> io::Result<()> {
        let before = self.before.as_deref().unwrap_or(&[0; BLOCK_BYTES as usize]);
        let sectors = before.chunks(SECTOR_BYTES).enumerate();
        let mut lost = sectors.filter(|(sector, _)| self.lost_sectors & 1 << sector != 0);
        lost.try_for_each(|(sector, bytes)| {
            data.write_all_at(bytes, at + (sector * SECTOR_BYTES) as u64)
        })
    }
}

/// What was written between two flushes.
#[derive(Debug, Default)]
struct Epoch {
    before: HashMap<u64, BlockContent>,
    /// The blocks in the order in which they were first written.
    order: VecDeque<u64>,
}

/// The volatile part of a disk: the newest epoch is written to, the others wait for their flush.
#[derive(Debug)]
pub(crate) struct UndoLog {
    epochs: VecDeque<Epoch>,
    /// The flush that makes the oldest epoch durable.
    oldest_flush: u64,
    blocks: usize,
    /// A cache that is full has written its oldest data.
    blocks_max: usize,
}

impl UndoLog {
    pub(crate) fn new(cache_bytes: u64) -> Self {
        Self {
            epochs: VecDeque::from([Epoch::default()]),
            oldest_flush: 0,
            blocks: 0,
            blocks_max: (cache_bytes / BLOCK_BYTES) as usize,
        }
    }

    /// Whether the content of this block has to be kept before it is written.
    pub(crate) fn needs(&self, block: u64) -> bool {
        self.blocks_max > 0 && !self.newest().before.contains_key(&block)
    }

    pub(crate) fn keep(&mut self, block: u64, content: &[u8]) {
        let newest = self.epochs.back_mut().expect("there is always an epoch");
        newest.before.insert(block, block_content(content));
        newest.order.push_back(block);
        self.blocks += 1;
        while self.blocks > self.blocks_max {
            self.forget_oldest_block();
        }
    }

    /// Forgets what these blocks held: nothing refers to them any more.
    pub(crate) fn forget_blocks(&mut self, is_gone: impl Fn(u64) -> bool) {
        for epoch in &mut self.epochs {
            let blocks = epoch.order.len();
            epoch.order.retain(|block| !is_gone(*block));
            self.blocks -= blocks - epoch.order.len();
            epoch.before.retain(|block, _| !is_gone(*block));
        }
    }

    /// The end of a block is cut off: it held zeros from this byte on.
    pub(crate) fn cut_block(&mut self, block: u64, from: usize) {
        for content in
            self.epochs.iter_mut().filter_map(|epoch| epoch.before.get_mut(&block)?.as_mut())
        {
            if let Some(gone) = content.get_mut(from..) {
                gone.fill(0);
            }
        }
    }

    fn forget_oldest_block(&mut self) {
        for epoch in &mut self.epochs {
            if let Some(block) = epoch.order.pop_front() {
                epoch.before.remove(&block);
                self.blocks -= 1;
                return;
            }
        }
    }

    fn newest(&self) -> &Epoch {
        self.epochs.back().expect("there is always an epoch")
    }

    /// A flush begins: what is written from now on waits for the next one.
    pub(crate) fn flush_begins(&mut self) -> FlushNumber {
        self.epochs.push_back(Epoch::default());
        FlushNumber(self.oldest_flush + self.epochs.len() as u64 - 2)
    }

    /// Everything before this flush is durable.
    pub(crate) fn flush_done(&mut self, flush: FlushNumber) {
        while self.oldest_flush <= flush.0 && self.epochs.len() > 1 {
            let epoch = self.epochs.pop_front().expect("there are two epochs");
            self.blocks -= epoch.order.len();
            self.oldest_flush += 1;
        }
    }

    /// The power fails: blocks in the order in which they are to be restored. A sector survives
    /// with this probability.
    pub(crate) fn power_fails(&mut self, survival: f64, seed: u64) -> Vec<LostBlock> {
        let mut random = RandomStream::new(seed, 0);
        let mut lost = Vec::with_capacity(self.blocks);
        while let Some(mut epoch) = self.epochs.pop_back() {
            for block in std::mem::take(&mut epoch.order) {
                let before = epoch.before.remove(&block).flatten();
                let lost_sectors = (0..8)
                    .fold(0, |bits, sector| bits | u8::from(random.unit() >= survival) << sector);
                if lost_sectors != 0 {
                    lost.push(LostBlock { block, before, lost_sectors });
                }
            }
        }
        self.oldest_flush = 0;
        self.blocks = 0;
        self.epochs.push_back(Epoch::default());
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of four blocks with one byte of content each.
    struct Disk {
        blocks: [u8; 4],
        undo: UndoLog,
    }

    impl Disk {
        fn new(cache_blocks: u64) -> Self {
            Self { blocks: [0; 4], undo: UndoLog::new(cache_blocks * BLOCK_BYTES) }
        }

        fn write(&mut self, block: u64, content: u8) -> &mut Self {
            if self.undo.needs(block) {
                self.undo.keep(block, &[self.blocks[block as usize]]);
            }
            self.blocks[block as usize] = content;
            self
        }

        fn flush(&mut self) -> &mut Self {
            let flush = self.undo.flush_begins();
            self.undo.flush_done(flush);
            self
        }

        fn cut(&mut self, survival: f64) -> [u8; 4] {
            for lost in self.undo.power_fails(survival, 1) {
                self.blocks[lost.block as usize] = lost.before.map_or(0, |content| content[0]);
            }
            self.blocks
        }
    }

    #[test]
    fn a_power_cut_takes_back_what_was_not_flushed() {
        let mut disk = Disk::new(100);
        assert_eq!(
            disk.write(0, 1).write(1, 1).flush().write(1, 2).write(1, 3).write(2, 3).cut(0.0),
            [1, 1, 0, 0]
        );
        assert_eq!(disk.write(3, 9).cut(0.0), [1, 1, 0, 0]);
        assert_eq!(disk.write(3, 9).flush().cut(0.0), [1, 1, 0, 9]);
        assert_eq!(disk.write(3, 8).cut(1.0), [1, 1, 0, 8]);
    }

    #[test]
    fn a_flush_that_was_not_done_made_nothing_durable() {
        let mut disk = Disk::new(100);
        let flush = disk.write(0, 1).undo.flush_begins();
        let later = disk.write(0, 2).undo.flush_begins();
        disk.write(0, 3).undo.flush_done(flush);
        assert_eq!(disk.cut(0.0), [1, 0, 0, 0]);
        let flush = disk.write(0, 5).undo.flush_begins();
        disk.write(0, 6);
        assert_ne!(flush, later);
        assert_eq!(disk.cut(0.0), [1, 0, 0, 0]);
    }

    #[test]
    fn a_full_cache_has_written_its_oldest_blocks() {
        let mut disk = Disk::new(2);
        assert_eq!(disk.write(0, 1).write(1, 1).write(2, 1).write(3, 1).cut(0.0), [1, 1, 0, 0]);
        assert_eq!(Disk::new(0).write(0, 7).cut(0.0), [7, 0, 0, 0]);
    }

    #[test]
    fn blocks_that_are_gone_are_not_restored() {
        let mut disk = Disk::new(2);
        disk.write(0, 1).write(1, 1).flush().write(0, 2).write(1, 2);
        disk.undo.forget_blocks(|block| block == 0);
        assert_eq!(disk.cut(0.0), [2, 1, 0, 0]);
        disk.write(0, 3).write(1, 3).undo.cut_block(1, 0);
        assert_eq!(disk.cut(0.0), [2, 0, 0, 0]);
    }

    #[test]
    fn some_sectors_survive_by_the_seed() {
        let survivors = |survival| {
            let mut undo = UndoLog::new(10_000 * BLOCK_BYTES);
            (0..10_000).for_each(|block| undo.keep(block, &[1]));
            let lost = undo
                .power_fails(survival, 3)
                .into_iter()
                .map(|lost| lost.lost_sectors.count_ones());
            80_000 - lost.sum::<u32>()
        };
        assert!((39_000..41_000).contains(&survivors(0.5)), "{}", survivors(0.5));
        assert_eq!((survivors(0.5), survivors(0.0), survivors(1.0)), (survivors(0.5), 0, 80_000));
    }

    #[test]
    fn a_torn_block_has_sectors_of_both_contents() {
        let (data, mut undo) = (tempfile::tempfile().unwrap(), UndoLog::new(BLOCK_BYTES));
        data.write_all_at(&[2; 2 * BLOCK_BYTES as usize], 0).unwrap();
        undo.keep(9, &[1; BLOCK_BYTES as usize]);
        let [lost] = &undo.power_fails(0.5, 3)[..] else { panic!("one block") };
        lost.restore(&data, BLOCK_BYTES).unwrap();
        let mut found = [0; 2 * BLOCK_BYTES as usize];
        data.read_exact_at(&mut found, 0).unwrap();
        assert!(found[..BLOCK_BYTES as usize].iter().all(|byte| *byte == 2), "the block before it");
        let mut seen = [false; 3];
        for sector in found[BLOCK_BYTES as usize..].chunks(SECTOR_BYTES) {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "{sector:?}");
            seen[sector[0] as usize] = true;
        }
        assert_eq!(seen, [false, true, true]);
    }
}
