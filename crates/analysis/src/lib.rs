//! Pure functions on records: the results of an experiment and their uncertainty.
//!
//! Nothing here reads a clock, a file or the network: the same records always give the same analysis. The formulas are
//! explained in the pages of `docs/method.md`.

mod absence;
mod analyse;
mod bound;
mod cells;
mod coincident;
mod compare;
#[cfg(test)]
mod compare_tests;
mod contrast;
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
mod signs;
mod stall_rule;
mod stalls;
#[cfg(test)]
mod stalls_tests;
mod steady;
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
pub use compare::{CompareQuestion, CompareSide, ComparedLine, Comparison, KnownContrast, Pairing, compare};
pub use crashes::{CrashAnalysis, CrashSummary, CrashVerdict, CrashedCell, NotProven};
pub use detail::{CellDetail, TrialDetail, cell_detail};
pub use figure::{Better, Figure, FigureGroup, FigurePlace, FigureUnit, FigureValues, OverTrials};
pub use judge::{Judgement, Missing};
pub use latency::{IntervalSteps, TrialLatency, nines_us, quantile_us, step_start_ns};
pub use ledger::{Ledger, LedgerFigure, LedgerLine};
pub use limited::{GeneratorLimited, generator_reason};
pub use live::{LiveStalls, StallsSoFar};
pub use live_probe::{LiveProbe, LiveWait, ProbeNow};
pub use loaded::{LoadedTrial, RecordedScript, UnreadFile};
pub use main_effect::MainEffect;
pub use max_rate::{BrokenRate, HeldRate, MaxRate, TriedRate};
pub use open::OpenComparisons;
pub use open_loop::{NotSustained, OpenLoopCell, SustainedRange, TrialShare};
pub use redo::RedoAge;
pub use sent::{ShapeDiffers, WorkDiffers, differing_shapes, differing_work, is_same_figure};
pub use signs::{SignUnit, SignalChange};
pub use stalls::{Stall, StallKind, Stalls};
pub use steady::Unsteady;
pub use threshold::{Threshold, ThresholdState};
pub use types::{AaPair, Analysis, Axis, Cell, Contrast, Curve, InvalidTrial, Knee, LoadNoise, Twins, Verdict};
pub use wait_class::WaitClass;
pub use waits::{ComparedWait, ComparedWaits, TopWait, TopWaits, Wait, WaitSeries, WaitSource, top_waits};
