//! WHICH statements are sent: built-in workloads, the tables that they need, and seeded streams of random values.
//!
//! A workload knows nothing of time, sessions or servers. A seed determines one stream for each client, independent of
//! the number of worker threads, so that two runs with the same seed send the same statements.

mod client_random;
mod custom;
mod delete_insert;
mod generate;
mod insert;
mod keys;
mod profile;
mod read_write;
mod row_load;
mod scripted;
mod sql_list;
mod sql_text;
mod sysbench;
mod table;
mod table_insert;
mod update;
mod write;

use std::num::NonZeroU32;
use std::sync::Arc;

use thiserror::Error;
use truetps_driver::{Params, Statement, StatementError};
use truetps_plan::{DeleteInsertSpec, HotRowSpec, PlanError, ReadWriteSpec, UpdateSpec, WorkloadKind, WorkloadSpec};
use truetps_record::SqlDialect;

pub use insert::insert;
pub use profile::profile;
pub use row_load::{ROW_FIELDS, RowField, RowIdentity, RowLoad};
pub use scripted::ScriptedWorkload;
pub use sql_list::{SqlList, SqlStatement};
pub use table::Table;
pub use table_insert::TableInsert;
/// Names of the workloads.
pub use truetps_plan::WORKLOADS as NAMES;
pub use truetps_random::RandomStream;
pub use write::{Write, WriteKind};

use custom::Custom;
use delete_insert::DeleteInsert;
use insert::Insert;
use read_write::ReadWrite;
use sysbench::SysbenchTables;
use update::{Column, HotRow, Update};

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
    /// Of its payload.
    pub digest: u64,
}

/// One client's endless list of transactions, each of one statement (in autocommit mode) or more (the first of them
/// BEGIN, the last COMMIT).
pub trait ClientStream: Send {
    /// Advances to the next transaction.
    fn next_transaction(&mut self);

    /// Puts the next statement's values into `params` (empty when it is called). Not called again after the last
    /// statement of a transaction.
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

    /// What each of [`Self::statements`] writes, in order; `None` for one that does not write. `None` as a whole:
    /// unknown, since the SQL is the user's own.
    fn writes(&self) -> Option<Vec<Option<Write>>> {
        None
    }
}

#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The record of a run, used as a plan.
    #[error(
        "`{}` only records scripts: run them with `truetps sysbench`, not with a plan",
        truetps_plan::SCRIPT_WORKLOAD
    )]
    Script,
    #[error("`{}` only records rows: send them with `truetps verify`, not with a plan", truetps_plan::VERIFY_WORKLOAD)]
    Verify,
    /// A statement of the plan.
    #[error("`{key}`: {problem}")]
    Sql { key: String, problem: String },
    #[error("there is no statement to send")]
    NoStatement,
    #[error("a statement with a key has one `?` for it, this one has {count}: {sql}")]
    NotOneKey { count: usize, sql: String },
    #[error("there is no key for: {sql}")]
    NoKey { sql: String },
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// SQL of the plan, parsed in this server's dialect.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Default rows in one statement of `bulk-insert`.
const ROWS_PER_INSERT: u32 = 100;

/// The workload of a checked plan, for servers of this dialect. `seed` starts all its random streams.
pub fn build(spec: &WorkloadSpec, dialect: SqlDialect, seed: u64) -> Result<Arc<dyn Workload>, WorkloadError> {
    let tables = SysbenchTables { dialect, count: spec.tables, rows: spec.table_rows, spacing: 1, seed };
    Ok(match &spec.kind {
        WorkloadKind::Insert => Arc::new(Insert::workload("insert", tables, 1)),
        WorkloadKind::BulkInsert(spec) => {
            Arc::new(Insert::workload("bulk-insert", tables, spec.rows_per_insert.unwrap_or(ROWS_PER_INSERT)))
        }
        WorkloadKind::UpdateIndex(UpdateSpec { distribution }) => {
            Arc::new(Update::workload(Column::Indexed, tables, distribution.unwrap_or_default())?)
        }
        WorkloadKind::UpdateNonIndex(UpdateSpec { distribution }) => {
            Arc::new(Update::workload(Column::Plain, tables, distribution.unwrap_or_default())?)
        }
        WorkloadKind::DeleteInsert(DeleteInsertSpec { distribution, key }) => {
            let tables = SysbenchTables { spacing: delete_insert::SPACING, ..tables };
            Arc::new(DeleteInsert::workload(key.unwrap_or_default(), tables, distribution.unwrap_or_default())?)
        }
        WorkloadKind::HotRow(HotRowSpec { hot_rows, distribution }) => {
            Arc::new(HotRow::workload(dialect, hot_rows.unwrap_or(1), distribution.unwrap_or_default(), seed)?)
        }
        WorkloadKind::ReadWrite(ReadWriteSpec { distribution, mix }) => {
            let mix = mix.clone().unwrap_or_default();
            Arc::new(ReadWrite::workload(tables, &mix, distribution.unwrap_or_default())?)
        }
        WorkloadKind::Custom(spec) => Arc::new(Custom::workload(spec, dialect, seed)?),
        WorkloadKind::Sql(spec) => Arc::new(SqlList::of_plan(spec, dialect, seed)?),
        WorkloadKind::Table(spec) => {
            let commit = if spec.explicit_commit == Some(true) { Commit::Every(NonZeroU32::MIN) } else { Commit::Each };
            TableInsert::new(&spec.table, spec.rows_per_insert.unwrap_or(1), dialect).workload(commit, seed)?
        }
        WorkloadKind::Sysbench(_) => return Err(WorkloadError::Script),
        WorkloadKind::Verify(_) => return Err(WorkloadError::Verify),
    })
}

#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod stream_tests;
