//! What a server's sessions waited on, over time and within a stretch of it.
//! `docs/method/waits.md` explains it.
//!
//! The unit is *sessions*: how many waited at a time, on average. A server that times its waits
//! says how long all of them took together, which divided by the time that passed is that number;
//! of another one the sessions that are in a state are counted when it is read. A server books a
//! wait when it ends: one that is longer than the time between two readings is all in the step of
//! its end.

mod joined;
#[cfg(test)]
mod series_for_tests;
mod sessions;
mod top;

pub(crate) use sessions::Waits;
pub use sessions::{Wait, WaitSeries, WaitSource};
pub(crate) use top::top_timed_waits;
pub use top::{ComparedWait, ComparedWaits, TopWait, TopWaits, top_waits};
