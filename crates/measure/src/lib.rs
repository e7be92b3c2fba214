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
mod series;
mod sums;
mod suspension;
mod tally;
mod thread_use;
mod timeline;

pub use arrivals::Rate;
pub use collect::{CollectedRun, Collector};
pub use judge::{GeneratorCores, WorkerUse, generator_limited, sustained, was_suspended};
pub use pace::{ARRIVALS_MAX, ClaimedStart, OpenPacing, Pacing, RateOf, WorkerPace};
pub use quota::Quota;
pub use recorder::{Recorder, WorkerInterval};
pub use series::{IntervalSeries, MeasuredSums};
pub use sums::{OpenSums, PeriodSums};
pub use suspension::SuspensionWatch;
pub use tally::{AttemptFailure, Tally};
pub use thread_use::{ThreadTime, ThreadUse};
pub use timeline::{Timeline, ns};
