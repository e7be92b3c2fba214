//! Programs whose command lines truetps takes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A program whose command line truetps takes, and whose runs it keeps as an experiment. Shown as that command line
/// begins: `truetps slap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Personality {
    Sysbench,
    /// mysqlslap.
    Slap,
    /// mtls-perf-bench.
    Mtls,
}

impl Personality {
    /// The word behind `truetps`, and in a plan.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Slap => "slap",
            Self::Mtls => "mtls",
        }
    }
}

impl fmt::Display for Personality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "truetps {}", self.word())
    }
}
