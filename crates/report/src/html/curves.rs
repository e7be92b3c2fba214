//! Figures against connections: what a chart says in words, and its table.

use truetps_analysis::Cell;

use super::labels::{Lines, unbroken};
use crate::ReportInput;
use crate::{format, names};

/// One chart with connections as its x axis.
pub(super) struct CurveChart {
    /// What the script draws: `tps`, `p99`.
    pub(super) measure: &'static str,
    pub(super) title: &'static str,
    /// For those who do not see the chart.
    pub(super) description: String,
    /// What the legend shows while the cursor is nowhere.
    pub(super) rest: &'static str,
    pub(super) how_to_read: String,
    pub(super) columns: Vec<String>,
    /// Connections, and a text for each column.
    pub(super) rows: Vec<(String, Vec<String>)>,
}

impl CurveChart {
    pub(super) fn throughput(input: &ReportInput, lines: &Lines) -> Self {
        let points = "A point is the geometric mean over trials with its 95 % interval, the short strokes beside it are the \
                      single trials";
        let knees = "; a circle marks the knee, the fewest connections that are not shown to stay below 95 % of the best, \
                     and the dashed upright line the rule of thumb for pools, to compare the knees with";
        let how_to_read = format!("{points}{}.", if has_knee(input) { knees } else { "" });
        Self {
            measure: "tps",
            title: "Transactions per second",
            rest: "highest",
            how_to_read: unbroken(&how_to_read),
            ..Self::base(input, lines, |cell| cell.tps.as_ref().map(format::tps_estimate))
        }
    }

    pub(super) fn response(input: &ReportInput, lines: &Lines) -> Self {
        let points = "A point is the time within which 99 of 100 transactions ended (median over trials, the short strokes \
                      beside it are the single trials)";
        let knees = ": past the knee of the throughput, which is circled here too, this is what more connections cost";
        let how_to_read = format!("{points}{}.", if has_knee(input) { knees } else { "" });
        Self {
            measure: "p99",
            title: "Response time, p99",
            rest: "lowest",
            how_to_read: unbroken(&how_to_read),
            ..Self::base(input, lines, |cell| cell.response_us_p99.map(format::duration_us))
        }
    }

    fn base(input: &ReportInput, lines: &Lines, text: impl Fn(&Cell) -> Option<String>) -> Self {
        let (columns, rows) = pivot(input, lines, text);
        let number = format::plural(columns.len() as u64, "line");
        let description =
            format!("{number} against connections; arrow keys read it, and the table below has its figures");
        Self { measure: "", title: "", rest: "", how_to_read: String::new(), description, columns, rows }
    }
}

fn has_knee(input: &ReportInput) -> bool {
    input.analysis.curves.iter().any(|curve| curve.knee.is_some())
}

/// One row for each number of connections, one column for each line.
fn pivot(
    input: &ReportInput,
    lines: &Lines,
    text: impl Fn(&Cell) -> Option<String>,
) -> (Vec<String>, Vec<(String, Vec<String>)>) {
    let analysis = input.analysis;
    let columns = analysis.curves.iter().enumerate().map(|(index, curve)| lines.with_baseline(index, curve));
    let mut levels: Vec<_> = analysis.cells.iter().map(|cell| cell.configuration.connections()).collect();
    levels.sort_unstable();
    levels.dedup();
    let row = |level: u32| {
        let cells = analysis.curves.iter().map(|curve| {
            let cells = names::cells(analysis, curve);
            let cell = cells.into_iter().find(|cell| cell.configuration.connections() == level);
            cell.and_then(&text).unwrap_or_else(|| format::NOTHING.to_owned())
        });
        (format::count(level.into()), cells.collect())
    };
    (columns.collect(), levels.into_iter().map(row).collect())
}
