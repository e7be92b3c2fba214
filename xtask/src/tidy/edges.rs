//! Which crate may use which: the table of the crates in ARCHITECTURE.md. A new edge needs a
//! separate change with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;

const PAGE: &str = "ARCHITECTURE.md";
const HEAD: &str = "| crate | may use |";

/// Each crate with the crates of the workspace that it uses.
type CrateEdges = BTreeMap<String, BTreeSet<String>>;

/// Compares the table with the manifests, and returns the number of crates.
pub(super) fn check(root: &Path, problems: &mut Vec<String>) -> anyhow::Result<usize> {
    let page = fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let used = manifest_edges(root)?;
    problems.extend(differences(&table_edges(&page), &used));
    Ok(used.len())
}

/// A row has a crate in its first cell, and in the second one the crates that it uses.
fn table_edges(page: &str) -> CrateEdges {
    let rows = page.lines().skip_while(|line| !line.starts_with(HEAD)).skip(2);
    let edges = rows.map_while(|row| {
        let mut cells = row.strip_prefix('|')?.split('|');
        let (name, uses) = (cells.next()?, cells.next()?);
        Some((code_spans(name).next()?.to_owned(), code_spans(uses).map(str::to_owned).collect()))
    });
    edges.collect()
}

fn code_spans(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn manifest_edges(root: &Path) -> anyhow::Result<CrateEdges> {
    let mut folders = vec![root.join("xtask")];
    for entry in fs::read_dir(root.join("crates"))? {
        folders.push(entry?.path());
    }
    let mut edges = CrateEdges::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        let name = folder.file_name().unwrap_or_default().display().to_string();
        edges.insert(name, used_crates(&text));
    }
    Ok(edges)
}

/// Without those that only tests use.
fn used_crates(manifest: &str) -> BTreeSet<String> {
    let ordinary = manifest.split("[dev-dependencies]").next().unwrap_or_default();
    let names = ordinary
        .lines()
        .filter_map(|line| line.strip_prefix("truetps-")?.split(['.', ' ', '=']).next());
    names.map(str::to_owned).collect()
}

fn differences(listed: &CrateEdges, used: &CrateEdges) -> Vec<String> {
    let names: BTreeSet<_> = listed.keys().chain(used.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let (Some(listed), Some(used)) = (listed.get(name), used.get(name)) else {
            let problem = if used.contains_key(name) {
                "no row in the table of the crates"
            } else {
                "no such crate"
            };
            found.push(format!("{PAGE}: `{name}`: {problem}"));
            continue;
        };
        found.extend(
            used.difference(listed)
                .map(|other| format!("{name} uses {other}: {PAGE} has no such edge")),
        );
        found.extend(
            listed.difference(used).map(|other| format!("{PAGE}: {name} does not use {other}")),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| a | b |\n\n| crate | may use | what it is |\n|---|---|---|\n| `one` | – \
                         | `x` |\n\
                         | `two` | `one`, `three` | y |\n\n| `four` | `one` | |\n";

    #[test]
    fn edges_are_read_from_the_table() {
        let edges = table_edges(TABLE);
        let shown: Vec<_> = edges.iter().map(|(name, uses)| format!("{name}: {uses:?}")).collect();
        assert_eq!(shown, ["one: {}", "two: {\"one\", \"three\"}"]);
    }

    #[test]
    fn edges_are_read_from_a_manifest() {
        let manifest = "[package]\nname = \"truetps-a\"\n[dependencies]\ntruetps-b.workspace = \
                        true\n\
                        truetps-c = { path = \"c\" }\n[dev-dependencies]\ntruetps-d.workspace = \
                        true\n";
        assert_eq!(used_crates(manifest).into_iter().collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn table_and_manifests_say_the_same() {
        let edges = |text: &[(&str, &str)]| -> CrateEdges {
            let set = |uses: &str| uses.split_whitespace().map(str::to_owned).collect();
            text.iter().map(|(name, uses)| ((*name).to_owned(), set(uses))).collect()
        };
        let listed = edges(&[("one", ""), ("two", "one"), ("gone", "")]);
        assert_eq!(differences(&listed, &listed), <[String; 0]>::default());
        let used = edges(&[("one", "two"), ("two", ""), ("new", "")]);
        assert_eq!(
            differences(&listed, &used),
            [
                "ARCHITECTURE.md: `gone`: no such crate",
                "ARCHITECTURE.md: `new`: no row in the table of the crates",
                "one uses two: ARCHITECTURE.md has no such edge",
                "ARCHITECTURE.md: two does not use one",
            ]
        );
    }
}
