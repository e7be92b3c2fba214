//! The list of the parts of the program, as CycloneDX has it: the crates that are linked (not those
//! that only build or test it), with their licences and checksums, and what is in it besides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// The program, and the library that it contains.
const PACKAGES: [&str; 2] = ["truetps", "truetps-prealloc"];
/// Crates that only bring the sources of a library that is linked.
const ONLY_SOURCES: [&str; 1] = ["luajit-src"];
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// Its first line names the version.
const UPLOT: &str = "crates/report/assets/vendor/uplot-1.6.32/uPlot.iife.min.js";

#[derive(Debug, Deserialize)]
struct LockFile {
    package: Vec<LockedPackage>,
}

#[derive(Debug, Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// A crate in a line of `cargo tree`: `serde v1.0.229|MIT OR Apache-2.0`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinkedCrate {
    name: String,
    version: String,
    licence: String,
}

impl LinkedCrate {
    fn parse(line: &str) -> Option<Self> {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split(' ');
        Some(Self {
            name: words.next()?.to_owned(),
            version: words.next()?.strip_prefix('v')?.to_owned(),
            licence: licence.trim_end_matches(" (*)").replace('/', " OR "),
        })
    }
}

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let lock: LockFile = toml::from_str(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let checksums: BTreeMap<_, _> = lock
        .package
        .iter()
        .filter_map(|package| {
            Some(((&*package.name, &*package.version), package.checksum.as_deref()?))
        })
        .collect();
    let crates = linked_crates(root)?;
    let program = crates.iter().find(|linked| linked.name == PACKAGES[0]);
    let program = program.context("cargo tree does not list the program")?;
    let mut components: Vec<_> = crates
        .iter()
        .filter(|linked| *linked != program)
        .map(|linked| component(linked, checksums.get(&(&*linked.name, &*linked.version)).copied()))
        .collect();
    components.extend(other_parts(root)?);
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": PACKAGES[0],
            "name": PACKAGES[0],
            "version": program.version,
            "licenses": [{ "expression": program.licence }],
        }},
        "components": components,
    });
    println!("{}", serde_json::to_string_pretty(&list)?);
    Ok(())
}

fn linked_crates(root: &Path) -> anyhow::Result<BTreeSet<LinkedCrate>> {
    let mut crates = BTreeSet::new();
    for package in PACKAGES {
        for target in TARGETS {
            let linked = cargo_tree(root, package, target, "normal,no-proc-macro")?;
            crates.extend(linked.lines().filter_map(LinkedCrate::parse));
            let with_build = cargo_tree(root, package, target, "normal,build,no-proc-macro")?;
            crates.extend(
                with_build
                    .lines()
                    .filter_map(LinkedCrate::parse)
                    .filter(|linked| ONLY_SOURCES.contains(&linked.name.as_str())),
            );
        }
    }
    Ok(crates)
}

#[expect(clippy::disallowed_methods, reason = "chores run cargo")]
fn cargo_tree(root: &Path, package: &str, target: &str, edges: &str) -> anyhow::Result<String> {
    let of = ["--package", package, "--target", target, "--edges", edges];
    output(
        Command::new("cargo")
            .args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{l}"])
            .args(of)
            .current_dir(root),
    )
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn component(linked: &LinkedCrate, checksum: Option<&str>) -> Value {
    let LinkedCrate { name, version, licence } = linked;
    // A package URL has no plus sign in a version.
    let url = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "licenses": [{ "expression": licence }],
    });
    // Crates of this repository are not in a registry.
    if let Some(checksum) = checksum {
        component["purl"] = json!(url);
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// What is in the program, and is not a crate of Cargo.lock.
#[expect(clippy::disallowed_methods, reason = "chores run cargo")]
fn other_parts(root: &Path) -> anyhow::Result<Vec<Value>> {
    let rustc = output(Command::new("rustc").arg("--version"))?;
    let rustc = rustc.split(' ').nth(1).context("rustc --version")?;
    let tools = fs::read_to_string(root.join("scripts/release-tools.txt"))?;
    let zig = tools.lines().find_map(|line| line.strip_prefix("ziglang=="));
    let zig = zig.and_then(|line| line.split(' ').next()).context("release-tools.txt: ziglang")?;
    let uplot = fs::read_to_string(root.join(UPLOT)).context(UPLOT)?;
    let uplot = uplot.split_once("(v").and_then(|(_, rest)| rest.split_once(')'));
    let (uplot, _) = uplot.context("uPlot does not name its version")?;
    Ok([
        ("std", rustc, "MIT OR Apache-2.0", "Rust's standard library"),
        ("libunwind", zig, "Apache-2.0 WITH LLVM-exception", "LLVM's, of zig with this version"),
        ("uPlot", uplot, "MIT", "charts of report.html"),
    ]
    .into_iter()
    .map(|(name, version, licence, description)| {
        json!({
            "type": "library",
            "bom-ref": format!("{name}@{version}"),
            "name": name,
            "version": version,
            "description": description,
            "licenses": [{ "expression": licence }],
        })
    })
    .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lines_of_cargo_tree() {
        let parsed = LinkedCrate::parse("luajit-src v210.7.4+c6ffc14|MIT/Apache-2.0 (*)").unwrap();
        assert_eq!(parsed.name, "luajit-src");
        assert_eq!(parsed.version, "210.7.4+c6ffc14");
        assert_eq!(parsed.licence, "MIT OR Apache-2.0");
        assert_eq!(LinkedCrate::parse("[build-dependencies]"), None);
        let hashed = component(&parsed, Some("ab"));
        assert_eq!(hashed["purl"], "pkg:cargo/luajit-src@210.7.4%2Bc6ffc14");
        assert_eq!(component(&parsed, None)["purl"], Value::Null);
    }
}
