//! The manual pages for `man`, one for each command.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::CommandFailure;

/// Writes the pages into a folder, which is created: `truetps.1`, `truetps-run.1`, …
pub(crate) fn write(folder: &Path) -> Result<Exit, CommandFailure> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| CommandFailure::failed(format!("{}: {error}", folder.display())))?;
    Ok(Exit::Good)
}
