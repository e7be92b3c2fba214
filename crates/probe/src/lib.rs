//! Facts of the host and of processes, the wall clock, and the activity of a server and its host
//! during a measurement: the context that gives a figure its meaning.
//!
//! - `clock`: the only place in truetps that reads the wall clock; durations are measured with
//!   `Instant`.
//! - `host`, `flush`, `cpu_quota`, `affinity`: facts of the machine. `process`, `host_cpu`,
//!   `core_cpu`, `program_cpu`: what was used, and by whom. `server_use` adds up the processes of a
//!   server. `presence`: other runs of truetps on the host.
//! - `watch` ([`ServerWatch`], [`HostWatch`]): queries a server in a session of its own (`mysql`,
//!   `postgres`: all statements, and the shape of their answers) and reads `/proc` and `/sys`. It
//!   has no thread, gets its reading times from the caller, and uses a clock only to limit
//!   reconnects.
//! - `data/signals.toml` names the values of each place with kind and unit. The header of
//!   `probe.jsonl` lists them (`truetps_record::SignalRegistry`), and readers take them from it.
//!   `truetps_record::ProbeDecoder` fills in the values that samples omit, and
//!   `truetps_record::Responsiveness` finds outages, both live and in a record.
//!
//! *Invariant:* a value that cannot be read is absent (`None`), never zero.

mod affinity;
pub mod clock;
mod core_cpu;
mod cpu_quota;
mod flush;
mod host;
mod host_cpu;
mod presence;
mod process;
mod program_cpu;
mod server_use;
mod watch;

pub use affinity::{bound_to, cores_of, own_cores, usable_cores, worker_count};
pub use core_cpu::CoreCpu;
pub use cpu_quota::CpuQuota;
pub use flush::{FlushProbeError, probe_flush};
pub use host::host_facts;
pub use host_cpu::HostCpu;
pub use presence::RunPresence;
pub use process::{ProcessUse, is_stopped, own_cpu, process_use, tracer_of};
pub use program_cpu::ProgramCpu;
pub use server_use::{ServerUse, server_use};
pub use watch::{
    Changes, HostWatch, ProbeReading, ProbeValues, ServerWatch, every_signal, waited_for_memory,
};
