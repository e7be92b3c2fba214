//! The life of an experiment.

pub(crate) mod duration;
mod prepared;
mod repeats;
mod request;
pub(crate) mod setup;
#[cfg(test)]
mod tests;
mod trial_events;

pub use prepared::{Finished, start};
pub(crate) use prepared::{PreparedExperiment, ended, missing, planned_experiment};
pub use request::{ExperimentRequest, Pin};
