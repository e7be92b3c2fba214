//! The settings that differ, in a list.

use truetps_knowledge::Difference;

use super::run_comparison::RunComparison;

/// At most `most` settings that differ, and how many more there are: `truetps diff` has the rest.
pub(crate) fn settings_items(
    input: &RunComparison<'_>,
    most: usize,
    item: impl Fn(&Difference) -> String,
) -> Vec<String> {
    let Some(diff) = &input.settings else { return Vec::new() };
    let shown = diff.shown().filter(|difference| difference.same_but_for.is_none());
    let mut items: Vec<_> = shown.take(most).map(item).collect();
    let (differing, _) = diff.counts();
    if !items.is_empty() && differing > items.len() {
        items.push(format!("… and {} more: `truetps diff` lists all", differing - items.len()));
    }
    items
}

/// `sync_binlog  A 1, B 0`.
pub(crate) fn both_values(difference: &Difference) -> String {
    let [a, b] =
        [&difference.a, &difference.b].map(|placed| placed.value.as_deref().unwrap_or("not there"));
    format!("{}  A {a}, B {b}", difference.name)
}
