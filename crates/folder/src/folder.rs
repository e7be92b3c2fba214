//! The run folder: where an experiment and its trials are kept, how they are written so that
//! nothing measured is lost, and how they are read again.
//!
//! ```text
//! runs/<experiment>/           plan.toml  experiment.json  report.html  explanation.json  pool.json  verification.json
//! runs/<experiment>/<trial>/   run.json  intervals.jsonl  latency.hdr  probe.jsonl  sysbench.json  script.json
//!                              server/{my.cnf, variables.json, error.log}
//!                              answers/worker-<n>.log
//! runs/latest                  link to the newest
//! ```
//!
//! JSON files are written beside their place and renamed into it; line files are only appended to,
//! one line a write.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use truetps_files::{open_no_link, sync_folder};
use truetps_plan::{Plan, TRIALS_MAX};
use truetps_record::{
    Experiment, Explanation, Interval, PoolRecord, ProbeSeries, ScriptRecord, Trial, TrialRole,
    Verification,
};

use crate::answer_log::AnswerLogFolder;
use crate::error::FolderError;
use crate::file_names::{
    EXPLANATION, INTERVALS, LATENCY, POOL, PROBE, RUN, SCRIPT, SYSBENCH, TRIAL_FILES, VERIFICATION,
};
use crate::latency_log::LatencyLog;
use crate::line_reader::LineReader;
use crate::run_file::{
    LINES_MAX, TEXT_MAX, below, create_unused, if_there, read_bytes, read_if_there, read_json,
    read_json_if_there, write_file, write_json,
};
use crate::series_text::{next_interval, probe_series};
use crate::trial_writer::TrialWriter;

/// Earlier attempts of one trial that are kept.
const ATTEMPTS_MAX: u32 = 1000;

/// Whether a folder that has just been made takes a short run; removes it.
fn try_room(made: &Path) -> io::Result<()> {
    const SHORT_RUN_BYTES: usize = 512 << 10;
    let file = made.join("room");
    let written = fs::write(&file, vec![0; SHORT_RUN_BYTES]);
    // It is not there if no file could be made.
    let _ = fs::remove_file(&file);
    fs::remove_dir(made)?;
    written
}

/// One experiment on disk.
#[derive(Debug, Clone)]
pub struct ExperimentFolder {
    pub(crate) path: PathBuf,
    /// Why `latest` does not lead to it, although it was made now.
    pub(crate) not_latest: Option<String>,
}

impl ExperimentFolder {
    /// Makes sure that experiments can be recorded below `runs`, before anything is started for
    /// one: also on a disk that is full, where folders and empty files can still be made.
    pub fn check_writable(runs: &Path) -> Result<(), FolderError> {
        fs::create_dir_all(runs).map_err(FolderError::io(runs))?;
        let probe = runs.join(format!(".writable.{}", std::process::id()));
        // Of an earlier process with this number.
        let _ = fs::remove_file(&probe);
        // Others may have made a folder of this name, where they may write, too.
        let made = create_unused(runs, &format!(".writable.{}", std::process::id()));
        made.and_then(|made| try_room(&made).map_err(FolderError::io(&made))).map_err(|error| {
            match error {
                FolderError::Io { source, .. } => FolderError::Io { path: runs.to_owned(), source },
                other => other,
            }
        })
    }

