//! Pure functions from an analysis to text, Markdown, JSON, CSV and HTML.
//!
//! This crate reads no clock, file or network and computes no statistic: `truetps-analysis` decides the content, this
//! crate the wording. All formatting of numbers lives here.

pub mod format;
pub mod meaning;

mod cell_tables;
mod comparison;
mod csv;
mod document;
mod durability;
mod errors;
mod generator;
mod guest;
mod html;
mod json;
mod latency;
mod ledger;
mod load;
mod markdown;
mod names;
mod open_loop;
mod probe_list;
mod remarks;
mod risk;
mod sections;
mod settings_diff;
mod stall_list;
mod stalls;
mod sysbench;
mod text;
mod verdicts;
mod waits;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fixture_open;
#[cfg(test)]
mod fixture_watched;
#[cfg(test)]
mod schema_check;

pub use comparison::{
    ComparedScript, ComparedSide, ComparisonInput, FailIf, comparison_csv, comparison_json, comparison_markdown,
    comparison_text, threshold_word,
};
pub use csv::csv;
pub use durability::durability_of;
pub use html::{TrialSeries, html};
pub use json::{json, jsonl};
pub use latency::TrialLatency;
pub use markdown::markdown;
pub use probe_list::{probe_csv, probe_json, probe_markdown, probe_text};
pub use remarks::remarks;
pub use settings_diff::{diff_json, diff_markdown, diff_text};
pub use stall_list::{StalledTrial, stalls_csv, stalls_json, stalls_markdown, stalls_text};
pub use sysbench::sysbench;
pub use text::{TextScreen, text};
pub use textwrap::core::display_width;
pub use truetps_record::{escaped_text, printable, printable_lines, printable_text};
pub use verdicts::verdicts;

use std::collections::BTreeMap;

use truetps_analysis::{Analysis, TrialDetail};
use truetps_record::{Experiment, Plan, Trial};

/// Everything that a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The plan as it was run: after `Plan::into_quick` where the experiment was a quick one.
    pub plan: &'a Plan,
    pub experiment: &'a Experiment,
    pub analysis: &'a Analysis,
    /// The trials that the analysis was made from.
    pub trials: &'a [Trial],
    /// Attempts of trials on a server of the user that were repeated: nothing but what they wrote there counts.
    pub attempts: &'a [Trial],
    /// What the servers of these trials were set to, by the name of the trial, where they could be asked.
    pub variables: &'a BTreeMap<String, BTreeMap<String, String>>,
    /// What happened within these trials.
    pub details: &'a [TrialDetail],
    /// What could not be read of the folder: said wherever its trials would be shown.
    pub unread: &'a [UnreadFile],
}

/// Version of the JSON documents of `report`, `compare` and `stalls`: it grows when an old reader would misread one.
pub(crate) const DOCUMENT_VERSION: u32 = 2;

/// A file that is damaged, of a newer version, or was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadFile {
    /// Its path below the experiment's folder, and what is wrong with it.
    pub what: String,
    /// The trial itself is left out, not only a part of what it has left.
    pub whole_trial: bool,
}
