//! What a workload is for those who send it: streams of statements, tables, and what is written.

use std::num::NonZeroU32;
use std::sync::Arc;

use truetps_driver::{Params, Statement};

use crate::{Table, Write};

/// The statement that a client sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextStatement {
    /// Index in [`Workload::statements`].
    pub statement: usize,
    /// Whether the transaction ends with this statement.
    pub is_last: bool,
}

/// A row of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMark {
    /// Its number among the client's rows, from 0.
    pub seq: u64,
    /// The digest of its payload.
    pub digest: u64,
}

/// One client's endless list of transactions, each of one statement (in autocommit mode) or more
/// (the first of them BEGIN, the last COMMIT).
pub trait ClientStream: Send {
    /// Advances to the next transaction.
    fn next_transaction(&mut self);

    /// Puts the next statement's values into `params` (empty when it is called). Not called again
    /// after the last statement of a transaction.
    fn next_statement(&mut self, params: &mut Params) -> NextStatement;

    /// Returns to the first statement of the transaction, which is sent again with the same values.
    fn rewind(&mut self);

    /// The row that the transaction saves, if it saves one whose answer can be kept.
    fn row(&self) -> Option<RowMark> {
        None
    }
}

/// When a client commits, if the workload does not determine it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Commit {
    /// Each statement by itself.
    #[default]
    Each,
    /// BEGIN, this number of statements, COMMIT.
    Every(NonZeroU32),
    /// This number of statements, COMMIT: for sessions without autocommit.
    EveryWithoutBegin(NonZeroU32),
}

impl Commit {
    /// Statements of one transaction, without BEGIN and COMMIT.
    pub(crate) fn batch(self) -> u32 {
        match self {
            Self::Each => 1,
            Self::Every(count) | Self::EveryWithoutBegin(count) => count.get(),
        }
    }
}

pub trait Workload: Send + Sync {
    fn name(&self) -> &'static str;

    /// All statements that its clients send, in the dialect that it was built for.
    fn statements(&self) -> Arc<[Statement]>;

    /// The stream of client number `client`, from 0.
    fn client(&self, client: u32) -> Box<dyn ClientStream>;

    /// Tables that must exist and be filled before a trial.
    fn tables(&self) -> Vec<Table>;

    /// What each of [`Self::statements`] writes, in order; `None` for one that does not write.
    /// `None` as a whole: unknown, since the SQL is the user's own.
    fn writes(&self) -> Option<Vec<Option<Write>>> {
        None
    }
}
