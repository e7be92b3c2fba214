//! Programs whose command lines truetps accepts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A program whose command line truetps accepts, and whose runs it records as an experiment. Displayed as the start of
/// that command line: `truetps slap`.
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
    /// The subcommand of `truetps`, and the word in a plan.
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
