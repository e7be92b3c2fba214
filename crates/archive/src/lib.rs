//! A recorded run, read from its folder: plan, experiment, and each trial with its series and events.
//!
//! Reports, comparisons and lists of stalls are made from a [`Run`] and its analysis alone. What cannot be read is
//! reported, and the rest is available.

mod explained;
mod pool_run;
mod reading;
mod run;
#[cfg(test)]
mod tests;

pub use explained::ExplainedRun;
pub use pool_run::PoolRun;
pub use reading::Histograms;
pub use run::Run;
