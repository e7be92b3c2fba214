//! The figures of a trial's measure phase.

use serde::{Deserialize, Serialize};

use crate::{Counts, ErrorCount, GeneratorLimit, LatencyFigures, OpenLoop, Reason};

/// What generator and server used in the measure phase. `None` = could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// CPU of the engine's workers, per transaction.
    pub client_cpu_us_per_tx: Option<f64>,
    pub server_cpu_us_per_tx: Option<f64>,
    /// Largest share of the measure phase that any one worker spent on a CPU, 0 to 1: near 1, the
    /// generator limited the figure.
    pub worker_busy_max: Option<f64>,
    /// Largest share of the measure phase that any one worker was ready to run and waited for a
    /// core, 0 to 1.
    #[serde(default)]
    pub worker_wait_max: Option<f64>,
    /// Share of the host's CPU time that another guest of the same machine took, 0 to 1.
    #[serde(default)]
    pub steal: Option<f64>,
    pub server_rss_bytes: Option<u64>,
    /// Context switches of the engine's workers, per transaction. `None` in records of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_switches_per_tx: Option<f64>,
    /// `None` in records of older versions, and where the server is not on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_window: Option<CpuWindow>,
}

/// CPU time between the readings at the edges of the measure phase, which may be a moment late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuWindow {
    /// On the trial's clock: 0 is its first transaction.
    pub from_ms: f64,
    pub to_ms: f64,
    /// Transactions that ended well in it. Of a bucket that is in it in part, that part.
    pub ok: f64,
    pub server_us: f64,
    /// CPU time of the load generator's whole process.
    pub generator_us: f64,
    /// Idle time of the cores that the server may use. `None`: unknown.
    pub idle_us: Option<f64>,
}

/// A process's CPU time is counted in steps of 10 ms: less than ten of them say nothing.
pub const CPU_MIN_US: f64 = 100_000.0;

/// The measure phase of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub length_ms: f64,
    /// Transactions that ended well, a second.
    pub tps: f64,
    /// Statements answered, a second.
    pub qps: f64,
    #[serde(flatten)]
    pub counts: Counts,
    #[serde(flatten)]
    pub response: LatencyFigures,
    #[serde(flatten)]
    pub resources: ResourceUse,
    /// What an open loop adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Open loop: whether the server kept up with the rate. `None` in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<bool>,
    /// Closed loop: transactions that were in flight on average by throughput and mean response
    /// time, for each connection (Little's law). 1 in a steady state. `None` where it is not known
    /// or has no meaning: in an open loop, with a number of transactions, with failures, and in
    /// records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub littles_law: Option<f64>,
    /// Why the load generator was the bottleneck; `None` where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_limited: Option<Reason<GeneratorLimit>>,
    pub errors: Vec<ErrorCount>,
}

/// A closed loop is in a steady state if Little's law holds as exactly as this.
pub const STEADY_WITHIN: f64 = 0.05;

impl Measured {
    /// Whether Little's law shows that response times do not describe the trial: transactions that
    /// took long were cut off by the end of the measure phase, or began before it.
    pub fn is_unsteady(&self) -> bool {
        self.littles_law.is_some_and(|ratio| (ratio - 1.0).abs() > STEADY_WITHIN)
    }

    /// CPU time of the server per transaction, in microseconds. `None` where it could not be read,
    /// or was too little to measure.
    pub fn server_cpu_us_per_tx(&self) -> Option<f64> {
        self.resources.server_cpu_us_per_tx.filter(|us| us * self.counts.ok as f64 >= CPU_MIN_US)
    }
}
