//! Exit codes: a contract with scripts. They are listed in `--help` and in
//! docs/reference/exit-codes.md.

use std::process::ExitCode;

use crate::last_signal::interrupted_code;

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
    /// By a signal; what was measured is kept. The code of SIGTERM is 143, and of SIGHUP 129.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        of_code(exit as u8)
    }
}

/// The exit code of a command or a compatible program.
pub(crate) fn of_code(code: u8) -> ExitCode {
    ExitCode::from(if code == Exit::Interrupted as u8 { interrupted_code() } else { code })
}
