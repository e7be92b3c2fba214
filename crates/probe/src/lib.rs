//! Facts of the host and of processes, the wall clock, and what a server and its host do while somebody measures: what a
//! number needs beside it to mean something.
//!
//! What a system does not show is `None`, never zero.

mod affinity;
pub mod clock;
mod flush;
mod host;
mod host_cpu;
mod presence;
mod process;
mod server_use;
mod watch;

pub use affinity::{bound_to, cores_of, own_cores};
pub use flush::{FlushProbeError, probe_flush};
pub use host::host_facts;
pub use host_cpu::{HostCpu, HostCpuShares};
pub use presence::RunPresence;
pub use process::{ProcessUse, process_use};
pub use server_use::{ServerUse, server_use};
pub use watch::{Changes, HostWatch, ProbeReading, ProbeValues, ServerWatch};
