//! `truetps config`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting with its value, as lines of a truetps.toml
    #[command(
        after_help = "The first of these that has a setting decides: the flag of a command, its \
        variable TRUETPS_…, truetps.toml in this folder or the nearest one above it, \
        ~/.config/truetps/config.toml, the default. `truetps help reference/config` has the \
        settings."
    )]
    Show {
        /// Say where each value comes from: variable, file with line, or default
        #[arg(long)]
        origin: bool,
    },
}
