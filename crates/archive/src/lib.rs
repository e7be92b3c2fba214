//! A recorded run, read again: plan, experiment, and each trial with its series and what happened within it.
//!
//! Reports, comparisons and lists of stalls are made from a [`Run`] and its analysis alone. What cannot be read is named,
//! and the rest is there.

mod reading;
mod run;
#[cfg(test)]
mod tests;

pub use reading::Histograms;
pub use run::Run;
