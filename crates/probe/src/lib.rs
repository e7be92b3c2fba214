//! Facts of the host and of processes, and the wall clock: what a number needs beside it to mean something.
//!
//! What a system does not show is `None`, never zero.

mod affinity;
pub mod clock;
mod flush;
mod host;
mod host_cpu;
mod process;
mod server_use;

pub use affinity::{bound_to, cores_of, own_cores};
pub use flush::{FlushProbeError, probe_flush};
pub use host::host_facts;
pub use host_cpu::{HostCpu, HostCpuShares};
pub use process::{ProcessUse, process_use};
pub use server_use::{ServerUse, server_use};
