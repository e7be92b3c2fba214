//! Tables with a row for each configuration: all of its figures.

use truetps_analysis::{Cell, Curve, Figure, FigurePlace};

use crate::document::{Block, DocumentSection, DocumentTable};
use crate::format;
use crate::generator::{self, SIGN};
use crate::sections::{COLUMNS_MAX, tps_entry};
use crate::{ReportInput, names, open_loop, rows};

/// Times of open loops, in tables of their own.
pub(crate) const RESPONSE: [Figure; 5] = [
    Figure::ResponseP50,
    Figure::ResponseP95,
    Figure::ResponseP99,
    Figure::ResponseP999,
    Figure::ResponseMax,
];
pub(crate) const SERVICE: [Figure; 4] =
    [Figure::ServiceP50, Figure::ServiceP95, Figure::ServiceP99, Figure::ServiceMax];
pub(crate) const LAG: [Figure; 3] = [Figure::LagP50, Figure::LagP99, Figure::LagMax];

/// Columns of a table, each with its name and its text of a cell.
type CellColumns<'a> = Vec<(&'a str, Box<dyn Fn(&Cell) -> String + 'a>)>;

/// One table for each combination of settings with what has no table of its own.
pub(crate) fn figures(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    let is_open = open_loop::has_figures(analysis);
    let with_tps = !is_open && !(2..=COLUMNS_MAX).contains(&analysis.curves.len());
    let parts = [
        with_tps.then_some("throughput (tps, 95 % interval)"),
        (!is_open).then_some("response times"),
        Some("failed transactions"),
        Some("CPU a transaction"),
    ];
    let heading = names::capital(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    let tables = analysis.curves.iter().map(|curve| {
        curve_table(input, curve, &figure_columns(input, curve, with_tps, is_open)).block()
    });
    let explained = [generator::sign_explained(analysis), generator::bound_explained(analysis)];
    let explained = explained.map(|text| text.map(Block::Paragraph));
    DocumentSection::of(heading, tables.chain(explained))
}

fn figure_columns<'a>(
    input: &'a ReportInput<'_>,
    curve: &Curve,
    with_tps: bool,
    is_open: bool,
) -> CellColumns<'a> {
    let cells = names::cells(input.analysis, curve);
    let mut columns: CellColumns<'a> = Vec::new();
    if with_tps {
        columns.push(("tps", Box::new(|cell| tps_entry(Some(cell)))));
    }
    columns.push(("trials", Box::new(|cell| cell.trials.len().to_string())));
    let shown = Figure::ALL.iter().copied().filter(|figure| {
        (figure.is_shown(FigurePlace::Main) && !(is_open && RESPONSE.contains(figure)))
            || figure.is_shown(FigurePlace::Text)
            || (figure.is_shown(FigurePlace::MainIfRows) && rows::are_shown(input.analysis))
            || ((figure.is_shown(FigurePlace::TextIfAny)
                || figure.is_shown(FigurePlace::MainIfAny))
                && cells.iter().any(|cell| cell.get(*figure).is_some_and(|value| value > 0.0)))
    });
    columns.extend(shown.map(|figure| (format::main_head(figure), text_of(figure))));
    with_mark(columns, &cells)
}

/// Adds a last column of marks, where there is one to show.
fn with_mark<'a>(mut columns: CellColumns<'a>, cells: &[&Cell]) -> CellColumns<'a> {
    if cells.iter().any(|cell| !mark(cell).is_empty()) {
        columns.push((MARK, Box::new(mark)));
    }
    columns
}

const MARK: &str = "mark";
const SUSTAINED: &str = "sustained";

fn text_of<'a>(figure: Figure) -> Box<dyn Fn(&Cell) -> String + 'a> {
    Box::new(move |cell| format::figure_or_nothing(figure, cell.get(figure)))
}

fn mark(cell: &Cell) -> String {
    let limited = generator::is_limited(cell).then(|| SIGN.to_owned());
    let invalid = (cell.invalid_trials > 0).then(|| format!("{} not used", cell.invalid_trials));
    format::joined(limited.into_iter().chain(invalid), ", ").unwrap_or_default()
}

