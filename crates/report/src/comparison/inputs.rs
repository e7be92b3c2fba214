//! How what the two sides ran differs.

use super::run_comparison::RunComparison;
use super::{own_sql, scripts};

/// How what the two ran differs. A difference of long texts takes its time: it is made once for a
/// comparison.
pub(crate) struct InputsDiffer {
    /// `None` where a side is no run of a script.
    pub(super) scripts: Option<scripts::ScriptsDiffer>,
    pub(super) sql: Vec<own_sql::SqlDiffers>,
}

impl InputsDiffer {
    pub(crate) fn of(input: &RunComparison<'_>) -> Self {
        Self { scripts: scripts::differ(input), sql: own_sql::differ(input) }
    }
}
