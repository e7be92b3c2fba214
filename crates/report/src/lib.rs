//! Pure functions from a run and its analysis to text, Markdown, JSON, CSV and HTML.
//!
//! `truetps-analysis` computes the results; this crate chooses what a format shows, adds up what
//! only reports show (such as the volume of logs), and formats numbers and words.
//!
//! - `report_input` ([`ReportInput`]): what a report is made from. `document`: the content of an
//!   answer without its form; `text` and `markdown` draw it. `run_document` makes it for an
//!   experiment. `comparison`, `stall_list`, `probe_list`, `crash_report`, `verification`, `pool`
//!   (with the configurations of `libraries`) and `explanation` (names and ratios in `factors`,
//!   sentences in `words`, the counters that moved with a cause in `counters`) make documents of
//!   their own. `run_comparison`: the two sides of a comparison.
//! - `summary`: the one screen that each command prints without `--full`: a file for each command
//!   chooses what it shows, and `layout` makes it fit.
//! - `html`: a module for each section; `document_page` makes a page of a document, and `frame` is
//!   around both.
//! - `json`, `csv`, `sysbench` (the lines that many scripts read), `junit` (test cases of
//!   comparisons). `exposition`: the text format of Prometheus, for the figures of a run
//!   (`prometheus`) and the readings of a probe (`probe_metrics`).
//! - `answer` ([`ReportAnswer`]): what every answer has; `answers`: each kind of answer, made from
//!   the modules above. `formats` ([`FORMATS`]): the table of the formats that answers are printed
//!   in.
//! - `format`: the forms of numbers. `absence` and `meaning`: words that all formats share.
//!
//! *Invariant:* no clock, no file, no network, no terminal.

pub mod format;
pub mod meaning;

mod absence;
mod answer;
mod answers;
mod cell_tables;
mod comparison;
mod crash_report;
mod crash_words;
mod csv;
mod csv_rows;
mod disks;
mod disturbances;
mod document;
mod durability;
mod errors;
mod explanation;
mod exposition;
mod external;
mod formats;
mod generator;
mod grouped;
mod html;
mod json;
mod junit;
mod ledger;
mod load;
mod main_effects;
mod markdown;
mod names;
mod open_loop;
mod own_settings;
mod parts;
mod pool;
mod probe_list;
mod probe_metrics;
mod prometheus;
mod remarks;
mod replica_lag;
mod report_input;
mod risk;
mod rows;
mod run_document;
mod sections;
mod settings_diff;
mod stall_list;
mod stalls;
mod steady;
mod summary;
mod sysbench;
mod text;
mod verdicts;
mod verification;
mod waits;

#[cfg(test)]
mod exposition_check;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fixture_open;
#[cfg(test)]
mod fixture_watched;
#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod schema_check;
#[cfg(test)]
mod verification_tests;

pub use answer::{AnswerVerdict, FolderAnswer, ReportAnswer};
pub use answers::{NothingDiffers, PoolAnswer, SettingsDiff, StallList};
pub use comparison::{ComparedSide, FailIf, RunComparison, threshold_word};
pub use document::Document;
pub(crate) use durability::durability_of;
pub use explanation::NOTHING_DIFFERS;
pub use formats::{AnswerFormat, AnswerSubject, FORMATS};
pub(crate) use grouped::grouped;
pub use main_effects::base_and_best;
pub use parts::incomplete;
pub use pool::PoolLibrary;
pub use probe_metrics::{MetricRow, ProbeMetrics, probe_metric_rows};
pub(crate) use remarks::remarks;
pub use replica_lag::replica_lags;
pub use report_input::ReportInput;
pub use summary::{COMMITS, commits_word, names_connections};
pub use text::TextScreen;
pub use textwrap::core::display_width;
pub use truetps_record::{escaped_text, printable, printable_lines, printable_text};
pub use verdicts::verdicts;
