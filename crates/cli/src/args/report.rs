//! `truetps report`

use std::path::PathBuf;

use clap::Args;

use crate::args::OutputFormat;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folder of an experiment or a probe; default: the newest experiment
    pub(crate) folder: Option<PathBuf>,
    /// Folder of recorded experiments
    #[arg(long, value_name = "DIR", default_value = "runs", env = "TRUETPS_RUNS")]
    pub(crate) runs: PathBuf,
    /// Format of the answer on stdout; the report.html of an experiment is always rewritten
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
    /// Print the full report: all tables, figures and explanations, in place of one screen
    #[arg(long)]
    pub(crate) full: bool,
}
