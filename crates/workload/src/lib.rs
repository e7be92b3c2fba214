//! WHAT is sent: built-in workloads, the tables that they need, and seeded streams of random values.
//!
//! A workload knows nothing of time, sessions or servers. One seed gives one stream a client, whatever the number of
//! worker threads, so that two runs of one seed send the same statements.

mod insert;
mod random;
mod table;

use std::sync::Arc;

use thiserror::Error;
use truetps_driver::{Params, Statement};
use truetps_record::WorkloadSpec;

pub use insert::Insert;
pub use random::Stream;
pub use table::Table;

/// One client's endless list of transactions. Each is one statement, committed by itself.
pub trait ClientStream: Send {
    /// Puts the next statement's values into `params` (empty when it is called) and returns the statement's index in
    /// [`Workload::statements`].
    fn next(&mut self, params: &mut Params) -> usize;
}

pub trait Workload: Send + Sync {
    fn name(&self) -> &'static str;

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

/// The workload that a plan asks for. `seed` starts all its random streams.
pub fn build(spec: &WorkloadSpec, seed: u64) -> Result<Arc<dyn Workload>, WorkloadError> {
    match spec.name.as_str() {
        "insert" => Ok(Arc::new(Insert::new(spec.tables, spec.table_rows, seed))),
        _ => Err(WorkloadError::Unknown { name: spec.name.clone() }),
    }
}
