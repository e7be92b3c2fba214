//! p99 by connections, and how well it is known.
//!
//! One stall makes the p99 of one trial several times as long: the median of the trials is what a
//! usual one has. How much trials of one number differ is taken from all numbers together, as most
//! have few trials.

use crate::robust::{MEDIAN_DEVIATION, RobustFit, median};
use crate::row::MeasuredRow;

/// 95 % of a normal distribution are within so many standard deviations.
const DEVIATIONS: f64 = 1.96;
/// 90 % of it are below so many.
const ONE_SIDED: f64 = 1.2816;
/// The standard error of a median divided by the one of a mean: √(π/2).
const OF_MEDIAN: f64 = 1.2533;

/// Microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct P99Range {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// With 90 % it is at most this.
    pub(crate) likely: f64,
}

/// One range for each number; `None` where no transaction ended.
pub(crate) fn p99_ranges(
    rows: &[MeasuredRow],
    numbers: &[u32],
    fit: &RobustFit,
) -> Vec<Option<P99Range>> {
    let logs: Vec<Vec<f64>> = numbers.iter().map(|number| log_p99s(rows, *number, fit)).collect();
    let sd = scatter(&logs);
    logs.iter().map(|own| range(own, sd?)).collect()
}

fn range(logs: &[f64], sd: f64) -> Option<P99Range> {
    let middle = median(logs.iter().copied())?;
    let error = OF_MEDIAN * sd / (logs.len() as f64).sqrt();
    let [median, low, high, likely] = [0.0, -DEVIATIONS, DEVIATIONS, ONE_SIDED]
        .map(|deviations| (middle + deviations * error).exp());
    Some(P99Range { median, low, high, likely })
}

/// A block that is faster has shorter times.
fn log_p99s(rows: &[MeasuredRow], connections: u32, fit: &RobustFit) -> Vec<f64> {
    let own = rows.iter().filter(|row| row.connections == connections);
    own.filter_map(|row| Some(row.result.response_us_p99?.ln() + fit.blocks[row.block])).collect()
}

/// Standard deviation within numbers, by the median of the absolute deviations. Numbers with one
/// trial have none.
fn scatter(logs: &[Vec<f64>]) -> Option<f64> {
    let mut deviations = Vec::new();
    for own in logs {
        let Some(middle) = median(own.iter().copied()) else { continue };
        // Deviations from a median of few are too small.
        let few = (own.len() as f64 / (own.len() as f64 - 1.0).max(0.5)).sqrt();
        if own.len() > 1 {
            deviations.extend(own.iter().map(|log| (log - middle).abs() * few));
        }
    }
    let known = median(deviations.into_iter()).map(|middle| middle / MEDIAN_DEVIATION);
    let has_any = logs.iter().any(|own| !own.is_empty());
    known.or(has_any.then_some(0.0))
}
