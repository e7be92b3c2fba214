//! `truetps disk`

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::engine::ArgValueCompleter;

use crate::args::Words;

#[derive(Debug, Subcommand)]
pub(crate) enum DiskCommand {
    /// List the profiles that come with truetps
    List,
    /// Measure the disk of a folder: flushes, writes, bandwidth; with -o, write a profile of it, to
    /// imitate it elsewhere
    Measure {
        /// A folder on the disk; a file of 64 MiB is written there, and removed
        folder: PathBuf,
        /// Write a profile to this file, which must not exist
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print a profile as TOML, to copy and change
    Show {
        /// A name of `truetps disk list`, or the path of a .toml file
        #[arg(add = ArgValueCompleter::new(Words::Disks))]
        profile: String,
    },
}
