//! Rows a second, where a transaction changes another number of rows than one: tps alone says little there.

use truetps_analysis::{Analysis, Cell, Contrast, Figure};
use truetps_record::Estimate;

use crate::{format, names};

/// Deviations from one row that failed or repeated statements explain.
const ONE_ROW_DEVIATION: f64 = 0.005;

/// Whether any configuration changes another number of rows than one in a transaction.
pub(crate) fn are_shown(analysis: &Analysis) -> bool {
    analysis.cells.iter().filter_map(per_tx).any(|rows| (rows - 1.0).abs() > ONE_ROW_DEVIATION)
}

fn per_tx(cell: &Cell) -> Option<f64> {
    let (rows, tps) = (cell.get(Figure::RowsPerSecond)?, cell.get(Figure::Tps)?);
    (tps > 0.0).then(|| rows / tps)
}

/// `= 169 500 rows/s`, behind a throughput.
pub(crate) fn behind_tps(analysis: &Analysis, cell: &Cell) -> String {
    let rows = cell.get(Figure::RowsPerSecond).filter(|_| are_shown(analysis));
    rows.map_or_else(String::new, |rows| format!(" = {} rows/s", format::tps(rows)))
}

/// Rows a second of a contrast over the rows a second of its baseline, where the two change different numbers of rows.
pub(crate) fn ratio(analysis: &Analysis, contrast: &Contrast) -> Option<Estimate> {
    let rows = |cell: usize| per_tx(&analysis.cells[cell]);
    let factor = rows(contrast.cell)? / rows(contrast.baseline_cell)?;
    let is_same = (factor - 1.0).abs() <= ONE_ROW_DEVIATION;
    let Estimate { value, low, high, n } = contrast.tps_ratio;
    let scaled = |value: f64| value * factor;
    (!is_same).then(|| Estimate { value: scaled(value), low: low.map(scaled), high: high.map(scaled), n })
}

/// What verdicts on tps leave out of comparisons of different numbers of rows; `None` where all have the same.
pub(crate) fn note(analysis: &Analysis, contrasts: &[&Contrast]) -> Option<String> {
    let ratios: Vec<_> = contrasts.iter().filter_map(|contrast| ratio(analysis, contrast)).collect();
    let range = format::ratio_range(&ratios)?;
    let levels: Vec<_> =
        contrasts.iter().map(|one| analysis.axis.level(&analysis.cells[one.cell].configuration)).collect();
    Some(format!("in rows a second {range} at {}", names::at_levels(analysis.axis, &levels)))
}
