//! `pool.json`: what a search for the size of a connection pool was asked.

use serde::{Deserialize, Serialize};

use crate::Asked;

/// The rule of thumb "cores × 2 + effective spindles" for the server's host, with one spindle: a
/// host's facts name one device, and a solid state disk counts as one. It is shown beside what was
/// measured, and decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRule {
    pub cores: u32,
    pub connections: u32,
}

impl PoolRule {
    pub fn of(cores: u32) -> Self {
        const SPINDLES: u32 = 1;
        Self { cores, connections: cores.saturating_mul(2).saturating_add(SPINDLES) }
    }
}

/// An experiment that searches the number of connections for a pool. Its trials are like any
/// others, and their order follows from this and from their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolRecord {
    pub schema_version: u32,
    /// Which trials a seed and results lead to: `SEARCH_VERSION` of the crate `pool`. Records of
    /// the first version have none.
    #[serde(default = "first_search")]
    pub search: u32,
    pub seed: u64,
    /// The largest number that may be tried.
    pub connections_most: u32,
    pub blocks: u32,
    pub check_blocks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_limit_us: Option<f64>,
    /// Transactions a second that the application makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The number that the user has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<u32>,
    /// `None` where the cores of the server's host are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<PoolRule>,
    /// Processes of the application that share the connections.
    pub instances: u32,
    /// In older records: now `experiment.json` has it, and before them the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
}

fn first_search() -> u32 {
    1
}
