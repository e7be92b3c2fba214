//! Stalls and dips: the section below the series.

use super::labels::{configuration, unbroken};
use crate::{ReportInput, stalls};

pub(super) struct StallSection<'a> {
    /// The stalls of all trials in a sentence.
    pub(super) lead: String,
    pub(super) rows: Vec<stalls::StallRow<'a>>,
    pub(super) how_to_read: String,
    /// Each configuration's name and figures. Empty where there is one.
    pub(super) cells: Vec<(String, [String; 5])>,
    pub(super) columns: [&'static str; 5],
}

impl<'a> StallSection<'a> {
    /// `None` where no trial was looked at.
    pub(super) fn of(input: &ReportInput<'a>) -> Option<Self> {
        let fact = stalls::fact(input)?;
        let (rows, left_out) = stalls::rows(input);
        let more = match left_out {
            0 => String::new(),
            more => format!(" {more} shorter ones are left out of the table: JSON has all."),
        };
        let is_one = input.analysis.cells.len() == 1;
        let cells = input.analysis.cells.iter();
        let cells = cells
            .map(|cell| (configuration(&cell.configuration), stalls::cell_texts(&cell.detail)));
        Some(Self {
            lead: unbroken(&format!("Stalls: {fact}.")),
            how_to_read: unbroken(&format!("{}{more}", stalls::HOW_TO_READ)),
            cells: cells.filter(|_| !is_one).collect(),
            columns: stalls::CELL_COLUMNS,
            rows,
        })
    }
}
