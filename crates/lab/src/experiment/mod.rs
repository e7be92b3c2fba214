//! The life of an experiment.

mod prepared;
mod request;
#[cfg(test)]
mod tests;
mod trial_events;

pub use prepared::{Finished, start};
pub(crate) use prepared::{PreparedExperiment, missing, planned_experiment};
pub use request::{ExperimentRequest, Pin};
