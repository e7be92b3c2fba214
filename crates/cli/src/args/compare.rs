//! `truetps compare`

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use truetps_report::{AnswerFormat, AnswerSubject};

use crate::args::Words;
use crate::args::answer::{AnswerForm, format_of};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps compare runs/run-insert-1 runs/run-insert-2\n  \
    truetps compare latest latest --a-levels key=deleted --b-levels key=auto   two levels of one \
    experiment, block by block\n  \
    truetps compare runs/before runs/after --fail-if 'tps<-5%' --fail-if durability   for \
    scripts\n\n\
    Exit codes: 0 decided, no threshold crossed; 1 a threshold was crossed; 2 wrong usage; 3 not \
    enough data. A threshold is crossed if the estimate is beyond it and the interval excludes \
    zero; it is kept if the whole interval is on its good side. Figures: tps, p99, max_gap and the \
    lines of the cost ledger as --format csv names them. `durability` is crossed if a crash can \
    lose more acknowledged commits on B than on A; it cannot be judged if a side has no recorded \
    settings.")]
pub(crate) struct CompareArgs {
    /// The reference: an experiment's folder, a trial's folder, or `latest`
    #[arg(add = ArgValueCompleter::new(Words::Runs))]
    pub(crate) a: PathBuf,
    /// What to compare with A
    #[arg(add = ArgValueCompleter::new(Words::Runs))]
    pub(crate) b: PathBuf,
    /// Use only trials of A with this level; repeatable
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) a_levels: Vec<String>,
    /// Use only trials of B with this level; repeatable
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) b_levels: Vec<String>,
    /// Exit with 1 if a figure of B is lower (<-5%) or higher (>5%) than A's by more than this, or,
    /// with `durability`, if a crash can lose more commits on B than on A; may be given again
    #[arg(long, value_name = "NAME<PERCENT%|NAME>PERCENT%|durability")]
    pub(crate) fail_if: Vec<String>,
    /// Folder of recorded experiments, with `latest`; default: the newer one of runs and the state
    /// folder of `truetps sysbench`
    #[arg(long, value_name = "DIR", env = "TRUETPS_RUNS")]
    pub(crate) runs: Option<PathBuf>,
    /// Format of the answer on stdout
    #[arg(long, value_parser = format_of(AnswerSubject::Comparison), default_value = "text")]
    pub(crate) format: &'static AnswerFormat,
    /// Print the full report: all tables, figures and explanations, in place of one screen
    #[arg(long)]
    pub(crate) full: bool,
}

impl CompareArgs {
    pub(crate) fn form(&self) -> AnswerForm {
        AnswerForm { format: self.format, full: self.full }
    }
}
