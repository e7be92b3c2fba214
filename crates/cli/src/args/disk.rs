//! `truetps disk`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum DiskCommand {
    /// List the profiles that come with truetps
    List,
    /// Print a profile as TOML, to copy and change
    Show {
        /// A name of `truetps disk list`, or the path of a .toml file
        profile: String,
    },
}
