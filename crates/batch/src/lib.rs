//! Group commit for rows of many clients: rows are queued, inserted together by one statement, and
//! each client is answered after the commit of its own row. It knows nothing of HTTP and may be
//! embedded in a service.
//!
//! - `queue` ([`RowQueue`]): bounded in rows, bytes and expected wait (`wait`). The commit in
//!   progress is the timer: what has been queued meanwhile is the next batch. Rows of `suspects`,
//!   clients whose rows were refused lately, go apart, through a connection of their own.
//! - `executor` ([`BatchExecutor`]): which statement comes next, from the outcomes of the
//!   statements before. `groups` divides a batch around a wrong row, and `doubt` tries out whose
//!   fault an error is; `fault` ([`FaultClass`]) has the classes of errors, which only decide how
//!   long to wait. `run` ([`BatchRun`]) joins it with the rows and the ways back to their clients
//!   ([`RowReply`]).
//! - `table`: columns ([`TableColumns`]), and rows of JSON as SQL that no value can break out of
//!   ([`InsertRow`]). `column_type` ([`ColumnType`]): what a column keeps exactly, and the form in
//!   which a sent and a stored value are equal. `lookup`: finds sent rows in the table.
//! - `database`: the commit connections, one thread each. `inspection` refuses tables that cannot
//!   keep the promise, from what the catalogues say; `definition` tells whether a table is still
//!   the one that was read. `connection` has the statements of a strict session; `worker` is the
//!   loop of one commit connection, and `commit_queue` ([`CommitQueue`]) what threads share.
//!
//! Safe retries need no memory here: the table's unique key decides. A statement whose outcome is
//! unknown is sent again; the server refuses rows that are stored already, and they are looked for.
//!
//! *Invariants:* outside `database` there is neither clock nor I/O, so that `tests/simulation` can
//! live thousands of lives with faults at every step. A row is acknowledged only after its own
//! INSERT or after an equal stored row was seen. A row is refused for good only after the server
//! has refused it alone, on a table that has not changed since the row was read, and after it was
//! looked for. The specification is `docs/reference/gateway-promise.md`.

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
    CommitFigures, CommitQueue, CommitSettings, CommitState, CommitThreads, DefinitionState,
    FigureHistogram, InspectionError, TableInspection,
};
pub use executor::{
    BatchCounts, BatchExecutor, ExecutorAction, ExecutorRow, FoundVerdict, SeenRow,
    StatementOutcome,
};
pub use fault::FaultClass;
pub use queue::{
    BatchLimits, QueueHealth, QueueLane, QueueLimits, QueueRefusal, QueuedRow, RowQueue, TakenRows,
};
pub use row::{InsertRow, RowReply};
pub use run::BatchRun;
pub use table::{ColumnFacts, ColumnType, RowError, TableColumns};
pub use wait::CommitTimes;