/// A table of a curve's cells with the axis at its left. Columns of words stand last.
fn curve_table(input: &ReportInput<'_>, curve: &Curve, columns: &CellColumns<'_>) -> DocumentTable {
    let axis = input.analysis.axis;
    let header = std::iter::once(axis.factor()).chain(columns.iter().map(|(name, _)| *name));
    let search = input.analysis.max_rate.as_ref().map_or(SUSTAINED, |found| &found.slo);
    let words_last =
        columns.last().is_some_and(|(name, _)| [MARK, SUSTAINED, search].contains(name));
    let baseline =
        if curve.is_baseline && input.analysis.curves.len() > 1 { " (baseline)" } else { "" };
    let caption = (!curve.label.is_empty()).then(|| format!("{}{baseline}", curve.label));
    let rows = names::cells(input.analysis, curve).into_iter().map(|cell| {
        let level = names::level(axis, &cell.configuration);
        std::iter::once(level).chain(columns.iter().map(|(_, text)| text(cell)))
    });
    DocumentTable { caption, words_last, ..DocumentTable::new(header, rows) }
}

/// Whether the server kept up with the rate of an open loop, and all times.
pub(crate) fn open_loop(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    if !open_loop::has_figures(analysis) {
        return None;
    }
    let columns = keeping_up(input);
    let mut blocks: Vec<_> =
        analysis.curves.iter().map(|curve| curve_table(input, curve, &columns).block()).collect();
    if let [only] = &analysis.cells[..] {
        blocks.push(times_of_one(only).block());
    } else {
        let service_and_lag = [&SERVICE[..], &LAG, &[Figure::LateP99]].concat();
        for figures in [&RESPONSE[..], &service_and_lag] {
            blocks.extend(analysis.curves.iter().map(|curve| {
                let columns = with_mark(columns_of(figures), &names::cells(analysis, curve));
                curve_table(input, curve, &columns).block()
            }));
        }
    }
    blocks.push(Some(Block::paragraph(open_loop::TIMES_EXPLAINED)));
    DocumentSection::of("Open loop: did the server keep up with the rate?", blocks)
}

fn keeping_up<'a>(input: &'a ReportInput<'_>) -> CellColumns<'a> {
    let is_axis = input.analysis.axis == truetps_analysis::Axis::Rate;
    let mut columns: CellColumns<'a> = Vec::new();
    if !is_axis {
        columns.push(("target rate", Box::new(|cell| open_loop::rate_text(input, cell))));
    }
    columns.extend::<CellColumns<'a>>(vec![
        (Figure::StartedRate.name(), text_of(Figure::StartedRate)),
        ("tps", Box::new(|cell| tps_entry(Some(cell)))),
        (Figure::Skipped.name(), text_of(Figure::Skipped)),
        (Figure::Queued.name(), text_of(Figure::Queued)),
    ]);
    columns.push(match &input.analysis.max_rate {
        Some(found) => {
            (&found.slo, Box::new(|cell| format::text_or_nothing(open_loop::held(input, cell))))
        }
        None => (
            SUSTAINED,
            Box::new(|cell| {
                format::or_nothing(cell.open_loop.as_ref(), open_loop::sustained_with_reason)
            }),
        ),
    });
    columns
}

fn columns_of<'a>(figures: &[Figure]) -> CellColumns<'a> {
    format::column_heads(figures)
        .into_iter()
        .zip(figures.iter().map(|figure| text_of(*figure)))
        .collect()
}

/// One configuration has room for a row a kind of time.
fn times_of_one(cell: &Cell) -> DocumentTable {
    const HEADS: [&str; 5] = ["p50", "p95", "p99", "p99.9", "max"];
    const KINDS: [(&str, &str); 4] = [
        ("response", "response time"),
        ("service", "service time"),
        ("lag", "lag"),
        ("late", "late"),
    ];
    let rows = KINDS.into_iter().filter_map(|(kind, name)| {
        let times = HEADS.map(|head| time_of_kind(cell, kind, head));
        // A script's run has response times only.
        let is_shown = kind == "response" || times.iter().any(Option::is_some);
        is_shown.then(|| std::iter::once(name.to_owned()).chain(times.map(format::text_or_nothing)))
    });
    DocumentTable::new(std::iter::once("").chain(HEADS), rows).of_numbers()
}

/// The figure `KIND HEAD`, such as `lag p99`.
fn time_of_kind(cell: &Cell, kind: &str, head: &str) -> Option<String> {
    let figure =
        Figure::ALL.iter().find(|figure| figure.name().split_once(' ') == Some((kind, head)))?;
    Some(format::figure(*figure, cell.get(*figure)?))
}
