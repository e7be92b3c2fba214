//! Distribution of response times: percentiles of each configuration over its valid trials.

use serde::Serialize;
use truetps_analysis::{Axis, Cell, nines_us, quantile_us};
use truetps_record::Histogram;

use super::heat::HeatSection;
use super::labels::{self, ChartLines, unbroken};
use super::script_data::ChartNumber;
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
    /// One for each place on the axis of the curves; empty where one picture has all.
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
    /// Of the slowest transaction.
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
                "Read it from right to left: at 99.9 %, the time within which 999 of 1 000 transactions ended; at the end \
                 of a line, the slowest one. A line that rises steeply shows that few transactions wait very long, which \
                 a mean hides. All valid trials of a configuration are added up; only the measure phase counts.",
            ),
            heat: HeatSection::of(input),
            data: PercentileData { chosen: chosen(input, groups.len()), groups },
            options,
        })
    }
}

fn row(cell: &Cell, histogram: &Histogram) -> PercentileRow {
    let time = |(_, quantile): (&str, f64)| {
        format::or_nothing(quantile_us(histogram, quantile), format::duration_us)
    };
    PercentileRow {
        configuration: labels::configuration(&cell.configuration),
        transactions: format::count(histogram.len()),
        times: COLUMNS.map(time).to_vec(),
        max: format::duration_us(histogram.max() as f64 / 1e3),
    }
}

/// Several curves: at each place on the axis, one line for each. A single one: a line for each of its places.
fn groups(input: &ReportInput, lines: &ChartLines) -> (Vec<String>, Vec<PercentileGroup>) {
    let analysis = input.analysis;
    let line = |cell: usize, look: usize, baseline: bool, name: String| {
        let histogram = analysis.cells[cell].detail.latency.as_ref()?;
        let max = ChartNumber::new(histogram.max() as f64 / 1e3);
        let us = nines_us(histogram).into_iter().map(ChartNumber::new).collect();
        Some(PercentileLine { name, baseline, look, transactions: histogram.len(), us, max })
    };
    let level = |cell: &usize| analysis.axis.level(&analysis.cells[*cell].configuration);
    if let [curve] = analysis.curves.as_slice() {
        let cells = curve.cells.iter().enumerate();
        let name = |cell: &usize| at_level(analysis.axis, level(cell));
        let lines = cells.filter_map(|(look, cell)| line(*cell, look, false, name(cell))).collect();
        return (Vec::new(), vec![PercentileGroup { lines }]);
    }
    let group = |wanted: f64| {
        let curves = analysis.curves.iter().enumerate();
        let lines = curves.filter_map(|(index, curve)| {
            let cell = names::index_at(analysis, curve, wanted)?;
            line(cell, index, curve.is_baseline, lines.with_baseline(index, curve))
        });
        PercentileGroup { lines: lines.collect() }
    };
    let levels = names::levels(analysis);
    (
        levels.iter().map(|wanted| at_level(analysis.axis, *wanted)).collect(),
        levels.into_iter().map(group).collect(),
    )
}

fn at_level(axis: Axis, level: f64) -> String {
    match axis {
        Axis::Connections => names::connections(level as u32),
        Axis::Rate => format!("{} tps", format::rate(level)),
    }
}

/// The place where the baseline is fastest.
fn chosen(input: &ReportInput, groups: usize) -> usize {
    let analysis = input.analysis;
    let level = analysis
        .best_of_baseline()
        .map(|best| analysis.axis.level(&analysis.cells[best].configuration));
    let at = names::levels(analysis).into_iter().position(|one| Some(one) == level).unwrap_or(0);
    at.min(groups.saturating_sub(1))
}
