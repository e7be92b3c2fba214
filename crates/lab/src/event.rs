//! What an experiment tells while it runs. The lab prints nothing: the caller decides how this looks.

use std::path::Path;
use std::time::Duration;

use truetps_record::{Interval, ProbeSample, ScheduledTrial, Suspension, Trial};

/// One thing that happened.
#[derive(Debug)]
pub enum ExperimentEvent<'a> {
    /// Whatever is changed on a server of the user from here on is to be put back, and is written down in this file.
    Journal(&'a Path),
    /// All of it is as it was.
    PutBack,
    /// A step of the preparation begins.
    Preparing(String),
    /// Rows are being loaded.
    Loading { rows: u64, of: u64 },
    /// A trial begins: number `index` (from 0) of `of`, with this much still to do. An experiment that plans as it goes cannot
    /// tell: that is zero, and `of` what has been planned so far.
    TrialBegins { trial: &'a ScheduledTrial, index: usize, of: usize, left: Duration },
    /// An interval is over.
    Interval { trial: &'a ScheduledTrial, interval: &'a Interval, index: usize, of: usize, left: Duration },
    /// Server or host were read; what has not changed is left out, as in `probe.jsonl`.
    Sample { trial: &'a ScheduledTrial, sample: &'a ProbeSample },
    /// The load generator itself was suspended: the trial is invalid.
    Suspended { trial: &'a ScheduledTrial, suspension: Suspension },
    /// A trial is over and on disk.
    TrialEnds { trial: &'a Trial, index: usize, of: usize, left: Duration },
    /// Something that the user should know; the experiment goes on.
    Warning(String),
}

/// Hears the events of an experiment, on the thread that runs it.
pub trait Listener {
    fn event(&mut self, event: &ExperimentEvent<'_>);
}
