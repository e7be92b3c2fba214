//! The record of a trial while it runs, for every program that makes one: experiments, `truetps sysbench`, `slap` and
//! `mtls`.
//!
//! - `runs_folder`: where runs are recorded, or kept for as long as they run.
//! - `experiment`: the records of an experiment and of a trial before the load.
//! - `recorder`: intervals, resource use and suspensions of a load, and its results.
//! - `watch`: the threads that read server and host during the load.
//! - `usage_window`: what server, host and generator used in the measure phase.
//! - `figures`: from the counts of a load to the figures of `run.json`.
//! - `event`: what live views receive.
//!
//! It judges no figure, and knows neither plans of experiments nor how clients are driven.

mod event;
mod experiment;
mod figures;
mod recorder;
mod runs_folder;
mod usage_window;
mod watch;

pub use event::{LiveView, TrialEvent, TrialListener, TrialPlace, other_run_warning};
pub use experiment::{ExperimentStart, host_of_external_server, new_experiment, new_trial};
pub use figures::MeasuredLoad;
pub use recorder::{LoadFacts, LoadProbe, TrialRecorder};
pub use runs_folder::{
    RUNS_VARIABLE, RunsFolder, default_runs, is_remarked, named_runs, state_folder, state_runs, try_state_runs,
};
pub use watch::{TrialWatch, WatchedServer};
