//! The rates of a search for the highest one.

use truetps_analysis::{Cell, Figure};

use super::layout::ScreenPart;
use super::tps_with_sign;
use crate::document::DocumentTable;
use crate::{ReportInput, format, ledger, open_loop};

pub(super) fn parts(input: &ReportInput<'_>) -> Vec<ScreenPart> {
    let rate = |cell: &&Cell| cell.configuration.rate().unwrap_or_default();
    let mut cells: Vec<_> = input.analysis.cells.iter().filter(|cell| cell.tps.is_some()).collect();
    cells.sort_by(|one, other| rate(one).total_cmp(&rate(other)));
    let row = |cell: &&Cell| {
        let figure = |of: Figure| format::figure_or_nothing(of, cell.get(of));
        let held = open_loop::tried(input, cell).map(|tried| format!("in {} of {}", tried.held, tried.of));
        [
            open_loop::rate_text(&input.run.plan, cell),
            tps_with_sign(cell),
            figure(Figure::ResponseP50),
            figure(Figure::ResponseP99),
            figure(Figure::ResponseMax),
            format::or_nothing(held, |held| held),
        ]
    };
    let header = ["rate tried", "tps", "p50", "p99", "max", "held"];
    let table = DocumentTable { words_last: false, ..DocumentTable::new(header, cells.iter().map(row)) };
    let mut parts: Vec<_> = ScreenPart::table(nearest(input, table)).into_iter().collect();
    parts.extend(ledger::fact(input).map(|text| ScreenPart::fact("Cost", text)));
    parts
}

/// The rates that were tried last are the nearest to the answer: where there are too many, the lowest go.
fn nearest(input: &ReportInput<'_>, mut table: DocumentTable) -> DocumentTable {
    const ROWS_MAX: usize = 12;
    let found = input.analysis.max_rate.as_ref();
    let hidden = table.rows.len().saturating_sub(ROWS_MAX);
    table.rows.drain(..hidden);
    let slo = found.map(|found| found.slo.as_str()).unwrap_or_default();
    table.caption = Some(match hidden {
        0 => format!("held: trials that kept to {slo}"),
        n => format!("held: trials that kept to {slo}; {} below these with --full", format::plural(n as u64, "rate")),
    });
    table
}
