//! The journal of the modelled file system: what a file has changed beside its data becomes durable
//! with a commit. As on ext4, that is a record and a flush, and a commit block and a flush; commits
//! at the same time are one.

use super::placement::JOURNAL_BYTES;
use super::placement::NodeId;
use crate::model::DiskRange;
use crate::undo::BLOCK_BYTES;

/// A descriptor and one block of metadata.
const RECORD_BLOCKS: u64 = 2;

/// A file whose content on the device becomes durable with a flush.
pub(super) struct SyncedFile {
    pub(super) node: NodeId,
    pub(super) size: u64,
    /// Not with the flush alone.
    pub(super) needs_commit: bool,
}

/// Gets whether the sync is done; not so after a crash.
pub(super) type SyncAnswer = Box<dyn FnOnce(bool) + Send>;

/// Syncs that one commit answers.
#[derive(Default)]
pub(super) struct CommitBatch {
    pub(super) files: Vec<SyncedFile>,
    pub(super) answers: Vec<SyncAnswer>,
}

impl CommitBatch {
    pub(super) fn answer(self, is_done: bool) {
        self.answers.into_iter().for_each(|answer| answer(is_done));
    }
}

pub(super) struct FileJournal {
    /// The next place in its part of the device.
    offset: u64,
    /// Changes from now on are in this commit.
    running: u64,
    /// All changes up to this commit are durable.
    committed: u64,
    is_committing: bool,
    waiting: CommitBatch,
}

impl FileJournal {
    pub(super) fn new() -> Self {
        Self {
            offset: 0,
            running: 1,
            committed: 0,
            is_committing: false,
            waiting: CommitBatch::default(),
        }
    }

    pub(super) fn running(&self) -> u64 {
        self.running
    }

    pub(super) fn is_committed(&self, change: u64) -> bool {
        change <= self.committed
    }

    /// Returns whether a commit has to begin; else one is under way, and the next one follows it.
    pub(super) fn wait(&mut self, file: SyncedFile, answer: SyncAnswer) -> bool {
        self.waiting.files.push(file);
        self.waiting.answers.push(answer);
        !self.is_committing
    }

    /// A commit begins, with a record at this place.
    pub(super) fn begin(&mut self) -> (CommitBatch, u64, DiskRange) {
        let commit = self.running;
        self.running += 1;
        self.is_committing = true;
        (std::mem::take(&mut self.waiting), commit, self.next_range(RECORD_BLOCKS))
    }

    /// The place of its commit block, behind the record.
    pub(super) fn commit_block(&mut self) -> DiskRange {
        self.next_range(1)
    }

    /// Returns whether another one has to begin.
    pub(super) fn end(&mut self, commit: u64) -> bool {
        self.committed = commit;
        self.is_committing = false;
        !self.waiting.files.is_empty()
    }

    /// The host crashed. Returns what will not be answered with success.
    pub(super) fn abandon(&mut self) -> CommitBatch {
        self.is_committing = false;
        std::mem::take(&mut self.waiting)
    }

    fn next_range(&mut self, blocks: u64) -> DiskRange {
        let length = blocks * BLOCK_BYTES;
        if self.offset + length > JOURNAL_BYTES {
            self.offset = 0;
        }
        self.offset += length;
        DiskRange { offset: self.offset - length, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_during_a_commit_are_in_the_next_one() {
        let mut journal = FileJournal::new();
        let file = |node| SyncedFile { node, size: 0, needs_commit: true };
        assert!(journal.wait(file(2), Box::new(|_| ())));
        let (batch, commit, record) = journal.begin();
        assert_eq!((batch.files.len(), record.offset, record.length), (1, 0, 8192));
        assert!(
            !journal.wait(file(3), Box::new(|_| ())) && !journal.wait(file(4), Box::new(|_| ()))
        );
        assert_eq!(journal.commit_block().offset, 8192);
        assert!(!journal.is_committed(commit) && journal.running() == commit + 1);
        assert!(journal.end(commit) && journal.is_committed(commit));
        assert_eq!(journal.begin().0.files.len(), 2);
        assert!(!journal.end(commit + 1));
    }

    #[test]
    fn the_journal_is_a_ring() {
        let mut journal = FileJournal::new();
        for _ in 0..JOURNAL_BYTES / BLOCK_BYTES {
            let range = journal.next_range(3);
            assert!(range.offset + range.length <= JOURNAL_BYTES);
        }
    }
}
