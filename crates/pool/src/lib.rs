//! How many connections a pool needs.
//!
//! The advice is the smallest number of connections whose throughput is at least 95 % of the best
//! one, among the numbers that keep the limit of p99. The crate decides which numbers are measured,
//! in which order, and what the results say. It knows no servers: [`PoolQuestion`] is a
//! [`truetps_adaptive::AdaptiveQuestion`], which asks its source for the results of a batch of
//! numbers.
//!
//! The steps, explained in `docs/method/pool-size.md`:
//! 1. *Climb*: 1, 2, 4… connections, a trial each, until throughput no longer grows.
//! 2. *Ladder*: the same numbers and those that the user asks about, in blocks of random order.
//! 3. *Refinement*: numbers between the advice and the next smaller one.
//! 4. *Check*: fresh blocks of the advice, the best number and the current one.
//!
//! `search` has the order of the steps; `curve` makes throughput by connections from trials,
//! `unimodal` and `usl` fit it; `rate` says which numbers carry the rate that an application has;
//! `parameters` has the other settings of a pool. `findings` is what is known at any time.
//!
//! *Invariant:* no clock, no file, no network. The same question and the same results always lead
//! to the same batches and findings.

mod curve;
mod findings;
mod parameters;
mod question;
mod rate;
mod search;
#[cfg(test)]
mod simulation_tests;
mod unimodal;
mod usl;

pub use curve::CurvePoint;
pub use findings::{PoolAgainst, PoolComparison, PoolFindings, PoolOutcome};
pub use parameters::{PoolLimits, PoolParameters};
pub use question::{PoolQuestion, PoolResult, PoolStage};
pub use rate::{Carrying, ROOM, RateAnswer};
pub use search::SHARE_OF_BEST;
pub use usl::Usl;
