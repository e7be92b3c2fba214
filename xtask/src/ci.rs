//! Formatting, lints, tests, tidy, dependencies: in the order in which a failure is cheapest.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::suite::TestArgs;

const STEPS: [(&str, &[&str]); 3] = [
    ("formatting", &["fmt", "--all", "--check"]),
    (
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ],
    ),
    // Without what only tests depend on: nothing that the program needs comes from there.
    ("build", &["build", "--workspace", "--locked", "--quiet"]),
];

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut seconds = Vec::new();
    for (what, args) in STEPS {
        println!("== {what}: cargo {}", args.join(" "));
        let began = Instant::now();
        cargo(root, args).with_context(|| format!("{what} failed"))?;
        seconds.push(format!("{what} {:.0} s", began.elapsed().as_secs_f64()));
    }
    println!("== tests");
    let began = Instant::now();
    TestArgs::default().run(root).context("tests failed")?;
    seconds.push(format!("tests {:.0} s", began.elapsed().as_secs_f64()));
    println!("== tidy");
    crate::tidy::run(root)?;
    println!("== dependencies");
    crate::deny::run(root)?;
    println!("== passed: {}", seconds.join(", "));
    Ok(())
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "chores run cargo")]
    let status =
        Command::new("cargo").args(args).current_dir(root).status().context("running cargo")?;
    if !status.success() {
        bail!("cargo {}: {status}", args[0]);
    }
    Ok(())
}
