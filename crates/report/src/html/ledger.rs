//! The cost ledger: costs of a transaction, configurations side by side.

use truetps_analysis::Ledger;

use super::labels::{configuration, unbroken};
use crate::ReportInput;
use crate::ledger::{LedgerRow, LedgerView, absent, lines, view};

pub(super) struct LedgerSection {
    pub(super) view: LedgerView,
    pub(super) absent: Option<String>,
    /// Names of the resources that are known, where the view leaves configurations out.
    pub(super) resources: Vec<&'static str>,
    /// All configurations, with what they took of each of these.
    pub(super) all: Vec<(String, Vec<String>)>,
}

impl LedgerSection {
    /// `None` where no trial has figures.
    pub(super) fn of(input: &ReportInput) -> Option<Self> {
        let mut view = view(input)?;
        let absent = absent(&view.lines).map(|text| unbroken(&text));
        view.lines.retain(|line| !line.is_absent());
        let mut section = Self { absent, resources: Vec::new(), all: Vec::new(), view };
        if section.view.left_out > 0 {
            let ledgers: Vec<&Ledger> =
                input.analysis.cells.iter().map(|cell| &cell.detail.ledger).collect();
            let known: Vec<LedgerRow> =
                lines(&ledgers).into_iter().filter(|line| !line.is_absent()).collect();
            let all = input.analysis.cells.iter().enumerate().map(|(index, cell)| {
                let texts = known.iter().map(|line| line.texts[index].clone()).collect();
                (configuration(&cell.configuration), texts)
            });
            section.all = all.collect();
            section.resources = known.iter().map(|line| line.key.name()).collect();
        }
        Some(section)
    }
}
