//! `run.json`: one trial, what it was set to and what came out.

use serde::{Deserialize, Serialize};

use crate::{
    CommonStart, Configuration, Counts, DriveMode, ErrorCount, GeneratorLimit, LatencyFigures,
    LogVolume, NoEvidence, OpenLoop, OtherRun, Protocol, Reason, ScriptRun, ServerFacts, TrialPart,
    TrialRole, WorkloadProfile,
};

/// Whether a trial may be used as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub enum Validity {
    Valid,
    /// Something happened that makes the figures untrue: the reason says what.
    Invalid(Reason<NoEvidence>),
    /// Not finished: interrupted, or killed.
    Partial(Reason<NoEvidence>),
}

/// A validity in documents for users: with the words of its reason.
#[derive(Debug, Serialize)]
pub struct ValidityWords {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Validity {
    pub fn invalid(reason: NoEvidence) -> Self {
        Self::Invalid(reason.into())
    }

    pub fn partial(reason: NoEvidence) -> Self {
        Self::Partial(reason.into())
    }

    pub fn is_valid(&self) -> bool {
        *self == Self::Valid
    }

    /// Whether the trial did not end, and can be run again.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Partial(_))
    }

    pub fn words(&self) -> ValidityWords {
        let state = match self {
            Self::Valid => "valid",
            Self::Invalid(_) => "invalid",
            Self::Partial(_) => "partial",
        };
        ValidityWords { state, reason: self.reason().map(ToString::to_string) }
    }

    pub fn reason(&self) -> Option<&Reason<NoEvidence>> {
        match self {
            Self::Valid => None,
            Self::Invalid(reason) | Self::Partial(reason) => Some(reason),
        }
    }
}

/// How the engine drove the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// OS threads that drove the clients.
    pub workers: u32,
    pub clients: u32,
    /// Clients that could not connect, and clients that were lost later: their connection broke and was not made again,
    /// or their script failed.
    pub clients_failed: u32,
    pub connect_ms: f64,
    pub protocol: Protocol,
    /// [`DriveMode::Blocking`] or [`DriveMode::Multiplexed`]; `None` in records of older versions.
    #[serde(default)]
    pub mode: Option<DriveMode>,
    /// Cores that the workers were bound to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_to: Vec<u32>,
    /// Whether workers and server may run on the same cores. `None` where the server is not on this host.
    #[serde(default)]
    pub shares_cores: Option<bool>,
    /// Connections that broke and were made again.
    #[serde(default)]
    pub reconnects: u64,
    /// Clients that ended at least one transaction in the measure phase, well or not; `None` in older records, and where
    /// there was no measure phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_finished: Option<u32>,
    /// When the generator did not run at all, as its process or machine was suspended: such a trial is invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspensions: Vec<Suspension>,
}

/// A stretch of time in which the generator's process was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Suspension {
    /// On the trial's clock: 0 is its first transaction.
    pub start_ms: f64,
    pub length_ms: f64,
}

impl Suspension {
    pub fn end_ms(&self) -> f64 {
        self.start_ms + self.length_ms
    }
}

/// What generator and server used in the measure phase. `None` = could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// CPU of the engine's workers, per transaction.
    pub client_cpu_us_per_tx: Option<f64>,
    pub server_cpu_us_per_tx: Option<f64>,
    /// Largest share of the measure phase that any one worker spent on a CPU, 0 to 1: near 1, the generator limited
    /// the figure.
    pub worker_busy_max: Option<f64>,
    /// Largest share of the measure phase that any one worker was ready to run and waited for a core, 0 to 1.
    #[serde(default)]
    pub worker_wait_max: Option<f64>,
    /// Share of the host's CPU time that another guest of the same machine took, 0 to 1.
    #[serde(default)]
    pub steal: Option<f64>,
    pub server_rss_bytes: Option<u64>,
    /// Context switches of the engine's workers, per transaction. `None` in records of older versions.
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
    /// Of the load generator's whole process.
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
    /// Closed loop: transactions that were in flight on average by throughput and mean response time, for each
    /// connection (Little's law). 1 in a steady state. `None` where it is not known or has no meaning: in an open loop,
    /// with a number of transactions, with failures, and in records of older versions.
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
    /// Whether Little's law shows that response times do not describe the trial: transactions that took long were cut
    /// off by the end of the measure phase, or began before it.
    pub fn is_unsteady(&self) -> bool {
        self.littles_law.is_some_and(|ratio| (ratio - 1.0).abs() > STEADY_WITHIN)
    }

    /// CPU time of the server per transaction, in microseconds. `None` where it could not be read, or was too little to measure.
    pub fn server_cpu_us_per_tx(&self) -> Option<f64> {
        self.resources.server_cpu_us_per_tx.filter(|us| us * self.counts.ok as f64 >= CPU_MIN_US)
    }
}

/// One trial. `measured` is `None` while it runs and where it never came to the measure phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub schema_version: u32,
    pub tool_version: String,
    /// `trial-0007`: the folder's name.
    pub name: String,
    pub block: u32,
    /// Place in the block, from 0.
    pub position: u32,
    pub role: TrialRole,
    pub configuration: Configuration,
    pub workload: String,
    pub seed: u64,
    /// `None`: a script's run that has connected to none.
    pub server: Option<ServerFacts>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub ended_at: Option<String>,
    pub validity: Validity,
    pub engine: Option<EngineFacts>,
    pub measured: Option<Measured>,
    /// What its clients sent, in terms of the tables' keys and pages. `None` where that is not known: a script's run, a record
    /// of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<WorkloadProfile>,
    /// Of a script's run alone; `None` in records of older versions, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptRun>,
    /// What a server of the user wrote to its logs since the trial before, or since the load of the tables began. `None`: a
    /// private server, or it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<LogVolume>,
    /// Other runs of truetps that put load on the host during this trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<OtherRun>,
    /// Said with the trial's figures wherever they are shown: what was odd but does not make them untrue.
    pub notes: Vec<String>,
    /// The common start with the other parts; only of a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommonStart>,
    /// The parts that this trial was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<TrialPart>,
}

impl Trial {
    /// The natural logarithm of its throughput; `None`: the trial is no evidence.
    pub fn log_tps(&self) -> Option<f64> {
        let measured = self.measured.as_ref().filter(|_| self.validity.is_valid())?;
        (measured.tps > 0.0 && measured.tps.is_finite()).then(|| measured.tps.ln())
    }
}
