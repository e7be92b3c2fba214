//! Everything in an experiment's folder that an answer needs. What cannot be read is named, and the rest is shown.

use std::collections::BTreeMap;

use truetps_analysis::{Analysis, TrialDetail, TrialRecord, analyse, detail};
use truetps_record::{
    Experiment, ExperimentFolder, FolderError, KeptSeries, LatencyLog, Plan, ProbeSeries, ProbeSource, Trial,
};
use truetps_report::{ReportInput, TrialLatency, TrialSeries, UnreadFile};

pub(crate) struct Recorded {
    plan: Plan,
    experiment: Experiment,
    trials: Vec<Trial>,
    attempts: Vec<Trial>,
    details: Vec<TrialDetail>,
    pub(crate) series: Vec<TrialSeries>,
    variables: BTreeMap<String, BTreeMap<String, String>>,
    unread: Vec<UnreadFile>,
}

/// One trial, with what could not be read of it.
#[derive(Default)]
pub(crate) struct ReadTrial {
    pub(crate) trial: Option<Trial>,
    pub(crate) series: TrialSeries,
    pub(crate) variables: Option<BTreeMap<String, String>>,
    /// Of what could be read: `None` where there is no trial.
    pub(crate) detail: Option<TrialDetail>,
    pub(crate) unread: Vec<UnreadFile>,
}

impl Recorded {
    pub(crate) fn read(folder: &ExperimentFolder) -> Result<Self, FolderError> {
        let experiment = folder.experiment()?;
        let mut recorded = Self {
            plan: folder.plan()?,
            trials: Vec::new(),
            attempts: Vec::new(),
            details: Vec::new(),
            series: Vec::new(),
            variables: BTreeMap::new(),
            unread: Vec::new(),
            experiment,
        };
        let names: Vec<_> = recorded.experiment.schedule.iter().map(|scheduled| scheduled.name.clone()).collect();
        for name in recorded.experiment.guest.iter().flat_map(|_| &names) {
            match folder.attempts(name) {
                Ok(attempts) => recorded.attempts.extend(attempts),
                Err(error) => {
                    recorded.unread.push(UnreadFile { what: without_place(folder, &error), whole_trial: false });
                }
            }
        }
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
            attempts: &self.attempts,
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
        let intervals = read.named(folder, folder.intervals(name));
        let log = read.named(folder, folder.latency(name));
        let probe = read.named(folder, folder.probe(name));
        let variables = read.named(folder, folder.variables(name)).flatten();
        let kept = KeptSeries {
            intervals: intervals.as_deref(),
            latency: log.as_ref().map(Option::as_ref),
            probe: probe.as_ref().map(Option::as_ref),
        };
        let damage = folder.damage(&trial, &kept);
        for problem in &damage {
            read.cannot(folder, problem, false);
        }
        let is_lost = probe.is_none() || damage.iter().any(|problem| problem.path().ends_with("probe.jsonl"));
        let (intervals, probe) = (intervals.unwrap_or_default(), probe.flatten());
        let record =
            TrialRecord { trial: &trial, intervals: &intervals, probe: probe.as_ref(), variables: variables.as_ref() };
        let mut detail = detail(&record);
        if is_lost && !has_server(probe.as_ref()) {
            say_why(&mut detail, "probe.jsonl is damaged");
        } else if intervals.is_empty() && trial.measured.is_some() {
            say_why(&mut detail, "intervals.jsonl is damaged");
        }
        let latency = log.flatten().filter(|_| histograms == Histograms::Read).map(|log| read.latency(name, &log));
        read.detail = Some(detail);
        read.variables = variables;
        read.series = TrialSeries { name: trial.name.clone(), intervals, latency, files: folder.trial_files(name) };
        read.trial = Some(trial);
        read
    }

    /// What could be read; an error is named.
    fn named<T>(&mut self, folder: &ExperimentFolder, file: Result<T, FolderError>) -> Option<T> {
        file.map_err(|error| self.cannot(folder, &error, false)).ok()
    }

    /// Histograms that can be read; of the others, the first is named.
    fn latency(&mut self, name: &str, log: &LatencyLog) -> TrialLatency {
        let mut first = None;
        let intervals =
            log.intervals().filter_map(|interval| interval.map_err(|error| _ = first.get_or_insert(error)).ok());
        let latency = TrialLatency::of(intervals);
        let problem = first.map(|error| UnreadFile { what: format!("{name}/{error}"), whole_trial: false });
        self.unread.extend(problem);
        latency
    }

    fn cannot(&mut self, folder: &ExperimentFolder, error: &FolderError, whole_trial: bool) {
        self.unread.push(UnreadFile { what: without_place(folder, error), whole_trial });
    }
}

/// The same files make the same report wherever they are.
fn without_place(folder: &ExperimentFolder, error: &FolderError) -> String {
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn has_server(probe: Option<&ProbeSeries>) -> bool {
    probe.is_some_and(|probe| !probe.times(ProbeSource::Server).is_empty())
}

/// Of a file that is damaged no other reason would be true.
fn say_why(detail: &mut TrialDetail, why: &str) {
    let lines = detail.ledger.iter_mut().flat_map(|ledger| &mut ledger.lines);
    for line in lines.filter(|line| line.per_tx.is_none()) {
        why.clone_into(&mut line.source);
    }
}
