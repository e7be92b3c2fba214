//! How the rows of one table were answered.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a row was answered; its text is the label of the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowResult {
    Stored,
    Duplicate,
    /// The row is wrong: 400, 422.
    Refused,
    Conflict,
    TooLong,
    /// 429.
    Busy,
    /// 503, and the row is not stored.
    NotStored,
    /// 503, and the row may be stored.
    Unknown,
}

impl RowResult {
    pub(crate) const ALL: [(Self, &str); 8] = [
        (Self::Stored, "stored"),
        (Self::Duplicate, "duplicate"),
        (Self::Refused, "refused"),
        (Self::Conflict, "conflict"),
        (Self::TooLong, "too_long"),
        (Self::Busy, "busy"),
        (Self::NotStored, "not_stored"),
        (Self::Unknown, "unknown"),
    ];
}

#[derive(Debug, Default)]
pub(crate) struct AnswerCounts([AtomicU64; RowResult::ALL.len()]);

impl AnswerCounts {
    pub(crate) fn add(&self, result: RowResult) {
        self.0[result as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        RowResult::ALL
            .iter()
            .map(|(result, name)| (*name, self.0[*result as usize].load(Ordering::Relaxed)))
    }
}
