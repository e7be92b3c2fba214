//! Group commit for rows of many clients: rows are queued, inserted together by one statement, and each client is
//! answered after the commit of its own row.
//!
//! - `queue` ([`RowQueue`]): bounded in rows, bytes and expected wait. The commit in progress is the timer: what has
//!   been queued meanwhile is the next batch.
//! - `executor` ([`BatchExecutor`]): which statement comes next, from the outcomes of the statements before. It has no
//!   I/O and no clock. [`BatchRun`] joins it with the rows of a batch.
//! - `fault` ([`FaultClass`]): what an error of the server means for a batch.
//! - `suspects`: clients whose rows were refused lately; their rows go apart from all others.
//! - `table`: what a column keeps exactly, rows as SQL that no value can break out of, and stored rows compared.
//! - `database`: the commit connections, one thread each.
//!
//! Safe retries need no memory here: the table's unique key decides. A statement whose outcome is unknown is sent again;
//! the server refuses rows that are stored already, and they are looked for. This crate knows nothing of HTTP and may be
//! embedded in a service.

mod answer;
mod database;
mod executor;
mod fault;
mod queue;
mod row;
mod run;
mod suspects;
mod table;
mod wait;

pub use answer::{CommitAnswer, NotStored};
pub use database::{
    CommitFigures, CommitQueue, CommitSettings, CommitState, CommitThreads, DefinitionState, FigureHistogram,
    InspectionError, TableInspection,
};
pub use executor::{BatchCounts, BatchExecutor, ExecutorAction, ExecutorRow, FoundVerdict, SeenRow, StatementOutcome};
pub use fault::FaultClass;
pub use queue::{BatchLimits, QueueHealth, QueueLane, QueueLimits, QueueRefusal, QueuedRow, RowQueue, TakenRows};
pub use row::{InsertRow, RowReply};
pub use run::BatchRun;
pub use table::{ColumnFacts, ColumnType, RowError, TableColumns};
pub use wait::CommitTimes;
