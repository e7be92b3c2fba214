//! Facts of the host and of processes, and the wall clock: what a number needs beside it to mean something.
//!
//! What a system does not show is `None`, never zero.

pub mod clock;
mod flush;
mod host;
mod process;

pub use flush::{FlushProbeError, probe_flush};
pub use host::host_facts;
pub use process::{ProcessUse, process_use};
