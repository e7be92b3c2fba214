//! The block of data for the charts' script: as small as possible, and unable to close its element.

use serde::Serialize;
use truetps_analysis::{Axis, Cell, Curve, Figure};
use truetps_record::{Estimate, Trial};

use super::chart_number::ChartNumber;
use super::heat::Picture;
use super::labels::{ChartLines, split_range};
use super::percentiles::{PercentileData, PercentileSection};
use super::series::{SeriesData, SeriesSection};
use crate::{ReportInput, format, names};

#[derive(Serialize)]
struct ScriptData<'a> {
    /// The factors that distinguish the curves.
    factors: &'a str,
    axis: Axis,
    /// Connections by the rule of thumb, where a curve over connections has a knee to compare with
    /// it.
    rule: Option<u32>,
    curves: Vec<CurveData<'a>>,
    #[serde(flatten)]
    series: &'a SeriesData,
    percentiles: Option<&'a PercentileData>,
    heat: &'a [Picture],
}

#[derive(Serialize)]
struct CurveData<'a> {
    name: &'a str,
    baseline: bool,
    knee: Option<u32>,
    cells: Vec<CellData>,
}

#[derive(Serialize)]
struct CellData {
    /// Connections or rate.
    level: ChartNumber,
    /// `false` where a trial was not sustained.
    sustained: Option<bool>,
    /// Whether the generator limited the figures.
    limited: bool,
    tps: Option<Measure>,
    p99: Option<Measure>,
}

/// One figure of a cell: for the chart, as text, and of the single trials.
#[derive(Serialize)]
struct Measure {
    value: ChartNumber,
    range: Option<(ChartNumber, ChartNumber)>,
    text: String,
    trials: Vec<ChartNumber>,
}

pub(super) fn json(
    input: &ReportInput,
    lines: &ChartLines,
    series: &SeriesSection,
    percentiles: Option<&PercentileSection>,
) -> String {
    let curves = input.analysis.curves.iter().zip(&lines.names);
    let data = ScriptData {
        factors: &lines.title,
        axis: input.analysis.axis,
        rule: rule(input),
        curves: curves.map(|(curve, name)| curve_data(input, curve, name)).collect(),
        series: &series.data,
        percentiles: percentiles.map(|section| &section.data),
        heat: percentiles.map_or(&[], |section| &section.heat.data),
    };
    let json = serde_json::to_string(&data).expect("plain structs with text keys have a JSON form");
    // `<` occurs in texts only, where JSON can escape it: no text can close the script element.
    json.replace('<', "\\u003c")
}

fn curve_data<'a>(input: &ReportInput, curve: &Curve, name: &'a str) -> CurveData<'a> {
    let cells = names::cells(input.analysis, curve).into_iter().map(|cell| CellData {
        level: ChartNumber::exact(input.analysis.axis.level(&cell.configuration)),
        sustained: sustained(cell),
        limited: cell.generator_limited.is_some(),
        tps: tps(input, cell),
        p99: p99(input, cell),
    });
    let knee = curve.knee.as_ref().map(|knee| knee.connections);
    CurveData { name, baseline: curve.is_baseline, knee, cells: cells.collect() }
}

fn rule(input: &ReportInput) -> Option<u32> {
    let is_closed = !crate::load::is_open(&input.run.plan);
    input
        .analysis
        .rule_connections
        .filter(|_| input.analysis.axis == Axis::Connections && is_closed)
}

fn sustained(cell: &Cell) -> Option<bool> {
    let share = cell.open_loop.as_ref()?.sustained;
    (share.of > 0).then(|| share.is_all())
}

fn tps(input: &ReportInput, cell: &Cell) -> Option<Measure> {
    let estimate = cell.tps.as_ref()?;
    Some(Measure {
        value: ChartNumber::new(estimate.value),
        range: estimate
            .low
            .zip(estimate.high)
            .map(|(low, high)| (ChartNumber::new(low), ChartNumber::new(high))),
        text: tps_text(estimate),
        trials: trials_of(input, cell, |trial| Some(trial.measured.as_ref()?.tps)),
    })
}

/// `5 230 tps ±4.2 %`.
fn tps_text(estimate: &Estimate) -> String {
    match split_range(&format::tps_estimate(estimate)) {
        (tps, Some(range)) => format!("{tps} tps {range}"),
        (tps, None) => format!("{tps} tps"),
    }
}

fn p99(input: &ReportInput, cell: &Cell) -> Option<Measure> {
    let value = cell.get(Figure::ResponseP99)?;
    Some(Measure {
        value: ChartNumber::new(value),
        range: None,
        text: format::duration_us(value),
        trials: trials_of(input, cell, |trial| trial.measured.as_ref()?.response.response_us_p99),
    })
}

fn trials_of(
    input: &ReportInput,
    cell: &Cell,
    figure: impl Fn(&Trial) -> Option<f64>,
) -> Vec<ChartNumber> {
    let own = input.run.trials.iter().filter(|one| one.is_evidence_for(&cell.configuration));
    own.filter_map(|one| figure(&one.trial)).map(ChartNumber::new).collect()
}
