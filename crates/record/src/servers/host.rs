//! Facts of the machine that figures depend on.

use serde::{Deserialize, Serialize};

/// Latency of "write one block, then make it durable" in the sandbox's folder, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlushProbe {
    pub writes: u32,
    pub us_p50: f64,
    pub us_p99: f64,
    pub us_max: f64,
}

/// Facts of the host. `None` and empty text mean "could not be read", never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    pub hostname: String,
    pub kernel: String,
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: u32,
    pub memory_bytes: u64,
    /// `kvm`, `container`, `none`, …, as far as the system shows it.
    pub virtualisation: Option<String>,
    /// File system type of the data folder: `ext4`, `xfs`, `tmpfs`, …
    pub file_system: Option<String>,
    /// Block device under the data folder: `vda`, `nvme0n1`, …
    pub device: Option<String>,
    pub rotational: Option<bool>,
    /// Overwriting a file of written blocks: what a redo log flush costs here.
    pub flush: Option<FlushProbe>,
}
