//! Open loops: whether each configuration kept up with its schedule, and where its time went.

use truetps_analysis::{Axis, Cell, Curve, Figure, OpenLoopCell};

use super::labels::{ChartLines, RowGroup, unbroken};
use crate::cell_tables::{LAG, RESPONSE, SERVICE};
use crate::generator::{self, LIMITED};
use crate::{ReportInput, format, names, open_loop};

pub(super) struct OpenLoopSection {
    pub(super) factor: &'static str,
    /// Head of the column of verdicts: in a search, its limits.
    pub(super) verdict_of: String,
    /// The rate, if it does not differ between rows.
    pub(super) with_target: bool,
    pub(super) groups: Vec<RowGroup<OpenLoopRow>>,
    /// Whether the generator limited any figure.
    pub(super) limited: bool,
    pub(super) explained: Vec<String>,
}

pub(super) struct OpenLoopRow {
    pub(super) level: String,
    pub(super) target: String,
    pub(super) started: String,
    pub(super) tps: String,
    pub(super) skipped: String,
    pub(super) queued: String,
    pub(super) symbol: &'static str,
    pub(super) sustained: String,
    pub(super) why_not: Option<String>,
    pub(super) mark: Option<&'static str>,
    /// Response time, service time, lag and late.
    pub(super) times: Vec<String>,
}

impl OpenLoopSection {
    /// `None` for closed loops.
    pub(super) fn of(input: &ReportInput, lines: &ChartLines) -> Option<Self> {
        let analysis = input.analysis;
        if !open_loop::has_figures(analysis) {
            return None;
        }
        let curves = analysis.curves.iter().enumerate();
        let groups = curves.map(|(index, curve)| group(input, curve, lines.full(index, curve)));
        let slo = analysis.max_rate.as_ref().map(|found| format!("keeps to {}", found.slo));
        let compared = (analysis.cells.len() > 1).then_some(open_loop::TPS_EXPLAINED);
        Some(Self {
            factor: analysis.axis.factor(),
            verdict_of: slo.unwrap_or_else(|| "sustained".to_owned()),
            with_target: analysis.axis != Axis::Rate,
            groups: groups.filter(|group| !group.rows.is_empty()).collect(),
            limited: analysis.cells.iter().any(generator::is_limited),
            explained: [open_loop::TIMES_EXPLAINED]
                .into_iter()
                .chain(compared)
                .map(unbroken)
                .collect(),
        })
    }
}

fn group(input: &ReportInput, curve: &Curve, label: String) -> RowGroup<OpenLoopRow> {
    let cells = names::cells(input.analysis, curve);
    let rows =
        cells.into_iter().filter_map(|cell| Some(row(input, cell, cell.open_loop.as_ref()?)));
    RowGroup { label, rows: rows.collect() }
}

fn row(input: &ReportInput, cell: &Cell, open: &OpenLoopCell) -> OpenLoopRow {
    let [started, skipped, queued] = [Figure::StartedRate, Figure::Skipped, Figure::Queued]
        .map(|figure| format::figure_or_nothing(figure, cell.get(figure)));
    let times = RESPONSE.into_iter().chain(SERVICE).chain(LAG).chain([Figure::LateP99]);
    OpenLoopRow {
        level: names::level(input.analysis.axis, &cell.configuration),
        target: open_loop::rate_text(input, cell),
        started,
        tps: format::or_nothing(cell.tps.as_ref(), format::tps_estimate),
        skipped,
        queued,
        symbol: symbol(input, cell, open),
        sustained: open_loop::held(input, cell)
            .map_or_else(|| open_loop::sustained(open), |held| unbroken(&held)),
        why_not: open_loop::why_not(open).map(|why| unbroken(&why)),
        mark: generator::is_limited(cell).then_some(LIMITED),
        times: times.map(|figure| format::figure_or_nothing(figure, cell.get(figure))).collect(),
    }
}

/// In a search a sustained rate may still have broken a limit.
fn symbol(input: &ReportInput, cell: &Cell, open: &OpenLoopCell) -> &'static str {
    let (of, is_good) = match open_loop::tried(input, cell) {
        Some(tried) => (tried.of, tried.broken_by.is_none()),
        None => (open.sustained.of, open.sustained.is_all()),
    };
    match (of, is_good) {
        (0, _) => "?",
        (_, true) => "✓",
        (_, false) => "✗",
    }
}
