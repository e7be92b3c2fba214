//! The queue: bounded in rows, bytes and expected wait, so that a row is refused early instead of answered late.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{CommitTimes, InsertRow, RowReply};

/// A commit faster than this leaves the server idle while the next statement is made: more connections help then. With
/// slower ones they would wait for each other's flush.
const FAST_COMMIT: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    pub rows: usize,
    pub bytes: usize,
    /// A row that would wait longer is refused at once.
    pub wait: Duration,
    pub batch: BatchLimits,
}

/// Limits of one statement.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits {
    pub rows: usize,
    pub bytes: usize,
}

/// A row in the queue, with the way back to its client.
#[derive(Debug)]
pub struct QueuedRow<R> {
    pub row: InsertRow,
    pub reply: R,
    /// Its client waits until then.
    pub deadline: Duration,
    pub queued_at: Duration,
}

/// Whether the database takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueHealth {
    #[default]
    Good,
    /// New rows are refused until this time; then one batch is tried.
    DownUntil(Duration),
}

/// Why a row is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRefusal {
    /// Too many rows or bytes are waiting, or the wait would be too long.
    Busy { retry_after: Duration },
    /// The database takes no rows at the moment.
    Down { retry_after: Duration },
    /// The queue is closed: the gateway is stopping.
    Closed,
}

/// What [`RowQueue::take`] has removed from the queue.
#[derive(Debug)]
pub struct TakenRows<R> {
    /// To be sent now.
    pub batch: Vec<QueuedRow<R>>,
    /// Their time is over: they are not sent.
    pub expired: Vec<QueuedRow<R>>,
    /// Rows whose clients have gone: they are not sent.
    pub abandoned: usize,
}

/// Rows that wait for a commit connection.
#[derive(Debug)]
pub struct RowQueue<R> {
    rows: VecDeque<QueuedRow<R>>,
    bytes: usize,
    limits: QueueLimits,
    pub commits: CommitTimes,
    pub health: QueueHealth,
    is_closed: bool,
}

impl<R: RowReply> RowQueue<R> {
    pub fn new(limits: QueueLimits) -> Self {
        let (commits, health) = (CommitTimes::default(), QueueHealth::default());
        Self { rows: VecDeque::new(), bytes: 0, limits, commits, health, is_closed: false }
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn limits(&self) -> &QueueLimits {
        &self.limits
    }

    /// The server's limit has changed.
    pub fn set_batch_bytes(&mut self, bytes: usize) {
        self.limits.batch.bytes = bytes;
    }

    /// No row is taken any more; those in the queue stay.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub fn expected_wait(&self, now: Duration) -> Duration {
        self.commits.expected_wait(self.rows.len() / self.limits.batch.rows, now)
    }

    /// Whether a row of so many bytes would be taken now.
    pub fn check(&self, bytes: usize, now: Duration) -> Result<(), QueueRefusal> {
        const SHORTEST_RETRY: Duration = Duration::from_secs(1);
        if self.is_closed {
            return Err(QueueRefusal::Closed);
        }
        if let QueueHealth::DownUntil(until) = self.health
            && now < until
        {
            return Err(QueueRefusal::Down { retry_after: until.saturating_sub(now).max(SHORTEST_RETRY) });
        }
        let wait = self.expected_wait(now);
        let has_room = self.rows.len() < self.limits.rows && self.bytes + bytes <= self.limits.bytes;
        if has_room && wait <= self.limits.wait {
            return Ok(());
        }
        Err(QueueRefusal::Busy { retry_after: wait.max(SHORTEST_RETRY) })
    }

    pub fn push(&mut self, row: QueuedRow<R>, now: Duration) -> Result<(), QueueRefusal> {
        let bytes = row.row.bytes();
        self.check(bytes, now)?;
        self.bytes += bytes;
        self.rows.push_back(row);
        Ok(())
    }

    /// Whether the commit connection of this number, from 0, has something to do. The first one takes what there is.
    /// Others take full batches, and only if commits are so fast that the server waits for the statements.
    pub fn has_work_for(&self, connection: usize) -> bool {
        match connection {
            0 => !self.rows.is_empty(),
            _ if self.is_closed => false,
            _ => self.rows.len() >= self.limits.batch.rows && self.commits.recent() < FAST_COMMIT,
        }
    }

