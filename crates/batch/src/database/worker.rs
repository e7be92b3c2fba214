//! The loop of one commit connection: take a batch, do what the executor decides, answer.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use truetps_driver::{Client, DriverError, Target};
use truetps_record::SqlDialect;

use super::CommitQueue;
use super::commit_queue::{DEFINITION_EVERY, QueueWork};
use super::connection::{CommitConnection, setup_statements};
use super::inspection::{TableInspection, inspect_table};
use super::inspection_error::InspectionError;
use crate::{
    BatchRun, CommitAnswer, ExecutorAction, FaultClass, NotStored, QueueHealth, QueueLane,
    RowReply, StatementOutcome, TableColumns, TakenRows,
};

/// Rows are refused for so long after a batch that could not be stored; then one is tried.
const DOWN_TIME: Duration = Duration::from_millis(500);
/// A batch that fails for longer shows that the database is down, before its rows are given up.
const PATIENCE: Duration = Duration::from_secs(1);
const INSPECTION_TIME: Duration = Duration::from_secs(5);
/// Rows that come meanwhile wait for it.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// A batch that waits for the server takes no more rows than that.
const JOINED_ROWS_MAX: usize = 10_000;
/// Rows that go apart may take this share of the time while others come: one part in so many.
const APART_TIME_SHARE: u32 = 5;
const APART_PAUSE_MAX: Duration = Duration::from_secs(1);
/// The values of PostgreSQL's synchronous_commit.
const COMMIT_MODES: [&str; 5] = ["off", "local", "remote_write", "on", "remote_apply"];
/// After a defect that ended a commit thread.
const RESTART_PAUSE: Duration = Duration::from_millis(100);

/// Where and how rows are committed.
#[derive(Debug, Clone)]
pub struct CommitSettings {
    pub target: Target,
    pub table: String,
    /// The columns of the idempotency key; empty: the table's only unique key.
    pub key: Vec<String>,
    /// A statement without a reply after this time has an unknown outcome.
    pub statement_time: Duration,
    /// Whether a row that is there already is compared with what was sent.
    pub compares: bool,
    /// Whether a row is refused of which the table would keep something else. If not, its answer
    /// has what is stored.
    pub refuses_changes: bool,
    pub connections: usize,
}

impl CommitSettings {
    /// The login, in sessions that are as strict as those that insert: a definition has another
    /// text in other modes.
    fn strict_target(&self) -> Target {
        let mut target = self.target.clone();
        target.setup.extend(setup_statements(target.dialect, self.statement_time));
        target
    }

    /// Has all sessions commit as a new one does now, whatever the role or the server is given
    /// later: there is one word for what a commit of any of them survives.
    pub fn keep_commit_mode(&mut self) -> Result<(), InspectionError> {
        if self.target.dialect == SqlDialect::Postgres {
            let mut client = Client::connect(&self.strict_target(), INSPECTION_TIME)?;
            let mode = client.query_value("SHOW synchronous_commit")?.unwrap_or_default();
            let known = COMMIT_MODES.into_iter().find(|known| *known == mode);
            let known = known
                .ok_or(DriverError::Protocol("a value that synchronous_commit does not have"))?;
            self.target.setup.push(format!("SET synchronous_commit = '{known}'"));
        }
        Ok(())
    }

    /// Reads the table, with whether it can keep the promise.
    pub fn inspect(&self) -> Result<TableInspection, InspectionError> {
        self.inspect_within(INSPECTION_TIME)
    }

