//! Where runs are recorded.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};
use truetps_folder::ExperimentFolder;

/// The environment variable for `--runs`, of all programs.
pub const RUNS_VARIABLE: &str = "TRUETPS_RUNS";

/// What the variables of the environment are read with.
type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Folder of what truetps keeps for a user: `$XDG_STATE_HOME/truetps`, or `~/.local/state/truetps`.
/// `None`: a user without a home folder.
pub fn state_folder(environment: Environment<'_>) -> Option<PathBuf> {
    let state = absolute_path(environment, "XDG_STATE_HOME")
        .or_else(|| Some(absolute_path(environment, "HOME")?.join(".local/state")));
    state.map(|state| state.join("truetps"))
}

fn absolute_path(environment: Environment<'_>, variable: &str) -> Option<PathBuf> {
    environment(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Folder for the runs of programs that are started anywhere, if no folder is named: not the one in
/// which the user happens to be, unless there is no other.
pub fn state_runs(environment: Environment<'_>) -> PathBuf {
    state_folder(environment).map_or_else(|| PathBuf::from("runs"), |state| state.join("runs"))
}

/// Folder for these runs if the environment may name one.
pub fn default_runs(environment: Environment<'_>) -> PathBuf {
    named_runs(environment).unwrap_or_else(|| state_runs(environment))
}

/// The folder that the environment names.
pub fn named_runs(environment: Environment<'_>) -> Option<PathBuf> {
    environment(RUNS_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Tries the folder of a program for which none was named. The error is a warning: a user without a
/// home folder that can be written, such as a service, runs programs nevertheless.
pub fn try_state_runs(environment: Environment<'_>) -> Result<(), String> {
    let tried = match state_folder(environment) {
        None => Err("the user has no home folder".to_owned()),
        Some(state) => {
            ExperimentFolder::check_writable(&state.join("runs")).map_err(|error| error.to_string())
        }
    };
    tried.map_err(|why| {
        format!("the run is not recorded: {why} (name a folder with --runs=DIR or {RUNS_VARIABLE})")
    })
}

/// Whether the standard error gets remarks that a program's original does not make: if a person
/// reads it, or has named a folder for runs (`is_named`). Logs of `2>&1` stay as other programs
/// expect them.
pub fn is_remarked(is_named: bool) -> bool {
    is_named || io::stderr().is_terminal()
}

pub enum RunsFolder {
    Kept(PathBuf),
    /// Removed with this value.
    Temporary(TempDir),
}

impl RunsFolder {
    /// `runs`: the value of `--runs`; `None` keeps nothing.
    ///
    /// # Errors
    ///
    /// No temporary folder can be made.
    pub fn choose(runs: Option<&Path>) -> io::Result<Self> {
        runs.map_or_else(|| tempdir().map(Self::Temporary), |runs| Ok(Self::Kept(runs.to_owned())))
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_to_the_named_folder_or_to_the_users_state() {
        let check = |variables: &[(&str, &str)], expect: &str| {
            let environment = |name: &str| {
                variables
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| OsString::from(*value))
            };
            assert_eq!(default_runs(&environment), Path::new(expect), "{variables:?}");
        };
        let home = ("HOME", "/home/u");
        check(&[home, ("XDG_STATE_HOME", "/s"), (RUNS_VARIABLE, "r")], "r");
        check(&[home, ("XDG_STATE_HOME", "/s"), (RUNS_VARIABLE, "")], "/s/truetps/runs");
        check(&[home, ("XDG_STATE_HOME", "s")], "/home/u/.local/state/truetps/runs");
        check(&[], "runs");
    }
}
