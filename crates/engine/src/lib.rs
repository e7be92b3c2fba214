//! WHEN and BY WHICH client transactions start: clients multiplexed over few threads, in a closed or an open loop.
//!
//! Each worker thread owns its clients, one epoll instance, one set of histograms and counters; nothing is shared
//! between one transaction and the next. At the end of each interval a worker passes its figures to the thread that
//! called [`run`], which adds them up and shows them to an [`Observer`]. The engine knows neither files, nor texts for
//! users, nor how the server was started.

mod client;
mod drive;
mod login;
mod mode;
mod policy;
mod quota;
mod reconnect;
mod rows;
mod run;
mod worker;

/// Parts of a [`LoadSpec`].
pub use truetps_measure::{OpenPacing, Pacing, Quota, Rate, RateOf};

pub use rows::{AnswerLog, AnswerWriter, LoggedRows};
pub use run::{ClientEnds, EngineError, LoadSpec, Observer, RunEnding, RunOutcome, run};
