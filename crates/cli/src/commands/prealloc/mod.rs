//! `truetps prealloc`: binlog preallocation for servers that have no patch.

mod advise;
mod binlogs;
mod checks;
mod install;
mod status;
mod trim;

use std::time::Duration;

use truetps_preload::StateError;
use truetps_report::printable;

use crate::args::PreallocCommand;
use crate::exit::Exit;
use crate::failure::CommandFailure;

/// The library acts within a tenth of a second, unless a slow disk keeps it from cutting a file.
const OBEYS_WITHIN: Duration = Duration::from_secs(10);

const STOP_FIRST: &str = "stop the server first; a running one is cut with `truetps prealloc pause`";

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

fn state_failure(error: &StateError) -> CommandFailure {
    let hint = match error {
        StateError::File { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Some("the file belongs to the server's user: use sudo")
        }
        StateError::HasServer { .. } => Some(STOP_FIRST),
        StateError::NoServer { .. } => Some("is the server running, and was it started with the library?"),
        StateError::NotObeyed { .. } => Some("`truetps prealloc status` shows what it does"),
        _ => None,
    };
    // The server's user may give binlogs any name.
    CommandFailure::usage(printable(&error.to_string())).hint_if(hint.map(str::to_owned))
}
