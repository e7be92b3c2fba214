//! Programs of the system that make and mount disks.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::error::DiskError;

/// Folders of the programs that make and mount disks.
pub(crate) const PROGRAM_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Runs a program of the system to its end, and returns what it printed.
pub(crate) fn output_of(
    program: &'static str,
    words: &[&OsStr],
    input: Stdio,
) -> Result<String, DiskError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "programs of the system that make and mount disks"
    )]
    let mut command = Command::new(program);
    let output = command
        .args(words)
        .env_clear()
        .env("PATH", PROGRAM_FOLDERS.join(":"))
        .stdin(input)
        .output();
    let output =
        output.map_err(|error| DiskError::Missing { what: program, problem: error.to_string() })?;
    if !output.status.success() {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let command = format!("{program} {}", words.join(" "));
        let printed = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let problem = if printed.is_empty() { output.status.to_string() } else { printed };
        return Err(DiskError::Command { command, problem });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
