//! The queue of one table, shared by the threads of clients and of commit connections.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::CommitFigures;
use crate::queue::row_source;
use crate::{
    CommitAnswer, InsertRow, NotStored, QueueHealth, QueueLane, QueueLimits, QueueRefusal,
    QueuedRow, RowQueue, RowReply, TableColumns, TakenRows,
};

/// While rows come, the table's definition is read again so often: a trigger that was made
/// meanwhile may change rows.
pub(super) const DEFINITION_EVERY: Duration = Duration::from_secs(1);
/// While the database takes no rows and none come, the table is looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Rows of many clients on their way to one table.
pub struct CommitQueue<R> {
    start: Instant,
    columns: RwLock<Arc<TableColumns>>,
    state: Mutex<LockedQueue<R>>,
    /// One for each commit connection; the last one is for rows that go apart.
    wakes: Box<[Condvar]>,
    figures: Mutex<CommitFigures>,
    /// The configured limit of a statement's bytes; a server may have a lower one.
    batch_bytes: usize,
    /// Batches that were stored.
    stored_batches: AtomicU64,
    /// Milliseconds until the table's definition was read the last time.
    definition_read_ms: AtomicU64,
    /// When it last could not be read, in the same form.
    definition_unread_ms: AtomicU64,
}

/// What is known of the table's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionState {
    /// It was read within the last second.
    Known,
    /// It could not be read within the last second.
    Unread,
    /// It is read soon.
    Awaited,
}

/// What a commit connection does next.
pub(super) enum QueueWork<R> {
    /// These rows, taken then.
    Rows(TakenRows<R>, Duration),
    /// No row comes, and the table is looked at: whether it takes rows again, or is another one.
    Look,
}

struct LockedQueue<R> {
    queue: RowQueue<R>,
    /// Connections that wait for rows.
    is_idle: Vec<bool>,
    is_look_wanted: bool,
    /// While the database takes no rows, and none come.
    next_look: Duration,
}

/// What the queue is like at one moment.
#[derive(Debug, Clone, Copy)]
pub struct CommitState {
    pub rows: usize,
    pub bytes: usize,
    pub limits: QueueLimits,
    pub expected_wait: Duration,
    /// Mean time of recent batches.
    pub commit_time: Duration,
    /// Batches that are being committed.
    pub running: usize,
    pub is_down: bool,
    /// Whether the table can keep the promise.
    pub is_fit: bool,
    pub is_closed: bool,
}

impl<R: RowReply> CommitQueue<R> {
    pub fn new(columns: TableColumns, limits: QueueLimits, connections: usize) -> Self {
        Self {
            start: Instant::now(),
            columns: RwLock::new(Arc::new(columns)),
            state: Mutex::new(LockedQueue {
                queue: RowQueue::new(limits),
                is_idle: vec![false; connections + 1],
                is_look_wanted: false,
                next_look: Duration::ZERO,
            }),
            wakes: (0..=connections).map(|_| Condvar::new()).collect(),
            figures: Mutex::default(),
            batch_bytes: limits.batch.bytes,
            stored_batches: AtomicU64::new(0),
            definition_read_ms: AtomicU64::new(0),
            definition_unread_ms: AtomicU64::new(0),
        }
    }

