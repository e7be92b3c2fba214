//! The queue: bounded in rows, bytes and expected wait, so that a row is refused early instead of
//! answered late.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::suspects::SuspectSources;
use crate::{CommitTimes, InsertRow, RowReply};

/// A commit faster than this leaves the server idle while the next statement is made: more
/// connections help then. With slower ones they would wait for each other's flush.
const FAST_COMMIT: Duration = Duration::from_millis(2);
const SHORTEST_RETRY: Duration = Duration::from_secs(1);
/// Rows that go apart have this share of the queue's room.
const APART_SHARE: usize = 4;

#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    pub rows: usize,
    /// Rows of one address.
    pub peer_rows: usize,
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
    /// Rows of one client have the same number; see `row_source`.
    pub source: u64,
    /// A number for the address of the client.
    pub peer: u64,
}

/// A number for the client of a row: of its address, and of what its key says. Behind a proxy,
/// clients have one address.
pub(crate) fn row_source(peer: u64, row: &InsertRow) -> u64 {
    peer.rotate_left(32) ^ row.client
}

/// Which rows a commit connection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLane {
    /// The connection of this number, from 0.
    Main(usize),
    /// Rows of clients whose rows were refused lately.
    Apart,
}

/// Whether the database takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueHealth {
    #[default]
    Good,
    /// New rows are refused until this time; then one batch is tried.
    DownUntil(Duration),
    /// The table has been changed so that it cannot keep the promise: no row is sent until it can
    /// again.
    Unfit,
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
    main: RowLine<R>,
    /// Rows of suspects: batches with them may have to be divided.
    apart: RowLine<R>,
    suspects: SuspectSources,
    peers: PeerRows,
    limits: QueueLimits,
    pub commits: CommitTimes,
    pub health: QueueHealth,
    is_closed: bool,
}

#[derive(Debug)]
struct RowLine<R> {
    rows: VecDeque<QueuedRow<R>>,
    bytes: usize,
}

impl<R> Default for RowLine<R> {
    fn default() -> Self {
        Self { rows: VecDeque::new(), bytes: 0 }
    }
}

impl<R> RowLine<R> {
    fn has_room(&self, bytes: usize, rows_max: usize, bytes_max: usize) -> bool {
        self.rows.len() < rows_max && self.bytes + bytes <= bytes_max
    }
}

impl<R: RowReply> RowQueue<R> {
    pub fn new(limits: QueueLimits) -> Self {
        Self {
            main: RowLine::default(),
            apart: RowLine::default(),
            suspects: SuspectSources::default(),
            peers: PeerRows::default(),
            limits,
            commits: CommitTimes::default(),
            health: QueueHealth::default(),
            is_closed: false,
        }
    }

    pub fn rows(&self) -> usize {
        self.main.rows.len() + self.apart.rows.len()
    }

    pub fn bytes(&self) -> usize {
        self.main.bytes + self.apart.bytes
    }

    /// A row of this source cost others time: its next ones go apart.
    pub fn blame(&mut self, source: u64, now: Duration) {
        self.suspects.blame(source, now);
    }

    /// Rows that wait go apart, too, if their source was blamed after they came.
    pub fn move_suspects(&mut self, now: Duration) {
        let rows = std::mem::take(&mut self.main.rows).into_iter();
        let (suspect, others) = rows.partition(|row| self.suspects.is_suspect(row.source, now));
        (self.main.rows, self.main.bytes) = (others, self.main.bytes - bytes_of(&suspect));
        self.apart.bytes += bytes_of(&suspect);
        self.apart.rows.extend(suspect);
    }

    /// What a batch or a connection shows of the database. It does not make a table fit.
    pub fn set_health(&mut self, health: QueueHealth) {
        if self.health != QueueHealth::Unfit {
            self.health = health;
        }
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
        self.commits.expected_wait(self.main.rows.len() / self.limits.batch.rows, now)
    }

    /// Whether a row of so many bytes would be taken now.
    pub fn check(&self, bytes: usize, now: Duration) -> Result<(), QueueRefusal> {
        self.check_health(now)?;
        let wait = self.expected_wait(now);
        if self.main.has_room(bytes, self.limits.rows, self.limits.bytes)
            && wait <= self.limits.wait
        {
            return Ok(());
        }
        Err(QueueRefusal::Busy { retry_after: wait.max(SHORTEST_RETRY) })
    }

    fn check_health(&self, now: Duration) -> Result<(), QueueRefusal> {
        match self.health {
            _ if self.is_closed => Err(QueueRefusal::Closed),
            QueueHealth::DownUntil(until) if now < until => Err(QueueRefusal::Down {
                retry_after: until.saturating_sub(now).max(SHORTEST_RETRY),
            }),
            QueueHealth::Unfit => Err(QueueRefusal::Down { retry_after: SHORTEST_RETRY }),
            _ => Ok(()),
        }
    }

