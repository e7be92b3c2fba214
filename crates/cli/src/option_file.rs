//! A user's own option file as the base configuration of private servers.

use std::path::Path;

use truetps_inspect::server_options;
use truetps_sandbox::{BaseSettings, FileSetting, ServerBinary, ServerUser, base_settings};

use crate::failure::CommandFailure;
use crate::terminal::{print_line, print_message};

/// The settings that a private server of this program takes of the file. What it does not take is
/// listed.
pub(crate) fn of_file(
    path: &Path,
    binary: &ServerBinary,
    user: &ServerUser,
) -> Result<Vec<(String, String)>, CommandFailure> {
    let shown = path.display();
    let flag = format!("--my-cnf {shown}");
    let side =
        server_options(path, binary.flavour, &binary.version.to_string()).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix(&format!("{shown}: ")).unwrap_or(&text);
            // A command that goes on may be typed in another folder.
            let looked_for = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            CommandFailure::usage(format!("--my-cnf {}: {text}", looked_for.display()))
                .advised_by(&error)
                .or_hint("name a my.cnf that a server reads (docs/reference/server.md)")
        })?;
    let settings = side.settings.into_iter();
    let settings: Vec<_> = settings
        .map(|(name, found)| FileSetting {
            name,
            value: found.value,
            is_loose: found.is_loose,
            is_bare: found.is_bare,
        })
        .collect();
    let BaseSettings { kept, ignored, notes } = base_settings(binary, user, &settings)
        .map_err(|error| CommandFailure::usage(format!("{flag}: {error}")).advised_by(&error))?;
    side.notes.iter().chain(&notes).for_each(|note| print_line(&format!("{flag}: {note}")));
    if !ignored.is_empty() {
        let lines: Vec<_> =
            ignored.iter().map(|(name, reason)| format!("  {name}: {reason}\n")).collect();
        print_message(&format!("{flag}: ignored for a private server:\n{}", lines.concat()));
    }
    Ok(kept)
}
