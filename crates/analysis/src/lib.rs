//! Pure functions on records: the results of an experiment and their uncertainty. The pages of
//! `docs/method.md` have the formulas.
//!
//! - `loaded` ([`LoadedTrial`]): a trial with its series and its [`TrialDetail`]. The functions
//!   here take it; that is why the type is here and not in `archive`.
//! - `analyse` ([`analyse`](fn@analyse)): the trials of an experiment, from `evidence` (which
//!   trials count) to [`Analysis`] (`types`): `cells` and `curves`, `contrast` and `main_effect`
//!   with the rule for claims (`judge`, `effect`, `family`, `holm`), `twins` and `load_noise`
//!   (noise), `knee`, `max_rate`. `looks` and `open`: experiments that are extended until they are
//!   decided.
//! - `detail` ([`TrialDetail`]): what happened within one trial: `stalls`, in each the `waits` and
//!   `signs` ([`SignalChange`]) beside it (`coincident`, with the rule for what is worth a mention;
//!   `wait_class`: the servers' names of waits), the `ledger` (`ledger_sources`: the counters of
//!   each line on each server, and when they count nothing).
//! - `figure` ([`Figure`]): the table of figures: key, unit, which direction is better, what it is
//!   made from, how trials are combined, where it is shown. CSV, JSON, tables, `compare` and
//!   `--fail-if` go through it. `--slo` is judged in `record`, during a run; a test compares its
//!   times with the table.
//! - `compare` ([`Comparison`]): two groups of trials, and `threshold`s on them. `sent`: what two
//!   scripts sent.
//! - `stall_rule` has the definition of a stall. `stalls` applies it to a whole record and adds
//!   depth and dips; `live` applies it each second to the intervals so far. `live_probe`: waits
//!   during a run, from the last readings.
//! - `latency`: the histograms of a trial, small enough to keep, and their percentiles.
//! - `limited` and `bound`: whether the load generator was the bottleneck, and how much more the
//!   server could do at most without it.
//! - `crashes`: what the crashes of an experiment lost together, with the exact bounds of a share
//!   (`share_bound`) and the price of each configuration (`crash_price`).
//! - `absence` ([`Absent`]): why a figure is not known; reports have the words.
//!
//! A stall passes through `ProbeReading` (`probe`), `TimedReading` (`recording`), `ProbeSample` (a
//! line of `probe.jsonl`), `ProbeSeries` (`record`), [`LoadedTrial`], [`TrialDetail`], `Stalls`,
//! `Stall`, `Coincident`, then `StallRow` and `StallSection` (`report`).
//!
//! The ledger and the stalls of a trial are in no file: each reader computes them from
//! `intervals.jsonl` and `probe.jsonl`, so that an old folder gets the better formula.
//!
//! *Invariant:* no clock, no file, no network: the same records always give the same analysis.

mod absence;
mod analyse;
mod bound;
mod cells;
mod coincident;
mod compare;
#[cfg(test)]
mod compare_tests;
mod contrast;
mod crash_price;
mod crashes;
mod curves;
mod detail;
mod effect;
mod evidence;
mod family;
mod figure;
mod holm;
mod judge;
mod knee;
mod latency;
mod ledger;
mod ledger_sources;
mod limited;
mod live;
mod live_probe;
mod load_noise;
mod loaded;
mod looks;
mod main_effect;
mod max_rate;
mod open;
mod open_loop;
mod order_stats;
mod pooled;
mod redo;
mod sample;
mod sent;
mod share_bound;
mod signs;
mod stall_rule;
mod stalls;
#[cfg(test)]
mod stalls_tests;
mod steady;
mod stretch;
mod student;
mod threshold;
mod twins;
mod types;
mod wait_class;
mod waits;

#[cfg(test)]
mod simulation_tests;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod truth_tests;

pub use absence::{Absent, TooFewOf};
pub use analyse::analyse;
pub use coincident::{Coincident, Telling};
pub use compare::{
    CompareQuestion, CompareSide, ComparedLine, Comparison, KnownContrast, Pairing, compare,
};
pub use crash_price::{CrashPrice, CrashTwins};
pub use crashes::{CrashAnalysis, CrashDesign, CrashSummary, CrashVerdict, CrashedCell, NotProven};
pub use detail::{CellDetail, cell_detail};
pub use evidence::InvalidTrial;
pub use figure::{Better, Figure, FigureGroup, FigurePlace, FigureUnit, FigureValues, OverTrials};
pub use judge::{Judgement, Missing};
pub use latency::{IntervalSteps, TrialLatency, nines_us, quantile_us, step_start_ns};
pub use ledger::{Ledger, LedgerFigure, LedgerLine};
pub use limited::{GeneratorLimited, generator_reason};
pub use live::{LiveStalls, StallsSoFar};
pub use live_probe::{LiveProbe, LiveWait, ProbeNow};
pub use loaded::{LoadedTrial, RecordedScript, TrialDetail, UnreadFile};
pub use max_rate::{BrokenRate, HeldRate, MaxRate, TriedRate};
pub use open::OpenComparisons;
pub use open_loop::{NotSustained, OpenLoopCell, SustainedRange, TrialShare};
pub use redo::RedoAge;
pub use sent::{ShapeDiffers, WorkDiffers, differing_shapes, differing_work, is_same_figure};
pub use signs::{SignUnit, SignalChange};
pub use stalls::{Stall, StallKind, Stalls};
pub use steady::Unsteady;
pub use threshold::{Threshold, ThresholdState};
pub use types::{
    AaPair, Analysis, Axis, Cell, Contrast, Curve, Knee, LoadNoise, MainEffect, Twins, Verdict,
};
pub use wait_class::WaitClass;
pub use waits::{
    ComparedWait, ComparedWaits, TopWait, TopWaits, Wait, WaitSeries, WaitSource, top_waits,
};
