//! `truetps crash`

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::engine::ArgValueCompleter;
use truetps_record::{CrashKind, CrashStep};

use crate::args::Words;
use crate::args::{DocumentArgs, FolderArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps crash --quick                 price and loss of the durability settings, on an \
    emulated SSD\n  \
    truetps crash --kinds kill            the end of the server alone, on the host's own disk: \
    needs no root\n  \
    truetps crash my-plan.toml --disk hdd7200 --crashes 20\n  \
    truetps crash crash-preallocation --kinds power --torn 0.5 --at all --live\n\n\
    Each configuration is crashed under load, again and again, and what is gone afterwards is \
    counted. Exit codes: 1 a setting lost what it promises to keep; 3 the controls do not prove \
    the result.")]
pub(crate) struct CrashArgs {
    /// Name of a plan (`truetps plan list`), or a TOML file; default: crash
    #[arg(add = ArgValueCompleter::new(Words::Plans))]
    pub(crate) plan: Option<String>,
    /// Run the plan's short form
    #[arg(long)]
    pub(crate) quick: bool,
    /// Kinds of crashes: kill (SIGKILL of the server), os (what was not flushed is gone), power
    /// (the disk's cache is gone too); default: all that are possible
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kind)]
    pub(crate) kinds: Vec<CrashKind>,
    /// Crashes of each kind of each configuration; default: the plan's blocks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) crashes: Option<u32>,
    /// Share of the sectors in the disk's volatile cache that survive a power cut, each by chance:
    /// 0 to 1, so that writes are torn
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub(crate) torn: f64,
    /// Steps of the server's work on its binlogs at which it is crashed: fill, name, header, index,
    /// commit, close, stop, recovery, or all; default: at random times
    #[arg(long = "at", value_name = "STEPS", value_delimiter = ',', value_parser = PossibleValuesParser::new(step_names()))]
    pub(crate) steps: Vec<String>,
    /// Let the disk fail while the server runs, and do not count answers after that; default: the
    /// server dies first
    #[arg(long)]
    pub(crate) live: bool,
    /// Seed of all random choices, in place of the plan's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) answer: DocumentArgs,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
}

/// All steps, by one word.
const ALL_STEPS: &str = "all";

fn step_names() -> impl Iterator<Item = &'static str> {
    CrashStep::ALL.into_iter().map(CrashStep::name).chain([ALL_STEPS])
}

impl CrashArgs {
    /// The steps that were named, each once.
    pub(crate) fn steps(&self) -> Vec<CrashStep> {
        let steps = CrashStep::ALL
            .into_iter()
            .filter(|step| self.steps.iter().any(|word| word == step.name() || word == ALL_STEPS));
        steps.collect()
    }
}

fn share(word: &str) -> Result<f64, String> {
    let share = word.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "not a number from 0 to 1".to_owned())
}

fn kind(word: &str) -> Result<CrashKind, String> {
    let known = CrashKind::ALL.into_iter().find(|kind| kind.name() == word);
    known.ok_or_else(|| "not one of kill, os, power".to_owned())
}
