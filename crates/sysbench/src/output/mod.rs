//! Every printed line.
//!
//! The texts are byte for byte sysbench's own, because programs parse them; lines that sysbench
//! does not have are printed only on request. Functions that return text omit its last line end,
//! which [`MessageLog`] adds: a text that ends in `\n` is followed by an empty line.
//!
//! - `log`: levels, repeats, and where lines go.
//! - `lines`: banner, version, and the fixed lines of a run.
//! - `figures`: the counts, and how they are shown.
//! - `report`: the lines during a run and the report at its end.
//! - `histogram`: sysbench's buckets of latency.
//! - `extra`: truetps's own blocks of text.
//! - `json`: a whole run as one document.

mod extra;
mod figures;
mod histogram;
mod json;
pub(crate) mod lines;
mod log;
#[cfg(test)]
mod memory;
mod report;
#[cfg(test)]
mod whole_run_tests;

pub(crate) use extra::{
    Percentile, ScriptErrorCount, StatementLatency, errors_by_class, percentiles, statement_latency,
};
pub(crate) use figures::{ClientFigures, Fairness, FigureStyle, Figures};
pub(crate) use histogram::LogHistogram;
pub(crate) use json::{FinishedRun, json};
pub(crate) use lines::{banner, system_words};
pub(crate) use log::{MessageLevel, MessageLog};
pub(crate) use report::{checkpoint, cumulative, intermediate, per_client};
