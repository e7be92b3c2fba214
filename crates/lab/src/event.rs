//! Events of a running experiment. The lab prints nothing: the caller decides how events are shown.

use std::path::Path;
use std::time::Duration;

use truetps_record::{Interval, ProbeSample, ScheduledTrial, Suspension, Trial};

/// One event.
#[derive(Debug)]
pub enum ExperimentEvent<'a> {
    /// The first change to an external server follows; the original settings are saved to this file.
    Journal(&'a Path),
    /// Everything is restored.
    PutBack,
    /// A step of the preparation begins.
    Preparing(String),
    /// Rows are being loaded.
    Loading { rows: u64, of: u64 },
    /// Trial number `index` (from 0) of `of` begins, with this much time remaining. An experiment that plans as it goes
    /// cannot estimate it: the time is zero, and `of` is the number of trials planned so far.
    TrialBegins { trial: &'a ScheduledTrial, index: usize, of: usize, left: Duration },
    /// An interval has ended.
    Interval { trial: &'a ScheduledTrial, interval: &'a Interval, index: usize, of: usize, left: Duration },
    /// Server or host were read; unchanged values are left out, as in `probe.jsonl`.
    Sample { trial: &'a ScheduledTrial, sample: &'a ProbeSample },
    /// The load generator itself was suspended: the trial is invalid.
    Suspended { trial: &'a ScheduledTrial, suspension: Suspension },
    /// A trial has ended and is on disk.
    TrialEnds { trial: &'a Trial, index: usize, of: usize, left: Duration },
    /// A warning; the experiment continues.
    Warning(String),
}

/// Receives the events of an experiment, on the thread that runs it.
pub trait Listener {
    fn event(&mut self, event: &ExperimentEvent<'_>);
}
