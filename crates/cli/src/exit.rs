//! Exit codes: a contract with scripts. They are listed in `--help` and in docs/reference/exit-codes.md.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Good,
    /// What was asked has the answer no: the server does not run.
    No,
    /// Wrong usage, plan or environment: nothing was measured.
    Usage,
    /// Measured, but no comparison could be decided.
    Inconclusive,
    /// A trial failed: the server died, clients could not connect, the disk was full.
    Failed,
    /// Interrupted; what was measured is kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Good => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Inconclusive => 3,
            Exit::Failed => 4,
            Exit::Interrupted => 130,
        })
    }
}
