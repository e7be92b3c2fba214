//! `truetps plan`

use std::path::PathBuf;

use clap::Subcommand;

use crate::args::SandboxPlace;

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
        plan: String,
    },
    /// Validate a plan without starting anything: keys, values, and whether the server knows each setting and level
    Check {
        /// A TOML file, or the name of a plan
        plan: String,
        /// Folder of an unpacked server; default: TRUETPS_BASEDIR, else the server in PATH or in the usual places
        #[arg(long, value_name = "DIR")]
        basedir: Option<PathBuf>,
        /// A server with a name (`truetps server add`), in place of the plan's
        #[arg(long, value_name = "NAME", conflicts_with = "basedir")]
        server: Option<String>,
        #[command(flatten)]
        sandbox: SandboxPlace,
    },
}
