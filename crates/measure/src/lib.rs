//! How runs are timed and counted, whatever drives them: phases and intervals on one clock, schedules of starts, tallies
//! with histograms and buckets, and the judgement of a run.
//!
//! The loops that send transactions are elsewhere: `engine` has the one for workloads, `sysbench` the one for scripts.

mod arrivals;
mod buckets;
mod collect;
mod judge;
mod pace;
mod quota;
mod recorder;
mod suspension;
mod thread_use;
mod timeline;

pub use arrivals::Rate;
pub use collect::{Collector, MergedInterval, Totals};
pub use judge::{WorkerShares, generator_limited, sustained, was_suspended};
pub use pace::{ARRIVALS_MAX, ClaimedStart, OpenPacing, Pacing, RateOf, WorkerPace};
pub use quota::Quota;
pub use recorder::{AttemptFailure, IntervalSink, Recorder, WorkerInterval};
pub use suspension::SuspensionWatch;
pub use thread_use::ThreadUse;
pub use timeline::{Timeline, ns};
