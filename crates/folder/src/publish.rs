//! How a new experiment gets its name, and becomes the newest one.

use std::fs;
use std::io;
use std::path::Path;

use truetps_files::sync_folder;
use truetps_plan::Plan;
use truetps_record::Experiment;

use crate::error::FolderError;
use crate::file_names::LATEST;
use crate::folder::ExperimentFolder;
use crate::run_file::create_unused;

impl ExperimentFolder {
    /// Names it as the newest of `runs`. It is an experiment without that name, too: others may
    /// write in `runs`.
    pub(crate) fn publish(&mut self, runs: &Path) -> Result<(), FolderError> {
        let link = runs.join(LATEST);
        let linked = self.link_latest(runs, &link);
        self.not_latest =
            linked.err().map(|error| format!("{}: not set to this run: {error}", link.display()));
        sync_folder(runs).map_err(FolderError::io(runs))
    }

    /// The link is made beside its place and renamed into it, so that two experiments at once
    /// cannot break it.
    fn link_latest(&self, runs: &Path, link: &Path) -> io::Result<()> {
        let name = self.path.file_name().expect("an experiment's folder has a name");
        let beside = runs.join(format!(".{LATEST}.{}", std::process::id()));
        let _ = fs::remove_file(&beside);
        let made =
            std::os::unix::fs::symlink(name, &beside).and_then(|()| fs::rename(&beside, link));
        // The first error is the one to report.
        made.inspect_err(|_| drop(fs::remove_file(&beside)))
    }

    /// A warning, where a new experiment is not the one that `latest` names.
    pub fn not_latest(&self) -> Option<&str> {
        self.not_latest.as_deref()
    }
}

/// An experiment that is there as a whole or not at all: it is made under a hidden name beside its
/// place, and removed if it is dropped before it is published.
pub(crate) struct HiddenExperiment<'a> {
    runs: &'a Path,
    name: &'a str,
    folder: ExperimentFolder,
}

impl<'a> HiddenExperiment<'a> {
    pub(crate) fn create(
        runs: &'a Path,
        name: &'a str,
        plan: &Plan,
        experiment: &Experiment,
    ) -> Result<Self, FolderError> {
        fs::create_dir_all(runs).map_err(FolderError::io(runs))?;
        let hidden = Self {
            runs,
            name,
            folder: ExperimentFolder::at(create_unused(runs, &format!(".{name}"))?),
        };
        hidden.folder.write_plan(plan)?;
        hidden.folder.write_experiment(experiment)?;
        Ok(hidden)
    }

    pub(crate) fn folder(&self) -> &ExperimentFolder {
        &self.folder
    }

    /// Moves it to its place, `runs/<name>` or `runs/<name>-2`, …
    pub(crate) fn publish(self) -> Result<ExperimentFolder, FolderError> {
        let mut folder = ExperimentFolder::at(create_unused(self.runs, self.name)?);
        // Over the empty folder, which holds the name.
        let published = fs::rename(&self.folder.path, &folder.path)
            .map_err(FolderError::io(&folder.path))
            .and_then(|()| folder.publish(self.runs));
        if published.is_err() {
            // The error matters more than what cannot be removed.
            let _ = fs::remove_dir_all(&folder.path);
        }
        published.map(|()| folder)
    }
}

impl Drop for HiddenExperiment<'_> {
    fn drop(&mut self) {
        // It is not there where it was published. Else the error that led here matters more.
        let _ = fs::remove_dir_all(&self.folder.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any user can make folders in a `--runs` that is open to all.
    #[test]
    fn folders_in_the_way_do_not_end_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path();
        fs::create_dir_all(runs.join("latest/taken")).unwrap();
        fs::create_dir(runs.join(format!(".writable.{}", std::process::id()))).unwrap();
        ExperimentFolder::check_writable(runs).unwrap();
        let mut folder = ExperimentFolder::at(create_unused(runs, "new").unwrap());
        folder.publish(runs).unwrap();
        let warning = folder.not_latest().unwrap();
        assert!(warning.contains("latest: not set to this run: Is a directory"), "{warning}");
        let mut names: Vec<_> =
            fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names[1..], ["latest", "new"], "no temporary name is left: {names:?}");
        fs::remove_dir_all(runs.join("latest")).unwrap();
        folder.publish(runs).unwrap();
        assert_eq!(
            (folder.not_latest(), fs::read_link(runs.join("latest")).unwrap()),
            (None, "new".into())
        );
    }
}
