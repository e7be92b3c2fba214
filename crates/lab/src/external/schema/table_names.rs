//! Names of tables in the spelling of the plan and of the server.

use std::collections::{BTreeMap, BTreeSet};

use super::super::relations::{Relation, RelationKind};

/// A table's name without quotes and in lower case: servers that fold names take `Orders` and
/// `orders` for one.
pub(super) fn plain(table: &str) -> String {
    table.trim_matches(['`', '"']).to_lowercase()
}

pub(super) fn lower<'n>(names: impl IntoIterator<Item = &'n String>) -> BTreeSet<String> {
    names.into_iter().map(|name| plain(name)).collect()
}

pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// In a user's schema a run creates only tables.
pub(super) fn as_tables(names: &[String]) -> Vec<(RelationKind, String)> {
    names.iter().map(|name| (RelationKind::Table, name.clone())).collect()
}

/// Separates relations that the run planned from relations of other users. Of names that differ
/// only in letter case at most one is the run's, and none of them is dropped.
pub(super) fn parted(
    relations: BTreeMap<String, Relation>,
    planned: &BTreeSet<String>,
) -> (Vec<(RelationKind, String)>, Vec<String>) {
    let mut alike: BTreeMap<String, u32> = BTreeMap::new();
    for name in relations.keys() {
        *alike.entry(plain(name)).or_default() += 1;
    }
    let (ours, others): (Vec<_>, Vec<_>) = relations
        .into_iter()
        .partition(|(name, _)| planned.contains(&plain(name)) && alike[&plain(name)] == 1);
    (
        ours.into_iter().map(|(name, relation)| (relation.kind, name)).collect(),
        others.into_iter().map(|(name, _)| name).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_alone_are_not_all_of_the_run() {
        let found = |names: &[&str]| {
            let relation = || Relation { kind: RelationKind::Table, comment: String::new() };
            let relations = names.iter().map(|name| ((*name).to_owned(), relation())).collect();
            let (ours, others) =
                parted(relations, &lower(&["Orders".to_owned(), "lines".to_owned()]));
            (ours.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(","), others.join(","))
        };
        assert_eq!(
            found(&["orders", "lines", "theirs"]),
            ("lines,orders".to_owned(), "theirs".to_owned())
        );
        assert_eq!(
            found(&["orders", "ORDERS", "lines"]),
            ("lines".to_owned(), "ORDERS,orders".to_owned())
        );
    }
}
