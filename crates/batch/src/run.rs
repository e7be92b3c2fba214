//! A batch with its rows: the executor's decisions, and the answers to the clients.

use std::time::Duration;

use crate::{
    BatchCounts, BatchExecutor, CommitAnswer, ExecutorAction, ExecutorRow, InsertRow, NotStored, RowReply,
    StatementOutcome, TakenRows,
};

/// A batch on a commit connection.
pub struct BatchRun<R> {
    rows: Vec<InsertRow>,
    replies: Vec<Option<R>>,
    executor: BatchExecutor,
}

impl<R: RowReply> BatchRun<R> {
    /// Sorts the rows by their keys. Rows with the same key stay in the order of their arrival, so the first one wins.
    /// The others of `taken` are answered.
    pub fn new(taken: TakenRows<R>, is_connected: bool, compares: bool, seed: u64) -> Self {
        for row in taken.expired {
            row.reply.answer(CommitAnswer::NotStored(NotStored::Expired));
        }
        let mut batch = taken.batch;
        batch.sort_by(|a, b| a.row.key.cmp(&b.row.key));
        let of_executor = batch.iter().map(|row| ExecutorRow { deadline: row.deadline });
        let executor = BatchExecutor::new(of_executor.collect(), is_connected, compares, seed);
        let (rows, replies) = batch.into_iter().map(|row| (row.row, Some(row.reply))).unzip();
        Self { rows, replies, executor }
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
        let answers: Vec<_> = answers.filter_map(|(row, answer)| Some((self.replies[row].take()?, answer))).collect();
        if !answers.is_empty() {
            R::answer_all(answers);
        }
    }
}
