//! A folder of whatever truetps has recorded: its kind is found once, here.

use std::path::{Path, PathBuf};

use truetps_analysis::{CrashAnalysis, TopWaits, top_waits};
use truetps_folder::{CrashFolder, ExperimentFolder, FolderError, ProbeFolder};
use truetps_record::{CrashRecord, CrashRun, Experiment, ProbeSummary, Trial, Verification};

use crate::{ExplainedRun, Histograms, PoolRun, Run};

/// What a folder records.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyRun {
    /// An experiment whose answer is its trials.
    Trials(Box<Run>),
    Explained(Box<ExplainedRun>),
    Pool(Box<PoolRun>),
    Verified(Box<VerifiedRun>),
    Crashed(Box<CrashedRun>),
    Probe(Box<RecordedProbe>),
}

impl AnyRun {
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        if let Some(folder) = ProbeFolder::open(path) {
            return RecordedProbe::read(&folder).map(Box::new).map(Self::Probe);
        }
        if let Some(folder) = CrashFolder::open(path) {
            return CrashedRun::read(&folder).map(Box::new).map(Self::Crashed);
        }
        // The folder of one trial is not a run.
        ExperimentFolder::open(path)?;
        if let Some(run) = VerifiedRun::open(path)? {
            return Ok(Self::Verified(Box::new(run)));
        }
        if let Some(run) = ExplainedRun::open(path)? {
            return Ok(Self::Explained(Box::new(run)));
        }
        if let Some(run) = PoolRun::open(path)? {
            return Ok(Self::Pool(Box::new(run)));
        }
        Run::open(path, Histograms::Read).map(Box::new).map(Self::Trials)
    }
}

/// A load whose rows were compared with the table.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedRun {
    pub path: PathBuf,
    pub experiment: Experiment,
    pub verification: Verification,
    /// The load. `None`: it has not begun.
    pub trial: Option<Trial>,
}

impl VerifiedRun {
    /// `None`: the folder is of another kind of experiment.
    pub fn open(path: &Path) -> Result<Option<Self>, FolderError> {
        let (folder, _) = ExperimentFolder::find(path)?;
        let Some(verification) = folder.verification()? else { return Ok(None) };
        let experiment = folder.experiment()?;
        let name = experiment.schedule.first().map_or("", |scheduled| scheduled.name.as_str());
        let trial = folder.trial(name)?;
        Ok(Some(Self { path: folder.path().to_owned(), experiment, verification, trial }))
    }
}

/// Crashes of servers, and what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct CrashedRun {
    pub path: PathBuf,
    pub run: CrashRun,
    pub crashes: Vec<CrashRecord>,
    pub analysis: CrashAnalysis,
}

impl CrashedRun {
    pub fn read(folder: &CrashFolder) -> Result<Self, FolderError> {
        let (run, crashes) = (folder.run()?, folder.crashes()?);
        let analysis = CrashAnalysis::of(&crashes, &run);
        Ok(Self { path: folder.path().to_owned(), run, crashes, analysis })
    }
}

/// A server that was watched, without a load of truetps.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedProbe {
    pub path: PathBuf,
    pub summary: ProbeSummary,
    /// The longest waits. `None`: the server reports none.
    pub waits: Option<TopWaits>,
}

impl RecordedProbe {
    pub fn read(folder: &ProbeFolder) -> Result<Self, FolderError> {
        let summary = folder.summary()?;
        let waits = top_waits(&folder.series()?);
        Ok(Self { path: folder.path().to_owned(), summary, waits })
    }
}
