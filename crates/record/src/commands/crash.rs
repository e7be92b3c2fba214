//! What crashes of a server lost: one record for each crash.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Configuration, DiskFacts, Disturbance, HostFacts, LoadSurroundings, OtherRun, ServerFacts,
    TrialSurroundings,
};

/// The smallest difference of interest of a plan that names none.
const SMALLEST_EFFECT: f64 = 0.03;

/// What dies in a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashKind {
    /// The server's process, by SIGKILL.
    Kill,
    /// The operating system: what the server has written and not flushed is gone.
    Os,
    /// The power: what the disk has in its volatile cache is gone too.
    Power,
}

impl CrashKind {
    pub const ALL: [Self; 3] = [Self::Kill, Self::Os, Self::Power];

    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Os => "os",
            Self::Power => "power",
        }
    }

    /// Whether it needs an emulated disk.
    pub fn needs_disk(self) -> bool {
        self != Self::Kill
    }
}

impl fmt::Display for CrashKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A step of a server's work on its binlogs, at which a crash falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashStep {
    /// Zeros are written ahead of the server, or into a prepared file. Where nothing is filled, it
    /// is a commit.
    Fill,
    /// A new file gets its name: it is made, or a prepared one is renamed.
    Name,
    /// The first write to a new file.
    Header,
    /// The index of the files is changed.
    Index,
    /// Transactions are written.
    Commit,
    /// A file ends, because the next one begins: it is cut to its content, and closed.
    Close,
    /// The last file ends, because the server was asked to stop.
    Stop,
    /// A server that starts after a crash changes its files: it crashes again.
    Recovery,
}

impl CrashStep {
    pub const ALL: [Self; 8] = [
        Self::Fill,
        Self::Name,
        Self::Header,
        Self::Index,
        Self::Commit,
        Self::Close,
        Self::Stop,
        Self::Recovery,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Name => "name",
            Self::Header => "header",
            Self::Index => "index",
            Self::Commit => "commit",
            Self::Close => "close",
            Self::Stop => "stop",
            Self::Recovery => "recovery",
        }
    }
}

impl fmt::Display for CrashStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a configuration is crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashRole {
    /// It is in the plan.
    Cell,
    /// It is known to lose nothing: a loss is a fault of the laboratory, or of the server.
    KeepsAll,
    /// It is known to lose something: without a loss the laboratory would see none.
    LosesSome,
}

/// Rows of a crash in the server's binlog and in its table: what a replica has more and less than a
/// server that was crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinlogDifference {
    /// In the binlog, each in a transaction with its end.
    pub rows: u64,
    /// In the binlog, and not in the table.
    pub binlog_only: u64,
    /// In the table, and not in the binlog.
    pub table_only: u64,
    /// Files that do not end with a whole event; zeros behind the newest one's are none of it.
    #[serde(default)]
    pub torn_files: u64,
    /// Numbers of transactions (GTIDs) that do not follow the number before them.
    #[serde(default)]
    pub gtid_gaps: u64,
}

/// One crash, and what was there afterwards. Counts are of rows; each transaction inserts one.
///
/// `attempted = acknowledged + unknown`, `lost <= acknowledged`, `recovered <= unknown`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrashRecord {
    pub number: u32,
    /// From 0: in each block every configuration is crashed once in every way, in a random order.
    /// `None`: recorded by a version that crashed one configuration after the other.
    #[serde(default)]
    pub block: Option<u32>,
    pub role: CrashRole,
    pub kind: CrashKind,
    /// `None`: at a random time.
    #[serde(default)]
    pub step: Option<CrashStep>,
    pub configuration: Configuration,
    /// From the first transaction to the crash.
    pub load_ms: f64,
    pub tps: f64,
    pub response_us_p99: Option<f64>,
    pub attempted: u64,
    pub acknowledged: u64,
    /// Sent, and not answered before the crash.
    pub unknown: u64,
    /// Acknowledged, and gone.
    pub lost: u64,
    /// From the acknowledgement of the first lost row to the crash.
    pub loss_window_ms: Option<f64>,
    /// Unknown, and there.
    pub recovered: u64,
    /// There, and never sent.
    pub unexpected: u64,
    /// There, although a row that was acknowledged earlier is lost: more than one a client would be
    /// a fault.
    pub holes: u64,
    /// Blocks of 4 KiB of which the disk's cache lost something.
    pub blocks_lost: u64,
    /// From the start of the server to the first row that it accepted.
    pub recovery_ms: f64,
    /// What the server says of the table. `None`: it is intact.
    pub table_problem: Option<String>,
    /// `None`: the server has no binlog, or one that cannot be read.
    #[serde(default)]
    pub binlog: Option<BinlogDifference>,
    /// Whether the settings promise, by the server's documentation, that nothing is lost. `None`:
    /// not known.
    pub promises_all_kept: Option<bool>,
    /// During the load. `None`: recorded by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<TrialSurroundings>,
    /// Share of the host's CPU time that other guests of its machine took during the load, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Other runs of truetps on this host during the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<OtherRun>,
}

impl CrashRecord {
    /// What disturbed the load before the crash, the gravest first.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        let Self { surroundings, steal, beside, .. } = self;
        LoadSurroundings { surroundings: surroundings.as_ref(), steal: *steal, beside }
            .disturbances()
    }
}

/// A configuration that an experiment crashes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrashedConfiguration {
    pub role: CrashRole,
    pub configuration: Configuration,
    /// Why its remaining crashes were left out, in the server's words. `None`: they were not.
    #[serde(default)]
    pub left_out: Option<String>,
}

/// `crash.json`: an experiment with crashes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrashRun {
    pub schema_version: u32,
    pub tool_version: String,
    pub name: String,
    /// One sentence: the question.
    pub about: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    pub seed: u64,
    pub clients: u32,
    /// Crashes of each kind, and at each step, of each configuration: the number of blocks.
    pub crashes: u32,
    pub kinds: Vec<CrashKind>,
    /// Share of the sectors in the disk's cache that survive a power cut, each by chance: writes
    /// are torn.
    pub survival: f64,
    /// Steps of the work on binlogs at which crashes fall, as many at each. Empty: at random times.
    #[serde(default)]
    pub steps: Vec<CrashStep>,
    /// The disk fails while the server runs, and answers after that are not counted. `false`: the
    /// server is killed first.
    #[serde(default)]
    pub is_live: bool,
    /// All configurations: the controls, then the plan's in its order. Empty: recorded
    /// by an earlier version.
    #[serde(default)]
    pub configurations: Vec<CrashedConfiguration>,
    /// Smallest relative difference of throughputs that the plan cares for: 0.03 is 3 %.
    #[serde(default = "smallest_effect")]
    pub smallest_effect: f64,
    pub host: HostFacts,
    pub server: ServerFacts,
    /// `None`: the server was on the host's own disk.
    pub disk: Option<DiskFacts>,
    /// How the server checks its table after a crash. `None`: it cannot, or no crash has happened.
    #[serde(default)]
    pub table_check: Option<String>,
    /// Command line, as typed.
    pub command: Vec<String>,
    /// All planned crashes have happened.
    pub is_complete: bool,
}

fn smallest_effect() -> f64 {
    SMALLEST_EFFECT
}
