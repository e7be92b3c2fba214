//! `run.json`: one trial, what it was set to and what came out.

use serde::{Deserialize, Serialize};

use crate::{
    CommonStart, Configuration, DriveMode, LogVolume, Measured, NoEvidence, OtherRun, Protocol,
    Reason, ScriptRun, ServerFacts, TrialPart, TrialRole, TrialSurroundings, WorkloadProfile,
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
    /// Clients that could not connect, and clients that were lost later: their connection broke and
    /// was not made again, or their script failed.
    pub clients_failed: u32,
    pub connect_ms: f64,
    pub protocol: Protocol,
    /// [`DriveMode::Blocking`] or [`DriveMode::Multiplexed`]; `None` in records of older versions.
    #[serde(default)]
    pub mode: Option<DriveMode>,
    /// Cores that the workers were bound to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_to: Vec<u32>,
    /// Whether workers and server may run on the same cores. `None` where the server is not on this
    /// host.
    #[serde(default)]
    pub shares_cores: Option<bool>,
    /// Connections that broke and were made again.
    #[serde(default)]
    pub reconnects: u64,
    /// Clients that ended at least one transaction in the measure phase, well or not; `None` in
    /// older records, and where there was no measure phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_finished: Option<u32>,
    /// When the generator did not run at all, as its process or machine was suspended: such a trial
    /// is invalid.
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

/// One trial. `measured` is `None` while it runs and where it never came to the measure phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub schema_version: u32,
    pub tool_version: String,
    /// `trial-0007`: the folder's name.
    pub name: String,
    pub block: u32,
    /// Position in the block, from 0.
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
    /// What its clients sent, in terms of the tables' keys and pages. `None` where that is not
    /// known: a script's run, a record of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<WorkloadProfile>,
    /// What a script's run alone has; `None` in records of older versions, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptRun>,
    /// What a server of the user wrote to its logs since the trial before, or since the load of the
    /// tables began. `None`: a private server, or it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<LogVolume>,
    /// Other runs of truetps that put load on the host during this trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<OtherRun>,
    /// What else went on beside its load. `None` in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<TrialSurroundings>,
    /// What disturbed an earlier attempt, which this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated_after: Option<String>,
    /// Said with the trial's figures wherever they are shown: what was odd but does not make them
    /// untrue.
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
