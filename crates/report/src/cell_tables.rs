//! Tables with a row for each configuration: all that was measured of it.

use truetps_analysis::{Cell, Curve, OpenLoopCell};

use crate::ReportInput;
use crate::document::{Block, DocumentSection, DocumentTable, TableEntry};
use crate::format::{self, NOTHING, duration_us};
use crate::generator::{self, SIGN};
use crate::sections::{COLUMNS_MAX, tps_entry};
use crate::{names, open_loop};

/// Columns of a table, each with its name and its text of a cell.
type CellColumns<'a> = Vec<(&'a str, Box<dyn Fn(&Cell) -> String + 'a>)>;

/// One table for each combination of settings with what has no table of its own.
pub(crate) fn figures(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    let is_open = open_loop::has_figures(analysis);
    let with_tps = !is_open && !(2..=COLUMNS_MAX).contains(&analysis.curves.len());
    let mut blocks: Vec<_> = analysis
        .curves
        .iter()
        .map(|curve| Block::Table(curve_table(input, curve, &figure_columns(input, curve, with_tps, is_open))))
        .collect();
    let parts = [
        with_tps.then_some("throughput (tps, 95 % interval)"),
        (!is_open).then_some("response times"),
        Some("failed transactions"),
        Some("CPU a transaction"),
    ];
    let heading = names::capital(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    if blocks.is_empty() {
        return None;
    }
    blocks.extend(generator::sign_explained(analysis).map(Block::Paragraph));
    Some(DocumentSection { heading, blocks })
}

fn figure_columns<'a>(input: &'a ReportInput<'_>, curve: &Curve, with_tps: bool, is_open: bool) -> CellColumns<'a> {
    let cells = names::cells(input.analysis, curve);
    let mut columns: CellColumns<'a> = Vec::new();
    if with_tps {
        columns.push(("tps", Box::new(|cell| tps_entry(Some(cell)))));
    }
    columns.push(("trials", Box::new(|cell| cell.trials.len().to_string())));
    if !is_open {
        columns.extend([
            ("p50", time(|cell| cell.response_us_p50)),
            ("p95", time(|cell| cell.response_us_p95)),
            ("p99", time(|cell| cell.response_us_p99)),
            ("max", time(|cell| cell.response_us_max)),
        ]);
    }
    columns.push(("failed", Box::new(|cell| format::count(cell.failed))));
    if cells.iter().any(|cell| cell.retried > 0) {
        columns.push(("retried", Box::new(|cell| format::count(cell.retried))));
    }
    if cells.iter().any(|cell| cell.reconnects > 0) {
        columns.push(("reconnects", Box::new(|cell| format::count(cell.reconnects))));
    }
    columns.push(("client CPU", time(|cell| cell.client_cpu_us_per_tx)));
    columns.push(("server CPU", time(|cell| cell.server_cpu_us_per_tx)));
    with_mark(columns, &cells)
}

/// With a last column of marks, where there is one to show.
fn with_mark<'a>(mut columns: CellColumns<'a>, cells: &[&Cell]) -> CellColumns<'a> {
    if cells.iter().any(|cell| !mark(cell).is_empty()) {
        columns.push((MARK, Box::new(mark)));
    }
    columns
}

const MARK: &str = "mark";
const SUSTAINED: &str = "sustained";

fn time<'a>(figure: impl Fn(&Cell) -> Option<f64> + 'a) -> Box<dyn Fn(&Cell) -> String + 'a> {
    Box::new(move |cell| format::or_nothing(figure(cell), duration_us))
}

fn mark(cell: &Cell) -> String {
    let mut marks = Vec::new();
    if generator::is_limited(cell) {
        marks.push(SIGN.to_owned());
    }
    if cell.invalid_trials > 0 {
        marks.push(format!("{} not used", cell.invalid_trials));
    }
    marks.join(", ")
}

/// A table of a curve's cells with the axis at its left. Columns of words stand last.
fn curve_table(input: &ReportInput<'_>, curve: &Curve, columns: &CellColumns<'_>) -> DocumentTable {
    let axis = input.analysis.axis;
    let row = |cell: &&Cell| {
        let place = std::iter::once(names::level(axis, &cell.configuration));
        place.chain(columns.iter().map(|(_, text)| text(cell))).map(TableEntry::from).collect()
    };
    let header = std::iter::once(axis.factor()).chain(columns.iter().map(|(name, _)| *name)).map(str::to_owned);
    let search = input.analysis.max_rate.as_ref().map_or(SUSTAINED, |found| &found.slo);
    let words_last = columns.last().is_some_and(|(name, _)| [MARK, SUSTAINED, search].contains(name));
    let rows = names::cells(input.analysis, curve).iter().map(row).collect();
    DocumentTable { caption: caption(input, curve), header: header.collect(), rows, words_last }
}

fn caption(input: &ReportInput<'_>, curve: &Curve) -> Option<String> {
    let baseline = if curve.is_baseline && input.analysis.curves.len() > 1 { " (baseline)" } else { "" };
    (!curve.label.is_empty()).then(|| format!("{}{baseline}", curve.label))
}

