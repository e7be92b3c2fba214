//! WHEN and BY WHOM: clients multiplexed over few threads, in a closed loop, and the recorder of their intervals.
//!
//! Each worker thread owns its clients, one epoll instance, one histogram and one set of counters; nothing on the way
//! from one transaction to the next is shared. At the end of each interval a worker hands its figures to the thread
//! that called [`run`], which adds them up and shows them to an [`Observer`]. The engine knows nothing of files, of
//! text for people, or of how the server came about.

mod collect;
mod connection;
mod recorder;
mod run;
mod timeline;
mod worker;

pub use recorder::Recorder;
pub use run::{Ending, EngineError, LoadSpec, Observer, Outcome, run};
pub use timeline::Timeline;
