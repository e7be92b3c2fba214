//! The index of recorded results lists each folder of `bench/runs` with the documents that cite it.
//! A folder that no document cites is to be removed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::links::resolve;
use super::page::MarkdownPage;

pub(super) const FOLDER: &str = "bench/runs";
pub(super) const INDEX: &str = "bench/runs/README.md";

/// A line of the index links a folder's page first, then the files that cite the folder. `text_of`
/// reads such a file.
pub(super) fn problems(
    index: &MarkdownPage,
    folders: &BTreeSet<String>,
    text_of: impl Fn(&Path) -> Option<String>,
) -> Vec<String> {
    let mut lines: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
    for link in index.links() {
        lines.entry(link.line).or_default().push(resolve(INDEX, &link.target));
    }
    let (mut found, mut listed) = (Vec::new(), BTreeSet::new());
    for (line, links) in &lines {
        let Some(folder) = folder_of(&links[0]) else { continue };
        if links.len() == 1 {
            found.push(format!("{INDEX}:{line}: no document cites {folder}: remove the folder"));
        }
        let missing = links[1..]
            .iter()
            .filter(|file| !text_of(file).is_some_and(|text| text.contains(&folder)));
        found.extend(
            missing
                .map(|file| format!("{INDEX}:{line}: {} does not cite {folder}", file.display())),
        );
        listed.insert(folder);
    }
    let unlisted = folders.difference(&listed);
    found.extend(unlisted.map(|folder| format!("{FOLDER}/{folder} is not in {INDEX}")));
    found
}

/// The folder whose page this is.
fn folder_of(page: &Path) -> Option<String> {
    let folder = page.strip_prefix(FOLDER).ok()?.parent()?;
    Some(folder.display().to_string()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<String> {
        let index = MarkdownPage::parse(&format!(
            "[disks](../../docs/disks.md)\n\n| folder | cited by |\n|---|---|\n{rows}"
        ));
        let folders = ["1-floor", "2-bound"].map(str::to_owned).into();
        let text_of = |path: &Path| {
            (path == Path::new("docs/bound.md")).then(|| "bench/runs/2-bound".to_owned())
        };
        problems(&index, &folders, text_of)
    }

    #[test]
    fn each_folder_is_listed_and_cited() {
        let bound = "| [b](2-bound/README.md) | [bound](../../docs/bound.md) |\n";
        assert_eq!(found(bound), ["bench/runs/1-floor is not in bench/runs/README.md"]);
        let uncited = format!("{bound}| [a](1-floor/README.md) | |\n");
        assert_eq!(
            found(&uncited),
            ["bench/runs/README.md:6: no document cites 1-floor: remove the folder"]
        );
        let wrong = format!("{bound}| [a](1-floor/README.md) | [bound](../../docs/bound.md) |\n");
        assert_eq!(found(&wrong), ["bench/runs/README.md:6: docs/bound.md does not cite 1-floor"]);
    }
}
