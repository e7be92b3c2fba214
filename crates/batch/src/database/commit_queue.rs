//! The queue of one table, shared by the threads of clients and of commit connections.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::CommitFigures;
use crate::{
    InsertRow, NotStored, QueueHealth, QueueLimits, QueueRefusal, QueuedRow, RowAnswer, RowQueue, RowReply,
    TableColumns, TakenRows,
};

/// Rows of many clients on their way to one table.
pub struct CommitQueue<R> {
    start: Instant,
    columns: RwLock<Arc<TableColumns>>,
    state: Mutex<LockedQueue<R>>,
    /// One for each commit connection.
    wakes: Box<[Condvar]>,
    figures: Mutex<CommitFigures>,
}

struct LockedQueue<R> {
    queue: RowQueue<R>,
    /// Connections that wait for rows.
    is_idle: Vec<bool>,
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
    pub is_closed: bool,
}

impl<R: RowReply> CommitQueue<R> {
    pub fn new(columns: TableColumns, limits: QueueLimits, connections: usize) -> Self {
        Self {
            start: Instant::now(),
            columns: RwLock::new(Arc::new(columns)),
            state: Mutex::new(LockedQueue { queue: RowQueue::new(limits), is_idle: vec![false; connections] }),
            wakes: (0..connections).map(|_| Condvar::new()).collect(),
            figures: Mutex::default(),
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
    pub fn push(&self, row: InsertRow, reply: R, wait: Duration) -> Result<(), QueueRefusal> {
        let now = self.now();
        let row = QueuedRow { row, reply, deadline: now + wait, queued_at: now };
        let mut state = self.lock();
        state.queue.push(row, now)?;
        self.wake(&mut state);
        Ok(())
    }

    /// Wakes an idle connection that has something to do.
    fn wake(&self, state: &mut LockedQueue<R>) {
        let idle = |n: &usize| state.is_idle[*n] && state.queue.has_work_for(*n);
        if let Some(idle) = (0..self.wakes.len()).find(idle) {
            state.is_idle[idle] = false;
            self.wakes[idle].notify_one();
        }
    }

    /// Waits for rows; `None` if the queue is closed and empty. Also returns when it took the rows.
    pub(super) fn wait_for_rows(&self, connection: usize) -> Option<(TakenRows<R>, Duration)> {
        let mut state = self.lock();
        loop {
            if state.queue.has_work_for(connection) {
                let now = self.now();
                let taken = state.queue.take(now);
                state.queue.commits.begin(now);
                self.wake(&mut state);
                drop(state);
                self.note_taken(&taken, now);
                return Some((taken, now));
            }
            if state.queue.is_closed() {
                return None;
            }
            state.is_idle[connection] = true;
            state = self.wakes[connection].wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_idle[connection] = false;
        }
    }

    fn note_taken(&self, taken: &TakenRows<R>, now: Duration) {
        let mut figures = self.lock_figures();
        figures.expired += taken.expired.len() as u64;
        figures.abandoned += taken.abandoned as u64;
        for row in &taken.batch {
            figures.queue_seconds.add(now.saturating_sub(row.queued_at).as_secs_f64());
        }
    }

    /// A batch has ended that began then. `health`: what it shows of the database; `None`: nothing was sent.
    pub(super) fn end_batch(&self, began: Duration, health: Option<QueueHealth>) {
        let now = self.now();
        let queue = &mut self.lock().queue;
        match health {
            Some(health) => {
                queue.commits.end(began, now);
                queue.health = health;
            }
            None => queue.commits.forget(began),
        }
    }

    pub(super) fn set_health(&self, health: QueueHealth) {
        self.lock().queue.health = health;
    }

    /// The server takes statements of so many bytes.
    pub(super) fn limit_batch_bytes(&self, bytes: usize) {
        let mut state = self.lock();
        let limit = state.queue.limits().batch.bytes.min(bytes);
        state.queue.set_batch_bytes(limit);
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
            row.reply.answer(RowAnswer::NotStored(NotStored::Stopping));
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