    /// Makes `runs/<name>`, or `runs/<name>-2`, … where that exists, and writes the plan and the
    /// schedule into it.
    pub fn create(
        runs: &Path,
        name: &str,
        plan: &Plan,
        experiment: &Experiment,
    ) -> Result<Self, FolderError> {
        fs::create_dir_all(runs).map_err(FolderError::io(runs))?;
        let mut folder = Self::at(create_unused(runs, name)?);
        folder.write_plan(plan)?;
        folder.write_experiment(experiment)?;
        folder.publish(runs)?;
        Ok(folder)
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, not_latest: None }
    }

    /// An experiment made earlier.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let path = path.canonicalize().map_err(FolderError::io(path))?;
        if !path.join("experiment.json").is_file() {
            if path.join(RUN).is_file() {
                return Err(FolderError::content(
                    &path,
                    "is the folder of one trial: the experiment is the one above it",
                ));
            }
            return Err(FolderError::NoRunFolder { path });
        }
        Ok(Self::at(path))
    }

    /// The experiment that is named, or the experiment of the one trial that is named, with that
    /// trial's name.
    pub fn find(path: &Path) -> Result<(Self, Option<String>), FolderError> {
        let path = path.canonicalize().map_err(FolderError::io(path))?;
        let is_trial = !path.join("experiment.json").is_file() && path.join(RUN).is_file();
        match (path.parent(), path.file_name()) {
            (Some(of), Some(name)) if is_trial => {
                Ok((Self::open(of)?, Some(name.to_string_lossy().into_owned())))
            }
            _ => Ok((Self::open(&path)?, None)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the trial of this name.
    pub(crate) fn trial_path(&self, trial: &str) -> Result<PathBuf, FolderError> {
        below(&self.path, trial)
    }

    /// Takes the experiment for as long as the lock lives: two processes would write into each
    /// other's trials. The system releases the lock however the process ends.
    pub fn lock(&self) -> Result<FolderLock, FolderError> {
        let path = self.path.join("lock");
        let file = open_no_link(File::options().write(true).create(true).truncate(false), &path)
            .map_err(FolderError::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse { path: self.path.clone() }),
            Err(TryLockError::Error(source)) => Err(FolderError::Io { path, source }),
        }
    }

    pub fn plan(&self) -> Result<Plan, FolderError> {
        let path = self.path.join("plan.toml");
        let bytes = read_bytes(&self.path, &path, TEXT_MAX)?;
        let text =
            std::str::from_utf8(&bytes).map_err(|error| FolderError::content(&path, error))?;
        Plan::parse(text).map_err(|error| FolderError::content(&path, error))
    }

    pub fn write_plan(&self, plan: &Plan) -> Result<(), FolderError> {
        write_file(&self.path.join("plan.toml"), plan.to_toml().as_bytes())
    }

    pub fn experiment(&self) -> Result<Experiment, FolderError> {
        let path = self.path.join("experiment.json");
        let mut experiment: Experiment = read_json(&self.path, &path)?;
        experiment.upgrade();
        experiment.check().map_err(|problem| FolderError::content(&path, problem))?;
        Ok(experiment)
    }

    /// The experiment with a schedule that the plan can have. A record has as many repetitions as
    /// its program was asked for.
    pub fn experiment_of(&self, plan: &Plan) -> Result<Experiment, FolderError> {
        let experiment = self.experiment()?;
        let twins =
            experiment.schedule.iter().filter(|trial| trial.role == TrialRole::AaTwin).count();
        let trials = twins.max(experiment.schedule.len() - twins);
        if plan.recorded_from.is_none() && trials > TRIALS_MAX {
            let problem = format!(
                "schedule has {trials} trials: more than {TRIALS_MAX}, the limit of a plan"
            );
            return Err(FolderError::content(&self.path.join("experiment.json"), problem));
        }
        Ok(experiment)
    }

    /// `None`: the experiment explains no difference.
    pub fn explanation(&self) -> Result<Option<Explanation>, FolderError> {
        self.read_checked(EXPLANATION, Explanation::check)
    }

    fn read_checked<T: DeserializeOwned>(
        &self,
        name: &str,
        check: fn(&T) -> Result<(), String>,
    ) -> Result<Option<T>, FolderError> {
        let path = self.path.join(name);
        let read: Option<T> = read_json_if_there(&self.path, &path)?;
        read.as_ref()
            .map_or(Ok(()), check)
            .map_err(|problem| FolderError::content(&path, problem))?;
        Ok(read)
    }

    pub fn write_explanation(&self, explanation: &Explanation) -> Result<(), FolderError> {
        write_json(&self.path.join(EXPLANATION), explanation)
    }

    /// `None`: the experiment searches no pool.
    pub fn pool(&self) -> Result<Option<PoolRecord>, FolderError> {
        self.read_checked(POOL, PoolRecord::check)
    }

    pub fn write_pool(&self, pool: &PoolRecord) -> Result<(), FolderError> {
        write_json(&self.path.join(POOL), pool)
    }

    /// `None`: the experiment verifies no rows.
    pub fn verification(&self) -> Result<Option<Verification>, FolderError> {
        self.read_checked(VERIFICATION, Verification::check)
    }

    pub fn write_verification(&self, verification: &Verification) -> Result<(), FolderError> {
        write_json(&self.path.join(VERIFICATION), verification)
    }

    /// The answers of a trial's rows.
    pub fn answers(&self, trial: &str) -> Result<AnswerLogFolder, FolderError> {
        Ok(AnswerLogFolder::of_trial(&self.trial_path(trial)?))
    }

    pub fn write_experiment(&self, experiment: &Experiment) -> Result<(), FolderError> {
        write_json(&self.path.join("experiment.json"), experiment)
    }

    /// The trial of this name; `None` where it has not begun.
    pub fn trial(&self, name: &str) -> Result<Option<Trial>, FolderError> {
        let path = self.trial_path(name)?.join(RUN);
        if let Some(trial) = read_json_if_there::<Trial>(&self.path, &path)? {
            trial.check(name).map_err(|problem| FolderError::content(&path, problem))?;
            return Ok(Some(trial));
        }
        if path.with_file_name(INTERVALS).exists() {
            return Err(FolderError::content(
                &path,
                "is missing, although other files of the trial exist",
            ));
        }
        Ok(None)
    }

    /// Attempts of a trial that were repeated, oldest first.
    pub fn attempts(&self, name: &str) -> Result<Vec<Trial>, FolderError> {
        let names = (1..=ATTEMPTS_MAX).map(|n| attempt_name(name, n));
        names.map_while(|name| self.trial(&name).transpose()).collect()
    }

    /// Files of a trial that are there, as paths below its folder. A link is refused where it is
    /// read.
    pub fn trial_files(&self, trial: &str) -> Vec<&'static str> {
        let Ok(folder) = self.trial_path(trial) else { return Vec::new() };
        let mut files = TRIAL_FILES.to_vec();
        files.retain(|name| {
            let found = folder.join(name).symlink_metadata();
            found.is_ok_and(|found| found.is_file() || found.is_symlink())
        });
        files
    }

    /// The server's variables at the end of a trial; `None` where they were not recorded.
    pub fn variables(&self, trial: &str) -> Result<Option<BTreeMap<String, String>>, FolderError> {
        let path = self.trial_path(trial)?.join("server/variables.json");
        let Some(text) = read_if_there(&self.path, &path, TEXT_MAX)? else { return Ok(None) };
        serde_json::from_slice(&text).map(Some).map_err(|error| FolderError::content(&path, error))
    }

    /// What a script's run executed and sent; `None` of any other run, and where an older version
    /// recorded it.
    pub fn script(&self, trial: &str) -> Result<Option<ScriptRecord>, FolderError> {
        let path = self.trial_path(trial)?.join(SCRIPT);
        let Some(record) = read_json_if_there::<ScriptRecord>(&self.path, &path)? else {
            return Ok(None);
        };
        record.check().map_err(|problem| FolderError::content(&path, problem))?;
        Ok(Some(record))
    }

    /// Options of a script's run by name, without secrets; `None` of any other run.
    pub fn script_options(
        &self,
        trial: &str,
    ) -> Result<Option<BTreeMap<String, Value>>, FolderError> {
        let path = self.trial_path(trial)?.join(SYSBENCH);
        let Some(mut document) = read_json_if_there::<Value>(&self.path, &path)? else {
            return Ok(None);
        };
        let options = document.get_mut("options").map(Value::take);
        Ok(options.and_then(|options| serde_json::from_value(options).ok()))
    }

    /// The probe's series of a trial; `None` if the probe was off.
    pub fn probe(&self, trial: &str) -> Result<Option<ProbeSeries>, FolderError> {
        let path = self.trial_path(trial)?.join(PROBE);
        let Some(bytes) = read_if_there(&self.path, &path, LINES_MAX)? else { return Ok(None) };
        // A kill may cut off a line in the middle of a letter, and the first line as well as any
        // other.
        let text = String::from_utf8_lossy(&bytes);
        if !text.contains('\n') {
            return Ok(None);
        }
        probe_series(&path, &text).map(Some)
    }

    /// Intervals of a trial. A last line that was cut off by a kill is left out.
    pub fn intervals(&self, trial: &str) -> Result<Vec<Interval>, FolderError> {
        let mut lines = self.interval_lines(trial)?;
        std::iter::from_fn(|| next_interval(&mut lines).transpose()).collect()
    }

    /// The lines of a trial's intervals, for [`next_interval`].
    pub(crate) fn interval_lines(&self, trial: &str) -> Result<LineReader, FolderError> {
        LineReader::open(self.path.clone(), self.trial_path(trial)?.join(INTERVALS))
    }

    /// The lines of a trial's `latency.hdr`; `None` where it has none.
    pub(crate) fn latency_lines(&self, trial: &str) -> Result<Option<LineReader>, FolderError> {
        if_there(LineReader::open(self.path.clone(), self.trial_path(trial)?.join(LATENCY)))
    }

    /// Histograms of a trial's intervals; `None` where it has none.
    pub fn latency(&self, trial: &str) -> Result<Option<LatencyLog>, FolderError> {
        let path = self.trial_path(trial)?.join(LATENCY);
        Ok(read_if_there(&self.path, &path, LINES_MAX)?.map(LatencyLog::new))
    }

    /// Begins a trial: its folder, `run.json` and the two series. An earlier attempt of the same
    /// name is kept as `<name>.attempt-<n>`.
    pub fn begin_trial(&self, trial: &Trial) -> Result<TrialWriter, FolderError> {
        let path = self.trial_path(&trial.name)?;
        self.set_aside(&path, &trial.name)?;
        fs::create_dir(&path).map_err(FolderError::io(&path))?;
        fs::create_dir(path.join("server")).map_err(FolderError::io(&path))?;
        write_json(&path.join(RUN), trial)?;
        sync_folder(&self.path).map_err(FolderError::io(&self.path))?;
        TrialWriter::new(path)
    }

    /// Has the latest attempt that was kept count again, and keeps the present one in its place.
    pub fn restore_attempt(&self, name: &str) -> Result<(), FolderError> {
        let path = self.trial_path(name)?;
        let attempts = (1..=ATTEMPTS_MAX).map(|n| self.path.join(attempt_name(name, n)));
        let Some(latest) = attempts.take_while(|kept| kept.exists()).last() else { return Ok(()) };
        let unused = self.set_aside(&path, name)?;
        fs::rename(&latest, &path).map_err(FolderError::io(&latest))?;
        if let Some(unused) = unused {
            fs::rename(&unused, &latest).map_err(FolderError::io(&unused))?;
        }
        sync_folder(&self.path).map_err(FolderError::io(&self.path))
    }

    /// Where it is now; `None` where there was nothing.
    fn set_aside(&self, path: &Path, name: &str) -> Result<Option<PathBuf>, FolderError> {
        if !path.exists() {
            return Ok(None);
        }
        let attempts = (1..=ATTEMPTS_MAX).map(|n| self.path.join(attempt_name(name, n)));
        let unused = attempts.into_iter().find(|kept| !kept.exists());
        let unused = unused
            .ok_or_else(|| FolderError::content(path, "too many earlier attempts are kept"))?;
        fs::rename(path, &unused).map_err(FolderError::io(path))?;
        Ok(Some(unused))
    }
}

