//! The loop of one commit connection: take a batch, do what the executor decides, answer.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError, Target};

use super::CommitQueue;
use super::connection::{CommitConnection, end_session, setup_statements};
use super::inspection::{InspectionError, TableInspection, inspect_table};
use crate::{
    BatchRun, ExecutorAction, FaultClass, NotStored, QueueHealth, RowAnswer, RowReply, StatementOutcome, TableColumns,
    TakenRows,
};

/// Rows are refused for so long after a batch that could not be stored; then one is tried.
const DOWN_TIME: Duration = Duration::from_millis(500);
/// A batch that fails for longer shows that the database is down, before its rows are given up.
const PATIENCE: Duration = Duration::from_secs(1);
const INSPECTION_TIME: Duration = Duration::from_secs(5);

/// Where and how rows are committed.
#[derive(Debug, Clone)]
pub struct CommitSettings {
    pub target: Target,
    pub table: String,
    /// The columns of the idempotency key; empty: the table's only unique key.
    pub key: Vec<String>,
    /// A statement without a reply after this time has an unknown outcome.
    pub statement_time: Duration,
    /// Whether a row that is there already is compared with what was sent. It needs the privileges SELECT and CREATE
    /// TEMPORARY TABLES.
    pub compares: bool,
    pub connections: usize,
}

impl CommitSettings {
    /// The same login, in sessions that are as strict as those that insert: a definition has another text in other modes.
    fn strict_target(&self) -> Target {
        let mut target = self.target.clone();
        target.setup.extend(setup_statements(target.dialect, self.statement_time));
        target
    }

    /// Reads the table, with whether it can keep the promise.
    pub fn inspect(&self) -> Result<TableInspection, InspectionError> {
        let mut client = Client::connect(&self.strict_target(), INSPECTION_TIME)?;
        inspect_table(&mut client, &self.table, &self.key)
    }
}

/// The threads of a table's commit connections.
pub struct CommitThreads(Vec<JoinHandle<()>>);

impl CommitThreads {
    pub fn start<R: RowReply + Send + 'static>(
        settings: &CommitSettings,
        queue: &Arc<CommitQueue<R>>,
    ) -> io::Result<Self> {
        let settings = Arc::new(settings.clone());
        let threads = (0..settings.connections).map(|number| {
            let worker = CommitWorker { settings: Arc::clone(&settings), number, connection: None };
            let queue = Arc::clone(queue);
            thread::Builder::new().name(format!("commit-{number}")).spawn(move || worker.work(&queue))
        });
        Ok(Self(threads.collect::<io::Result<_>>()?))
    }

    /// Waits until all threads have ended: the queue is closed and empty.
    pub fn join(self) {
        for thread in self.0 {
            // A thread that panicked has dropped its replies: their clients know.
            let _ = thread.join();
        }
    }

    pub fn have_ended(&self) -> bool {
        self.0.iter().all(JoinHandle::is_finished)
    }
}

struct CommitWorker {
    settings: Arc<CommitSettings>,
    number: usize,
    connection: Option<CommitConnection>,
}

impl CommitWorker {
    fn work<R: RowReply>(mut self, queue: &CommitQueue<R>) {
        while let Some((taken, began)) = queue.wait_for_rows(self.number) {
            let health = self.commit(queue, taken, began);
            queue.end_batch(began, health);
        }
    }

