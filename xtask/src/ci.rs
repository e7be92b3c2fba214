//! Formatting, lints, tests, tidy: in the order in which a failure is cheapest.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

const STEPS: [(&str, &[&str]); 4] = [
    ("formatting", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "--deny", "warnings"]),
    ("build", &["build", "--workspace", "--locked", "--quiet"]),
    ("tests", &["test", "--workspace", "--locked"]),
];

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    for (what, args) in STEPS {
        println!("== {what}: cargo {}", args.join(" "));
        #[expect(clippy::disallowed_methods, reason = "chores run cargo")]
        let status = Command::new("cargo").args(args).current_dir(root).status().context("running cargo")?;
        if !status.success() {
            bail!("{what} failed");
        }
    }
    println!("== tidy");
    crate::tidy::run(root)
}
