//! `verification.json`: whether every row that was acknowledged is in the table, once and
//! unchanged.

use serde::{Deserialize, Serialize};

use crate::RowAnswer;

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowFault {
    /// Acknowledged, and not there.
    Lost,
    /// There more than once.
    Doubled,
    /// There with another payload.
    Changed,
    /// There, although it was refused.
    RefusedPresent,
    /// There, and never sent.
    Unexpected,
}

impl RowFault {
    pub const ALL: [Self; 5] =
        [Self::Lost, Self::Doubled, Self::Changed, Self::RefusedPresent, Self::Unexpected];
}

/// Counts of rows.
///
/// `attempted = acknowledged + refused + unknown`, `unknown = unknown_present + unknown_absent`,
/// `lost + changed <= acknowledged + unknown_present`. A row may be both doubled and changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCounts {
    /// Rows that clients have sent, each once however often.
    pub attempted: u64,
    pub acknowledged: u64,
    pub refused: u64,
    pub unknown: u64,
    /// Sent more than once.
    pub resent: u64,
    pub lost: u64,
    /// Copies beyond the first.
    pub doubled: u64,
    pub changed: u64,
    pub refused_present: u64,
    pub unexpected: u64,
    pub unknown_present: u64,
    pub unknown_absent: u64,
    /// Rows of the table.
    pub in_table: u64,
}

impl RowCounts {
    pub fn count(&self, fault: RowFault) -> u64 {
        match fault {
            RowFault::Lost => self.lost,
            RowFault::Doubled => self.doubled,
            RowFault::Changed => self.changed,
            RowFault::RefusedPresent => self.refused_present,
            RowFault::Unexpected => self.unexpected,
        }
    }

    /// Whether table and answers disagree.
    pub fn has_fault(&self) -> bool {
        RowFault::ALL.iter().any(|fault| self.count(*fault) > 0)
    }
}

/// One row with a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowExample {
    pub fault: RowFault,
    /// As in the table.
    pub key: String,
    /// `None`: no client has sent it.
    #[serde(default)]
    pub answer: Option<RowAnswer>,
    /// When it was answered, since the run's start.
    #[serde(default)]
    pub answered_at_ms: Option<u64>,
    /// How often it was sent.
    pub attempts: u32,
    /// How often it is in the table.
    pub copies: u64,
}

/// The log of answers when it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerLogState {
    pub bytes: u64,
    /// The load has ended as it should: every row that was sent is in the log.
    pub is_complete: bool,
    /// Bytes of a record that was cut off.
    pub torn_bytes: u64,
    /// Records in the middle that cannot be read.
    pub damaged: u64,
}

/// The table, compared with the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowComparison {
    /// RFC 3339, UTC.
    pub compared_at: String,
    pub took_s: f64,
    pub rows: RowCounts,
    /// The first of each fault, by their keys.
    pub examples: Vec<RowExample>,
    /// When the first of the lost rows was acknowledged, and the last, since the run's start.
    #[serde(default)]
    pub lost_ms: Option<(u64, u64)>,
    /// From the acknowledgement of a lost row to the next kill of the server, the longest. `None`:
    /// no row was lost before a kill.
    #[serde(default)]
    pub loss_window_ms: Option<u64>,
    pub log: AnswerLogState,
}

/// A column of the key, and the field of a row that is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyColumn {
    pub column: String,
    pub field: String,
}

/// The table that has the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedTable {
    /// Address of its server, without a password.
    pub server: String,
    /// `None`: the schema of the address.
    #[serde(default)]
    pub schema: Option<String>,
    pub table: String,
    pub key: Vec<KeyColumn>,
    pub payload: String,
    /// The key is unique: a second copy of a row is impossible.
    #[serde(default)]
    pub key_is_unique: bool,
}

impl VerifiedTable {
    /// With its schema.
    pub fn name(&self) -> String {
        self.schema
            .as_ref()
            .map_or_else(|| self.table.clone(), |schema| format!("{schema}.{}", self.table))
    }
}

/// How rows are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifyLoad {
    /// `POST http://host/path`; `None`: INSERT statements to the table's server.
    #[serde(default)]
    pub service: Option<String>,
    pub clients: u32,
    /// Rows a second of each client; `None`: each sends the next row after the answer.
    #[serde(default)]
    pub rate_per_client: Option<f64>,
    pub length_s: f64,
    pub payload_bytes: u32,
    /// How often a row without a clear answer is sent again.
    pub retries: u32,
    pub answer_timeout_s: f64,
}

/// The server was killed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ServerKill {
    /// Since the run's start.
    pub at_ms: u64,
    /// Until the server accepted sessions again.
    pub recovery_ms: u64,
}

impl ServerKill {
    /// When the server accepted sessions again, since the run's start.
    pub fn back_ms(&self) -> u64 {
        self.at_ms.saturating_add(self.recovery_ms)
    }
}

/// `verification.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub schema_version: u32,
    pub tool_version: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    pub seed: u64,
    pub load: VerifyLoad,
    pub table: VerifiedTable,
    /// The table is in a private server of this run, which ends with it.
    pub is_private: bool,
    #[serde(default)]
    pub kills: Vec<ServerKill>,
    /// `None`: the table was not compared yet.
    #[serde(default)]
    pub comparison: Option<RowComparison>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_one() {
        assert!(
            !RowCounts {
                attempted: 9,
                acknowledged: 9,
                unknown_present: 3,
                ..RowCounts::default()
            }
            .has_fault()
        );
        for fault in RowFault::ALL {
            let mut counts = RowCounts::default();
            *match fault {
                RowFault::Lost => &mut counts.lost,
                RowFault::Doubled => &mut counts.doubled,
                RowFault::Changed => &mut counts.changed,
                RowFault::RefusedPresent => &mut counts.refused_present,
                RowFault::Unexpected => &mut counts.unexpected,
            } = 1;
            assert!(counts.has_fault() && counts.count(fault) == 1, "{fault:?}");
        }
    }
}
