//! `experiment.json`: the order of trials, decided and written before the first one starts.

use serde::{Deserialize, Serialize};

use crate::{
    Asked, Configuration, DiskFacts, ExternalFacts, HostFacts, MergedPart, PartOfExperiment,
    ServerFacts, SettingValue, Slo,
};

/// Why a trial is in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialRole {
    /// One of the plan's configurations.
    Cell,
    /// A cell's configuration a second time in the same block: the difference between the two is
    /// noise by construction. It is never counted as a replicate of the cell.
    AaTwin,
    /// Run before rates are tried, to measure how fast a closed loop is. Not evidence.
    Pilot,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScheduledTrial {
    /// `trial-0007`, in order of execution.
    pub name: String,
    pub block: u32,
    pub position: u32,
    pub role: TrialRole,
    pub configuration: Configuration,
    /// What an explanation measures with it: the factors with the level of B as a hexadecimal
    /// number, the first factor in its lowest bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixture: Option<String>,
}

/// A variable that a server derives from a factor's level when it starts, without being asked.
/// Trials of that level have it too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coupling {
    /// Which server derives it, if the server is a factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub factor: String,
    pub level: SettingValue,
    pub name: String,
    pub value: String,
    /// The variable's value without any level of the factor.
    pub otherwise: String,
}

/// More blocks for an experiment that has results: `truetps sweep --resume --blocks N`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    /// RFC 3339, UTC.
    pub extended_at: String,
    pub blocks_before: u32,
    pub blocks: u32,
    /// Command line, as typed.
    pub command: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub schema_version: u32,
    pub tool_version: String,
    pub name: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    pub quick: bool,
    pub seed: u64,
    /// OS threads that drove the clients; 0 in records of the first versions.
    #[serde(default)]
    pub workers: u32,
    pub host: HostFacts,
    /// `None`: a script's run that never connected.
    pub server: Option<ServerFacts>,
    /// All servers, if the server is a factor; `server` is the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerFacts>,
    /// The emulated disks that private servers were on, as they were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskFacts>,
    /// Variables that follow from the factors' levels.
    #[serde(default)]
    pub couplings: Vec<Coupling>,
    /// Folder of private servers; `None` for an external server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_dir: Option<String>,
    /// Address of an external server: a DSN without password; in older records of sysbench, slap
    /// and mtls the endpoint alone. `None` for private servers, and for a script that never
    /// connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_address: Option<String>,
    /// Planned before the first trial starts. A search for a rate or a pool, and an explanation,
    /// plan as they go.
    pub schedule: Vec<ScheduledTrial>,
    /// Blocks that were added after trials had been measured, when their results may already have
    /// been read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// Whether the trials of each block are in random order. `false` if a personality keeps the
    /// order of its original.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub random_order: bool,
    /// Set if the experiment searches the highest rate that meets these objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// `None`: private servers, or a record of an older version.
    #[serde(rename = "guest", default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalFacts>,
    /// Command line, as typed.
    pub command: Vec<String>,
    /// `None` in older records, and of experiments that no command goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// This folder has one part of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOfExperiment>,
    /// The parts that this experiment was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MergedPart>,
    /// Parts of the load that are missing in it, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts_missing: Vec<u32>,
}

impl Experiment {
    /// In schema version 1 the folder of private servers and the address of an external one were
    /// one text.
    pub fn upgrade(&mut self) {
        if self.schema_version > 1 {
            return;
        }
        let is_external = self.external.is_some() || !self.random_order;
        if let Some(address) = self.sandbox_dir.take_if(|dir| is_external || dir.contains("://")) {
            self.server_address = Some(address).filter(|address| !address.is_empty());
        }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}
