//! Facts of the host and of processes, the wall clock, and the activity of a server and its host during a measurement:
//! the context that gives a figure its meaning.
//!
//! A value that a system does not report is `None`, never zero.

mod affinity;
pub mod clock;
mod core_cpu;
mod cpu_quota;
mod flush;
mod host;
mod host_cpu;
mod presence;
mod process;
mod server_use;
mod watch;

pub use affinity::{bound_to, cores_of, own_cores};
pub use core_cpu::CoreCpu;
pub use cpu_quota::CpuQuota;
pub use flush::{FlushProbeError, probe_flush};
pub use host::host_facts;
pub use host_cpu::HostCpu;
pub use presence::RunPresence;
pub use process::{ProcessUse, own_cpu, process_use};
pub use server_use::{ServerUse, server_use};
pub use watch::{Changes, HostWatch, ProbeReading, ProbeValues, ServerWatch, every_signal};
