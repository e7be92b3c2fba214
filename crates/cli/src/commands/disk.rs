//! `truetps disk`: the profiles of emulated disks, and the helper that runs one.

use std::io;

use truetps_disk::{DiskProfile, run_helper};

use crate::args::DiskCommand;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::print_out;

pub(crate) fn run(command: &DiskCommand) -> Result<Exit, CommandFailure> {
    match command {
        DiskCommand::List => Ok(list()),
        DiskCommand::Show { profile } => show(profile),
    }
}

fn list() -> Exit {
    let profiles = DiskProfile::names().filter_map(|name| DiskProfile::find(name).ok());
    let lines: Vec<_> = profiles.map(|profile| format!("{:<10}{}\n", profile.name, profile.about)).collect();
    print_out(&lines.concat())
}

fn show(name: &str) -> Result<Exit, CommandFailure> {
    let profile = DiskProfile::find(name).map_err(|error| CommandFailure::usage(&error).hint_if(error.hint()))?;
    Ok(print_out(&profile.to_toml()))
}

/// Runs the disk that the parent process asks for, until that closes the input.
pub(crate) fn help() -> Result<Exit, CommandFailure> {
    run_helper(io::stdin().lock(), io::stdout()).map_err(CommandFailure::failed)?;
    Ok(Exit::Good)
}