    /// Commits a batch. Returns what it shows of the database; `None` if nothing was sent.
    fn commit<R: RowReply>(
        &mut self,
        queue: &CommitQueue<R>,
        taken: TakenRows<R>,
        began: Duration,
    ) -> Option<QueueHealth> {
        let columns = queue.columns();
        let rows = taken.batch.len();
        if taken.batch.first().is_some_and(|row| row.row.columns_version != columns.version) {
            answer_all(taken);
            return None;
        }
        if self.connection.as_mut().is_some_and(|connection| !connection.is_open()) {
            self.connection = None;
        }
        let seed = began.as_nanos() as u64 ^ self.number as u64;
        let mut run = BatchRun::new(taken, self.connection.is_some(), self.settings.compares, seed);
        let mut has_changed = false;
        loop {
            let action = run.next_action(queue.now());
            if action == ExecutorAction::Done {
                break;
            }
            let outcome = self.act(action, queue, &columns, &run);
            has_changed |= outcome == StatementOutcome::Inspected { has_changed: true };
            let fails = matches!(outcome, StatementOutcome::Refused(_) | StatementOutcome::ConnectFailed);
            run.record(outcome);
            let now = queue.now();
            if fails && run.executor().is_failing() && now.saturating_sub(began) > PATIENCE {
                queue.set_health(QueueHealth::DownUntil(now + DOWN_TIME));
            }
        }
        if rows == 0 {
            return None;
        }
        let now = queue.now();
        queue.lock_figures().add_batch(rows, now.saturating_sub(began), run.counts());
        let mut is_good = self.connection.is_some();
        if let Some(error) = run.executor().last_fault() {
            let class = FaultClass::of(error);
            has_changed |= class == FaultClass::Configuration;
            is_good = false;
            queue.lock_figures().add_fault(class, error.to_string());
        }
        if has_changed && let Err(problem) = self.read_columns(queue) {
            is_good = false;
            queue.lock_figures().last_fault = Some(problem);
        }
        Some(if is_good { QueueHealth::Good } else { QueueHealth::DownUntil(now + DOWN_TIME) })
    }

    fn act<R: RowReply>(
        &mut self,
        action: ExecutorAction,
        queue: &CommitQueue<R>,
        columns: &TableColumns,
        run: &BatchRun<R>,
    ) -> StatementOutcome {
        match action {
            ExecutorAction::Pause(pause) => {
                thread::sleep(pause);
                return StatementOutcome::Paused;
            }
            ExecutorAction::Connect => return self.connect(queue),
            _ => {}
        }
        let Some(connection) = &mut self.connection else { return StatementOutcome::Lost { was_sent: false } };
        let deadline = Instant::now() + self.settings.statement_time;
        let outcome = match action {
            ExecutorAction::Insert => connection.insert(columns, run.group(), deadline),
            ExecutorAction::Compare => connection.compare(columns, &run.group(), deadline),
            _ => connection.inspect(&self.settings.table, columns, deadline),
        };
        if matches!(outcome, StatementOutcome::Lost { .. })
            && let Some(connection) = self.connection.take()
            && Instant::now() >= deadline
        {
            // Whether it succeeds does not matter.
            let _ = end_session(&self.settings.target, connection.id());
        }
        outcome
    }

    fn connect<R: RowReply>(&mut self, queue: &CommitQueue<R>) -> StatementOutcome {
        self.connection = None;
        match CommitConnection::open(&self.settings.strict_target(), self.number as u32) {
            Ok(connection) => {
                queue.limit_batch_bytes(connection.packet_bytes() / 2);
                self.connection = Some(connection);
                StatementOutcome::Connected
            }
            Err(DriverError::Server(error)) => StatementOutcome::Refused(error),
            Err(error) => {
                queue.lock_figures().last_fault = Some(error.to_string());
                StatementOutcome::ConnectFailed
            }
        }
    }

    /// Reads the table again, after a sign that it has changed.
    fn read_columns<R: RowReply>(&self, queue: &CommitQueue<R>) -> Result<(), String> {
        let inspection = self.settings.inspect().map_err(|error| error.to_string())?;
        if inspection.columns != *queue.columns() {
            queue.set_columns(inspection.columns);
            return Ok(());
        }
        Ok(())
    }
}

/// The table has changed since these rows were read.
fn answer_all<R: RowReply>(taken: TakenRows<R>) {
    for row in taken.batch {
        row.reply.answer(RowAnswer::NotStored(NotStored::OtherColumns));
    }
    for row in taken.expired {
        row.reply.answer(RowAnswer::NotStored(NotStored::Expired));
    }
}
