//! What `cargo deny` checks of dependencies, but for advisories: their database cannot be had
//! everywhere. It reads the same file, deny.toml.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct DenyRules {
    licenses: LicenceRules,
    bans: BanRules,
    sources: SourceRules,
}

#[derive(Debug, Deserialize)]
struct LicenceRules {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct BanRules {
    skip: Vec<SkippedVersion>,
}

/// `name@the beginning of its version`
#[derive(Debug, Deserialize)]
struct SkippedVersion {
    #[serde(rename = "crate")]
    name_and_version: String,
}

impl SkippedVersion {
    fn is_of(&self, name: &str, version: &str) -> bool {
        let skipped = self.name_and_version.split_once('@');
        let rest = skipped
            .filter(|(of, _)| *of == name)
            .and_then(|(_, begin)| version.strip_prefix(begin));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SourceRules {
    allow_registry: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct DependencyList {
    packages: Vec<DependencyPackage>,
}

#[derive(Debug, Deserialize)]
struct DependencyPackage {
    name: String,
    version: String,
    license: Option<String>,
    /// `None`: of this workspace.
    source: Option<String>,
}

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let rules: DenyRules =
        toml::from_str(&fs::read_to_string(root.join("deny.toml"))?).context("deny.toml")?;
    #[expect(clippy::disallowed_methods, reason = "chores run cargo")]
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(root)
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let list: DependencyList = serde_json::from_slice(&output.stdout)?;
    let packages: Vec<_> =
        list.packages.into_iter().filter(|package| package.source.is_some()).collect();
    let problems = problems(&rules, &packages);
    if problems.is_empty() {
        println!(
            "deny: {} dependencies: fine; `cargo deny check advisories` is not a part of this",
            packages.len()
        );
        return Ok(());
    }
    bail!("deny.toml:\n  {}", problems.join("\n  "))
}

fn problems(rules: &DenyRules, packages: &[DependencyPackage]) -> Vec<String> {
    let mut found = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for DependencyPackage { name, version, license, source } in packages {
        let source = source.as_deref().unwrap_or_default();
        if !rules
            .sources
            .allow_registry
            .iter()
            .any(|registry| source.strip_prefix("registry+") == Some(registry))
        {
            found.push(format!(
                "{name} {version}: comes from {source}, which is not in `allow-registry`"
            ));
        }
        let license = license.as_deref().unwrap_or("no licence");
        if !is_licence_allowed(license, &rules.licenses.allow) {
            found.push(format!(
                "{name} {version}: its licence is {license}, and `allow` has no sufficient one"
            ));
        }
        if !rules.bans.skip.iter().any(|skipped| skipped.is_of(name, version)) {
            versions.entry(name).or_default().insert(version);
        }
    }
    let doubles = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    found.extend(doubles.map(|(name, versions)| {
        let versions: Vec<_> = versions.into_iter().collect();
        format!(
            "{name}: is there in versions {}: upgrade what needs the older one, or list it",
            versions.join(" and ")
        )
    }));
    found
}

/// An expression of SPDX: `(MIT OR Apache-2.0) AND Unicode-3.0`; older packages write `/` for OR.
fn is_licence_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    is_any_allowed(&mut words, allowed) && words.next().is_none()
}

type LicenceWords<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn is_any_allowed(words: &mut LicenceWords<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut is_allowed = is_each_allowed(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_allowed |= is_each_allowed(words, allowed);
    }
    is_allowed
}

fn is_each_allowed(words: &mut LicenceWords<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut is_allowed = is_one_allowed(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_allowed &= is_one_allowed(words, allowed);
    }
    is_allowed
}

fn is_one_allowed(words: &mut LicenceWords<'_>, allowed: &BTreeSet<String>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let is_allowed = is_any_allowed(words, allowed);
        return words.next() == Some(")") && is_allowed;
    }
    let mut name = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        name.push_str(" WITH ");
        name.push_str(words.next().unwrap_or_default());
    }
    allowed.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_licences() {
        let allowed = ["MIT", "ISC", "Unicode-3.0"].map(str::to_owned).into();
        for good in [
            "MIT",
            "MIT/GPL-2.0",
            "GPL-2.0 OR MIT",
            "(MIT OR X) AND Unicode-3.0",
            "X WITH Y OR ISC",
        ] {
            assert!(is_licence_allowed(good, &allowed), "{good}");
        }
        for bad in
            ["", "GPL-2.0", "MIT AND X", "(MIT OR X) AND X", "MIT WITH Y", "MIT X", "(MIT", "MIT)"]
        {
            assert!(!is_licence_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn a_new_double_another_source_and_another_licence_are_named() {
        let rules: DenyRules = toml::from_str(
            "licenses.allow = ['MIT']\nsources.allow-registry = ['https://index']\nbans.skip = \
             [{ crate = 'syn@2' }]",
        )
        .unwrap();
        let package = |name: &str, version: &str, license: &str, source: &str| DependencyPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some(license.to_owned()),
            source: Some(source.to_owned()),
        };
        let index = "registry+https://index";
        let known = [package("syn", "2.0.1", "MIT", index), package("syn", "3.0.1", "MIT", index)];
        assert_eq!(problems(&rules, &known), [""; 0]);
        let new = [
            package("syn", "21.0.0", "MIT", index),
            package("syn", "3.0.1", "MIT", index),
            package("copied", "1.0.0", "AGPL-3.0", index),
            package("forked", "1.0.0", "MIT", "git+https://elsewhere"),
        ];
        let found = problems(&rules, &new).join("\n");
        for words in [
            "syn: is there in versions 21.0.0 and 3.0.1",
            "copied 1.0.0: its licence",
            "forked 1.0.0: comes",
        ] {
            assert!(found.contains(words), "{found}");
        }
    }
}
