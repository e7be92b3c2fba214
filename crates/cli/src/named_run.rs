//! Runs that a user names: an experiment, or one trial of it.

use std::path::{Path, PathBuf};

use truetps_archive::{Histograms, Run};
use truetps_folder::{ExperimentFolder, FolderError, LATEST};
use truetps_recording::state_runs;

use crate::answer::{EDITED, shown};
use crate::failure::CommandFailure;

/// The folder that a user has named; `latest` and `None`: the newest experiment. Without `--runs` it is looked for where
/// truetps records: in `runs`, and in the state folder of the programs that may be started anywhere.
pub(crate) fn folder_named(named: Option<&Path>, runs: Option<&Path>) -> PathBuf {
    let is_there = |path: &&Path| *path != Path::new(LATEST) || path.exists();
    match (named.filter(is_there), runs) {
        (Some(path), _) => newest_in(path),
        (None, Some(runs)) => runs.join(LATEST),
        (None, None) => newest(&[PathBuf::from("runs"), state_runs(&|name| std::env::var_os(name))]),
    }
}

/// A folder of experiments, such as the one of `--runs`, stands for the newest of them.
fn newest_in(path: &Path) -> PathBuf {
    let latest = path.join(LATEST);
    let is_experiment = ExperimentFolder::find(path).is_ok();
    if !is_experiment && latest.is_dir() { latest } else { path.to_owned() }
}

/// The newest experiment of these folders; of none, the place where the first one would have it.
fn newest(folders: &[PathBuf]) -> PathBuf {
    let links = folders.iter().map(|folder| folder.join(LATEST));
    // Each new experiment makes the link anew.
    let made = |link: &PathBuf| link.symlink_metadata().and_then(|link| link.modified()).ok();
    let newest = links.clone().filter(|link| link.exists()).max_by_key(made);
    newest.or_else(|| links.into_iter().next()).expect("there is a folder")
}

/// Reads what a user has named, without its histograms; `None`: the newest experiment.
pub(crate) fn open_named(named: Option<&Path>, runs: Option<&Path>) -> Result<Run, CommandFailure> {
    let path = folder_named(named, runs);
    Run::open(&path, Histograms::LeftOut).map_err(|error: FolderError| {
        let is_folder_wrong = error.path() == path;
        let hint =
            if is_folder_wrong { "name the folder of an experiment, or one trial's folder in it" } else { EDITED };
        CommandFailure::usage(&error).hint_or(error.hint(), hint)
    })
}

/// As a user would write it.
pub(crate) fn name_of(run: &Run) -> String {
    let path = run.named_trial.as_ref().map_or_else(|| run.path.clone(), |name| run.path.join(name));
    shown(&path).display().to_string()
}
