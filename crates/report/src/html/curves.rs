//! Figures against connections or rates: the text of a chart, and its table.

use truetps_analysis::{Axis, Cell, Figure};

use super::labels::{ChartLines, unbroken};
use super::table::marks;
use crate::{ReportInput, format, generator, names, open_loop};

/// One chart with the axis of the curves as its x axis.
pub(super) struct CurveChart {
    /// The figure that the script draws: `tps`, `p99`.
    pub(super) measure: &'static str,
    pub(super) title: &'static str,
    pub(super) heading: String,
    /// Name of the factor, for tables.
    pub(super) factor: &'static str,
    pub(super) x_title: &'static str,
    /// Alternative text of the chart.
    pub(super) description: String,
    /// Text of the legend without a cursor.
    pub(super) rest: &'static str,
    pub(super) how_to_read: String,
    pub(super) columns: Vec<String>,
    /// A level of the axis, and a text for each column.
    pub(super) rows: Vec<(String, Vec<String>)>,
}

impl CurveChart {
    pub(super) fn throughput(input: &ReportInput, lines: &ChartLines) -> Self {
        let points = "A point is the geometric mean over trials with its 95 % interval; the short \
            strokes beside it are single trials";
        let knees = "; a circle marks the knee, the fewest connections not shown to be below 95 % \
                     of the best";
        let pool_rule =
            ", and the dashed upright line the rule of thumb for pools, to compare the knees with";
        let has_rule = has_knee(input) && input.analysis.rule_connections.is_some();
        let rate = "; on the dotted line throughput is the target rate, and the server keeps up";
        let how_to_read = format!(
            "{points}{}{}{}.{}",
            if has_knee(input) { knees } else { "" },
            if has_rule { pool_rule } else { "" },
            if input.analysis.axis == Axis::Rate { rate } else { "" },
            marks_explained(input)
        );
        Self {
            measure: "tps",
            title: "Transactions per second",
            rest: "highest",
            ..Self::of("Throughput", &how_to_read, input, lines, |cell| {
                Some(marked(cell, &format::tps_estimate(cell.tps.as_ref()?)))
            })
        }
    }

    pub(super) fn response(input: &ReportInput, lines: &ChartLines) -> Self {
        let points = "A point is the time within which 99 of 100 transactions ended (geometric \
            mean over trials; the short strokes beside it are single trials)";
        let knees =
            ". Beyond the circled knee of the throughput, more connections only add latency";
        let open = " Response time counts from the scheduled start of a transaction: if the server \
            falls behind, it includes the wait.";
        let how_to_read = format!(
            "{points}{}.{}{}",
            if has_knee(input) { knees } else { "" },
            if open_loop::has_figures(input.analysis) { open } else { "" },
            marks_explained(input)
        );
        Self {
            measure: "p99",
            title: "Response time, p99",
            rest: "lowest",
            ..Self::of("Response time", &how_to_read, input, lines, |cell| {
                Some(marked(cell, &format::duration_us(cell.get(Figure::ResponseP99)?)))
            })
        }
    }

    /// A chart without the data for the script.
    fn of(
        what: &str,
        how_to_read: &str,
        input: &ReportInput,
        lines: &ChartLines,
        text: impl Fn(&Cell) -> Option<String>,
    ) -> Self {
        let (columns, rows) = pivot(input, lines, text);
        let number = format::plural(columns.len() as u64, "line");
        let axis = input.analysis.axis;
        let (against, x_title) = match axis {
            Axis::Connections => ("connections", "connections (log scale)"),
            Axis::Rate => ("the target rate", "target rate, transactions a second (log scale)"),
        };
        Self {
            measure: "",
            title: "",
            heading: format!("{what} against {against}"),
            factor: axis.factor(),
            x_title,
            description: format!(
                "{number} against {against}; arrow keys read it, and the table below has its figures"
            ),
            rest: "",
            how_to_read: unbroken(how_to_read),
            columns,
            rows,
        }
    }
}

/// A figure with its caveats.
fn marked(cell: &Cell, text: &str) -> String {
    [vec![text], marks(cell)].concat().join(", ")
}

fn marks_explained(input: &ReportInput) -> String {
    let cells = &input.analysis.cells;
    let mut said = String::new();
    if open_loop::has_figures(input.analysis) {
        said.push_str(" A hollow point was not sustained in all of its trials.");
    }
    if cells.iter().any(generator::is_limited) {
        said.push_str(" A dashed square marks figures that the generator limited.");
    }
    said
}

fn has_knee(input: &ReportInput) -> bool {
    input.analysis.curves.iter().any(|curve| curve.knee.is_some())
}

/// One row for each level of the axis, one column for each line.
fn pivot(
    input: &ReportInput,
    lines: &ChartLines,
    text: impl Fn(&Cell) -> Option<String>,
) -> (Vec<String>, Vec<(String, Vec<String>)>) {
    let analysis = input.analysis;
    let columns =
        analysis.curves.iter().enumerate().map(|(index, curve)| lines.with_baseline(index, curve));
    let rows = names::levels(analysis).into_iter().map(|level| {
        let cells = analysis.curves.iter().map(|curve| names::cell_at(analysis, curve, level));
        let texts = cells.map(|cell| format::text_or_nothing(cell.and_then(&text)));
        (format::rate(level), texts.collect())
    });
    (columns.collect(), rows.collect())
}
