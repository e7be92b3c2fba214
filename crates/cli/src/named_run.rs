//! Runs that a user names: an experiment, or one trial of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use truetps_archive::{Histograms, Run};
use truetps_folder::{ExperimentFolder, FolderError, LATEST};
use truetps_recording::state_runs;

use crate::answer::EDITED;
use crate::failure::CommandFailure;
use crate::terminal::shown;

/// The folder that a user has named; `latest` and `None`: the newest experiment. Without `--runs`
/// it is looked for where truetps records: in `runs`, and in the state folder of the programs that
/// may be started anywhere.
pub(crate) fn folder_named(named: Option<&Path>, runs: Option<&Path>) -> PathBuf {
    let named = named.filter(|path| *path != Path::new(LATEST) || path.exists());
    match (named, runs) {
        (Some(path), _) => meant_folder(path, runs),
        (None, Some(runs)) => runs.join(LATEST),
        (None, None) => newest(&recorded_in()),
    }
}

/// The folder of a run that a user means: by the name alone, or by a file in it. As it was typed
/// where there is neither.
pub(crate) fn meant_folder(typed: &Path, runs: Option<&Path>) -> PathBuf {
    if typed.is_file() && typed.file_name().is_some_and(is_file_of_run) {
        let parent = typed.parent().filter(|parent| !parent.as_os_str().is_empty());
        return parent.unwrap_or(Path::new(".")).to_owned();
    }
    let is_name = typed.components().count() == 1 && typed.file_name().is_some();
    if typed.exists() || !is_name {
        return newest_in(typed);
    }
    let folders = runs.map_or_else(recorded_in, |runs| vec![runs.to_owned()]);
    folders
        .into_iter()
        .map(|folder| folder.join(typed))
        .find(|path| path.is_dir())
        .unwrap_or_else(|| typed.to_owned())
}

fn is_file_of_run(name: &OsStr) -> bool {
    name == "report.html" || Path::new(name).extension() == Some(OsStr::new("json"))
}

/// Where truetps records.
fn recorded_in() -> Vec<PathBuf> {
    vec![PathBuf::from("runs"), state_runs(&|name| std::env::var_os(name))]
}

/// A folder of experiments, such as the one of `--runs`, stands for the newest of them.
fn newest_in(path: &Path) -> PathBuf {
    let latest = path.join(LATEST);
    let is_experiment = ExperimentFolder::find(path).is_ok();
    if !is_experiment && latest.is_dir() { latest } else { path.to_owned() }
}

/// The newest experiment of these folders; where there is none, the path that the first folder
/// would have it at.
fn newest(folders: &[PathBuf]) -> PathBuf {
    let links = folders.iter().map(|folder| folder.join(LATEST));
    // Each new experiment makes the link anew.
    let newest = links
        .clone()
        .filter(|link| link.exists())
        .max_by_key(|link| link.symlink_metadata().and_then(|link| link.modified()).ok());
    newest.or_else(|| links.into_iter().next()).expect("there is a folder")
}

/// Reads what a user has named, without its histograms; `None`: the newest experiment.
pub(crate) fn open_named(named: Option<&Path>, runs: Option<&Path>) -> Result<Run, CommandFailure> {
    let path = folder_named(named, runs);
    Run::open(&path, Histograms::LeftOut).map_err(|error: FolderError| {
        let is_folder_wrong = error.path() == path;
        let hint = if is_folder_wrong {
            "name the folder of an experiment, or one trial's folder in it"
        } else {
            EDITED
        };
        CommandFailure::from(error).or_hint(hint)
    })
}

/// As a user would write it.
pub(crate) fn name_of(run: &Run) -> String {
    let path =
        run.named_trial.as_ref().map_or_else(|| run.path.clone(), |name| run.path.join(name));
    shown(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_its_name_or_by_a_file_in_it() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        let run = runs.join("insert-2026-01-01");
        std::fs::create_dir_all(&run).unwrap();
        for file in ["report.html", "experiment.json", "plan.toml"] {
            std::fs::write(run.join(file), "").unwrap();
        }
        let meant = |typed: &Path| meant_folder(typed, Some(&runs));
        assert_eq!(meant(Path::new("insert-2026-01-01")), run);
        assert_eq!(meant(&run.join("report.html")), run);
        assert_eq!(meant(&run.join("experiment.json")), run);
        assert_eq!(meant(&run), run);
        for typed in ["no-such-run", "../insert-2026-01-01", "..", "sub/insert-2026-01-01"] {
            assert_eq!(meant(Path::new(typed)), Path::new(typed));
        }
        assert_eq!(meant(&run.join("plan.toml")), run.join("plan.toml"), "a plan is not a run");
    }
}
