//! What a workload does to keys and pages: the measures by which two workloads differ.

use serde::{Deserialize, Serialize};

/// Found by drawing transactions from the workload's own streams, without a server.
/// docs/reference/workloads.md has the formulas.
///
/// `None` means unknown, unless stated otherwise: the statements are the user's own SQL. Then
/// `writes_per_tx` is `None`, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadProfile {
    /// Transactions that were drawn, of all clients together.
    pub transactions: u64,
    /// Without BEGIN and COMMIT.
    pub statements_per_tx: f64,
    /// Statements of a transaction that write.
    pub writes_per_tx: Option<f64>,
    /// Rows that statements insert, per transaction.
    pub inserted_rows_per_tx: Option<f64>,
    /// Share of inserted rows whose primary key is given by the client, 0 to 1; the server makes
    /// the other keys. Also `None` if nothing is inserted.
    pub explicit_key_share: Option<f64>,
    /// Share of inserted rows with the key of a row that the same transaction has just deleted, 0
    /// to 1. Also `None` if nothing is inserted.
    pub deleted_key_share: Option<f64>,
    /// The least number of transactions within which a client writes at least half of its keys
    /// again, 0 being the same transaction. Also `None` if that is more than `key_reuse_tx_max`.
    pub key_reuse_tx_p50: Option<f64>,
    /// Number of a client's transactions after a write in which the next write of its key was
    /// searched.
    pub key_reuse_tx_max: u64,
    /// Share of written rows whose key the same client has written before, in the same transaction
    /// or in one of the 1,000 before it, 0 to 1.
    pub recent_key_share: Option<f64>,
    /// Rows written in 1,000 transactions of all clients (in all that were drawn, where they are
    /// fewer), over the pages of the primary key's index that they lie on. Near 1: writes are
    /// scattered, and each changes a page of its own. `None` where tables are not ordered by their
    /// key (PostgreSQL), too.
    pub rows_per_page: Option<f64>,
    /// Pages that inserts fill at the end of the primary key's index, per 1,000 transactions.
    /// `None` as for `rows_per_page`.
    pub new_pages_per_1000_tx: Option<f64>,
}
