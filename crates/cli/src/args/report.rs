//! `truetps report`

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::{TrialsAnswerArgs, Words};

#[derive(Debug, Args)]
#[command(after_help = "The report.html of an experiment is always rewritten.")]
pub(crate) struct ReportArgs {
    /// Folder of an experiment or a probe, its name in the runs folder, or its report.html;
    /// default: the newest experiment
    #[arg(add = ArgValueCompleter::new(Words::Runs))]
    pub(crate) folder: Option<PathBuf>,
    /// Folder of recorded experiments; default: the newer one of runs and the state folder of
    /// `truetps sysbench`
    #[arg(long, value_name = "DIR", env = "TRUETPS_RUNS")]
    pub(crate) runs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answer: TrialsAnswerArgs,
}
