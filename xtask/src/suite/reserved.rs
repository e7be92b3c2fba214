//! Tests that judge a length of time, by the first line of their code.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::tidy::collect;

/// What such a test calls first (`crates/testkit/src/machine.rs`; in `disk`, `src/test_disks.rs`).
const RESERVATIONS: [&str; 3] = [
    "let _machine = quiet_machine();",
    "let _machine = take_machine();",
    "let Some(_quiet) = can_measure(",
];

/// Such a test, and the folder of its package below `crates`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReservedTest {
    pub(super) package: String,
    /// It stands in `tests`, not beside the code.
    pub(super) is_integration: bool,
    pub(super) name: String,
}

pub(super) fn reserved_tests(root: &Path) -> anyhow::Result<Vec<ReservedTest>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let package = entry?;
        for (folder, is_integration) in [("tests", true), ("src", false)] {
            let folder = package.path().join(folder);
            if !folder.is_dir() {
                continue;
            }
            let mut files = Vec::new();
            collect(&folder, &["rs"], &mut files)?;
            for file in files {
                let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
                found.extend(names_in(&text).into_iter().map(|name| ReservedTest {
                    package: package.file_name().to_string_lossy().into_owned(),
                    is_integration,
                    name: name.to_owned(),
                }));
            }
        }
    }
    Ok(found)
}

/// Names of the tests that reserve the machine.
fn names_in(text: &str) -> Vec<&str> {
    let (mut follows_test, mut test, mut names) = (false, None, Vec::new());
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            follows_test = true;
        } else if let Some(name) = declared_function(line) {
            test = std::mem::take(&mut follows_test).then_some(name);
        }
        if RESERVATIONS.iter().any(|words| line.starts_with(words)) {
            names.extend(test);
        }
    }
    names
}

fn declared_function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_declared = before.split_whitespace().all(|word| {
        word.starts_with("pub") || ["async", "const", "extern", "unsafe"].contains(&word)
    });
    rest.split(['(', '<']).next().filter(|_| is_declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_reserves_the_machine_is_named() {
        let text = "fn helper() {}\n\n#[test]\nfn quick() {\n    let _machine = \
                    quiet_machine();\n}\n\
                    \n#[test]\nfn shared() {\n    let _machine = share_machine();\n}\n\
                    \nmod a {\n    #[test]\n    fn busy() {\n        let _machine = \
                    take_machine();\n    }\n}\n";
        assert_eq!(names_in(text), ["quick", "busy"]);
        let helper = "#[test]\nfn a() {}\n\n/// #[test]\nfn helper() {\n    let _machine = \
                      quiet_machine();\n}\n";
        assert_eq!(names_in(helper), [""; 0]);
        let attributed = "#[test]\n#[expect(clippy::panic, reason = \"a test\")]\n// Slow.\nfn b() \
                          {\n    let _machine = take_machine();\n}\n";
        assert_eq!(names_in(attributed), ["b"]);
    }

    #[test]
    fn each_reservation_is_found() {
        let root = crate::root();
        let mut files = Vec::new();
        collect(&root.join("crates"), &["rs"], &mut files).unwrap();
        let is_reservation = |line: &&str| {
            ["quiet_machine()", "take_machine()", "can_measure("]
                .iter()
                .any(|call| line.contains(call))
                && !line.contains("fn ")
        };
        let mut calls = 0;
        for file in &files {
            calls += fs::read_to_string(file).unwrap().lines().filter(is_reservation).count();
        }
        let found = reserved_tests(&root).unwrap();
        assert_eq!(found.len(), calls, "each is the first line of a test, as in RESERVATIONS");
        assert!(found.iter().all(|test| !test.name.is_empty()));
    }
}
