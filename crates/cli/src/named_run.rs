//! Runs that a user names: an experiment, or one trial of it.

use std::path::Path;

use truetps_archive::{Histograms, Run};
use truetps_folder::{ExperimentFolder, FolderError, LATEST};

use crate::answer::{EDITED, shown};
use crate::failure::CommandFailure;

/// Reads what a user has named, without its histograms; `None`: the newest experiment below `runs`.
pub(crate) fn open_named(named: Option<&Path>, runs: &Path) -> Result<Run, CommandFailure> {
    let path = named.map_or_else(|| runs.join(LATEST), Path::to_owned);
    let failure =
        |hint: &'static str| move |error: FolderError| CommandFailure::usage(&error).hint_or(error.hint(), hint);
    let found = ExperimentFolder::find(&path);
    let (folder, trial) = found.map_err(failure("name the folder of an experiment, or one trial's folder in it"))?;
    Run::read(&folder, trial, Histograms::LeftOut).map_err(failure(EDITED))
}

/// As a user would write it.
pub(crate) fn name_of(run: &Run) -> String {
    let path = run.named_trial.as_ref().map_or_else(|| run.path.clone(), |name| run.path.join(name));
    shown(&path).display().to_string()
}
