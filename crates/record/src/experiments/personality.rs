//! Programs whose runs are recorded as experiments, although no plan describes them completely.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A command that is no experiment of a plan, and whose runs are recorded as one: programs whose
/// command lines truetps accepts, and `verify`. Displayed as the start of that command line:
/// `truetps slap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Personality {
    Sysbench,
    /// mysqlslap.
    Slap,
    /// mtls-perf-bench.
    Mtls,
    /// truetps's own.
    Verify,
}

impl Personality {
    /// The subcommand of `truetps`, and the word in a plan.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Slap => "slap",
            Self::Mtls => "mtls",
            Self::Verify => "verify",
        }
    }
}

impl fmt::Display for Personality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "truetps {}", self.word())
    }
}
