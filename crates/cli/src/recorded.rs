//! Everything in an experiment's folder that an answer needs. What cannot be read is named, and the rest is shown.

use std::collections::BTreeMap;

use truetps_analysis::{Analysis, TrialDetail, TrialRecord, analyse, detail};
use truetps_record::{Experiment, ExperimentFolder, FolderError, LatencyLog, Plan, Trial};
use truetps_report::{ReportInput, TrialLatency, TrialSeries, Unread};

pub(crate) struct Recorded {
    plan: Plan,
    experiment: Experiment,
    trials: Vec<Trial>,
    details: Vec<TrialDetail>,
    pub(crate) series: Vec<TrialSeries>,
    variables: BTreeMap<String, BTreeMap<String, String>>,
    unread: Vec<Unread>,
}

/// One trial, with what could not be read of it.
#[derive(Default)]
pub(crate) struct ReadTrial {
    pub(crate) trial: Option<Trial>,
    pub(crate) series: TrialSeries,
    variables: Option<BTreeMap<String, String>>,
    /// `None` where the files that it is made from cannot be read.
    pub(crate) detail: Option<TrialDetail>,
    pub(crate) unread: Vec<Unread>,
}

impl Recorded {
    pub(crate) fn read(folder: &ExperimentFolder) -> Result<Self, FolderError> {
        let experiment = folder.experiment()?;
        let mut recorded = Self {
            plan: folder.plan()?,
            trials: Vec::new(),
            details: Vec::new(),
            series: Vec::new(),
            variables: BTreeMap::new(),
            unread: Vec::new(),
            experiment,
        };
        let names: Vec<_> = recorded.experiment.schedule.iter().map(|scheduled| scheduled.name.clone()).collect();
        for read in read_all(folder, &names, Histograms::Read) {
            recorded.unread.extend(read.unread);
            let Some(trial) = read.trial else { continue };
            if let Some(variables) = read.variables {
                recorded.variables.insert(trial.name.clone(), variables);
            }
            recorded.details.extend(read.detail);
            recorded.series.push(read.series);
            recorded.trials.push(trial);
        }
        Ok(recorded)
    }

    pub(crate) fn analyse(&self) -> Analysis {
        analyse(&self.plan, &self.experiment, &self.trials)
    }

    pub(crate) fn input<'a>(&'a self, analysis: &'a Analysis) -> ReportInput<'a> {
        ReportInput {
            plan: &self.plan,
            experiment: &self.experiment,
            analysis,
            trials: &self.trials,
            variables: &self.variables,
            details: &self.details,
            unread: &self.unread,
        }
    }

    /// A trial ran, and its figures cannot be read.
    pub(crate) fn lost_a_trial(&self) -> bool {
        self.unread.iter().any(|unread| unread.whole_trial)
    }
}

/// Whether histograms are needed: they are most of what there is to read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Histograms {
    Read,
    LeftOut,
}

/// All trials in their order. An hour has thousands of histograms: each core reads its part.
pub(crate) fn read_all(folder: &ExperimentFolder, names: &[String], histograms: Histograms) -> Vec<ReadTrial> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = names.len().div_ceil(threads).max(1);
    let read =
        |names: &[String]| names.iter().map(|name| ReadTrial::read(folder, name, histograms)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let parts: Vec<_> = names.chunks(part).map(|names| scope.spawn(move || read(names))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("reading a folder does not panic")).collect()
    })
}

impl ReadTrial {
    fn read(folder: &ExperimentFolder, name: &str, histograms: Histograms) -> Self {
        let mut read = Self::default();
        let trial = match folder.trial(name) {
            Ok(Some(trial)) => trial,
            Ok(None) => return read,
            Err(error) => {
                read.cannot(folder, &error, true);
                return read;
            }
        };
        let intervals = folder.intervals(name);
        let latency = match histograms {
            Histograms::Read => folder.latency(name).map(|log| log.map(|log| read.latency(name, &log))),
            Histograms::LeftOut => Ok(None),
        };
        let (probe, variables) = (folder.probe(name), folder.variables(name));
        let mut or_none = |problem: Option<&FolderError>| problem.map(|error| read.cannot(folder, error, false));
        or_none(intervals.as_ref().err());
        or_none(latency.as_ref().err());
        or_none(probe.as_ref().err());
        or_none(variables.as_ref().err());
        let (latency, variables) = (latency.ok().flatten(), variables.ok().flatten());
        // Of files that cannot be read no reason would be true but that one, which is told.
        if let (Ok(intervals), Ok(probe)) = (&intervals, &probe) {
            read.detail = Some(detail(&TrialRecord {
                trial: &trial,
                intervals,
                probe: probe.as_ref(),
                variables: variables.as_ref(),
            }));
        }
        let intervals = intervals.unwrap_or_default();
        read.variables = variables;
        read.series = TrialSeries { name: trial.name.clone(), intervals, latency, files: folder.trial_files(name) };
        read.trial = Some(trial);
        read
    }

    /// Histograms that can be read; of the others, the first is named.
    fn latency(&mut self, name: &str, log: &LatencyLog) -> TrialLatency {
        let mut first = None;
        let intervals =
            log.intervals().filter_map(|interval| interval.map_err(|error| _ = first.get_or_insert(error)).ok());
        let latency = TrialLatency::of(intervals);
        let problem = first.map(|error| Unread { what: format!("{name}/{error}"), whole_trial: false });
        self.unread.extend(problem);
        latency
    }

    fn cannot(&mut self, folder: &ExperimentFolder, error: &FolderError, whole_trial: bool) {
        // The same files make the same report wherever they are.
        let what = error.to_string().replace(&format!("{}/", folder.path().display()), "");
        self.unread.push(Unread { what, whole_trial });
    }
}
