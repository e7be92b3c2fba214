//! How often the answers of searches are right, on servers whose truth is known.

use std::path::Path;

use anyhow::Context;
use clap::Args;

#[derive(Args)]
pub(crate) struct TruthArgs {
    /// The search
    #[arg(value_enum)]
    of: TruthOf,
    /// Searches in each row; the tables of docs/method say how many theirs have
    #[arg(long, default_value_t = 1000)]
    repeats: u64,
    /// Write the table to this file, too
    #[arg(long, value_name = "FILE")]
    out: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum TruthOf {
    /// `--find-max`: the table of docs/method/rates.md
    FindMax,
    /// `truetps explain`: the tables of docs/method/explanation-error-rates.md
    Explain,
    /// `pool`: the tables of docs/method/pool-size.md
    Pool,
}

impl TruthArgs {
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        let table = match self.of {
            TruthOf::FindMax => truetps_synthetic::find_max_table(self.repeats),
            TruthOf::Explain => truetps_synthetic::explain_table(self.repeats),
            TruthOf::Pool => truetps_synthetic::pool_table(self.repeats),
        };
        println!("{table}");
        let Some(out) = &self.out else { return Ok(()) };
        let path = root.join(out);
        std::fs::write(&path, table).with_context(|| path.display().to_string())
    }
}
