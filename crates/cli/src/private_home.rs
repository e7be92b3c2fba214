//! The folder for private servers, and what its errors mean for a command.

use std::io::ErrorKind;

use truetps_sandbox::{Home, NamedError, SandboxError};

use crate::args::SandboxPlace;
use crate::failure::CommandFailure;

pub(crate) fn open(place: &SandboxPlace) -> Result<Home, CommandFailure> {
    Home::open(place.sandbox_dir.as_deref()).map_err(CommandFailure::from)
}

/// The request cannot be fulfilled (2), or an operation failed (4).
pub(crate) fn refused(error: &SandboxError) -> CommandFailure {
    let is_full =
        matches!(error, SandboxError::Io { source, .. } if source.kind() == ErrorKind::StorageFull);
    let is_disk_broken = matches!(error, SandboxError::Disk(error) if error.is_failure());
    let broke = !is_full
        && matches!(
            error,
            SandboxError::Start { .. }
                | SandboxError::NotReady { .. }
                | SandboxError::Initialise { .. }
                | SandboxError::Sql { .. }
                | SandboxError::Io { .. }
                | SandboxError::OtherServer { .. }
                | SandboxError::Named(
                    NamedError::DoesNotEnd { .. }
                        | NamedError::DiskInUse { .. }
                        | NamedError::Mismatch { .. }
                )
        );
    if broke || is_disk_broken {
        CommandFailure::failed(error)
    } else {
        CommandFailure::usage(error)
    }
    .advised_by(error)
}
