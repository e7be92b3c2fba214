//! Runs the programs that create datadirs, and checks what they have made.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::error::SandboxError;
use crate::system::log_tail::excerpt;
use crate::system::run::run_to_end;
use crate::system::server_user::ServerUser;

const TIME_LIMIT: Duration = Duration::from_mins(3);

/// Runs a program that creates a datadir.
pub(crate) fn run_initialiser(
    program: &Path,
    arguments: &[OsString],
    input: Option<File>,
    user: &ServerUser,
) -> Result<(), SandboxError> {
    let fail = |how: String, log: String| SandboxError::Initialise {
        binary: program.to_owned(),
        how,
        log,
    };
    let output = run_to_end(program, arguments, input, user, TIME_LIMIT)
        .map_err(|error| fail(error.to_string(), String::new()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(fail(output.status.to_string(), excerpt(&format!("{}\n{}", output.stdout, output.stderr))))
}

/// A program that exits successfully but created nothing is a wrapper that dropped the options.
pub(crate) fn check_made(
    program: &Path,
    datadir: &Path,
    files: [&str; 2],
) -> Result<(), SandboxError> {
    let missing = files.into_iter().find(|name| !datadir.join(name).exists());
    missing.map_or(Ok(()), |name| {
        let how =
            format!("it exited successfully, but created no `{name}` in {}", datadir.display());
        Err(SandboxError::Initialise { binary: program.to_owned(), how, log: String::new() })
    })
}
