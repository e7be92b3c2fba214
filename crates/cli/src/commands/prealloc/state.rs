//! What the page of state, and a server that has one, allow.

use std::time::Duration;

use truetps_preload::StateError;
use truetps_report::printable;

use crate::failure::CommandFailure;

/// The library acts within a tenth of a second, unless a slow disk keeps it from cutting a file.
pub(super) const OBEYS_WITHIN: Duration = Duration::from_secs(10);

pub(super) const STOP_FIRST: &str =
    "stop the server first; a running one is cut with `truetps prealloc pause`";

pub(super) fn state_failure(error: &StateError) -> CommandFailure {
    let hint = match error {
        StateError::File { source, .. }
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            Some("the file belongs to the server's user: use sudo")
        }
        StateError::HasServer { .. } => Some(STOP_FIRST),
        StateError::NoServer { .. } => {
            Some("is the server running, and was it started with the library?")
        }
        StateError::NotObeyed { .. } => Some("`truetps prealloc status` shows what it does"),
        _ => None,
    };
    // The server's user may give binlogs any name.
    CommandFailure::usage(printable(&error.to_string())).hint_if(hint.map(str::to_owned))
}
