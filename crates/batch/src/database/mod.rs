//! The commit connections: one thread each, over the sessions of `driver`.
//!
//! - `inspection` ([`TableInspection`]): whether a table can keep the promise, and its columns;
//!   `inspection_error`: why not.
//! - `catalogue`, `mysql_catalogue`, `postgres_catalogue`: a table as its server describes it;
//!   `definition` tells whether it is still that one.
//! - `connection`: statements of one session, and their outcomes; `session_mark` finds a session
//!   again.
//! - `commit_queue` ([`CommitQueue`]): the queue that threads of clients and of connections share.
//! - `worker`: the loop of one connection.

mod catalogue;
mod commit_queue;
mod connection;
mod definition;
mod figures;
mod inspection;
mod inspection_error;
mod mysql_catalogue;
mod postgres_catalogue;
mod session_mark;
mod worker;

pub use commit_queue::{CommitQueue, CommitState, DefinitionState};
pub use figures::{CommitFigures, FigureHistogram};
pub use inspection::TableInspection;
pub use inspection_error::InspectionError;
pub use worker::{CommitSettings, CommitThreads};
