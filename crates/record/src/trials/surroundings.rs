//! What went on beside a load during its measure phase, as measured.
//! [`crate::Disturbance`] judges it.

use serde::{Deserialize, Serialize};

/// `None` = could not be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrialSurroundings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_programs: Option<OtherPrograms>,
    /// Share of the time in which a task of the host waited for memory, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<f64>,
    /// Share of the periods of a CPU quota in which it stopped the server or the load generator, 0
    /// to 1: the larger of the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// By how much the wall clock was set, in milliseconds: forward is positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_step_ms: Option<f64>,
    /// The program that traced the server's process at the end of the phase: `strace`, `gdb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracer: Option<String>,
    /// The server's process was stopped by a signal in so many …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_stopped: Option<u32>,
    /// … of these looks at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_looks: Option<u32>,
}

/// CPU time of what is neither the server nor the load generator, nor the kernel's own threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherPrograms {
    /// Cores that they used on average, …
    pub cores: f64,
    /// … of so many that the host has.
    pub of_cores: f64,
    /// Idle cores on average.
    pub idle_cores: f64,
    /// The largest users first, each with all of its processes. Empty where they are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<ProgramUse>,
}

impl OtherPrograms {
    /// Their share of the host, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.of_cores > 0.0 { (self.cores / self.of_cores).clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramUse {
    /// As the kernel names its process.
    pub name: String,
    pub cores: f64,
}
