//! Checks on the tree that no compiler makes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Which crates of ours a crate may use: the edges of ARCHITECTURE.md. A new edge is a change of its own, with its
/// reason.
const EDGES: [(&str, &[&str]); 16] = [
    ("record", &[]),
    ("driver", &["record"]),
    ("workload", &["record", "driver"]),
    ("engine", &["record", "driver", "workload"]),
    ("probe", &["record", "driver"]),
    ("knowledge", &["record"]),
    ("inspect", &["record", "driver", "probe", "knowledge"]),
    ("sysbench", &["record", "driver", "engine", "probe"]),
    ("sandbox", &["record", "driver"]),
    ("analysis", &["record"]),
    ("report", &["record", "analysis", "knowledge"]),
    ("lab", &["record", "driver", "workload", "engine", "probe", "sandbox", "knowledge"]),
    ("compat", &["record", "driver", "workload", "engine", "probe", "lab"]),
    (
        "cli",
        &[
            "record",
            "driver",
            "workload",
            "engine",
            "probe",
            "sandbox",
            "analysis",
            "report",
            "lab",
            "sysbench",
            "compat",
            "knowledge",
            "inspect",
        ],
    ),
    // For tests only: no other list has it, and `[dev-dependencies]` are not looked at.
    ("testkit", &["record", "driver", "sandbox"]),
    ("xtask", &["record", "driver", "workload", "engine", "probe", "sandbox"]),
];

const FILE_LINES_MAX: usize = 700;

/// Words that must not be left in the code, in two halves so that this file does not have them.
const LEFTOVERS: [(&str, &str); 5] = [("TO", "DO"), ("FIX", "ME"), ("todo", "!("), ("dbg", "!("), ("#[ig", "nore")];

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    for (name, allowed) in EDGES {
        check_edges(root, name, allowed, &mut problems)?;
    }
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    for file in &files {
        check_file(root, file, &mut problems)?;
    }
    if problems.is_empty() {
        println!("tidy: {} files, {} crates: fine", files.len(), EDGES.len());
        return Ok(());
    }
    bail!("tidy:\n  {}", problems.join("\n  "))
}

fn check_edges(root: &Path, name: &str, allowed: &[&str], problems: &mut Vec<String>) -> anyhow::Result<()> {
    let folder = if name == "xtask" { root.join(name) } else { root.join("crates").join(name) };
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
    let ordinary = text.split("[dev-dependencies]").next().unwrap_or_default();
    for line in ordinary.lines() {
        let Some(rest) = line.strip_prefix("truetps-") else { continue };
        let used = rest.split(['.', ' ', '=']).next().unwrap_or_default();
        if !allowed.contains(&used) {
            problems.push(format!("{name} uses {used}: not one of the edges in ARCHITECTURE.md and tidy.rs"));
        }
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn check_file(root: &Path, path: &Path, problems: &mut Vec<String>) -> anyhow::Result<()> {
    let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX {
        problems.push(format!("{name}: {lines} lines, more than {FILE_LINES_MAX}"));
    }
    for (front, back) in LEFTOVERS {
        let word = format!("{front}{back}");
        if let Some(at) = text.lines().position(|line| line.contains(&word)) {
            problems.push(format!("{name}:{}: `{word}`", at + 1));
        }
    }
    Ok(())
}
