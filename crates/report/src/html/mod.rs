//! `report.html`: one file that needs no network, with the same figures as the other formats and
//! charts of them.
//!
//! The page is a compiled template (`templates/*.html`) that escapes every text it is given; each
//! section has a module here with its content. All text and tables are in the page as they are; the
//! script (`assets/js`) draws the charts from a block of data, [`script_data`].

mod chart_number;
mod curves;
mod document_page;
mod files;
mod forest;
mod frame;
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

use crate::ReportInput;
use crate::document::Document;

/// The whole page. A trial without a series is in all tables but not in the charts over time.
pub(crate) fn html(input: &ReportInput) -> String {
    let page = page::Page::new(input);
    page.render().expect(
        "templates are checked when they are compiled, and a String takes all that is written",
    )
}

/// A page of text and tables alone.
pub(crate) fn document_html(document: &Document, tool_version: &str) -> String {
    document_page::DocumentPage::html(document, tool_version)
}
