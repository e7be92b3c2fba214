//! The record of a trial while it runs, for every program that makes one: experiments,
//! `truetps sysbench`, `slap` and `mtls`.
//!
//! - `runs_folder` ([`RunsFolder`]): where runs are recorded, or kept only while they are shown;
//!   and the state folder, for programs that are started anywhere.
//! - `experiment`: has the only literals of the records of an experiment and of a trial; callers
//!   replace what differs.
//! - `recorder` ([`TrialRecorder`]): writes intervals and, at the end, the figures of `run.json`
//!   (`figures`).
//! - `usage_window`: the resource use of server, host and generator at the edges of the measured
//!   time, with the transactions between the readings.
//! - `surroundings_watch` ([`SurroundingsWatch`]): what goes on beside a load.
//! - `watch` ([`TrialWatch`]): one thread for the server and one for the host, on the load's clock;
//!   it writes the readings of `probe`. Its failures never stop a trial.
//! - `event` ([`TrialEvent`], [`TrialListener`]): what live views receive.
//!
//! Runs of `truetps sysbench`, `slap` and `mtls` are recorded as experiments, so that one reader
//! (`truetps report`) serves all. Their plan says so (`recorded_from`, a
//! `truetps_record::Personality`); another such program gets a variant in that enum, and a special
//! case only where a report names it. What only a script knows is not invented: its plan has the
//! workload `sysbench` (`truetps_plan::SCRIPT_WORKLOAD`), which is in no list of workloads; and
//! where no client logged in, `server` is `null`.
//!
//! *Invariant:* this crate judges no figure, and knows neither plans of experiments nor how clients
//! are driven.

mod event;
mod experiment;
mod figures;
mod recorder;
mod runs_folder;
mod surroundings_watch;
mod usage_window;
mod watch;

pub use event::{LiveView, TrialEvent, TrialListener, TrialPlace, other_run_warning};
pub use experiment::{ExperimentStart, host_of_external_server, new_experiment, new_trial};
pub use recorder::{LoadFacts, LoadProbe, TrialRecorder};
pub use runs_folder::{
    RUNS_VARIABLE, RunsFolder, default_runs, is_remarked, named_runs, state_folder, state_runs,
    try_state_runs,
};
pub use surroundings_watch::SurroundingsWatch;
pub use watch::{TrialWatch, WatchedServer};
