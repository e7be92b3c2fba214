//! Errors by class and number over all configurations, for the text formats.

use std::collections::BTreeMap;

use truetps_record::{Configuration, ErrorClass, ErrorCount};

use crate::document::DocumentTable;
use crate::{ReportInput, format, load};

/// Configurations named with an error.
const NAMED_MAX: usize = 3;

/// One error with all configurations, or trials, that had it.
pub(crate) struct ErrorTotal<'a, S> {
    pub(crate) first: &'a ErrorCount,
    pub(crate) failed: u64,
    pub(crate) retried: u64,
    /// Configurations or trials, with counts.
    pub(crate) seen_in: Vec<(S, u64)>,
}

/// Errors by number and class, most frequent first.
pub(crate) fn totals<'a, S>(
    errors: impl Iterator<Item = (S, &'a ErrorCount)>,
) -> Vec<ErrorTotal<'a, S>> {
    let mut by_key: BTreeMap<(u16, ErrorClass), ErrorTotal<'a, S>> = BTreeMap::new();
    for (seen_in, error) in errors {
        let total = by_key.entry((error.code, error.class)).or_insert(ErrorTotal {
            first: error,
            failed: 0,
            retried: 0,
            seen_in: Vec::new(),
        });
        total.failed += error.count;
        total.retried += error.retried;
        total.seen_in.push((seen_in, error.count + error.retried));
    }
    let mut totals: Vec<_> = by_key.into_values().collect();
    totals.sort_by_key(|one| std::cmp::Reverse((one.failed, one.retried)));
    totals
}

pub(crate) fn table(input: &ReportInput<'_>) -> DocumentTable {
    let cells = input.analysis.cells.iter();
    let errors =
        cells.flat_map(|cell| cell.errors.iter().map(|error| (&cell.configuration, error)));
    let header = ["error", "number", "failed", "retried", "policy", "first message"];
    DocumentTable::new(header, totals(errors).iter().map(|total| row(input, total)))
}

fn row(input: &ReportInput<'_>, seen: &ErrorTotal<'_, &Configuration>) -> [String; 6] {
    let first = seen.first;
    let policy = load::handling(&input.run.plan.load.errors, first.class);
    let message = first.first_message.replace(['\n', '\r'], " ");
    let more = seen.seen_in.len().saturating_sub(NAMED_MAX);
    let named: Vec<_> =
        seen.seen_in.iter().take(NAMED_MAX).map(|(one, _)| one.to_string()).collect();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    [
        first.class.to_string(),
        format::or_nothing(Some(first.code).filter(|code| *code != 0), |code| code.to_string()),
        format::count(seen.failed),
        format::count(seen.retried),
        if policy.is_empty() { format::NOTHING } else { policy }.to_owned(),
        format!("{message} (at {}{more})", named.join("; ")),
    ]
}
