//! `truetps sweep`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::Words;
use crate::args::short_plan::OF_SHORT_PLAN;
use crate::args::{EngineArgs, FolderArgs, ProbeArgs, ShortPlanArgs};
use crate::times;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps sweep --quick                 what each durability setting costs here, in about two \
    minutes\n  \
    truetps sweep                         the same in about half an hour, with narrower \
    intervals\n  \
    truetps sweep insert --vary sync_binlog=1,0 -c 1,8,50    a question of your own, without a \
    plan\n  \
    truetps sweep --quick --vary server=old,new              a plan with one more factor\n  \
    truetps sweep my-plan.toml            your own plan: copy one with `truetps plan show \
    durability`\n  \
    truetps sweep --quick --server mysql-8.0   on a server that `truetps server add` has added\n  \
    truetps sweep my-plan.toml --dsn mysql://loader@db1   on a server of yours; --dry-run shows \
    what would be sent\n  \
    truetps sweep --quick --until-decided      more blocks of what is undecided, at most four \
    times as many\n  \
    truetps sweep --resume                resume the newest experiment, also of run --find-max\n  \
    truetps sweep --resume --until-decided --at-most 10m    go on until every comparison has a \
    verdict\n\n\
    Other questions:\n  \
    truetps explain old.cnf new.cnf       which of many settings that differ make the difference, \
    and how much each\n  \
    truetps pool                          how many connections to use, also between the numbers of \
    a sweep")]
pub(crate) struct SweepArgs {
    /// Name of a plan (`truetps plan list`), a TOML file, or a workload (`truetps run --help`) with
    /// --vary or several numbers of connections; default: durability
    #[arg(add = ArgValueCompleter::new(Words::Plans))]
    pub(crate) plan: Option<String>,
    /// Run the plan's short form
    #[arg(long)]
    pub(crate) quick: bool,
    /// Resume an interrupted experiment: its folder; default: the newest one
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, add = ArgValueCompleter::new(Words::Runs), conflicts_with_all = ["plan", "quick", "seed", "server", "disk", "probe_interval", "no_probe", "waits", "mode"], conflicts_with_all = OF_SHORT_PLAN)]
    #[expect(clippy::option_option, reason = "clap's form of a flag whose value may be left out")]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// Replicates, in place of the plan's; with --resume: the total number, to extend an experiment
    /// that has fewer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) blocks: Option<u32>,
    /// When all blocks have run, add more of what is undecided, until every comparison has a
    /// verdict, or more blocks are not likely to give one. The chance of a false claim stays 5 % in
    /// all
    #[arg(long)]
    pub(crate) until_decided: bool,
    /// Time for --until-decided, such as 10m; default: at most four times the blocks
    #[arg(long, value_name = "TIME", requires = "until_decided", value_parser = times::time)]
    pub(crate) at_most: Option<Duration>,
    /// With --resume: add so many blocks of the configurations that are undecided, or of all if
    /// none is
    #[arg(long, value_name = "N", requires = "resume", conflicts_with_all = ["blocks", "until_decided"],
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) add_blocks: Option<u32>,
    /// Seed of all random choices, in place of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) short_plan: ShortPlanArgs,
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
