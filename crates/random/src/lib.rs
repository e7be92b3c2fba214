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
pub use stream::{RandomStream, mix};
pub use zipf::Zipf;

/// A generator of uniform numbers.
pub trait UnitSource {
    /// Uniform in `0.0..1.0`.
    fn unit(&mut self) -> f64;
}
