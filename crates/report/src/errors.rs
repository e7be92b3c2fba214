//! Errors by class and number over all configurations, for the text formats.

use std::collections::BTreeMap;

use truetps_record::{ErrorClass, ErrorCount};

use crate::document::{DocumentTable, TableEntry};
use crate::{ReportInput, format, load};

/// Configurations named with an error.
const PLACES_MAX: usize = 3;

/// One error over all configurations.
struct ErrorTotal<'a> {
    first: &'a ErrorCount,
    failed: u64,
    retried: u64,
    places: Vec<String>,
}

/// `None` where there was no error.
pub(crate) fn table(input: &ReportInput<'_>) -> Option<DocumentTable> {
    let mut by_key: BTreeMap<(u16, ErrorClass), ErrorTotal<'_>> = BTreeMap::new();
    for cell in &input.analysis.cells {
        for error in &cell.errors {
            let new = || ErrorTotal { first: error, failed: 0, retried: 0, places: Vec::new() };
            let seen = by_key.entry((error.code, error.class)).or_insert_with(new);
            seen.failed += error.count;
            seen.retried += error.retried;
            seen.places.push(cell.configuration.to_string());
        }
    }
    let mut seen: Vec<_> = by_key.into_values().collect();
    seen.sort_by_key(|one| std::cmp::Reverse((one.failed, one.retried)));
    let rows: Vec<_> = seen.iter().map(|one| row(input, one)).collect();
    let header = ["error", "number", "failed", "retried", "policy", "first message"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then_some(DocumentTable { caption: None, header, rows, words_last: true })
}

fn row(input: &ReportInput<'_>, seen: &ErrorTotal<'_>) -> Vec<TableEntry> {
    let first = seen.first;
    let none = || format::NOTHING.to_owned();
    let policy = load::handling(&input.run.plan.load.errors, first.class);
    let message = first.first_message.replace(['\n', '\r'], " ");
    let more = seen.places.len().saturating_sub(PLACES_MAX);
    let named = &seen.places[..seen.places.len() - more];
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let fields = [
        first.class.to_string(),
        if first.code == 0 { none() } else { first.code.to_string() },
        format::count(seen.failed),
        format::count(seen.retried),
        if policy.is_empty() { none() } else { policy.to_owned() },
        format!("{message} (at {}{more})", named.join("; ")),
    ];
    fields.into_iter().map(TableEntry::from).collect()
}