/// Whether the server kept up, and all times, of open loops.
pub(crate) fn open_loop(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    if !open_loop::has_figures(analysis) {
        return None;
    }
    let table = |curve: &Curve, columns: CellColumns<'_>| Block::Table(curve_table(input, curve, &columns));
    let mut blocks: Vec<_> = analysis.curves.iter().map(|curve| table(curve, keeping_up(input))).collect();
    if let [only] = &analysis.cells[..] {
        blocks.extend(only.open_loop.as_ref().map(|open| Block::Table(times_of_one(only, open))));
    } else {
        let marked = |curve: &Curve, columns| with_mark(columns, &names::cells(analysis, curve));
        blocks.extend(analysis.curves.iter().map(|curve| table(curve, marked(curve, response()))));
        blocks.extend(analysis.curves.iter().map(|curve| table(curve, marked(curve, service_and_lag()))));
    }
    blocks.push(Block::Paragraph(open_loop::TIMES_EXPLAINED.to_owned()));
    Some(DocumentSection { heading: "Open loop: did the server keep up with the rate?".to_owned(), blocks })
}

fn of_open<'a>(text: impl Fn(&OpenLoopCell) -> String + 'a) -> Box<dyn Fn(&Cell) -> String + 'a> {
    Box::new(move |cell| cell.open_loop.as_ref().map_or_else(|| NOTHING.to_owned(), &text))
}

fn whole(number: Option<f64>) -> String {
    format::or_nothing(number, format::whole)
}

fn keeping_up<'a>(input: &'a ReportInput<'_>) -> CellColumns<'a> {
    let is_axis = input.analysis.axis == truetps_analysis::Axis::Rate;
    let mut columns: CellColumns<'a> = Vec::new();
    if !is_axis {
        columns.push(("target rate", Box::new(|cell| open_loop::rate_text(&input.run.plan, cell))));
    }
    columns.extend::<CellColumns<'a>>(vec![
        ("started/s", of_open(|open| format::or_nothing(open.started_per_s, format::tps))),
        ("tps", Box::new(|cell| tps_entry(Some(cell)))),
        ("skipped", of_open(|open| whole(open.skipped))),
        ("queue at end", of_open(|open| whole(open.queued))),
        (SUSTAINED, of_open(open_loop::sustained_with_reason)),
    ]);
    if let Some(found) = &input.analysis.max_rate {
        columns.pop();
        columns.push((&found.slo, Box::new(|cell| open_loop::held(input, cell).unwrap_or_else(|| NOTHING.to_owned()))));
    }
    columns
}

fn response<'a>() -> CellColumns<'a> {
    vec![
        ("response p50", time(|cell| cell.response_us_p50)),
        ("p95", time(|cell| cell.response_us_p95)),
        ("p99", time(|cell| cell.response_us_p99)),
        ("p99.9", time(|cell| cell.response_us_p999)),
        ("max", time(|cell| cell.response_us_max)),
    ]
}

fn service_and_lag<'a>() -> CellColumns<'a> {
    let open = |figure: fn(&OpenLoopCell) -> Option<f64>| time(move |cell| figure(cell.open_loop.as_ref()?));
    vec![
        ("service p50", open(|open| open.service_us_p50)),
        ("p95", open(|open| open.service_us_p95)),
        ("p99", open(|open| open.service_us_p99)),
        ("max", open(|open| open.service_us_max)),
        ("lag p50", open(|open| open.lag_us_p50)),
        ("p99", open(|open| open.lag_us_p99)),
        ("max", open(|open| open.lag_us_max)),
        ("late p99", open(|open| open.late_us_p99)),
    ]
}

/// One configuration has room for a row a kind of time.
fn times_of_one(cell: &Cell, open: &OpenLoopCell) -> DocumentTable {
    let row = |name: &str, times: [Option<f64>; 5]| {
        let times = times.map(|us| format::or_nothing(us, duration_us));
        std::iter::once(name.to_owned()).chain(times).map(TableEntry::from).collect()
    };
    let response =
        [cell.response_us_p50, cell.response_us_p95, cell.response_us_p99, cell.response_us_p999, cell.response_us_max];
    let service =
        [open.service_us_p50, open.service_us_p95, open.service_us_p99, open.service_us_p999, open.service_us_max];
    let times = [
        ("response time", response),
        ("service time", service),
        ("lag", [open.lag_us_p50, None, open.lag_us_p99, None, open.lag_us_max]),
        ("late", [open.late_us_p50, None, open.late_us_p99, None, open.late_us_max]),
    ];
    // A script's run has but the first of them.
    let is_known =
        |(name, times): &(&str, [Option<f64>; 5])| *name == "response time" || times.iter().any(Option::is_some);
    DocumentTable {
        caption: None,
        header: ["", "p50", "p95", "p99", "p99.9", "max"].map(str::to_owned).to_vec(),
        rows: times.into_iter().filter(is_known).map(|(name, times)| row(name, times)).collect(),
        words_last: false,
    }
}
