//! A recorded run, read from its folder: plan, experiment, and each trial with its series and
//! events.
//!
//! - `run` ([`Run`]): a run folder as one value. `reading` reads the files of a trial. Reports,
//!   comparisons and lists of stalls are made from a [`Run`] and its analysis alone.
//! - `explained` ([`ExplainedRun`]): a run of `truetps explain`, with the findings that follow from
//!   its trials. `pool_run` ([`PoolRun`]): the same for `truetps pool`.
//! - `any_run` ([`AnyRun`]): a folder of whatever kind.
//!
//! *Invariant:* what cannot be read is reported, and the damage of one file never hides another.
//! A [`Run`] depends on its files alone. No clock and no network; files are opened by `folder`
//! only.

mod any_run;
mod explained;
mod pool_run;
mod reading;
mod run;
#[cfg(test)]
mod tests;

pub use any_run::{AnyRun, CrashedRun, RecordedProbe, VerifiedRun};
pub use explained::ExplainedRun;
pub use pool_run::PoolRun;
pub use reading::Histograms;
pub use run::Run;