    /// Removes the rows of the next statement, oldest first. Rows for other columns are for another statement.
    pub fn take(&mut self, now: Duration) -> TakenRows<R> {
        let mut taken = TakenRows { batch: Vec::new(), expired: Vec::new(), abandoned: 0 };
        let mut bytes = 0;
        while let Some(first) = self.rows.front() {
            let row_bytes = first.row.bytes();
            let other_columns = taken
                .batch
                .first()
                .is_some_and(|of: &QueuedRow<R>| of.row.columns_version != first.row.columns_version);
            let is_full = taken.batch.len() == self.limits.batch.rows || bytes + row_bytes > self.limits.batch.bytes;
            if !taken.batch.is_empty() && (is_full || other_columns) {
                break;
            }
            let row = self.rows.pop_front().expect("the row that was just examined");
            self.bytes -= row_bytes;
            if row.reply.is_abandoned() {
                taken.abandoned += 1;
            } else if row.deadline <= now {
                taken.expired.push(row);
            } else {
                bytes += row_bytes;
                taken.batch.push(row);
            }
        }
        taken
    }

    /// Removes all rows, for a gateway that stops now.
    pub fn drain(&mut self) -> Vec<QueuedRow<R>> {
        self.bytes = 0;
        self.rows.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowAnswer;

    const MS: Duration = Duration::from_millis(1);

    struct Gone(bool);

    impl RowReply for Gone {
        fn is_abandoned(&self) -> bool {
            self.0
        }

        fn answer(self, _: RowAnswer) {}
    }

    fn row(bytes: usize, deadline: Duration, version: u64, is_gone: bool) -> QueuedRow<Gone> {
        let literals = vec![b'1'; bytes].into();
        let row = InsertRow { key: [].into(), literals, ends: [].into(), columns_version: version };
        QueuedRow { row, reply: Gone(is_gone), deadline, queued_at: Duration::ZERO }
    }

    fn queue() -> RowQueue<Gone> {
        RowQueue::new(QueueLimits { rows: 5, bytes: 100, wait: 50 * MS, batch: BatchLimits { rows: 3, bytes: 40 } })
    }

    #[test]
    fn each_limit_refuses() {
        let mut queue = queue();
        let busy = Err(QueueRefusal::Busy { retry_after: 1000 * MS });
        for _ in 0..5 {
            assert_eq!(queue.push(row(1, 9 * MS, 0, false), MS), Ok(()));
        }
        assert_eq!(queue.push(row(1, 9 * MS, 0, false), MS), busy);
        queue.drain();
        assert_eq!(queue.push(row(100, 9 * MS, 0, false), MS), Ok(()));
        assert_eq!(queue.push(row(1, 9 * MS, 0, false), MS), busy);
        queue.drain();
        queue.commits.begin(MS);
        assert_eq!(queue.push(row(1, 90 * MS, 0, false), 26 * MS), Ok(()));
        assert_eq!(queue.push(row(1, 90 * MS, 0, false), 27 * MS), busy);
        queue.health = QueueHealth::DownUntil(3000 * MS);
        assert_eq!(queue.check(1, MS), Err(QueueRefusal::Down { retry_after: 2999 * MS }));
        queue.close();
        assert_eq!(queue.check(1, MS), Err(QueueRefusal::Closed));
    }

    #[test]
    fn a_batch_has_rows_that_may_be_sent_and_fit() {
        let mut queue = queue();
        for (bytes, deadline, version, is_gone) in
            [(20, 1, 0, false), (20, 9, 0, true), (20, 9, 0, false), (20, 9, 0, false), (1, 9, 0, false)]
        {
            queue.push(row(bytes, deadline * MS, version, is_gone), MS).unwrap();
        }
        let taken = queue.take(2 * MS);
        assert_eq!((taken.batch.len(), taken.expired.len(), taken.abandoned), (2, 1, 1));
        assert_eq!((queue.rows(), queue.bytes()), (1, 1));
        queue.push(row(50, 9 * MS, 1, false), MS).unwrap();
        assert_eq!(queue.take(2 * MS).batch.len(), 1, "the columns of the next one are others");
        assert_eq!(queue.take(2 * MS).batch.len(), 1, "a long row is a batch of its own");
        assert_eq!((queue.rows(), queue.bytes()), (0, 0));
    }

    #[test]
    fn more_connections_work_only_while_commits_are_fast() {
        let mut queue = queue();
        for n in 0..3 {
            assert_eq!((queue.has_work_for(0), queue.has_work_for(1)), (n > 0, false));
            queue.push(row(1, 9 * MS, 0, false), MS).unwrap();
        }
        assert!(queue.has_work_for(1));
        queue.commits.begin(MS);
        queue.commits.end(MS, 11 * MS);
        assert!(queue.has_work_for(0) && !queue.has_work_for(1));
    }
}
