//! Chores of the project: `cargo xtask help` lists them.
//!
//! - `ci`: the steps that every change must pass. `suite`: runs the tests, of all programs beside
//!   each other. `deny`: licences, sources and double versions of dependencies.
//!   `parts`: the list of what is in the program, for a release. `truth`: how often the answers of
//!   searches are right.
//! - `tidy`: checks on the tree that no compiler makes. `edges` and `invariants` hold what
//!   ARCHITECTURE.md says of crates; `page` reads a page of Markdown, and `links`, `languages` (an
//!   English page and its Chinese version) and `chinese` (how Chinese is set) check it; `names` and
//!   `phrases` check names and language.
//! - `bench`: benchmarks of truetps itself.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers talks to its terminal"
)]

mod bench;
mod ci;
mod deny;
mod parts;
mod suite;
mod tidy;
mod truth;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use crate::bench::Bench;
use crate::suite::TestArgs;
use crate::truth::TruthArgs;

/// Chores of the project
#[derive(Parser)]
#[command(name = "cargo xtask", max_term_width = 100, disable_help_subcommand = false)]
enum Chore {
    /// Formatting, lints, tests, tidy: what a submission must pass
    Ci,
    /// The tests alone, or some of them, as `ci` runs them: the programs beside each other
    Test(TestArgs),
    /// Checks on the tree: edges between crates, lengths of files, names, language, links,
    /// translations, leftovers
    Tidy,
    /// Licences, sources and double versions of dependencies, by deny.toml; `cargo deny` checks
    /// advisories, too
    Deny,
    /// How often the answers of searches are right, on made-up servers: the tables of docs/method
    Truth(TruthArgs),
    /// List what is linked into the program, as CycloneDX, on standard output
    Parts,
    #[command(subcommand)]
    Bench(Bench),
    #[command(flatten)]
    Helper(bench::Helper),
}

fn main() -> ExitCode {
    let root = root();
    let result = match Chore::parse() {
        Chore::Ci => ci::run(&root),
        Chore::Test(args) => args.run(&root),
        Chore::Tidy => tidy::run(&root),
        Chore::Deny => deny::run(&root),
        Chore::Truth(args) => args.run(&root),
        Chore::Parts => parts::run(&root),
        Chore::Bench(bench) => bench.run(&root),
        Chore::Helper(helper) => helper.run(),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Chore::command().debug_assert();
    }
}
