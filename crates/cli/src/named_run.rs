//! Runs that a user names: an experiment, or one trial of it.

use std::path::Path;

use truetps_archive::{Histograms, Run};
use truetps_folder::{FolderError, LATEST};

use crate::answer::{EDITED, shown};
use crate::failure::CommandFailure;

/// Reads what a user has named, without its histograms; `None`: the newest experiment below `runs`.
pub(crate) fn open_named(named: Option<&Path>, runs: &Path) -> Result<Run, CommandFailure> {
    let path = named.map_or_else(|| runs.join(LATEST), Path::to_owned);
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
