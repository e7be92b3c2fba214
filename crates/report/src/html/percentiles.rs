//! Distribution of response times: percentiles of each configuration over its valid trials.

use serde::Serialize;
use truetps_analysis::{Axis, Cell, nines_us, quantile_us};
use truetps_record::Histogram;

use super::chart_number::ChartNumber;
use super::heat::HeatSection;
use super::labels::{self, ChartLines, unbroken};
use crate::{ReportInput, format, names};

/// Percentiles of the table: heading, quantile.
const COLUMNS: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
];

pub(super) struct PercentileSection {
    /// One for each level of the axis; empty where one picture has all.
    pub(super) options: Vec<String>,
    pub(super) columns: [(&'static str, f64); 6],
    pub(super) rows: Vec<PercentileRow>,
    pub(super) how_to_read: String,
    pub(super) heat: HeatSection,
    pub(super) data: PercentileData,
}

pub(super) struct PercentileRow {
    pub(super) configuration: String,
    pub(super) transactions: String,
    pub(super) times: Vec<String>,
    pub(super) max: String,
}

#[derive(Serialize)]
pub(super) struct PercentileData {
    groups: Vec<PercentileGroup>,
    /// Index of the group that is shown first.
    chosen: usize,
}

#[derive(Serialize)]
struct PercentileGroup {
    lines: Vec<PercentileLine>,
}

#[derive(Serialize)]
struct PercentileLine {
    name: String,
    baseline: bool,
    /// The look: the same as its curve has.
    look: usize,
    transactions: u64,
    /// Microseconds at 0, 1, 2 … tenths of a nine.
    us: Vec<ChartNumber>,
    /// The response time of the slowest transaction.
    max: ChartNumber,
}

impl PercentileSection {
    /// `None` where no trial has a histogram.
    pub(super) fn of(input: &ReportInput, lines: &ChartLines) -> Option<Self> {
        let cells = input.analysis.cells.iter();
        let rows: Vec<_> =
            cells.filter_map(|cell| Some(row(cell, cell.detail.latency.as_ref()?))).collect();
        if rows.is_empty() {
            return None;
        }
        let (options, groups) = groups(input, lines);
        Some(Self {
            columns: COLUMNS,
            rows,
            how_to_read: unbroken(
                "Read it from right to left: at 99.9 %, the time within which 999 of 1 000 \
                 transactions ended; at the end of a line, the slowest one. A line that rises \
                 steeply shows that few transactions wait very long, which a mean hides. All valid \
                 trials of a configuration are added up; only the measure phase counts.",
            ),
            heat: HeatSection::of(input),
            data: PercentileData { chosen: chosen(input, groups.len()), groups },
            options,
        })
    }
}

fn row(cell: &Cell, histogram: &Histogram) -> PercentileRow {
    let times = COLUMNS.map(|(_, quantile)| {
        format::or_nothing(quantile_us(histogram, quantile), format::duration_us)
    });
    PercentileRow {
        configuration: labels::configuration(&cell.configuration),
        transactions: format::count(histogram.len()),
        times: times.to_vec(),
        max: format::duration_us(histogram.max() as f64 / 1e3),
    }
}

/// Several curves: at each level of the axis, one line for each. A single one: a line for each of
/// its levels.
fn groups(input: &ReportInput, lines: &ChartLines) -> (Vec<String>, Vec<PercentileGroup>) {
    let analysis = input.analysis;
    if let [curve] = analysis.curves.as_slice() {
        let lines = curve.cells.iter().enumerate().filter_map(|(look, cell)| {
            let name = at_level(analysis.axis, names::level_of(analysis, *cell));
            PercentileLine::new(&analysis.cells[*cell], look, false, name)
        });
        return (Vec::new(), vec![PercentileGroup { lines: lines.collect() }]);
    }
    let levels = names::levels(analysis);
    let groups = levels.iter().map(|level| {
        let lines = analysis.curves.iter().enumerate().filter_map(|(look, curve)| {
            let name = lines.with_baseline(look, curve);
            let cell = names::cell_at(analysis, curve, *level)?;
            PercentileLine::new(cell, look, curve.is_baseline, name)
        });
        PercentileGroup { lines: lines.collect() }
    });
    (levels.iter().map(|level| at_level(analysis.axis, *level)).collect(), groups.collect())
}

impl PercentileLine {
    /// `None` where no trial has a histogram.
    fn new(cell: &Cell, look: usize, baseline: bool, name: String) -> Option<Self> {
        let histogram = cell.detail.latency.as_ref()?;
        let max = ChartNumber::new(histogram.max() as f64 / 1e3);
        let us = nines_us(histogram).into_iter().map(ChartNumber::new).collect();
        Some(Self { name, baseline, look, transactions: histogram.len(), us, max })
    }
}

fn at_level(axis: Axis, level: f64) -> String {
    match axis {
        Axis::Connections => names::connections(level as u32),
        Axis::Rate => format!("{} tps", format::rate(level)),
    }
}

/// The index of the level at which the baseline is fastest.
fn chosen(input: &ReportInput, groups: usize) -> usize {
    let analysis = input.analysis;
    let level = analysis.best_of_baseline().map(|best| names::level_of(analysis, best));
    let at = names::levels(analysis).into_iter().position(|one| Some(one) == level).unwrap_or(0);
    at.min(groups.saturating_sub(1))
}
