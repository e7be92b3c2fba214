//! Relative links of the documents lead to a file, and to a heading where they name one.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::page::MarkdownPage;

/// `exists` answers for files that are not among the pages: code, schemas, recorded runs.
pub(super) fn problems(
    pages: &BTreeMap<String, MarkdownPage>,
    exists: impl Fn(&Path) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, page) in pages {
        for link in page.links().filter(|link| !link.target.contains(':')) {
            let (file, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let path = if file.is_empty() { PathBuf::from(name) } else { resolve(name, file) };
            let linked = pages.get(&path.display().to_string());
            if linked.is_none() && !exists(&path) {
                found.push(format!("{name}:{}: link to {file}: no such file", link.line));
            } else if linked.is_some_and(|page| {
                !anchor.is_empty() && !anchors(page).contains(&anchor.to_owned())
            }) {
                found.push(format!(
                    "{name}:{}: link to {}: no such heading",
                    link.line, link.target
                ));
            }
        }
    }
    found
}

/// The target of a relative link of a page, from the root of the tree.
pub(super) fn resolve(page: &str, target: &str) -> PathBuf {
    let mut path = Path::new(page).parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// As GitHub makes them: lower case, hyphens for spaces, no punctuation.
fn anchors(page: &MarkdownPage) -> Vec<String> {
    page.sections.iter().map(|section| anchor(&section.heading)).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let page = |text: &str| MarkdownPage::parse(text);
        let other = page("# Stalls, and dips: `x`\n\n## 慢盘，与快盘\n");
        let pages = BTreeMap::from([
            ("docs/a.md".to_owned(), page(text)),
            ("docs/guides/b.md".to_owned(), other),
        ]);
        problems(&pages, |path| path == Path::new("bench/run"))
    }

    #[test]
    fn links_lead_to_a_file() {
        let good = "[a](guides/b.md) [b](../bench/run) [c](a.md) [d](https://db.example/x) \
                    [e](mailto:a@b)\n";
        assert_eq!(found(good), <[String; 0]>::default());
        assert_eq!(found("# A\n\n[a](b.md)"), ["docs/a.md:3: link to b.md: no such file"]);
        assert_eq!(
            found("[a](guides/../../bench)"),
            ["docs/a.md:1: link to guides/../../bench: no such file"]
        );
    }

    #[test]
    fn anchors_lead_to_a_heading() {
        let good = "# Own part\n\n[a](#own-part) [b](guides/b.md#stalls-and-dips-x) \
                    [c](guides/b.md#慢盘与快盘)\n";
        assert_eq!(found(good), <[String; 0]>::default());
        assert_eq!(found("[a](#part)"), ["docs/a.md:1: link to #part: no such heading"]);
        assert_eq!(
            found("[a](guides/b.md#dips)"),
            ["docs/a.md:1: link to guides/b.md#dips: no such heading"]
        );
    }
}
