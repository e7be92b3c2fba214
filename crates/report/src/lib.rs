//! Pure functions from an analysis to text, Markdown, JSON, CSV and HTML.
//!
//! This crate reads no clock, file or network. `truetps-analysis` computes the results; this crate chooses what a format
//! shows, adds up what only reports show (such as the volume of logs), and formats numbers and words.

pub mod format;
pub mod meaning;

mod absence;
mod cell_tables;
mod comparison;
mod crash_report;
mod csv;
mod csv_rows;
mod disks;
mod document;
mod durability;
mod errors;
mod explanation;
mod exposition;
mod external;
mod generator;
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
mod risk;
mod rows;
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

pub use self::csv::csv;
pub use comparison::{
    ComparedSide, FailIf, RunComparison, comparison_csv, comparison_json, comparison_markdown, comparison_text,
    threshold_word,
};
pub use crash_report::{crash_html, crash_json, crash_markdown, crash_text};
pub(crate) use durability::durability_of;
pub use explanation::{
    NOTHING_DIFFERS, explanation_html, explanation_json, explanation_markdown, explanation_text, is_answered,
    nothing_differs_json, nothing_differs_markdown, nothing_differs_text,
};
pub use html::html;
pub use json::{json, jsonl};
pub use junit::{comparison_junit, junit};
pub use main_effects::base_and_best;
pub use markdown::markdown;
pub use parts::incomplete;
pub use pool::{PoolLibrary, pool_html, pool_json, pool_markdown, pool_text};
pub use probe_list::{probe_csv, probe_json, probe_markdown, probe_text};
pub use probe_metrics::{MetricRow, ProbeMetrics, probe_metric_rows};
pub use prometheus::prometheus;
pub(crate) use remarks::remarks;
pub use settings_diff::{diff_json, diff_markdown, diff_text};
pub use stall_list::{stalls_csv, stalls_json, stalls_markdown, stalls_text};
pub use summary::{
    COMMITS, comparison_summary, crash_summary, diff_summary, explanation_summary, names_connections, pool_summary,
    probe_summary, stalls_summary, summary_text, verification_summary,
};
pub use sysbench::sysbench;
pub use text::{TextScreen, text};
pub use textwrap::core::display_width;
pub use truetps_record::{escaped_text, printable, printable_lines, printable_text};
pub use verdicts::verdicts;
pub use verification::{VerifyInput, verification_html, verification_json, verification_markdown, verification_text};

use truetps_analysis::Analysis;
use truetps_archive::Run;
use truetps_record::Trial;

/// Everything that a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    pub run: &'a Run,
    /// Of this run: [`Run::analyse`].
    pub analysis: &'a Analysis,
}

impl<'a> ReportInput<'a> {
    pub(crate) fn trials(&self) -> impl Iterator<Item = &'a Trial> + Clone + use<'a> {
        self.run.trials.iter().map(|one| &one.trial)
    }
}

/// Version of the JSON documents of `report`, `compare` and `stalls`: it grows when an old reader would misread one.
pub(crate) const DOCUMENT_VERSION: u32 = 2;

/// Values by key, in the order in which the keys come first.
pub(crate) fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