fn attempt_name(trial: &str, n: u32) -> String {
    format!("{trial}.attempt-{n}")
}

/// Held by the process that measures an experiment.
pub struct FolderLock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use super::*;
    use truetps_record::{Counts, Phase, new_histogram};

    /// What is there is set aside: with a name that leads elsewhere, that was any folder of the
    /// host.
    #[test]
    fn a_name_of_a_trial_leads_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        fs::create_dir(&precious).unwrap();
        let runs = dir.path().join("runs");
        fs::create_dir(&runs).unwrap();
        let text = include_str!("../../report/testdata/before-probe/trial-0001/run.json");
        let trial: Trial = serde_json::from_str(text).unwrap();
        let folder = ExperimentFolder::at(runs.clone());
        for name in [precious.to_str().unwrap(), "../precious", "..", ".", "", "new/trial"] {
            let begun = folder.begin_trial(&Trial { name: name.to_owned(), ..trial.clone() });
            let problem = begun.map(drop).unwrap_err().to_string();
            assert!(problem.contains("cannot be the name of a folder"), "{name}: {problem}");
            assert!(
                folder.trial(name).is_err()
                    && folder.answers(name).is_err()
                    && folder.trial_files(name).is_empty()
            );
            assert!(create_unused(&runs, name).is_err());
        }
        assert!(precious.is_dir() && fs::read_dir(&runs).unwrap().next().is_none());
        drop(folder.begin_trial(&trial).unwrap());
    }

    #[test]
    fn an_earlier_attempt_counts_again() {
        let dir = tempfile::tempdir().unwrap();
        let text = include_str!("../../report/testdata/before-probe/trial-0001/run.json");
        let trial: Trial = serde_json::from_str(text).unwrap();
        let folder = ExperimentFolder::at(dir.path().to_owned());
        let begin = |note: &str| {
            let trial = Trial { notes: vec![note.to_owned()], ..trial.clone() };
            drop(folder.begin_trial(&trial).unwrap());
        };
        let notes = || folder.trial(&trial.name).unwrap().unwrap().notes;
        begin("oldest");
        folder.restore_attempt(&trial.name).unwrap();
        assert_eq!(notes(), ["oldest"], "there is no other");
        begin("disturbed");
        begin("interrupted");
        folder.restore_attempt(&trial.name).unwrap();
        assert_eq!(notes(), ["disturbed"]);
        let kept = folder.attempts(&trial.name).unwrap();
        assert_eq!(
            kept.into_iter().flat_map(|one| one.notes).collect::<Vec<_>>(),
            ["oldest", "interrupted"]
        );
    }

    /// They become lengths of buffers and numbers of bits.
    #[test]
    fn numbers_of_other_records_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ExperimentFolder::at(dir.path().to_owned());
        let verification = |payload_bytes: u32| {
            let load = format!(
                r#"{{"clients": 2, "length_s": 1.0, "payload_bytes": {payload_bytes}, "retries": 0, "answer_timeout_s": 1.0}}"#
            );
            let table = r#"{"server": "", "table": "t", "key": [], "payload": "payload"}"#;
            let text = format!(
                r#"{{"schema_version": 1, "tool_version": "1", "created_at": "", "seed": 1, "load": {load},
                "table": {table}, "is_private": false}}"#
            );
            fs::write(dir.path().join(VERIFICATION), text).unwrap();
            folder.verification().map_err(|error| error.to_string())
        };
        assert_eq!(verification(100).unwrap().unwrap().load.payload_bytes, 100);
        let problem = verification(u32::MAX).unwrap_err();
        assert!(
            problem.ends_with("load.payload_bytes is 4294967295: more than 1048576, the limit"),
            "{problem}"
        );
        let side = r#"{"name": "A", "configuration": {}, "server": null}"#;

        let text = format!(
            r#"{{"schema_version": 1, "seed": 1, "smallest_percent": 1.0,
            "a": {side}, "b": {side}, "factors": [],
            "suspects": [200], "left_out": [], "mixtures": []}}"#
        );
        fs::write(dir.path().join(EXPLANATION), &text).unwrap();
        let problem = folder.explanation().unwrap_err().to_string();
        assert!(
            problem.ends_with("suspects has 200, and there are 0 factors, from 0"),
            "{problem}"
        );
        // A report divides by it, and makes so many connections.
        let text = text.replace("[200]", "[]");
        let side_of = |connections: &str| {
            let with = format!("\"configuration\": {{\"connections\": {connections}}}");
            let text = text.replace("\"configuration\": {}", &with);
            fs::write(dir.path().join(EXPLANATION), text).unwrap();
            folder.explanation().map_err(|error| error.to_string())
        };
        assert!(side_of("8").is_ok());
        for wrong in ["0", "-1", "\"x\"", "1e308"] {
            let problem = side_of(wrong).unwrap_err();
            assert!(problem.contains("a.configuration.connections is "), "{wrong}: {problem}");
        }
    }

    /// A user with write access to the runs folder may place a link or a pipe where truetps creates
    /// a file.
    #[test]
    fn locks_and_probes_of_a_folder_touch_no_file_behind_a_link() {
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        fs::write(&precious, "whole").unwrap();
        let runs = dir.path().join("runs");
        fs::create_dir(&runs).unwrap();
        let probe = runs.join(format!(".writable.{}", std::process::id()));
        symlink(&precious, &probe).unwrap();
        ExperimentFolder::check_writable(&runs).unwrap();
        assert!(!probe.is_symlink());

        let folder = ExperimentFolder::at(runs.clone());
        let lock = runs.join("lock");
        symlink(&precious, &lock).unwrap();
        assert!(folder.lock().is_err());
        assert_eq!(fs::read(&precious).unwrap(), b"whole");
        fs::remove_file(&lock).unwrap();
        // A hard link is the other file itself: nothing of it is cut off.
        fs::hard_link(&precious, &lock).unwrap();
        drop(folder.lock().unwrap());
        assert_eq!(fs::read(&precious).unwrap(), b"whole");
        fs::remove_file(&lock).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &lock,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(folder.lock().is_err(), "opening a pipe without a reader does not wait");
    }

    #[test]
    fn intervals_of_a_killed_run_are_readable_to_the_last_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let trial = dir.path().join("trial-0001");
        fs::create_dir(&trial).unwrap();
        let mut writer = TrialWriter::new(trial.clone()).unwrap();
        let counts = Counts { started: 3, ok: 3, statements: 3, ..Counts::default() };
        let interval = Interval::of_counts(Phase::Measure, 0.0, 1000.0, counts);
        writer.append(&interval, &new_histogram()).unwrap();
        writer.append(&interval, &new_histogram()).unwrap();
        let path = trial.join("intervals.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let folder = ExperimentFolder::at(dir.path().to_owned());
        assert_eq!(folder.intervals("trial-0001").unwrap(), [interval]);
    }
}
