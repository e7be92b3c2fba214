//! WHEN and BY WHICH client transactions start: clients multiplexed over few threads, in a closed or an open loop, and
//! the recorder of their intervals.
//!
//! Each worker thread owns its clients, one epoll instance, one set of histograms and counters; nothing is shared
//! between one transaction and the next. At the end of each interval a worker passes its figures to the thread that
//! called [`run`], which adds them up and shows them to an [`Observer`]. The engine knows neither files, nor texts for
//! users, nor how the server was started.

mod arrivals;
mod buckets;
mod client;
mod collect;
mod drive;
mod judge;
mod login;
mod mode;
mod pace;
mod policy;
mod quota;
mod reconnect;
mod recorder;
mod run;
mod suspension;
mod thread_use;
mod timeline;
mod worker;

pub use arrivals::Rate;
pub use judge::{WorkerShares, generator_limited, sustained, was_suspended};
pub use pace::{OpenPacing, Pacing, RateOf};
pub use quota::Quota;
pub use recorder::Recorder;
pub use run::{EngineError, LoadSpec, Observer, RunEnding, RunOutcome, run};
pub use suspension::SuspensionWatch;
pub use thread_use::ThreadUse;
pub use timeline::Timeline;
