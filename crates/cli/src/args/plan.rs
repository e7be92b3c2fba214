//! `truetps plan`

use clap::{Args, Subcommand};

use clap_complete::engine::ArgValueCompleter;

use crate::args::FolderArgs;
use crate::args::Words;

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// List the plans that ship with truetps
    List {
        /// Print each question whole, with the number of configurations and trials
        #[arg(long)]
        full: bool,
    },
    /// Print a plan, to copy and change it
    Show {
        /// Name of a plan, or a TOML file
        #[arg(add = ArgValueCompleter::new(Words::Plans))]
        plan: String,
    },
    /// Validate a plan without load: keys, values, and whether the server knows each setting and
    /// level
    Check(Box<CheckArgs>),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    truetps plan check my-plan.toml                         with the installed server's \
    program\n  \
    truetps plan check my-plan.toml --dsn mysql://loader@db1   settings, levels and privileges on \
    a server of yours\n\n\
    A server of --dsn is only read; a private server is not started.")]
pub(crate) struct CheckArgs {
    /// A TOML file, or the name of a plan
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
}
