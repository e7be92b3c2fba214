//! Chores of the project: `cargo xtask help` lists them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for developers talks to its terminal")]

mod bench;
mod ci;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask ci            formatting, lints, tests, tidy: what a submission must pass
cargo xtask tidy          checks on the tree: edges between crates, lengths of files, leftovers
cargo xtask bench engine  client CPU, throughput and memory beside sysbench's, alternating, on one private server;
                          keeps the result under bench/runs. Options: --pairs N (5), --seconds S (3), --dry (keep nothing)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => ci::run(&root()),
        ["tidy"] => tidy::run(&root()),
        ["bench", "engine", rest @ ..] => bench::engine(&root(), rest),
        ["bench-client", rest @ ..] => bench::client(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(anyhow::anyhow!("unknown chore: {}\n\n{HELP}", words.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace").to_owned()
}
