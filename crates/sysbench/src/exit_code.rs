//! Exit statuses of the program.

pub(crate) const GOOD: u8 = 0;
pub(crate) const FAILED: u8 = 1;
/// Events had not ended when the run stopped waiting for them.
pub(crate) const UNFINISHED: u8 = 2;
pub(crate) const INTERRUPTED: u8 = 130;
/// The reader of the standard output has left: what a shell makes of SIGPIPE.
pub(crate) const UNREAD: u8 = 141;

/// The program ends early with this exit status; the reason was printed.
pub(crate) type ProgramExit = u8;
