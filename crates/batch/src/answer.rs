//! What the client of a row receives.

use truetps_driver::ServerError;

/// The answer to one row. Each row gets exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitAnswer {
    /// The row is in the table as it was sent, and its commit was acknowledged.
    ///
    /// `is_duplicate`: whether it was there before. `None`: not known, because a statement was sent
    /// twice.
    Stored { is_duplicate: Option<bool> },
    /// A row with its key is in the table, with other values, and the user asked for an answer that
    /// has them, as a JSON object of texts.
    StoredAs { is_duplicate: Option<bool>, row: String },
    /// The server refuses this row, alone: a wrong value. It is not stored.
    Refused(ServerError),
    /// The table would keep this row differently from what was sent, in this column, or not at all.
    /// It is not stored.
    Changed { column: Option<String> },
    /// A row with this key is stored, with other values. This row is not stored.
    KeyConflict,
    /// The server takes no statement of this length. The row is not stored.
    TooLong,
    /// The row is not stored, for a reason that is not its own: the client may send it again.
    NotStored(NotStored),
    /// The row may be stored. The client must send it again, with the same key.
    Unknown,
}

/// Why a row was not stored although it may be correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotStored {
    /// Its time was over before it could be sent.
    Expired,
    /// The table or the account is not as it should be, or all rows of several clients are refused
    /// alike.
    ServerFault(ServerError),
    /// The table's columns have changed since the row was read.
    OtherColumns,
    /// It cannot be read whether the table is still as it was.
    Unseen,
    /// The gateway is stopping.
    Stopping,
}
