//! `report.html`: one file that needs no network, with the same figures as the other formats and charts of them.
//!
//! The page is a compiled template (`templates/*.html`) that escapes every text it is given; each section has a module
//! here that says what stands in it. All text and tables are in the page as they are; the script (`assets/js`) draws the
//! charts from a block of data, [`script_data`].

mod curves;
mod files;
mod forest;
mod heat;
mod labels;
mod ledger;
mod noise;
mod open_loop;
mod page;
mod percentiles;
mod script_data;
mod series;
mod setup;
mod stalls;
mod table;
mod trouble;
mod verdict;
mod waits;

#[cfg(test)]
mod tests;

use askama::Template;
use truetps_record::Interval;

use crate::{ReportInput, TrialLatency};

/// What one trial has left beside its figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialSeries {
    /// `trial-0007`.
    pub name: String,
    pub intervals: Vec<Interval>,
    /// `None` where there are no histograms.
    pub latency: Option<TrialLatency>,
    /// Files in its folder, as paths below that: what the page links to.
    pub files: Vec<&'static str>,
}

/// The whole page. A trial without a series is in all tables but not in the charts over time.
pub fn html(input: &ReportInput, series: &[TrialSeries]) -> String {
    let page = page::Page::new(input, series);
    page.render().expect("templates are checked when they are compiled, and a String takes all that is written")
}
