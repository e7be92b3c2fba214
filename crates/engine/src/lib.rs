//! WHEN and BY WHICH client transactions start: clients multiplexed over few threads, in a closed
//! or an open loop.
//!
//! - `load` ([`LoadSpec`]) and `outcome` ([`RunOutcome`]): what is run, and what came of it.
//! - `run` ([`run`](fn@run)): starts the threads and joins their counts. At the end of each
//!   interval a worker passes its figures to the thread that called it, which adds them up and
//!   shows them to an [`Observer`].
//! - `mode`: how many threads there are, and whether each waits for its one socket or on epoll.
//! - `worker` and `drive`: the loop, whose steps `Drive::turn` lists. A worker thread owns its
//!   clients, one epoll instance, one set of histograms and counters. Between one transaction and
//!   the next nothing is shared, except for the count of a quota.
//! - `client`: the position of one client in its stream. `login` connects the clients; `reconnect`
//!   reconnects clients whose connection broke, and renews connections with a limited number of
//!   transactions.
//! - `quota` (`QuotaCount`): counts down the transactions that end the run. `policy`: what happens
//!   after a failed statement.
//! - `rows` ([`LoggedRows`], [`AnswerLog`]): loads that save rows. Every final answer goes to a
//!   log, which is written once a turn and before an interval ends; `drive/rows` decides what is
//!   sent again. No interval counts a row whose answer is not in the log.
//!
//! *Invariant:* the engine opens no file (the answers of rows go to the caller's log), prints
//! nothing, and does not know how the server was started. Watching a run never changes it: workers
//! do not wait for the observer.

mod client;
mod drive;
mod load;
mod login;
mod mode;
mod outcome;
mod policy;
mod quota;
mod reconnect;
mod rows;
mod run;
mod worker;

/// Parts of a [`LoadSpec`].
pub use truetps_measure::{OpenPacing, Pacing, Quota, Rate, RateOf};

pub use load::LoadSpec;
pub use outcome::{ClientEnds, RunEnding, RunOutcome};
pub use rows::{AnswerLog, AnswerWriter, LoggedRows};
pub use run::{EngineError, Observer, run};
