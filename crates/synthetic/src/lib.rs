//! Servers whose truth is known: how often the answers of a search are right. `cargo xtask truth`
//! prints the tables of `docs/method`; a short form is tested.
//!
//! - `noise`: how the speed of a server scatters from trial to trial.
//! - `explained_server`: two configurations, and what makes their difference.
//! - `explain`: explanations of it.
//! - `find_max`: the search for the highest rate, and other methods beside it.
//! - `pool`: the search for the size of a connection pool.
//!
//! *Invariant:* no clock, no file, no network.

mod explain;
mod explained_server;
mod find_max;
mod noise;
mod pool;

pub use explain::{ExplainRow, Frequency, explain, explain_table};
pub use explained_server::{ExplainCell, ExplainNoise, Pattern};
pub use find_max::{FindMaxRow, find_max, find_max_table};
pub use noise::{NoiseKind, TrialNoise};
pub use pool::{
    POOL_CURVES, POOL_LIMITS, PoolCell, PoolCurve, PoolLimitRow, PoolSearches, pool, pool_limit,
    pool_table,
};
