//! `truetps prealloc`: binlog preallocation for servers that have no patch.

mod advise;
mod binlogs;
mod checks;
mod install;
mod state;
mod status;
mod trim;

use crate::args::PreallocCommand;
use crate::exit::Exit;
use crate::failure::CommandFailure;

pub(crate) fn run(command: &PreallocCommand) -> Result<Exit, CommandFailure> {
    match command {
        PreallocCommand::Advise(args) => advise::run(args),
        PreallocCommand::Install(args) => install::install(args),
        PreallocCommand::Status(args) => status::show(args),
        PreallocCommand::Pause(args) => status::switch(args, false),
        PreallocCommand::Resume(args) => status::switch(args, true),
        PreallocCommand::Trim(args) => trim::run(args),
        PreallocCommand::Uninstall(args) => install::uninstall(args),
    }
}
