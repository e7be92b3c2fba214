//! How response times are spread: percentiles of each configuration, its valid trials together.

use serde::Serialize;
use truetps_analysis::{Axis, Cell};
use truetps_record::Histogram;

use super::heat::HeatSection;
use super::labels::{self, ChartLines, unbroken};
use super::script_data::ChartNumber;
use crate::{ReportInput, format, names};

/// Points for each further nine (90 %, 99 %, 99.9 % …).
const POINTS_A_NINE: u32 = 10;
/// No run measures more transactions than ten to this power.
const NINES_MAX: u32 = 12;
/// Percentiles of the table: heading, quantile.
const COLUMNS: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("p99.999", 0.99999)];

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
        let rows: Vec<_> = cells.filter_map(|cell| Some(row(cell, cell.detail.latency.as_ref()?))).collect();
        if rows.is_empty() {
            return None;
        }
        let (options, groups) = groups(input, lines);
        Some(Self {
            columns: COLUMNS,
            rows,
            how_to_read: unbroken(
                "Read it from right to left: at 99.9 % stands the time within which all but one of 1 000 transactions \
                 ended, at the end of a line the slowest one. A line that turns up steeply says that few transactions \
                 wait very long, which a mean hides. All valid trials of a configuration are added up; only the measure \
                 phase counts.",
            ),
            heat: HeatSection::of(input),
            data: PercentileData { chosen: chosen(input, groups.len()), groups },
            options,
        })
    }
}

fn row(cell: &Cell, histogram: &Histogram) -> PercentileRow {
    // A percentile beyond the last transaction would only be the maximum again.
    let time = |(_, quantile): (&str, f64)| {
        let is_there = histogram.len() as f64 * (1.0 - quantile) > 1.0 - 1e-9;
        let us = is_there.then(|| histogram.value_at_quantile(quantile) as f64 / 1e3);
        format::or_nothing(us, format::duration_us)
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
        Some(PercentileLine { name, baseline, look, transactions: histogram.len(), us: points(histogram), max })
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
            let cell = curve.cells.iter().find(|cell| level(cell).total_cmp(&wanted).is_eq())?;
            line(*cell, index, curve.is_baseline, lines.with_baseline(index, curve))
        });
        PercentileGroup { lines: lines.collect() }
    };
    let levels = names::levels(analysis);
    (levels.iter().map(|wanted| at_level(analysis.axis, *wanted)).collect(), levels.into_iter().map(group).collect())
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
    let level = analysis.best_of_baseline().map(|best| analysis.axis.level(&analysis.cells[best].configuration));
    let at = names::levels(analysis).into_iter().position(|one| Some(one) == level).unwrap_or(0);
    at.min(groups.saturating_sub(1))
}

/// Times at 0, 1, 2 … tenths of a nine, as far as there are transactions.
fn points(histogram: &Histogram) -> Vec<ChartNumber> {
    let transactions = histogram.len() as f64;
    let mut steps = histogram.iter_recorded();
    let (mut counted, mut value) = (0.0, 0);
    let mut points = Vec::new();
    for point in 0..NINES_MAX * POINTS_A_NINE {
        let beyond = 10_f64.powf(-f64::from(point) / f64::from(POINTS_A_NINE));
        if beyond * transactions < 1.0 {
            break;
        }
        let wanted = ((1.0 - beyond) * transactions).max(1.0);
        while counted < wanted {
            let Some(step) = steps.next() else { break };
            counted += step.count_since_last_iteration() as f64;
            value = step.value_iterated_to();
        }
        points.push(ChartNumber::new(value as f64 / 1e3));
    }
    points
}

#[cfg(test)]
mod tests {
    use truetps_record::new_histogram;

    use super::*;

    #[test]
    fn points_are_the_percentiles() {
        let mut histogram = new_histogram();
        for us in 1..=1000_u64 {
            histogram.record(us * 1000).unwrap();
        }
        let points: Vec<f64> = points(&histogram).iter().map(|point| point.value()).collect();
        assert_eq!(points.len(), 31, "three nines");
        let check = |point: usize, quantile: f64| {
            let expect = histogram.value_at_quantile(quantile) as f64 / 1e3;
            assert!((points[point] - expect).abs() <= 0.26 + expect / 500.0, "{point}: {} {expect}", points[point]);
        };
        check(0, 0.0);
        check(10, 0.9);
        check(20, 0.99);
        check(30, 0.999);
    }
}
