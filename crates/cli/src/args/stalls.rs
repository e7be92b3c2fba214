//! `truetps stalls`

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::{ListAnswerArgs, Words};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps stalls                               the newest experiment\n  \
    truetps stalls runs/run-insert-1/trial-0001  one trial\n\n\
    A stall is a period of 200 ms or more with less than 30 % of the usual throughput around it; a \
    dip has less than 70 %. `truetps help stalls-and-dips`")]
pub(crate) struct StallsArgs {
    /// An experiment's folder, or a trial's; default: the newest experiment
    #[arg(add = ArgValueCompleter::new(Words::Runs))]
    pub(crate) folder: Option<PathBuf>,
    /// Folder of recorded experiments; default: the newer one of runs and the state folder of
    /// `truetps sysbench`
    #[arg(long, value_name = "DIR", env = "TRUETPS_RUNS")]
    pub(crate) runs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answer: ListAnswerArgs,
}
