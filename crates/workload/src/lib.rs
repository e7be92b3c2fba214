//! WHICH statements are sent: built-in workloads, the tables that they need, and seeded streams of
//! random values.
//!
//! - `workload`: the traits [`Workload`] and [`ClientStream`]. `build` ([`build`](fn@build)): the
//!   workload of a plan.
//! - One module for each kind of workload: `insert`, `delete_insert`, `update`, `read_write`,
//!   `table_insert`, `custom`, `sql_list` (a user's own SQL), `row_load` (`verify`). `scripted` is
//!   what they have in common.
//! - `sysbench` (with `digits`) and `table`: the tables and how they are filled. `generate`, `keys`
//!   and `client_random`: the values.
//! - `profile` and `write`: derived from the streams themselves, what a workload does to keys and
//!   pages.
//!
//! *Invariant:* a workload knows nothing of time, sessions or servers. A seed determines one stream
//! for each client, independent of the number of worker threads, so that two runs with the same
//! seed send the same statements.

mod build;
mod client_random;
mod custom;
mod delete_insert;
mod digits;
mod error;
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
mod workload;
mod write;

#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod stream_tests;

pub use build::build;
pub use error::WorkloadError;
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
pub use workload::{ClientStream, Commit, NextStatement, RowMark, Workload};
pub use write::{Write, WriteKind};
