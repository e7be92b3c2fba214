//! WHAT is sent: built-in workloads, the tables that they need, and seeded streams of random values.
//!
//! A workload knows nothing of time, sessions or servers. One seed gives one stream a client, whatever the number of
//! worker threads, so that two runs of one seed send the same statements.

mod insert;
mod random;
mod table;

use std::sync::Arc;

use thiserror::Error;
use truetps_driver::{Dialect, Params, Statement};
use truetps_record::WorkloadSpec;

pub use insert::Insert;
pub use random::Stream;
pub use table::Table;

/// What a client sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Index in [`Workload::statements`].
    pub statement: usize,
    /// The transaction ends with this statement.
    pub is_last: bool,
}

/// One client's endless list of transactions, each of one statement (committed by itself) or more (the first of them
/// BEGIN, the last COMMIT).
pub trait ClientStream: Send {
    /// Goes on to the next transaction.
    fn next_transaction(&mut self);

    /// Puts the next statement's values into `params` (empty when it is called). Not called again after the last
    /// statement of a transaction.
    fn next_statement(&mut self, params: &mut Params) -> Step;

    /// Goes back to the first statement of the transaction, which is sent again with the same values.
    fn rewind(&mut self);
}

pub trait Workload: Send + Sync {
    fn name(&self) -> &'static str;

    /// All statements that its clients send, in the dialect that it was built for.
    fn statements(&self) -> Arc<[Statement]>;

    /// The stream of client number `client`, from 0.
    fn client(&self, client: u32) -> Box<dyn ClientStream>;

    /// Tables that must exist and be filled before a trial.
    fn tables(&self) -> Vec<Table>;
}

#[derive(Debug, Error)]
pub enum WorkloadError {
    #[error("unknown workload `{name}`: the built-in ones are `{}`", NAMES.join("`, `"))]
    Unknown { name: String },
}

/// Names of the built-in workloads.
pub const NAMES: [&str; 1] = ["insert"];

/// The workload that a plan asks for, for servers of this dialect. `seed` starts all its random streams.
pub fn build(spec: &WorkloadSpec, dialect: Dialect, seed: u64) -> Result<Arc<dyn Workload>, WorkloadError> {
    match spec.name.as_str() {
        "insert" => Ok(Arc::new(Insert::new(dialect, spec.tables, spec.table_rows, seed))),
        _ => Err(WorkloadError::Unknown { name: spec.name.clone() }),
    }
}
