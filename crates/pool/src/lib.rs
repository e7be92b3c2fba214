//! How many connections a pool needs.
//!
//! The advice is the smallest number of connections whose throughput is at least 95 % of the best
//! one, among the numbers that keep the limit of p99, as well as a hundred trials can tell. The
//! crate decides which numbers are measured, in which order, and what the results say. It knows no
//! servers: [`PoolQuestion`] is a [`truetps_adaptive::AdaptiveQuestion`], which asks its source for
//! the results of a batch of numbers.
//!
//! The steps, explained in `docs/method/pool-size.md`:
//! 1. *Climb*: 1, 2, 4… connections, a trial each, until throughput is well below the best.
//! 2. *Ladder*: the same numbers and those that the user asks about, in blocks of random order.
//! 3. *Refinement*: the middles of gaps that may hide a peak; then, block by block, the numbers
//!    that decide on the advice.
//! 4. *Check*: fresh blocks of these and the current number.
//!
//! `search` has the order of the steps, `choice` which numbers follow; `robust` makes throughput by
//! connections from trials in blocks, `shape` and `concave` its curve, `p99` the response times;
//! `curve` is all of that, and `judge` what it says. `usl` describes the curve; `rate` says which
//! numbers carry the rate that an application has; `parameters` has the other settings of a pool.
//! `findings` is what is known at any time, `older` judges the trials of older versions.
//!
//! *Invariant:* no clock, no file, no network. The same question and the same results always lead
//! to the same batches and findings.

mod choice;
mod concave;
mod curve;
mod findings;
mod judge;
mod older;
mod p99;
mod parameters;
mod question;
mod rate;
mod robust;
mod row;
mod search;
mod shape;
#[cfg(test)]
mod simulation_tests;
mod usl;

pub use curve::{CurvePoint, SHARE_OF_BEST};
pub use findings::{PoolAgainst, PoolComparison, PoolFindings, PoolOutcome};
pub use older::{OlderPoolTrial, SEARCH_VERSION};
pub use parameters::{PoolLimits, PoolParameters};
pub use question::{PoolQuestion, PoolResult, PoolStage};
pub use rate::{Carrying, ROOM, RateAnswer};
pub use usl::Usl;
