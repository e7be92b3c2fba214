//! The tests: all programs beside each other, as far as their tests bear it.
//!
//! Most tests of servers wait for a server or a measured second. Each of them takes a permit
//! (`crates/testkit/src/permits.rs`), and there are more permits than cores. The programs without
//! servers run one after the other beside them. Tests that judge a length of time run after all
//! others: `reserved` finds them in the code.

mod program;
mod reserved;
mod run;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use clap::Args;

use self::program::TestProgram;
use self::reserved::reserved_tests;
use self::run::{ProgramRun, Suite};

/// Tests of servers that run at once, for each core.
const PERMITS_FOR_EACH_CORE: usize = 3;

#[derive(Args, Default)]
pub(crate) struct TestArgs {
    /// Only programs of this package; may be repeated
    #[arg(long = "package", value_name = "NAME")]
    packages: Vec<String>,
    /// Only programs with this in their name, as in `cli/no_server`; may be repeated
    #[arg(long = "program", value_name = "NAME")]
    programs: Vec<String>,
    /// Only tests with this in their name
    filter: Option<String>,
}

impl TestArgs {
    /// Builds the programs and runs them. The failures are listed at the end.
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        let reserved = reserved_tests(root)?;
        let mut programs = program::build(root, &self.packages, &reserved)?;
        programs.retain(|program| self.selects(program));
        if programs.is_empty() {
            bail!("no test program has such a name");
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let suite = Suite::new(PERMITS_FOR_EACH_CORE * cores, cores, self.filter.as_deref())?;
        let began = Instant::now();
        let mut runs = suite.run_shared(&programs);
        runs.extend(suite.run_reserved(&programs));
        println!("== {} test programs in {:.0} s", programs.len(), began.elapsed().as_secs_f64());
        if !runs.iter().any(ProgramRun::has_tests) {
            bail!("no test has such a name");
        }
        judge(&runs)
    }

    fn selects(&self, program: &TestProgram) -> bool {
        self.programs.is_empty() || self.programs.iter().any(|part| program.name.contains(part))
    }
}

fn judge(runs: &[ProgramRun]) -> anyhow::Result<()> {
    let failures: BTreeSet<_> = runs.iter().flat_map(ProgramRun::failures).collect();
    if failures.is_empty() {
        return Ok(());
    }
    let failures: Vec<_> = failures.into_iter().collect();
    bail!("{} failures:\n  {}", failures.len(), failures.join("\n  "))
}
