//! Rows a second, where a transaction changes another number of rows than one: tps alone says
//! little there.

use truetps_analysis::{Analysis, Cell, Contrast, Figure, MainEffect};
use truetps_record::Estimate;

use crate::{format, names};

/// Deviations from one row that failed or repeated statements explain.
const ONE_ROW_DEVIATION: f64 = 0.005;

/// Whether any configuration changes another number of rows than one in a transaction.
pub(crate) fn are_shown(analysis: &Analysis) -> bool {
    analysis.cells.iter().filter_map(per_tx).any(|rows| (rows - 1.0).abs() > ONE_ROW_DEVIATION)
}

/// A trial in which nothing ended has a throughput and no rows, so the ledger is preferred to the
/// quotient.
fn per_tx(cell: &Cell) -> Option<f64> {
    cell.get(Figure::RowsChanged).or_else(|| {
        Some(cell.get(Figure::RowsPerSecond)? / cell.get(Figure::Tps).filter(|tps| *tps > 0.0)?)
    })
}

/// `= 169 500 rows/s`, behind a throughput.
pub(crate) fn behind_tps(analysis: &Analysis, cell: &Cell) -> String {
    let rows = cell.get(Figure::RowsPerSecond).filter(|_| are_shown(analysis));
    rows.map_or_else(String::new, |rows| format!(" = {} rows/s", format::tps(rows)))
}

/// A main effect in rows a second: its pairs may change other numbers of rows.
pub(crate) fn main_effect_ratio(analysis: &Analysis, effect: &MainEffect) -> Option<Estimate> {
    let [level, baseline] = [&effect.level, &effect.baseline].map(|level| {
        let cells = analysis.cells.iter();
        let of_level =
            cells.filter(|cell| cell.configuration.levels.get(&effect.factor) == Some(level));
        format::mean(&of_level.filter_map(per_tx).map(f64::ln).collect::<Vec<_>>())
    });
    scaled(&effect.tps_ratio, (level? - baseline?).exp())
}

/// Rows a second of a contrast over the rows a second of its baseline, where the two change
/// different numbers of rows.
pub(crate) fn ratio(analysis: &Analysis, contrast: &Contrast) -> Option<Estimate> {
    let [rows, baseline] =
        [contrast.cell, contrast.baseline_cell].map(|cell| per_tx(&analysis.cells[cell]));
    scaled(&contrast.tps_ratio, rows? / baseline?)
}

/// `None` where the numbers of rows are the same.
fn scaled(ratio: &Estimate, factor: f64) -> Option<Estimate> {
    let is_same = (factor - 1.0).abs() <= ONE_ROW_DEVIATION;
    let [low, high] = [ratio.low, ratio.high].map(|end| end.map(|end| end * factor));
    (!is_same).then_some(Estimate { value: ratio.value * factor, low, high, n: ratio.n })
}

/// What verdicts on tps leave out of comparisons of different numbers of rows; `None` where all
/// have the same.
pub(crate) fn note(analysis: &Analysis, contrasts: &[&Contrast]) -> Option<String> {
    let ratios: Vec<_> =
        contrasts.iter().filter_map(|contrast| ratio(analysis, contrast)).collect();
    let range = format::ratio_range(&ratios)?;
    let levels: Vec<_> = contrasts.iter().map(|one| names::level_of(analysis, one.cell)).collect();
    Some(format!("in rows a second {range} at {}", names::at_levels(analysis.axis, &levels)))
}
