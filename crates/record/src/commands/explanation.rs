//! `explanation.json`: which differences of two configurations are measured.

use serde::{Deserialize, Serialize};

use crate::{Asked, Configuration, ScheduledTrial, ServerFacts, SettingValue};

/// What a change of a factor's level takes, the cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactorChange {
    /// The running server takes it.
    Dynamic,
    /// A start of the server.
    Restart,
    /// Data of its own: the server creates its files with it.
    NewData,
    /// Another program.
    Server,
    /// It is no setting of the server: the load, the workload, or the disk.
    Load,
}

/// One thing with a level in A and another one in B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorLevel {
    pub name: String,
    pub a: SettingValue,
    pub b: SettingValue,
}

/// A difference that is measured: one thing, or several that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainedFactor {
    /// The name of its first level, or of the group.
    pub name: String,
    pub levels: Vec<FactorLevel>,
    pub change: FactorChange,
    /// Why several settings are one factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
}

/// A difference that is not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    pub name: String,
    /// `None`: this side does not have it.
    pub a: Option<String>,
    pub b: Option<String>,
    pub reason: String,
}

/// One of the two configurations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainedSide {
    /// As the user named it.
    pub name: String,
    /// The levels of all factors.
    pub configuration: Configuration,
    pub server: Option<ServerFacts>,
    /// What was changed so that this machine can hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An experiment that asks which differences between A and B make their results differ. Its trials
/// are like any others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub schema_version: u32,
    pub seed: u64,
    /// Differences below this are of no interest.
    pub smallest_percent: f64,
    /// Time for all trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    pub a: ExplainedSide,
    pub b: ExplainedSide,
    pub factors: Vec<ExplainedFactor>,
    /// Factors that are known to matter, by their number, the most suspicious first.
    pub suspects: Vec<usize>,
    pub left_out: Vec<LeftOut>,
    /// In older records: now `experiment.json` has it, and before them the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// In older records: the mixture of each trial, in the order of the schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixtures: Vec<String>,
}

impl Explanation {
    /// In older records the mixtures were a list beside the schedule.
    pub fn upgrade(&mut self, schedule: &mut [ScheduledTrial]) {
        for (scheduled, mixture) in schedule.iter_mut().zip(self.mixtures.drain(..)) {
            scheduled.mixture.get_or_insert(mixture);
        }
    }
}
