//! Seeded random numbers, and the draws that workloads and scripts have in common.
//!
//! - `stream`: the generator of workloads and schedules. Scripts have sysbench's own.
//! - `zipf`: Zipfian ranks from any generator.
//! - `digits`: the digits of numbers, as text.
//!
//! *Invariant:* no clock, no file, no network: equal seeds draw equal numbers.

mod digits;
mod stream;
mod zipf;

pub use digits::eight_digits;
pub use stream::{RandomStream, UnitSource, mix};
pub use zipf::Zipf;
