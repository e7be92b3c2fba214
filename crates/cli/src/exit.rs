//! Exit codes: a contract with scripts. They are listed in `--help` and in docs/reference/exit-codes.md.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Good = 0,
    /// A condition is not met: a threshold was crossed, or the server does not run.
    No = 1,
    /// Wrong usage, plan or environment: nothing was measured.
    Usage = 2,
    /// Measured, but no comparison could be decided.
    Inconclusive = 3,
    /// A trial failed: the server died, clients could not connect, the disk was full.
    Failed = 4,
    /// Interrupted; what was measured is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
