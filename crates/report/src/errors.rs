//! Errors by class and number over all configurations, for the text formats.

use std::collections::BTreeMap;

use truetps_record::{Configuration, ErrorClass, ErrorCount};

use crate::document::DocumentTable;
use crate::{ReportInput, format, load};

/// Configurations named with an error.
const PLACES_MAX: usize = 3;

/// One error with all its places: configurations, or trials.
pub(crate) struct ErrorTotal<'a, P> {
    pub(crate) first: &'a ErrorCount,
    pub(crate) failed: u64,
    pub(crate) retried: u64,
    /// Places, with counts.
    pub(crate) places: Vec<(P, u64)>,
}

/// Errors by number and class, most frequent first.
pub(crate) fn totals<'a, P>(
    errors: impl Iterator<Item = (P, &'a ErrorCount)>,
) -> Vec<ErrorTotal<'a, P>> {
    let mut by_key: BTreeMap<(u16, ErrorClass), ErrorTotal<'a, P>> = BTreeMap::new();
    for (place, error) in errors {
        let new = || ErrorTotal { first: error, failed: 0, retried: 0, places: Vec::new() };
        let total = by_key.entry((error.code, error.class)).or_insert_with(new);
        total.failed += error.count;
        total.retried += error.retried;
        total.places.push((place, error.count + error.retried));
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
    let none = || format::NOTHING.to_owned();
    let policy = load::handling(&input.run.plan.load.errors, first.class);
    let message = first.first_message.replace(['\n', '\r'], " ");
    let more = seen.places.len().saturating_sub(PLACES_MAX);
    let named: Vec<_> =
        seen.places.iter().take(PLACES_MAX).map(|(place, _)| place.to_string()).collect();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    [
        first.class.to_string(),
        if first.code == 0 { none() } else { first.code.to_string() },
        format::count(seen.failed),
        format::count(seen.retried),
        if policy.is_empty() { none() } else { policy.to_owned() },
        format!("{message} (at {}{more})", named.join("; ")),
    ]
}
