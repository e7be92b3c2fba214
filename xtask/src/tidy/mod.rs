//! Checks on the tree that no compiler makes.

mod chinese;
mod circles;
mod closures;
mod edges;
mod floors;
mod invariants;
mod languages;
mod lines;
mod links;
mod names;
mod numbers;
mod page;
mod phrases;
mod runs;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use self::circles::Circles;
use self::closures::NamedClosures;
use self::lines::CountedLines;
use self::names::TypeNames;
use self::page::MarkdownPage;

const FILE_LINES_MAX: usize = 700;

/// Words that must not be left in the code, in two halves so that this file does not have them.
const LEFTOVERS: [(&str, &str); 5] =
    [("TO", "DO"), ("FIX", "ME"), ("todo", "!("), ("dbg", "!("), ("#[ig", "nore")];

/// Folders with texts besides the code. Texts in `bench/runs` have a date and stay as they were
/// written.
const TEXTS: [&str; 7] = ["crates", "xtask", "docs", "workloads", "plans", "fuzz", "scripts"];
const TEXT_ENDINGS: [&str; 5] = ["md", "toml", "html", "lua", "sh"];

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    let crates = edges::check(root, &mut problems)?;
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), &["rs"], &mut files)?;
    }
    let (mut types, mut circles) = (TypeNames::default(), Circles::default());
    let (mut closures, mut lines) = (NamedClosures::default(), CountedLines::default());
    for file in &files {
        let (name, text) = read(root, file)?;
        problems.extend(code_problems(&name, &text).chain(phrases::problems(&name, &text)));
        problems.extend(invariants::problems(&name, &text));
        types.add(&name, &text);
        circles.add(&name, &text);
        closures.add(&name, &text);
        lines.add(&text);
    }
    problems.extend(types.problems());
    problems.extend(circles.problems());
    problems.extend(floors::problems(&circles));
    problems.extend(closures.problems());
    problems.extend(lines.problems());
    let mut pages = BTreeMap::new();
    for file in texts(root)? {
        let (name, text) = read(root, &file)?;
        problems.extend(phrases::problems(&name, &text));
        if file.extension().is_some_and(|ending| ending == "md") {
            pages.insert(name, MarkdownPage::parse(&text));
        }
    }
    let (name, text) = read(root, &root.join(runs::INDEX))?;
    let index = MarkdownPage::parse(&text);
    problems.extend(runs::problems(&index, &run_folders(root)?, |path| {
        fs::read_to_string(root.join(path)).ok()
    }));
    pages.insert(name, index);
    for (name, page) in &pages {
        problems.extend(page.broken_tables().map(|line| format!("{name}:{line}: a broken table")));
    }
    problems.extend(links::problems(&pages, |path| root.join(path).exists()));
    problems.extend(languages::problems(&pages));
    for (name, page) in pages.iter().filter(|(name, _)| languages::is_chinese(name)) {
        problems.extend(chinese::problems(name, page));
    }
    if problems.is_empty() {
        println!("tidy: {} files, {crates} crates: fine", files.len());
        return Ok(());
    }
    bail!("tidy:\n  {}", problems.join("\n  "))
}

/// Files with texts, also in the root, and the code of the fuzz targets, which is in no workspace.
fn texts(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = vec![root.join("Makefile")];
    collect(&root.join("fuzz/src"), &["rs"], &mut files)?;
    for folder in TEXTS {
        collect(&root.join(folder), &TEXT_ENDINGS, &mut files)?;
    }
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Folders of recorded results.
fn run_folders(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut folders = BTreeSet::new();
    for entry in fs::read_dir(root.join(runs::FOLDER)).context(runs::FOLDER)? {
        let entry = entry?;
        if entry.path().is_dir() {
            folders.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(folders)
}

pub(crate) fn collect(
    folder: &Path,
    endings: &[&str],
    files: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target" && name != "vendor") {
                collect(&path, endings, files)?;
            }
        } else if path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| endings.contains(&ending))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Its name below the root, and its text.
fn read(root: &Path, path: &Path) -> anyhow::Result<(String, String)> {
    let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    Ok((name, text))
}

/// For a number that falls, and never rises. `place` has the constant of that name.
fn ratchet(count: usize, max: usize, what: &str, place: &str) -> Option<String> {
    match count.cmp(&max) {
        Ordering::Equal => None,
        Ordering::Less => Some(format!("only {count} {what}: lower {place} from {max}")),
        Ordering::Greater => Some(format!("{count} {what}, more than {max}")),
    }
}

fn code_problems<'a>(name: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let lines = text.lines().count();
    let long = (lines > FILE_LINES_MAX)
        .then(|| format!("{name}: {lines} lines, more than {FILE_LINES_MAX}"));
    let left = LEFTOVERS.iter().filter_map(move |(front, back)| {
        let word = format!("{front}{back}");
        let at = text.lines().position(|line| line.contains(&word))?;
        Some(format!("{name}:{}: `{word}`", at + 1))
    });
    let doc_test = lines::doc_test(text)
        .map(|line| format!("{name}:{line}: doc tests are not run: write ```text, and a #[test]"));
    long.into_iter().chain(left).chain(doc_test)
}
