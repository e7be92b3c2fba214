//! How runs are timed and counted, whatever drives them: `engine` has the loop for workloads,
//! `sysbench` the one for scripts.
//!
//! - `timeline` ([`Timeline`]): phases and intervals on one monotonic clock. `quota` ([`Quota`]): a
//!   number of transactions that ends the measure phase, for all clients together or for each; in
//!   an open loop the schedule ends with that number of starts.
//! - `pace` and `arrivals`: when an open loop starts a transaction. The schedule does not depend on
//!   the server. Starts without a free client wait in a queue, which is counted; it never aborts a
//!   run.
//! - `tally` ([`Tally`]): counts one interval of one worker. Its `sums` ([`PeriodSums`]) are added
//!   up over workers and over time. `buckets`: steps of 100 ms, and gaps.
//! - `series` ([`IntervalSeries`]): makes the record's intervals from the tallies of all workers.
//!   `recorder` and `collect` do that for workers that deliver each interval.
//! - `thread_use`: CPU time, waits for a core and context switches of generator threads.
//! - `measured_load` ([`MeasuredLoad`]): what was counted in the measured time.
//! - `judge`: whether a rate was sustained, and whether the load generator was the bottleneck.
//!   `suspension`: when this process did not run.
//!
//! *Invariant:* no socket, no server, and no file except what `thread_use` reads in `/proc`.

mod arrivals;
mod buckets;
mod collect;
mod judge;
mod measured_load;
mod pace;
mod quota;
mod recorder;
mod series;
mod sums;
mod suspension;
mod tally;
mod thread_use;
mod timeline;

pub use arrivals::Rate;
pub use collect::{CollectedRun, Collector};
pub use judge::{GeneratorCores, WorkerUse, generator_limited, sustained, was_suspended};
pub use measured_load::MeasuredLoad;
pub use pace::{ARRIVALS_MAX, ClaimedStart, OpenPacing, Pacing, RateOf, WorkerPace};
pub use quota::Quota;
pub use recorder::{Recorder, WorkerInterval};
pub use series::{IntervalSeries, MeasuredSums};
pub use sums::{OpenSums, PeriodSums};
pub use suspension::SuspensionWatch;
pub use tally::{AttemptFailure, Tally};
pub use thread_use::{ThreadTime, ThreadUse};
pub use timeline::{Timeline, ns};
