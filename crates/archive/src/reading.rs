//! Reading the files of a trial. Errors of one file leave the others.

use std::path::PathBuf;

use serde_json::Value;
use truetps_analysis::{LoadedTrial, RecordedScript, TrialDetail, TrialLatency, UnreadFile};
use truetps_folder::{ExperimentFolder, FolderError, KeptSeries, LatencyLog};

/// Whether histograms are needed: they are most of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Histograms {
    Read,
    LeftOut,
}

/// `None`: it has not begun.
type ReadTrial = Result<Option<LoadedTrial>, FolderError>;

/// All trials in their order. An hour has thousands of histograms: each core reads its part.
pub(crate) fn read_trials(
    folder: &ExperimentFolder,
    names: &[String],
    histograms: Histograms,
    is_script: bool,
) -> Vec<ReadTrial> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = names.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = names
            .chunks(part)
            .map(|names| {
                scope.spawn(move || {
                    let read =
                        names.iter().map(|name| read_trial(folder, name, histograms, is_script));
                    read.collect::<Vec<_>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().expect("reading a folder does not panic"))
            .collect()
    })
}

fn read_trial(
    folder: &ExperimentFolder,
    name: &str,
    histograms: Histograms,
    is_script: bool,
) -> ReadTrial {
    let Some(mut trial) = folder.trial(name)? else { return Ok(None) };
    trial.leave_out_work_of_other_parts();
    let mut reader = TrialReader { folder, name, unread: Vec::new() };
    let intervals = reader.readable(folder.intervals(name));
    let log = reader.readable(folder.latency(name));
    let probe = reader.readable(folder.probe(name));
    let variables = reader.readable(folder.variables(name)).flatten();
    let kept = KeptSeries {
        intervals: intervals.as_deref(),
        latency: log.as_ref().map(Option::as_ref),
        probe: probe.as_ref().map(Option::as_ref),
    };
    for problem in folder.damage(&trial, &kept) {
        reader.cannot_read(&problem);
    }
    let needed = log.flatten().filter(|_| histograms == Histograms::Read);
    let latency = needed.map(|log| reader.latency(&log));
    let script = is_script.then(|| reader.script());
    let mut loaded = LoadedTrial {
        intervals: intervals.unwrap_or_default(),
        latency,
        variables,
        script,
        files: folder.trial_files(name),
        unread: reader.unread,
        ..LoadedTrial::from(trial)
    }
    .with_probe(probe.flatten());
    loaded.detail = TrialDetail::of(&loaded);
    Ok(Some(loaded))
}

struct TrialReader<'a> {
    folder: &'a ExperimentFolder,
    name: &'a str,
    unread: Vec<UnreadFile>,
}

impl TrialReader<'_> {
    /// The readable part; an error is kept.
    fn readable<T>(&mut self, file: Result<T, FolderError>) -> Option<T> {
        file.map_err(|error| self.cannot_read(&error)).ok()
    }

    fn cannot_read(&mut self, error: &FolderError) {
        self.unread.push(unread(self.folder, error, false));
    }

    /// The readable histograms; of the others, the first is reported.
    fn latency(&mut self, log: &LatencyLog) -> TrialLatency {
        let mut first = None;
        let intervals = log
            .intervals()
            .filter_map(|interval| interval.map_err(|error| _ = first.get_or_insert(error)).ok());
        let latency = TrialLatency::of(intervals);
        let (path, name) = (self.trial_path().join("latency.hdr"), self.name);
        let problem = first.map(|error| UnreadFile {
            path,
            what: format!("{name}/{error}"),
            whole_trial: false,
        });
        self.unread.extend(problem);
        latency
    }

    fn script(&mut self) -> RecordedScript {
        let record = self.readable(self.folder.script(self.name)).flatten();
        let options =
            self.readable(self.folder.script_options(self.name)).flatten().unwrap_or_default();
        RecordedScript {
            record,
            options: options
                .into_iter()
                .filter_map(|(name, value)| Some((name, option_text(value)?)))
                .collect(),
        }
    }

    fn trial_path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }
}

fn option_text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

/// Equal files make equal reports wherever they are: paths are below the experiment's folder.
pub(crate) fn unread(
    folder: &ExperimentFolder,
    error: &FolderError,
    whole_trial: bool,
) -> UnreadFile {
    let what = error.to_string().replace(&format!("{}/", folder.path().display()), "");
    UnreadFile { path: error.path().to_owned(), what, whole_trial }
}
