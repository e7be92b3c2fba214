//! Events of a running trial, for live views. Nothing is printed here: the listener decides how
//! events are shown.

use std::time::Duration;

use truetps_record::{
    Histogram, Interval, OtherRun, ProbeHeader, ProbeSample, ScheduledTrial, Suspension, Trial,
};

/// What happens in a trial.
#[derive(Debug, Clone, Copy)]
pub enum TrialEvent<'a> {
    Begins,
    /// An interval has ended.
    Interval(&'a Interval, &'a Histogram),
    /// Server or host were read; unchanged values are left out, as in `probe.jsonl`.
    Sample(&'a ProbeHeader, &'a ProbeSample),
    /// Another run of truetps loads this host; each is reported once.
    OtherRun(&'a OtherRun),
    /// The load generator itself was suspended: the trial is invalid.
    Suspended(Suspension),
    /// It is on disk.
    Ends(&'a Trial),
}

/// A trial's place in its experiment.
#[derive(Debug, Clone, Copy)]
pub struct TrialPlace<'a> {
    pub trial: &'a ScheduledTrial,
    /// From 0.
    pub index: usize,
    /// The number of planned trials. `None`: the experiment plans as it goes, and more trials may
    /// follow.
    pub of: Option<usize>,
    /// Remaining time of the experiment. `None`: not known, or later than estimated.
    pub left: Option<Duration>,
}

/// Receives the events of trials, on the thread that runs them.
pub trait TrialListener {
    fn trial_event(&mut self, place: TrialPlace<'_>, event: TrialEvent<'_>);
}

/// Shows a run while it runs, until it is dropped.
pub type LiveView = Box<dyn TrialListener>;

/// The warning about another run on this host.
pub fn other_run_warning(other: &OtherRun) -> String {
    format!("{other} also loads this host: the figures of both runs will be lower than alone")
}
