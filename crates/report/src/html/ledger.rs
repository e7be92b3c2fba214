//! The cost ledger: what a transaction cost, configurations side by side.

use truetps_analysis::Ledger;

use super::labels::{configuration, unbroken};
use crate::ledger::{Line, View, absent, lines, view};
use crate::{ReportInput, stalls};

pub(super) struct LedgerSection {
    pub(super) view: View,
    pub(super) absent: Option<String>,
    /// All configurations, where the view leaves some out: their names, and a line for each resource that is known.
    pub(super) columns: Vec<String>,
    pub(super) all: Vec<Line>,
}

impl LedgerSection {
    /// `None` where no trial has figures.
    pub(super) fn of(input: &ReportInput) -> Option<Self> {
        let mut view = view(input)?;
        let absent = absent(&view.lines).map(|text| unbroken(&text));
        view.lines.retain(|line| !line.is_absent());
        let mut section = Self { absent, columns: Vec::new(), all: Vec::new(), view };
        if section.view.left_out > 0 {
            let cells = stalls::of_cells(input);
            let ledgers: Vec<&Ledger> = cells.iter().map(|cell| &cell.ledger).collect();
            section.all = lines(&ledgers);
            section.all.retain(|line| !line.is_absent());
            section.columns = input.analysis.cells.iter().map(|cell| configuration(&cell.configuration)).collect();
        }
        Some(section)
    }
}