    /// Time since the queue was made: all times of rows are of this clock.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// What rows are read for.
    pub fn columns(&self) -> Arc<TableColumns> {
        Arc::clone(&self.columns.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_columns(&self, columns: TableColumns) {
        *self.columns.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(columns);
    }

    /// Whether a row of so many bytes would be taken now.
    pub fn check(&self, bytes: usize) -> Result<(), QueueRefusal> {
        self.lock().queue.check(bytes, self.now())
    }

    /// Adds a row whose client waits for so long. A refused row has no answer: `reply` is dropped.
    /// `peer`: a number for the address of the client.
    pub fn push(
        &self,
        row: InsertRow,
        reply: R,
        peer: u64,
        wait: Duration,
    ) -> Result<(), QueueRefusal> {
        let now = self.now();
        let source = row_source(peer, &row);
        let row = QueuedRow { row, reply, deadline: now + wait, queued_at: now, source, peer };
        let mut state = self.lock();
        state.queue.push(row, now)?;
        self.wake(&mut state);
        Ok(())
    }

    /// The rows of a connection.
    pub(super) fn lane(&self, connection: usize) -> QueueLane {
        if connection + 1 == self.wakes.len() {
            QueueLane::Apart
        } else {
            QueueLane::Main(connection)
        }
    }

    /// Wakes an idle connection of each lane that has something to do.
    fn wake(&self, state: &mut LockedQueue<R>) {
        let apart = self.wakes.len() - 1;
        for connections in [0..apart, apart..apart + 1] {
            let idle = connections
                .clone()
                .find(|n| state.is_idle[*n] && state.queue.has_work_for(self.lane(*n)));
            if let Some(idle) = idle {
                state.is_idle[idle] = false;
                self.wakes[idle].notify_one();
            }
        }
    }

    /// Waits for something to do; `None` if the queue is closed and empty.
    pub(super) fn wait_for_work(&self, connection: usize) -> Option<QueueWork<R>> {
        let lane = self.lane(connection);
        let mut state = self.lock();
        loop {
            if state.queue.has_work_for(lane) {
                let now = self.now();
                let taken = state.queue.take(lane, now);
                if lane != QueueLane::Apart {
                    state.queue.commits.begin(now);
                }
                self.wake(&mut state);
                drop(state);
                self.note_taken(&taken, now);
                return Some(QueueWork::Rows(taken, now));
            }
            if state.queue.is_closed() {
                return None;
            }
            let look_in = self.time_to_look(&state, lane);
            if look_in == Some(Duration::ZERO) {
                state.is_look_wanted = false;
                state.next_look = self.now() + LOOK_EVERY;
                return Some(QueueWork::Look);
            }
            state.is_idle[connection] = true;
            state = match look_in {
                None => self.wakes[connection].wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    self.wakes[connection]
                        .wait_timeout(state, time)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
            state.is_idle[connection] = false;
        }
    }

    /// When an idle connection looks at the table; `None`: not before it is asked to.
    fn time_to_look(&self, state: &LockedQueue<R>, lane: QueueLane) -> Option<Duration> {
        if lane != QueueLane::Main(0) {
            return None;
        }
        let next_look = match state.queue.health {
            _ if state.is_look_wanted => Duration::ZERO,
            QueueHealth::Good => return None,
            QueueHealth::DownUntil(until) => state.next_look.max(until),
            QueueHealth::Unfit => state.next_look,
        };
        Some(next_look.saturating_sub(self.now()))
    }

    /// For a row that is wrong for what is known of the table: it may be right for what the table
    /// is now.
    pub fn definition_state(&self) -> DefinitionState {
        let now = self.now();
        if is_recent(&self.definition_read_ms, now) {
            return DefinitionState::Known;
        }
        if is_recent(&self.definition_unread_ms, now) {
            return DefinitionState::Unread;
        }
        let mut state = self.lock();
        state.is_look_wanted = true;
        if std::mem::take(&mut state.is_idle[0]) {
            self.wakes[0].notify_one();
        }
        DefinitionState::Awaited
    }

    pub fn note_definition(&self, is_read: bool) {
        let at_ms = if is_read { &self.definition_read_ms } else { &self.definition_unread_ms };
        at_ms.store((self.now().as_millis() as u64).max(1), Ordering::Relaxed);
    }

    /// Waits at most so long for rows that were read for the same columns, while a batch waits for
    /// the server.
    pub(super) fn wait_for_more(
        &self,
        connection: usize,
        columns: u64,
        wait: Duration,
    ) -> Option<TakenRows<R>> {
        let lane = self.lane(connection);
        let until = self.now() + wait;
        let mut state = self.lock();
        loop {
            let now = self.now();
            if state.queue.has_work_for(lane) && state.queue.next_columns(lane) == Some(columns) {
                let taken = state.queue.take(lane, now);
                drop(state);
                self.note_taken(&taken, now);
                return Some(taken);
            }
            let left = until.checked_sub(now).filter(|left| !left.is_zero())?;
            state.is_idle[connection] = true;
            state = self.wakes[connection]
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            state.is_idle[connection] = false;
        }
    }

    /// Whether other rows than those that go apart wait or are being committed.
    pub(super) fn is_main_busy(&self) -> bool {
        let queue = &self.lock().queue;
        queue.has_work_for(QueueLane::Main(0)) || queue.commits.running() > 0
    }

    /// Rows of these sources cost others time.
    pub(super) fn blame(&self, sources: &[u64]) {
        let now = self.now();
        let queue = &mut self.lock().queue;
        for source in sources {
            queue.blame(*source, now);
        }
    }

    /// Once after each batch with rows that were blamed: all rows that wait are looked at.
    pub(super) fn move_suspects(&self) {
        let mut state = self.lock();
        state.queue.move_suspects(self.now());
        self.wake(&mut state);
    }

    /// A batch waits for the server: how long says nothing about the next one.
    pub(super) fn note_waiting(&self, connection: usize, began: Duration) {
        if self.lane(connection) != QueueLane::Apart {
            self.lock().queue.commits.forget(began);
        }
    }

    pub(super) fn note_stored_batch(&self) {
        self.stored_batches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stored_batches(&self) -> u64 {
        self.stored_batches.load(Ordering::Relaxed)
    }

    fn note_taken(&self, taken: &TakenRows<R>, now: Duration) {
        let mut figures = self.lock_figures();
        figures.expired += taken.expired.len() as u64;
        figures.abandoned += taken.abandoned as u64;
        for row in &taken.batch {
            figures.queue_seconds.add(now.saturating_sub(row.queued_at).as_secs_f64());
        }
    }

    /// A batch of a connection has ended that began then. `health`: what it shows of the database;
    /// `None`: nothing was sent.
    pub(super) fn end_batch(
        &self,
        connection: usize,
        began: Duration,
        health: Option<QueueHealth>,
    ) {
        // Rows that go apart say little about the database.
        if self.lane(connection) == QueueLane::Apart {
            return;
        }
        let now = self.now();
        let queue = &mut self.lock().queue;
        match health {
            Some(health) => {
                queue.commits.end(began, now);
                queue.set_health(health);
            }
            None => {
                queue.commits.forget(began);
            }
        }
    }

    /// A connection ended without the end of its batch.
    pub(super) fn forget_batches(&self, connection: usize) {
        if self.lane(connection) != QueueLane::Apart {
            self.lock().queue.commits.forget_all();
        }
    }

    pub(super) fn set_health(&self, connection: usize, health: QueueHealth) {
        if self.lane(connection) != QueueLane::Apart {
            self.lock().queue.set_health(health);
        }
    }

    /// The table was looked at. A row shows whether it can be stored.
    pub(super) fn set_fit(&self, is_fit: bool) {
        self.lock().queue.health = if is_fit { QueueHealth::Good } else { QueueHealth::Unfit };
    }

    pub(super) fn is_fit(&self) -> bool {
        self.lock().queue.health != QueueHealth::Unfit
    }

    /// This server takes statements of so many bytes; the one before it may have had another limit.
    pub(super) fn limit_batch_bytes(&self, bytes: usize) {
        let limit = self.batch_bytes.min(bytes);
        self.lock().queue.set_batch_bytes(limit);
    }

    /// Takes no more rows. The connections end when the queue is empty.
    pub fn close(&self) {
        self.lock().queue.close();
        self.wakes.iter().for_each(Condvar::notify_all);
    }

    /// Answers all rows that have not been sent: they are not stored.
    pub fn drop_waiting_rows(&self) {
        let rows = self.lock().queue.drain();
        for row in rows {
            row.reply.answer(CommitAnswer::NotStored(NotStored::Stopping));
        }
    }

    pub fn state(&self) -> CommitState {
        let now = self.now();
        let queue = &self.lock().queue;
        CommitState {
            rows: queue.rows(),
            bytes: queue.bytes(),
            limits: *queue.limits(),
            expected_wait: queue.expected_wait(now),
            commit_time: queue.commits.recent(),
            running: queue.commits.running(),
            is_down: queue.health != QueueHealth::Good,
            is_fit: queue.health != QueueHealth::Unfit,
            is_closed: queue.is_closed(),
        }
    }

    pub fn figures(&self) -> CommitFigures {
        self.lock_figures().clone()
    }

    pub(super) fn lock_figures(&self) -> MutexGuard<'_, CommitFigures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, LockedQueue<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a time in milliseconds, 0 for never, is no longer ago than a definition counts.
fn is_recent(at_ms: &AtomicU64, now: Duration) -> bool {
    let at = Duration::from_millis(at_ms.load(Ordering::Relaxed));
    !at.is_zero() && now.saturating_sub(at) <= DEFINITION_EVERY
}
