//! What a client knows of a row that it has sent.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ErrorClass;

/// The final answer to a row, from all of its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowAnswer {
    /// Saved: it must be there.
    Acknowledged,
    /// Refused for good: it must not be there.
    Refused,
    /// There was no answer, or one that leaves both open: it may be there or not.
    Unknown,
}

/// A row with its final answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredRow {
    pub client: u32,
    /// Number of the row among the client's, from 0.
    pub seq: u64,
    /// [`fnv1a`](crate::fnv1a) of its payload.
    pub digest: u64,
    pub answer: RowAnswer,
    /// The status or number of its last error; 0: there was none.
    pub code: u16,
    /// How often it was sent.
    pub attempts: u32,
    /// Since the run's start.
    pub at_ms: u64,
}

/// The request has not arrived completely (408), or too early to be processed (425): the same
/// request may succeed later.
const OPEN_STATUSES: [u16; 2] = [408, 425];
/// Errors of servers of the MySQL family after which a statement may be committed all the same: it
/// was interrupted, its commit failed half-way, or its time was over (4012: OceanBase; 1105, 9001,
/// 9002, 9005: TiDB).
pub const MAY_BE_COMMITTED: [u16; 17] = [
    1053, 1105, 1158, 1159, 1160, 1161, 1180, 1317, 1927, 1969, 3024, 3169, 4012, 4031, 9001, 9002,
    9005,
];

impl RowAnswer {
    /// What a failed attempt says of its row. A service refuses a row with a status of 400 to 499;
    /// 429, 5xx and a broken connection leave open whether it was saved. A server's error undoes
    /// its statement.
    pub fn of_failure(class: ErrorClass, code: u16) -> Self {
        match class {
            ErrorClass::HttpStatus
                if (400..500).contains(&code) && !OPEN_STATUSES.contains(&code) =>
            {
                Self::Refused
            }
            ErrorClass::HttpStatus
            | ErrorClass::Overloaded
            | ErrorClass::ConnectionLost
            | ErrorClass::ConnectFailed
            | ErrorClass::Protocol => Self::Unknown,
            _ if MAY_BE_COMMITTED.contains(&code) => Self::Unknown,
            _ => Self::Refused,
        }
    }
}

impl fmt::Display for RowAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acknowledged => "acknowledged",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_refusal_is_one() {
        let of_code = |code| RowAnswer::of_failure(ErrorClass::of_code(code), code);
        for code in [400, 404, 409, 422, 1062, 1213, 1406, 8022, 9007] {
            assert_eq!(of_code(code), RowAnswer::Refused, "{code}");
        }
        for code in [302, 408, 425, 429, 500, 503, 504, 1053, 1180, 1969, 2013, 4012, 9002] {
            assert_eq!(of_code(code), RowAnswer::Unknown, "{code}");
        }
        assert_eq!(RowAnswer::of_failure(ErrorClass::ConnectionLost, 0), RowAnswer::Unknown);
        assert_eq!(RowAnswer::of_failure(ErrorClass::of_sqlstate("23505"), 0), RowAnswer::Refused);
    }
}
