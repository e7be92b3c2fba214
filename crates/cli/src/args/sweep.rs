//! `truetps sweep`

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::{EngineArgs, FolderArgs, ProbeArgs};
use crate::completions::Words;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps sweep --quick                 what each durability setting costs here, in about two minutes\n  \
    truetps sweep                         the same in about half an hour, with narrower intervals\n  \
    truetps sweep my-plan.toml            your own plan: copy one with `truetps plan show durability`\n  \
    truetps sweep --quick --server mysql-8.0   on a server that `truetps server add` has added\n  \
    truetps sweep my-plan.toml --dsn mysql://loader@db1   on a server of yours; --dry-run shows what would be sent\n  \
    truetps sweep --resume                resume the newest experiment")]
pub(crate) struct SweepArgs {
    /// Name of a plan (`truetps plan list`), or a TOML file; default: durability
    #[arg(add = ArgValueCompleter::new(Words::Plans))]
    pub(crate) plan: Option<String>,
    /// Run the plan's short form
    #[arg(long)]
    pub(crate) quick: bool,
    /// Resume an interrupted experiment: its folder; default: the newest one
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, add = ArgValueCompleter::new(Words::Runs), conflicts_with_all = ["plan", "quick", "seed", "server", "disk", "probe_interval", "no_probe", "waits", "mode"])]
    #[expect(clippy::option_option, reason = "clap's form of a flag whose value may be left out")]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// Replicates, in place of the plan's; with --resume: the total number, to extend an experiment that has fewer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) blocks: Option<u32>,
    /// Seed of all random choices, in place of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Start even if the run takes hours
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) probe: ProbeArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