    /// Whether this row would be taken now.
    pub fn check_row(&self, row: &QueuedRow<R>, now: Duration) -> Result<(), QueueRefusal> {
        let bytes = row.row.bytes();
        if self.peers.count(row.peer) >= self.limits.peer_rows {
            self.check_health(now)?;
            return Err(QueueRefusal::Busy {
                retry_after: self.expected_wait(now).max(SHORTEST_RETRY),
            });
        }
        if !self.suspects.is_suspect(row.source, now) {
            return self.check(bytes, now);
        }
        self.check_health(now)?;
        let (rows_max, bytes_max) =
            (self.limits.rows.div_ceil(APART_SHARE), self.limits.bytes / APART_SHARE);
        if self.apart.has_room(bytes, rows_max, bytes_max) {
            return Ok(());
        }
        Err(QueueRefusal::Busy { retry_after: SHORTEST_RETRY })
    }

    pub fn push(&mut self, row: QueuedRow<R>, now: Duration) -> Result<(), QueueRefusal> {
        self.check_row(&row, now)?;
        self.peers.add(row.peer);
        let line = if self.suspects.is_suspect(row.source, now) {
            &mut self.apart
        } else {
            &mut self.main
        };
        line.bytes += row.row.bytes();
        line.rows.push_back(row);
        Ok(())
    }

    /// Whether a commit connection has something to do. The first one takes what there is. Others
    /// take full batches, and only if commits are so fast that the server waits for the statements.
    pub fn has_work_for(&self, lane: QueueLane) -> bool {
        match lane {
            QueueLane::Main(0) => !self.main.rows.is_empty(),
            QueueLane::Main(_) if self.is_closed => false,
            QueueLane::Main(_) => {
                self.main.rows.len() >= self.limits.batch.rows
                    && self.commits.recent() < FAST_COMMIT
            }
            QueueLane::Apart => !self.apart.rows.is_empty(),
        }
    }

    /// Removes the rows of the next statement, oldest first. Rows for other columns are for another
    /// statement.
    pub fn take(&mut self, lane: QueueLane, now: Duration) -> TakenRows<R> {
        let line = match lane {
            QueueLane::Main(_) => &mut self.main,
            QueueLane::Apart => &mut self.apart,
        };
        line.take(&self.limits.batch, &mut self.peers, now)
    }

    /// The columns that the next rows were read for.
    pub fn next_columns(&self, lane: QueueLane) -> Option<u64> {
        let line = match lane {
            QueueLane::Main(_) => &self.main,
            QueueLane::Apart => &self.apart,
        };
        line.rows.front().map(|row| row.row.columns_version)
    }

    /// Removes all rows, for a gateway that stops now.
    pub fn drain(&mut self) -> Vec<QueuedRow<R>> {
        self.peers = PeerRows::default();
        let lines = [&mut self.main, &mut self.apart];
        lines.into_iter().flat_map(|line| std::mem::take(line).rows).collect()
    }
}

fn bytes_of<R>(rows: &VecDeque<QueuedRow<R>>) -> usize {
    rows.iter().map(|row| row.row.bytes()).sum()
}

/// How many rows of each address wait.
#[derive(Debug, Default)]
struct PeerRows(BTreeMap<u64, usize>);

impl PeerRows {
    fn count(&self, peer: u64) -> usize {
        self.0.get(&peer).copied().unwrap_or_default()
    }

    fn add(&mut self, peer: u64) {
        *self.0.entry(peer).or_default() += 1;
    }

    fn remove(&mut self, peer: u64) {
        if let Some(count) = self.0.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&peer);
            }
        }
    }
}

