//! A batch with its rows: the executor's decisions, and the answers to the clients.

use std::time::Duration;

use crate::{
    BatchCounts, BatchExecutor, CommitAnswer, ExecutorAction, ExecutorRow, InsertRow, NotStored,
    QueuedRow, RowReply, StatementOutcome, TakenRows,
};

/// A batch on a commit connection.
pub struct BatchRun<R> {
    rows: Vec<InsertRow>,
    replies: Vec<Option<R>>,
    sources: Vec<u64>,
    executor: BatchExecutor,
}

fn executor_row<R>(row: &QueuedRow<R>) -> ExecutorRow {
    ExecutorRow { deadline: row.deadline, source: row.source }
}

/// The rows to be sent, by their keys; the late ones are answered.
fn sorted<R: RowReply>(taken: TakenRows<R>) -> Vec<QueuedRow<R>> {
    for row in taken.expired {
        row.reply.answer(CommitAnswer::NotStored(NotStored::Expired));
    }
    let mut batch = taken.batch;
    batch.sort_by(|a, b| a.row.key.cmp(&b.row.key));
    batch
}

impl<R: RowReply> BatchRun<R> {
    /// Sorts the rows by their keys. Rows with the same key stay in the order of their arrival, so
    /// the first one wins. The others of `taken` are answered.
    pub fn new(taken: TakenRows<R>, is_connected: bool, seed: u64) -> Self {
        let batch = sorted(taken);
        let of_executor = batch.iter().map(executor_row).collect();
        let repeated: Vec<_> =
            (1..batch.len()).filter(|at| batch[*at].row.key == batch[at - 1].row.key).collect();
        let executor = BatchExecutor::new(of_executor, &repeated, is_connected, seed);
        let mut run = Self { rows: Vec::new(), replies: Vec::new(), sources: Vec::new(), executor };
        run.keep(batch);
        run
    }

    /// Adds rows for the same columns while the others wait for the server.
    pub fn add(&mut self, taken: TakenRows<R>) {
        let batch = sorted(taken);
        self.executor.add_rows(batch.iter().map(executor_row));
        self.keep(batch);
    }

    fn keep(&mut self, batch: Vec<QueuedRow<R>>) {
        self.rows.reserve(batch.len());
        self.replies.reserve(batch.len());
        self.sources.reserve(batch.len());
        for row in batch {
            self.rows.push(row.row);
            self.replies.push(Some(row.reply));
            self.sources.push(row.source);
        }
    }

    /// The columns that the rows were read for; `None` without rows.
    pub fn columns_version(&self) -> Option<u64> {
        self.rows.first().map(|row| row.columns_version)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether its rows are of more than one client.
    pub fn has_several_sources(&self) -> bool {
        self.sources.iter().any(|source| *source != self.sources[0])
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows of another connection were stored meanwhile.
    pub fn note_success_elsewhere(&mut self) {
        self.executor.note_success_elsewhere();
    }

    /// Sources of rows, since the last call, that cost others time.
    pub fn take_blamed_sources(&mut self) -> Vec<u64> {
        self.executor.take_blamed().into_iter().map(|row| self.sources[row]).collect()
    }

    pub fn executor(&self) -> &BatchExecutor {
        &self.executor
    }

    pub fn counts(&self) -> &BatchCounts {
        self.executor.counts()
    }

    /// The next action, until the batch is done; its statement is for [`BatchRun::group`].
    pub fn next_action(&mut self, now: Duration) -> ExecutorAction {
        let action = self.executor.next_action(now);
        self.deliver();
        action
    }

    /// The rows of the current statement, with their numbers in the batch.
    pub fn group(&self) -> impl Iterator<Item = (usize, &InsertRow)> + Clone {
        self.executor.group().iter().map(|row| (*row, &self.rows[*row]))
    }

    /// Takes the outcome of the last action, and answers rows.
    pub fn record(&mut self, outcome: StatementOutcome) {
        self.executor.record(outcome);
        self.deliver();
    }

    fn deliver(&mut self) {
        let answers = self.executor.take_answers().into_iter();
        let answers: Vec<_> =
            answers.filter_map(|(row, answer)| Some((self.replies[row].take()?, answer))).collect();
        if !answers.is_empty() {
            R::answer_all(answers);
        }
    }
}
