//! The highest rate that a server holds: which rates are tried, in which order, and what they say.
//! `docs/method/rates.md` has the model and its error rates.
//!
//! - `series`: the rates that may be tried.
//! - `belief`: the model, and Bayes' rule.
//! - `estimate`: from results to the interval that is the answer.
//! - `search`: [`RateQuestion`], the order of trials.
//!
//! *Invariant:* no clock, no file, no network: the same seed and results lead to the same rates.

mod belief;
mod estimate;
mod search;
mod series;

pub use estimate::{COVERAGE, RateCount, RateEstimate, SURE, estimate};
pub use search::{RateFindings, RateOutcome, RateQuestion, RateReading, RateStage, TRIALS_MAX};
