//! The rates of a search for the highest one.

use truetps_analysis::{Cell, Figure};

use super::layout::ScreenPart;
use crate::document::DocumentTable;
use crate::sections::tps_with_sign;
use crate::{ReportInput, format, ledger, open_loop};

pub(super) fn parts(input: &ReportInput<'_>) -> Vec<ScreenPart> {
    let (cells, hidden) = nearest(input);
    let header = ["rate tried", "tps", "p50", "p99", "max", "held"];
    let slo = input
        .analysis
        .max_rate
        .as_ref()
        .map(|found| format!("held: trials that kept to {}", found.slo));
    let rows = cells.iter().map(|cell| {
        let [p50, p99, max] = [Figure::ResponseP50, Figure::ResponseP99, Figure::ResponseMax]
            .map(|figure| format::figure_or_nothing(figure, cell.get(figure)));
        let held = format::or_nothing(open_loop::tried(input, cell), |tried| {
            format!("in {} of {}", tried.held, tried.of)
        });
        [open_loop::rate_text(input, cell), tps_with_sign(cell), p50, p99, max, held]
    });
    let table = DocumentTable::new(header, rows).with_caption(slo).of_numbers();
    let mut parts: Vec<_> =
        ScreenPart::table(table).map(|part| part.leaving_out(hidden)).into_iter().collect();
    parts.extend(ledger::fact(input).map(|text| ScreenPart::fact("Cost", text)));
    parts
}

/// The rates nearest to the answer, rising, and how many others were tried.
fn nearest<'a>(input: &ReportInput<'a>) -> (Vec<&'a Cell>, usize) {
    const ROWS_MAX: usize = 10;
    // The first trial of a search has no rate: it asks what the server takes at most.
    let measured = input.analysis.cells.iter().filter(|cell| cell.tps.is_some());
    let mut cells: Vec<_> =
        measured.filter_map(|cell| Some((cell.configuration.rate()?, cell))).collect();
    let found = input
        .analysis
        .max_rate
        .as_ref()
        .and_then(|found| found.held.as_ref())
        .map_or(0.0, |held| held.rate);
    cells.sort_by(|(one, _), (other, _)| (one - found).abs().total_cmp(&(other - found).abs()));
    let hidden = cells.len().saturating_sub(ROWS_MAX);
    cells.truncate(ROWS_MAX);
    cells.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    (cells.into_iter().map(|(_, cell)| cell).collect(), hidden)
}
