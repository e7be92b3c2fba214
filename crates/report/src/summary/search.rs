//! The rates of a search for the highest one.

use truetps_analysis::{Cell, Figure};

use super::layout::ScreenPart;
use super::tps_with_sign;
use crate::document::DocumentTable;
use crate::{ReportInput, format, ledger, open_loop};

pub(super) fn parts(input: &ReportInput<'_>) -> Vec<ScreenPart> {
    let (cells, hidden) = nearest(input);
    let row = |cell: &&Cell| {
        let figure = |of: Figure| format::figure_or_nothing(of, cell.get(of));
        let held =
            open_loop::tried(input, cell).map(|tried| format!("in {} of {}", tried.held, tried.of));
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
    let slo = input
        .analysis
        .max_rate
        .as_ref()
        .map(|found| format!("held: trials that kept to {}", found.slo));
    let table = DocumentTable::new(header, cells.iter().map(row));
    let table = DocumentTable { caption: slo, words_last: false, ..table };
    let mut parts: Vec<_> =
        ScreenPart::table(table).map(|part| part.leaving_out(hidden)).into_iter().collect();
    parts.extend(ledger::fact(input).map(|text| ScreenPart::fact("Cost", text)));
    parts
}

/// The rates nearest to the answer, rising, and how many others were tried.
fn nearest<'a>(input: &ReportInput<'a>) -> (Vec<&'a Cell>, usize) {
    const ROWS_MAX: usize = 10;
    let rate = |cell: &&Cell| cell.configuration.rate().unwrap_or_default();
    // The first trial of a search has no rate: it asks what the server takes at most.
    let tried = |cell: &&Cell| cell.tps.is_some() && cell.configuration.rate().is_some();
    let mut cells: Vec<_> = input.analysis.cells.iter().filter(tried).collect();
    let found = input
        .analysis
        .max_rate
        .as_ref()
        .and_then(|found| found.held.as_ref())
        .map_or(0.0, |held| held.rate);
    cells.sort_by(|one, other| (rate(one) - found).abs().total_cmp(&(rate(other) - found).abs()));
    let hidden = cells.len().saturating_sub(ROWS_MAX);
    cells.truncate(ROWS_MAX);
    cells.sort_by(|one, other| rate(one).total_cmp(&rate(other)));
    (cells, hidden)
}
