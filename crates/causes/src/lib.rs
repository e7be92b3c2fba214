//! Which of the differences between two configurations A and B makes their results differ.
//!
//! Each difference is a *factor* with two levels, A's and B's; a *mixture* gives each factor one of
//! them. The crate decides which mixtures are measured, in which order, and what their results say.
//! It knows neither servers nor settings: [`CauseQuestion`] is a
//! [`truetps_adaptive::AdaptiveQuestion`], which asks its source for the results of a batch of
//! mixtures.
//!
//! The steps, explained in `docs/method/explanations.md`:
//! 1. *Corners*: A against B, until their difference is reproduced or is shown to be none.
//! 2. *Suspects*: up to three factors that are known to matter, each alone.
//! 3. *Screening*: all factors at once, by a two-level design in mirrored pairs.
//! 4. *Confirming*: all mixtures of the factors that were found, and the closures: A with them is
//!    B, B without them is A.
//!
//! 5. *Again*: small causes in fresh blocks, as what was chosen for its size is exaggerated.
//!
//! `steps` has the order of the steps, `corners`, `screening`, `confirming` and `again` the steps,
//! `roles` and `others` what the answer has of causes and of all other factors, and `repair` what
//! happens where levels do not work together: their factors become one. `investigation` is what
//! they share: it asks for results and keeps them. `cells`, `screen` and `linear` estimate,
//! `hadamard` has the designs, and `findings` what is known at any time. All values are natural
//! logarithms of throughput.
//!
//! A mixture of `truetps explain` passes through `NamedBy` (`cli`), `ExplainSide`, `Candidate`
//! (`lab`), `ExplainedFactor`, `Explanation` (`explanation.json`), [`CauseQuestion`],
//! `Investigation`, `Mixture`, `Batch` (`adaptive`), `MixtureTrials` (`lab`), `ScheduledTrial`,
//! `Trial`, then as ln(tps) through `Cells` or `Screen`, `LogEstimate`, `Findings`. `ExplainedRun`
//! (`archive`) has the same findings from the folder: it replays the results.
//!
//! *Invariant:* no clock, no file, no network. The same question and the same results always lead
//! to the same batches and findings: resuming, and every report of a folder, depend on it.

mod again;
mod cells;
mod confirming;
mod corners;
mod findings;
mod hadamard;
mod interval;
mod investigation;
mod linear;
mod mixture;
mod others;
mod question;
mod repair;
mod roles;
mod screen;
mod screening;
#[cfg(test)]
mod simulation_tests;
mod steps;

pub use findings::{Cause, CauseRole, Closures, Findings, NotStarted, Outcome, Screened};
pub use interval::LogInterval;
pub use mixture::{FACTORS_MAX, Mixture};
pub use question::{CauseQuestion, Stage};
