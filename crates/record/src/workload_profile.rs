//! What a workload does to keys and pages: the terms in which two workloads differ.

use serde::{Deserialize, Serialize};

/// Found by drawing transactions from the workload's own streams, without a server. All figures are of statements that
/// write. `None`: the workload's statements do not say (a user's own SQL, a key that the server makes).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadProfile {
    /// Transactions that were drawn.
    pub transactions: u64,
    /// Without BEGIN and COMMIT.
    pub statements_per_tx: f64,
    /// Of those, the ones that write.
    pub writes_per_tx: f64,
    /// Rows that statements insert, per transaction.
    pub inserted_rows_per_tx: f64,
    /// Share of inserted rows whose primary key the client names, 0 to 1; the server makes the others. `None` where nothing
    /// is inserted.
    pub explicit_key_share: Option<f64>,
    /// Share of inserted rows with the key of a row that the same transaction has just deleted, 0 to 1.
    pub deleted_key_share: Option<f64>,
    /// Median number of transactions of the same client from one write of a primary key to its next write. `None` where keys
    /// are not written again.
    pub key_reuse_tx_p50: Option<f64>,
    /// Share of writes to a primary key that was written within the same or the last 1,000 transactions of the client.
    pub recent_key_share: Option<f64>,
    /// Rows written per page of the primary key's index that was touched at all, with as many rows on a page as fit. Small:
    /// writes are scattered, and each dirties a page of its own.
    pub rows_per_page: Option<f64>,
    /// Pages at the end of the index that inserts fill anew, per 1,000 transactions.
    pub new_pages_per_1000_tx: Option<f64>,
}
