//! The figures of one combination of settings: a run, or numbers of connections one below the
//! other.

use truetps_analysis::{Axis, Figure};

use super::layout::{ScreenPart, without_columns};
use crate::document::DocumentTable;
use crate::sections::{tps_entry, tps_with_sign};
use crate::{ReportInput, TextScreen, format, ledger, names, open_loop, rows, stalls, waits};

pub(super) fn parts(input: &ReportInput<'_>, screen: TextScreen) -> Vec<ScreenPart> {
    let droppable =
        [Figure::ServiceP99, Figure::ResponseP50, Figure::ResponseMax].map(Figure::name);
    let table =
        without_columns(figures(input), &[&droppable[..], &["p95", "max"]].concat(), screen);
    let has_evidence = input.analysis.cells.iter().any(|cell| !cell.trials.is_empty());
    let mut parts: Vec<_> = ScreenPart::table(table).filter(|_| has_evidence).into_iter().collect();
    parts.extend(wait(input).map(|text| ScreenPart::fact("Waits", text)));
    parts.extend(ledger::fact(input).map(|text| ScreenPart::fact("Cost", text)));
    parts.extend(stalls::fact(input).map(|text| ScreenPart::fact("Stalls", text)));
    parts
}

/// A row for each level of the axis.
fn figures(input: &ReportInput<'_>) -> DocumentTable {
    const CLOSED: [Figure; 6] = [
        Figure::ResponseP50,
        Figure::ResponseP95,
        Figure::ResponseP99,
        Figure::ResponseMax,
        Figure::Failed,
        Figure::ServerCpu,
    ];
    const OPEN: [Figure; 6] = [
        Figure::ResponseP50,
        Figure::ResponseP99,
        Figure::ResponseMax,
        Figure::ServiceP99,
        Figure::LagP99,
        Figure::Queued,
    ];
    let analysis = input.analysis;
    let is_open = open_loop::has_figures(analysis);
    let is_rate = analysis.axis == Axis::Rate;
    let columns = if is_open { OPEN } else { CLOSED };
    let head = if is_open { Figure::name } else { format::main_head };
    let mut header =
        vec![if is_rate { "rate" } else { "connections" }.to_owned(), "tps".to_owned()];
    let has_rows = rows::are_shown(analysis);
    header.extend(has_rows.then(|| Figure::RowsPerSecond.name().to_owned()));
    header.extend(columns.iter().map(|figure| head(*figure).to_owned()));
    let rows = analysis.cells.iter().map(|cell| {
        let tps = match cell.tps {
            // The answer has the interval, and says that there is none.
            Some(tps) if tps.n == 1 => tps_with_sign(cell),
            _ => tps_entry(Some(cell)),
        };
        let rows = has_rows.then_some(Figure::RowsPerSecond);
        let figures = rows.into_iter().chain(columns);
        [names::level(analysis.axis, &cell.configuration), tps]
            .into_iter()
            .chain(figures.map(|figure| format::figure_or_nothing(figure, cell.get(figure))))
    });
    DocumentTable::new(header, rows).of_numbers()
}

/// What sessions waited on longest, of the only configuration.
fn wait(input: &ReportInput<'_>) -> Option<String> {
    const SHOWN_MAX: usize = 3;
    let [cell] = &input.analysis.cells[..] else { return None };
    let seen = cell.detail.waits.as_ref()?;
    let shown = seen.list.iter().take(SHOWN_MAX);
    format::joined(shown.map(|wait| waits::in_short(wait, seen.readings)), "; ")
}