    fn inspect_within(&self, time: Duration) -> Result<TableInspection, InspectionError> {
        let mut client = Client::connect(&self.strict_target(), time)?;
        let mut inspection = inspect_table(&mut client, &self.table, &self.key)?;
        inspection.columns.refuses_changes = self.refuses_changes;
        inspection.columns.reads_back |= !self.refuses_changes;
        Ok(inspection)
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
        // The last one is for rows that go apart.
        let threads = (0..=settings.connections).map(|number| {
            let (settings, queue) = (Arc::clone(&settings), Arc::clone(queue));
            thread::Builder::new()
                .name(format!("commit-{number}"))
                .spawn(move || work(&settings, &queue, number))
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

/// The life of a commit connection. A defect that ends it drops its replies, so that their clients
/// know; the next batch has a new connection.
fn work<R: RowReply>(settings: &Arc<CommitSettings>, queue: &Arc<CommitQueue<R>>, number: usize) {
    loop {
        let settings = Arc::clone(settings);
        let worker = CommitWorker {
            settings,
            number,
            connection: None,
            definition_read_at: Duration::ZERO,
            is_table_other: false,
        };
        if panic::catch_unwind(AssertUnwindSafe(|| worker.work(queue))).is_ok() {
            return;
        }
        queue.forget_batches(number);
        thread::sleep(RESTART_PAUSE);
    }
}

struct CommitWorker {
    settings: Arc<CommitSettings>,
    number: usize,
    connection: Option<CommitConnection>,
    definition_read_at: Duration,
    /// A new connection has found another table than the rows of its batch were read for, or may
    /// not look at it.
    is_table_other: bool,
}

impl CommitWorker {
    fn work<R: RowReply>(mut self, queue: &CommitQueue<R>) {
        while let Some(work) = queue.wait_for_work(self.number) {
            let QueueWork::Rows(taken, began) = work else {
                self.look(queue);
                continue;
            };
            let health = self.commit(queue, taken, began);
            queue.end_batch(self.number, began, health);
            if queue.lane(self.number) == QueueLane::Apart && queue.is_main_busy() {
                let took = queue.now().saturating_sub(began);
                thread::sleep((took * (APART_TIME_SHARE - 1)).min(APART_PAUSE_MAX));
            }
        }
    }

    /// Commits a batch. Returns what it shows of the database; `None` if nothing was sent.
    fn commit<R: RowReply>(
        &mut self,
        queue: &CommitQueue<R>,
        taken: TakenRows<R>,
        began: Duration,
    ) -> Option<QueueHealth> {
        if self.connection.as_mut().is_some_and(|connection| !connection.is_open()) {
            self.connection = None;
        }
        if let Err(problem) = self.watch_definition(queue) {
            queue.lock_figures().last_fault = Some(problem);
            answer_all(taken, &NotStored::Unseen);
            return Some(QueueHealth::DownUntil(queue.now() + DOWN_TIME));
        }
        let columns = queue.columns();
        let is_other =
            taken.batch.first().is_some_and(|row| row.row.columns_version != columns.version);
        if is_other || !queue.is_fit() {
            answer_all(taken, &NotStored::OtherColumns);
            return None;
        }
        self.is_table_other = false;
        let seed = began.as_nanos() as u64 ^ self.number as u64;
        let mut run = BatchRun::new(taken, self.connection.is_some(), seed);
        let has_changed = self.run_batch(queue, &mut run, &columns, began);
        if run.is_empty() {
            return None;
        }
        let now = queue.now();
        queue.lock_figures().add_batch(run.len(), now.saturating_sub(began), run.counts());
        let executor = run.executor();
        // What fails for one client alone may be its fault, unless such errors pass: others are
        // tried.
        let is_of_server = executor
            .last_fault()
            .is_some_and(|error| run.has_several_sources() || FaultClass::of(error).passes());
        let has_failed = is_of_server && !executor.has_succeeded();
        let mut is_down = has_failed || executor.is_server_failing() || self.connection.is_none();
        if let Some(error) = executor.last_fault() {
            queue.lock_figures().add_fault(FaultClass::of(error), error.to_string());
        }
        if has_changed {
            match self.read_columns(queue, INSPECTION_TIME) {
                Ok(_) => is_down = self.connection.is_none(),
                Err(problem) => {
                    is_down = true;
                    queue.lock_figures().last_fault = Some(problem);
                }
            }
        }
        if executor.has_succeeded() {
            queue.note_stored_batch();
        }
        Some(if is_down { QueueHealth::DownUntil(now + DOWN_TIME) } else { QueueHealth::Good })
    }

    /// Does what the executor decides, until each row has its answer. Returns whether there are
    /// signs that the table has changed.
    fn run_batch<R: RowReply>(
        &mut self,
        queue: &CommitQueue<R>,
        run: &mut BatchRun<R>,
        columns: &TableColumns,
        began: Duration,
    ) -> bool {
        let (mut has_changed, mut has_blamed) = (false, false);
        let mut stored_batches = queue.stored_batches();
        loop {
            let action = run.next_action(queue.now());
            if action == ExecutorAction::Done {
                if note_blamed(queue, run) || has_blamed {
                    queue.move_suspects();
                }
                return has_changed;
            }
            let outcome = match action {
                ExecutorAction::Pause(pause) => {
                    queue.note_waiting(self.number, began);
                    self.pause(pause, queue, run);
                    if !run.executor().is_waiting() {
                        continue;
                    }
                    StatementOutcome::Paused
                }
                action => self.act(action, queue, columns, run),
            };
            let is_inspection = action == ExecutorAction::Inspect;
            if std::mem::replace(&mut stored_batches, queue.stored_batches()) != stored_batches {
                run.note_success_elsewhere();
            }
            has_changed |= match &outcome {
                StatementOutcome::Inspected { has_changed } => *has_changed,
                // The table cannot be read any more.
                StatementOutcome::Refused(_) => is_inspection,
                _ => false,
            };
            run.record(outcome);
            has_blamed |= note_blamed(queue, run);
            let now = queue.now();
            if run.executor().is_server_failing() && now.saturating_sub(began) > PATIENCE {
                queue.set_health(self.number, QueueHealth::DownUntil(now + DOWN_TIME));
            }
        }
    }

    /// The batch waits for the server. Rows that come meanwhile join it: they show whether the
    /// server still fails, or only the rows before them.
    fn pause<R: RowReply>(&self, pause: Duration, queue: &CommitQueue<R>, run: &mut BatchRun<R>) {
        match run.columns_version().filter(|_| run.len() < JOINED_ROWS_MAX) {
            None => thread::sleep(pause),
            Some(columns) => {
                if let Some(taken) = queue.wait_for_more(self.number, columns, pause) {
                    run.add(taken);
                }
            }
        }
    }

    /// Reads the table's definition if the last reading is a second old; a new connection reads it,
    /// too. An error: it cannot be read, and what it is now is not known.
    fn watch_definition<R: RowReply>(&mut self, queue: &CommitQueue<R>) -> Result<(), String> {
        let now = queue.now();
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if now.saturating_sub(self.definition_read_at) < DEFINITION_EVERY {
            return Ok(());
        }
        let deadline = Instant::now() + self.settings.statement_time;
        match connection.inspect(&self.settings.table, &queue.columns(), deadline) {
            StatementOutcome::Inspected { has_changed: false } => queue.note_definition(true),
            StatementOutcome::Lost { .. } => {
                self.connection = None;
                return Ok(());
            }
            // Rows that were read for the table as it was are answered that they may be sent again.
            _ => drop(self.read_columns(queue, INSPECTION_TIME)?),
        }
        self.definition_read_at = now;
        Ok(())
    }

    fn act<R: RowReply>(
        &mut self,
        action: ExecutorAction,
        queue: &CommitQueue<R>,
        columns: &TableColumns,
        run: &BatchRun<R>,
    ) -> StatementOutcome {
        if action == ExecutorAction::Connect {
            return self.connect(queue, columns);
        }
        if action == ExecutorAction::Insert && self.is_table_other {
            return StatementOutcome::Inspected { has_changed: true };
        }
        let Some(connection) = &mut self.connection else {
            return StatementOutcome::Lost { was_sent: false };
        };
        let deadline = Instant::now() + self.settings.statement_time;
        let outcome = match action {
            ExecutorAction::Insert => connection.insert(columns, &run.group(), deadline),
            ExecutorAction::Compare => {
                connection.compare(columns, &run.group(), self.settings.compares, deadline)
            }
            _ => connection.inspect(&self.settings.table, columns, deadline),
        };
        self.connection.take_if(|connection| connection.is_spent());
        if matches!(outcome, StatementOutcome::Lost { .. })
            && let Some(connection) = self.connection.take()
            && Instant::now() >= deadline
        {
            // Whether it succeeds does not matter.
            let _ = connection.mark().end_session(&self.settings.target);
        }
        outcome
    }

    fn connect<R: RowReply>(
        &mut self,
        queue: &CommitQueue<R>,
        columns: &TableColumns,
    ) -> StatementOutcome {
        self.connection = None;
        match CommitConnection::open(&self.settings.strict_target(), self.number as u32) {
            Ok(connection) => self.take_connection(queue, columns, connection),
            Err(DriverError::Server(error)) => StatementOutcome::Refused(error),
            Err(error) => {
                queue.lock_figures().last_fault = Some(error.to_string());
                StatementOutcome::ConnectFailed
            }
        }
    }

    /// The table may have been changed while there was no connection.
    fn take_connection<R: RowReply>(
        &mut self,
        queue: &CommitQueue<R>,
        columns: &TableColumns,
        mut connection: CommitConnection,
    ) -> StatementOutcome {
        let now = queue.now();
        let deadline = Instant::now() + self.settings.statement_time;
        match connection.inspect(&self.settings.table, columns, deadline) {
            StatementOutcome::Inspected { has_changed: false } => {
                queue.note_definition(true);
                self.definition_read_at = now;
            }
            StatementOutcome::Lost { .. } => return StatementOutcome::ConnectFailed,
            _ => self.is_table_other = true,
        }
        queue.limit_batch_bytes(connection.packet_bytes() / 2);
        self.connection = Some(connection);
        StatementOutcome::Connected
    }

    /// Reads the table again, after a sign that it has changed. Returns why the server stores no
    /// row at the moment.
    fn read_columns<R: RowReply>(
        &self,
        queue: &CommitQueue<R>,
        time: Duration,
    ) -> Result<Option<String>, String> {
        match self.settings.inspect_within(time) {
            Ok(inspection) => {
                if inspection.columns != *queue.columns() {
                    queue.set_columns(inspection.columns);
                }
                queue.note_definition(true);
                if !queue.is_fit() {
                    queue.set_fit(true);
                }
                Ok(inspection.refusal)
            }
            Err(error) => {
                queue.note_definition(false);
                // What the server does not let this account read may be anything.
                if !matches!(&error, InspectionError::Driver(error) if !matches!(error, DriverError::Server(_)))
                {
                    queue.set_fit(false);
                }
                Err(error.to_string())
            }
        }
    }

    /// No row comes: whether the table takes rows, and which ones.
    fn look<R: RowReply>(&self, queue: &CommitQueue<R>) {
        match self.read_columns(queue, LOOK_TIME) {
            Ok(None) => queue.set_health(self.number, QueueHealth::Good),
            Ok(Some(problem)) | Err(problem) => {
                queue.set_health(self.number, QueueHealth::DownUntil(queue.now() + DOWN_TIME));
                queue.lock_figures().last_fault = Some(problem);
            }
        }
    }
}

/// Whether rows of the batch have cost others time since the last call.
fn note_blamed<R: RowReply>(queue: &CommitQueue<R>, run: &mut BatchRun<R>) -> bool {
    let sources = run.take_blamed_sources();
    if !sources.is_empty() {
        queue.blame(&sources);
    }
    !sources.is_empty()
}

/// None of these rows is sent.
fn answer_all<R: RowReply>(taken: TakenRows<R>, why: &NotStored) {
    for row in taken.batch {
        row.reply.answer(CommitAnswer::NotStored(why.clone()));
    }
    for row in taken.expired {
        row.reply.answer(CommitAnswer::NotStored(NotStored::Expired));
    }
}
