//! The random numbers of scripts: `sysbench.rand`.
//!
//! Scripts call these some ten million times a second, so everything here is a plain function on
//! the caller's own generator: no lock, no allocation, nothing shared except the counter of
//! [`Unique`].
//!
//! - `xoroshiro`: the generator, and how it is seeded.
//! - `distribution`: numbers of a range, by the distribution that was chosen or by name.
//! - `zipf`: Zipfian numbers of ranges that differ from draw to draw.
//! - `unique`: numbers that never repeat.
//! - `text`: strings.

mod distribution;
mod text;
mod unique;
mod xoroshiro;
mod zipf;

pub(crate) use distribution::{DistributionName, Parameters, RandomDistributions};
pub(crate) use text::{string, varstring};
pub(crate) use unique::Unique;
pub(crate) use xoroshiro::Xoroshiro;
