//! The random numbers of scripts: `sysbench.rand`.
//!
//! Scripts call these some ten million times a second, so everything here is a plain function on the caller's own
//! generator: no lock, no allocation, nothing shared except the counter of [`Unique`].
//!
//! - `xoroshiro`: the generator, and how it is seeded.
//! - `distribution`: numbers of a range, by the distribution that was chosen or by name.
//! - `zipf`: the distribution that takes more than a line.
//! - - `unique`: numbers that never repeat.
//! - `text`: strings.

mod distribution;
mod text;
mod unique;
mod xoroshiro;
mod zipf;

#[cfg(test)]
mod statistics;

pub(crate) use distribution::{DistributionName, Parameters, RandomDistributions};
pub(crate) use text::{string, varstring};
pub(crate) use unique::Unique;
pub(crate) use xoroshiro::Xoroshiro;