impl<R: RowReply> RowLine<R> {
    fn take(&mut self, limits: &BatchLimits, peers: &mut PeerRows, now: Duration) -> TakenRows<R> {
        let mut taken = TakenRows { batch: Vec::new(), expired: Vec::new(), abandoned: 0 };
        let mut bytes = 0;
        while let Some(first) = self.rows.front() {
            let row_bytes = first.row.bytes();
            let other_columns = taken.batch.first().is_some_and(|of: &QueuedRow<R>| {
                of.row.columns_version != first.row.columns_version
            });
            let is_full = taken.batch.len() == limits.rows || bytes + row_bytes > limits.bytes;
            if !taken.batch.is_empty() && (is_full || other_columns) {
                break;
            }
            let row = self.rows.pop_front().expect("the row that was just examined");
            self.bytes -= row_bytes;
            peers.remove(row.peer);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommitAnswer;

    const MS: Duration = Duration::from_millis(1);

    struct Gone(bool);

    impl RowReply for Gone {
        fn is_abandoned(&self) -> bool {
            self.0
        }

        fn answer(self, _: CommitAnswer) {}
    }

    fn row(bytes: usize, deadline: Duration, version: u64, is_gone: bool) -> QueuedRow<Gone> {
        let literals = vec![b'1'; bytes].into();
        let row = InsertRow {
            key: [].into(),
            client: 0,
            literals,
            ends: [].into(),
            columns_version: version,
        };
        QueuedRow {
            row,
            reply: Gone(is_gone),
            deadline,
            queued_at: Duration::ZERO,
            source: bytes as u64,
            peer: version,
        }
    }

    fn queue() -> RowQueue<Gone> {
        let batch = BatchLimits { rows: 3, bytes: 40 };
        RowQueue::new(QueueLimits { rows: 5, peer_rows: 5, bytes: 100, wait: 50 * MS, batch })
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
        for (bytes, deadline, version, is_gone) in [
            (20, 1, 0, false),
            (20, 9, 0, true),
            (20, 9, 0, false),
            (20, 9, 0, false),
            (1, 9, 0, false),
        ] {
            queue.push(row(bytes, deadline * MS, version, is_gone), MS).unwrap();
        }
        let taken = queue.take(QueueLane::Main(0), 2 * MS);
        assert_eq!((taken.batch.len(), taken.expired.len(), taken.abandoned), (2, 1, 1));
        assert_eq!((queue.rows(), queue.bytes()), (1, 1));
        queue.push(row(50, 9 * MS, 1, false), MS).unwrap();
        assert_eq!(
            queue.take(QueueLane::Main(0), 2 * MS).batch.len(),
            1,
            "the columns of the next one are others"
        );
        assert_eq!(
            queue.take(QueueLane::Main(0), 2 * MS).batch.len(),
            1,
            "a long row is a batch of its own"
        );
        assert_eq!((queue.rows(), queue.bytes()), (0, 0));
    }

    #[test]
    fn more_connections_work_only_while_commits_are_fast() {
        let mut queue = queue();
        for n in 0..3 {
            assert_eq!(
                (queue.has_work_for(QueueLane::Main(0)), queue.has_work_for(QueueLane::Main(1))),
                (n > 0, false)
            );
            queue.push(row(1, 9 * MS, 0, false), MS).unwrap();
        }
        assert!(queue.has_work_for(QueueLane::Main(1)));
        queue.commits.begin(MS);
        queue.commits.end(MS, 11 * MS);
        assert!(queue.has_work_for(QueueLane::Main(0)) && !queue.has_work_for(QueueLane::Main(1)));
    }

    #[test]
    fn an_address_has_a_share_of_the_rows() {
        let mut queue = queue();
        queue.limits.peer_rows = 2;
        let of_peer = |peer| QueuedRow { peer, ..row(1, 9 * MS, 0, false) };
        for (peer, expect) in [(1, true), (1, true), (1, false), (2, true)] {
            assert_eq!(queue.push(of_peer(peer), MS).is_ok(), expect, "{peer}");
        }
        assert_eq!(queue.take(QueueLane::Main(0), MS).batch.len(), 3);
        assert_eq!(queue.push(of_peer(1), MS), Ok(()), "its rows have been taken");
        queue.drain();
        assert!(queue.peers.0.is_empty());
    }

    #[test]
    fn rows_of_a_source_that_wait_go_apart_with_its_next_ones() {
        let mut queue = queue();
        for bytes in [1, 2, 1] {
            queue.push(row(bytes, 9 * MS, 0, false), MS).unwrap();
        }
        queue.blame(1, MS);
        queue.move_suspects(MS);
        assert_eq!(queue.take(QueueLane::Main(0), MS).batch.len(), 1);
        assert_eq!(queue.take(QueueLane::Apart, MS).batch.len(), 2);
        assert_eq!((queue.rows(), queue.bytes(), queue.peers.0.len()), (0, 0, 0));
    }

    #[test]
    fn rows_of_suspects_go_apart_and_have_a_share_of_the_room() {
        let mut queue = queue();
        queue.blame(1, MS);
        for _ in 0..2 {
            assert_eq!(queue.push(row(1, 9 * MS, 0, false), MS), Ok(()));
        }
        assert_eq!(
            queue.push(row(1, 9 * MS, 0, false), MS),
            Err(QueueRefusal::Busy { retry_after: 1000 * MS })
        );
        assert!(!queue.has_work_for(QueueLane::Main(0)) && queue.has_work_for(QueueLane::Apart));
        assert_eq!(queue.push(row(2, 9 * MS, 0, false), MS), Ok(()), "others have all the room");
        assert_eq!(queue.take(QueueLane::Apart, 2 * MS).batch.len(), 2);
        assert_eq!(queue.take(QueueLane::Main(0), 2 * MS).batch.len(), 1);
        assert_eq!((queue.rows(), queue.bytes()), (0, 0));
    }
}
