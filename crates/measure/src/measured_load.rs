//! What was counted in the measured time of a load.

use std::time::Duration;

use truetps_record::{Counts, ErrorCount, LatencyFigures, OpenLoop};

use crate::judge::WorkerUse;

/// The measured time of a load, as its clients saw it.
#[derive(Debug, Clone)]
pub struct MeasuredLoad {
    /// The time that rates refer to.
    pub length: Duration,
    /// The length of the schedule of an open loop.
    pub schedule_length: Duration,
    pub counts: Counts,
    pub response: LatencyFigures,
    /// `None` in a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// Clients that each had one transaction in flight at any moment. `None` if that is not so: in
    /// an open loop, with a number of transactions that some have done before others, or where
    /// connections broke.
    pub constant_clients: Option<u32>,
    pub workers_used: WorkerUse,
    pub errors: Vec<ErrorCount>,
}
