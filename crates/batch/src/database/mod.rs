//! The commit connections: one thread each, over the sessions of `driver`.
//!
//! - `inspection` ([`TableInspection`]): whether a table can keep the promise, and its columns.
//! - `connection`: statements of one session, and their outcomes.
//! - `commit_queue` ([`CommitQueue`]): the queue that threads of clients and of connections share.
//! - `worker`: the loop of one connection.

mod commit_queue;
mod connection;
mod figures;
mod inspection;
mod worker;

pub use commit_queue::{CommitQueue, CommitState};
pub use figures::{CommitFigures, FigureHistogram};
pub use inspection::{InspectionError, TableInspection};
pub use worker::{CommitSettings, CommitThreads};
