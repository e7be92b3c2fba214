//! Formatting, lints, tests, tidy, dependencies: in the order in which a failure is cheapest.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

const STEPS: [(&str, &[&str]); 5] = [
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
    ("test programs", &["test", "--workspace", "--locked", "--quiet", "--no-run"]),
    // One run tells all failures.
    ("tests", &["test", "--workspace", "--locked", "--no-fail-fast"]),
];

/// Most tests wait for a server or a measured second, so that more of them than cores run beside each other. Those that
/// judge a length of time take the machine for themselves (`truetps_testkit::quiet_machine`, `take_machine`).
const TESTS_FOR_EACH_CORE: usize = 2;
const THREADS: &str = "RUST_TEST_THREADS";

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut seconds = Vec::new();
    for (what, args) in STEPS {
        println!("== {what}: cargo {}", args.join(" "));
        let began = Instant::now();
        cargo(root, args).with_context(|| format!("{what} failed"))?;
        seconds.push(format!("{what} {:.0} s", began.elapsed().as_secs_f64()));
    }
    println!("== tidy");
    crate::tidy::run(root)?;
    println!("== dependencies");
    crate::deny::run(root)?;
    println!("== passed: {}", seconds.join(", "));
    Ok(())
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "chores run cargo")]
    let mut command = Command::new("cargo");
    if std::env::var_os(THREADS).is_none() {
        command.env(THREADS, test_threads().to_string());
    }
    let status = command.args(args).current_dir(root).status().context("running cargo")?;
    if !status.success() {
        bail!("cargo {}: {status}", args[0]);
    }
    Ok(())
}

fn test_threads() -> usize {
    TESTS_FOR_EACH_CORE * std::thread::available_parallelism().map_or(1, usize::from)
}
