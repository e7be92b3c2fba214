//! Another run that put load on the host at the same time.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OtherRun {
    /// Its process.
    pub pid: u32,
    /// Command of truetps: `sweep`, `sysbench`.
    pub command: String,
}

impl fmt::Display for OtherRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "truetps {} (process {})", self.command, self.pid)
    }
}
