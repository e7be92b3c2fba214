//! `truetps merge`

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::{TrialsAnswerArgs, Words};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps merge part-0/latest part-1/latest    the whole load, as a new run in the folder \
    runs\n  \
    truetps merge part-*/latest --format json")]
pub(crate) struct MergeArgs {
    /// Folders of the parts, as `--part` has recorded them
    #[arg(required = true, num_args = 1.., add = ArgValueCompleter::new(Words::Runs))]
    pub(crate) parts: Vec<PathBuf>,
    /// Folder of recorded experiments, for the new one
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    #[command(flatten)]
    pub(crate) answer: TrialsAnswerArgs,
}
