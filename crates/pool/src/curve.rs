//! Throughput by connections, from trials in blocks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::question::{PoolResult, PoolStage};
use crate::unimodal::unimodal;

/// Additive effects have settled when none moves by more; they do within some ten turns.
const SETTLED: f64 = 1e-7;
const TURNS_MAX: usize = 100;

/// One number of connections.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePoint {
    pub connections: u32,
    pub trials: u32,
    /// Geometric mean, corrected for the blocks that this number was measured in.
    pub tps: f64,
    /// `tps` after the curve was made to rise to one peak and fall after it.
    pub tps_smoothed: f64,
    /// Median of the trials; `None` where no transaction ended.
    pub response_us_p99: Option<f64>,
    pub response_us_mean: Option<f64>,
    /// Whether p99 is within the limit; true without one.
    pub meets_limit: bool,
}

/// One trial with a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PoolRow {
    pub(crate) block: usize,
    pub(crate) stage: PoolStage,
    pub(crate) connections: u32,
    pub(crate) result: PoolResult,
}

/// The points of all trials, ascending. The climb is left out: its order is not random.
pub(crate) fn curve_of(rows: &[PoolRow], p99_limit_us: Option<f64>) -> Vec<CurvePoint> {
    let rows: Vec<_> = rows.iter().filter(|row| row.stage != PoolStage::Climb).copied().collect();
    let effects = number_effects(&rows);
    let rows_of: Vec<Vec<PoolResult>> = effects
        .keys()
        .map(|connections| {
            let own = rows.iter().filter(|row| row.connections == *connections);
            own.map(|row| row.result).collect()
        })
        .collect();
    let weighted: Vec<_> =
        effects.values().zip(&rows_of).map(|(value, own)| (*value, own.len() as f64)).collect();
    let mut curve = Vec::new();
    for (((connections, value), own), smoothed) in
        effects.iter().zip(&rows_of).zip(unimodal(&weighted))
    {
        let response_us_p99 = median(own.iter().filter_map(|result| result.response_us_p99));
        curve.push(CurvePoint {
            connections: *connections,
            trials: own.len() as u32,
            tps: value.exp(),
            tps_smoothed: smoothed.exp(),
            response_us_p99,
            response_us_mean: median(own.iter().filter_map(|result| result.response_us_mean)),
            meets_limit: p99_limit_us
                .is_none_or(|limit| response_us_p99.is_some_and(|p99| p99 <= limit)),
        });
    }
    curve
}

/// Least squares of ln(tps) = number + block, by turns: blocks have different sets of numbers, and
/// the machine is not the same in all of them. The mean over trials of the blocks' effects is 0.
fn number_effects(rows: &[PoolRow]) -> BTreeMap<u32, f64> {
    let logs: Vec<_> = rows.iter().map(PoolRow::log_tps).collect();
    let blocks = rows.iter().map(|row| row.block + 1).max().unwrap_or(0);
    let (mut numbers, mut of_block) = (BTreeMap::new(), vec![0.0; blocks]);
    for _ in 0..TURNS_MAX {
        numbers = means(
            rows.iter().zip(&logs).map(|(row, log)| (row.connections, log - of_block[row.block])),
        );
        let rests = means(
            rows.iter().zip(&logs).map(|(row, log)| (row.block, log - numbers[&row.connections])),
        );
        let middle = rows.iter().map(|row| rests[&row.block]).sum::<f64>() / rows.len() as f64;
        let mut moved = 0.0;
        for (block, rest) in rests {
            moved = f64::max(moved, (of_block[block] - (rest - middle)).abs());
            of_block[block] = rest - middle;
        }
        if moved < SETTLED {
            break;
        }
    }
    numbers
}

fn means<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut sums: BTreeMap<K, (f64, f64)> = BTreeMap::new();
    for (key, value) in values {
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    sums.into_iter().map(|(key, (sum, count))| (key, sum / count)).collect()
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        even if even % 2 == 0 => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

impl PoolRow {
    pub(crate) fn log_tps(&self) -> f64 {
        self.result.tps.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(block: usize, connections: u32, tps: f64) -> PoolRow {
        let result = PoolResult { tps, response_us_p99: Some(100.0 * tps), response_us_mean: None };
        PoolRow { block, stage: PoolStage::Ladder, connections, result }
    }

    /// The second block is half as fast, and has a number that the first one lacks.
    #[test]
    fn blocks_do_not_count() {
        let rows = [row(0, 1, 100.0), row(0, 2, 200.0), row(1, 2, 100.0), row(1, 4, 150.0)];
        let curve = curve_of(&rows, Some(16_000.0));
        let tps: Vec<_> = curve.iter().map(|point| point.tps).collect();
        assert!(
            (tps[1] / tps[0] - 2.0).abs() < 1e-6 && (tps[2] / tps[1] - 1.5).abs() < 1e-6,
            "{tps:?}"
        );
        let limits: Vec<_> =
            curve.iter().map(|point| (point.connections, point.meets_limit)).collect();
        assert_eq!(limits, [(1, true), (2, true), (4, true)]);
        assert!(!curve_of(&rows, Some(9_000.0))[0].meets_limit);
    }
}
