//! Servers whose truth is known: how often the answers of a search are right. `cargo xtask truth`
//! prints the tables of `docs/method`; a short form is tested.
//!
//! - `noise`: how the speed of a server scatters from trial to trial.
//! - `find_max`: the search for the highest rate, and other methods beside it.
//!
//! *Invariant:* no clock, no file, no network.

mod find_max;
mod noise;

pub use find_max::{FindMaxRow, find_max, find_max_table};
pub use noise::{NoiseKind, TrialNoise};
