//! Latency histograms: their range and their figures.

use serde::{Deserialize, Serialize};

pub type Histogram = hdrhistogram::Histogram<u64>;

/// Resolution: 32 ns below 65 µs, three digits above. A finer one adds slots that each worker has
/// to hold and add up, and below 32 ns the clock is no more exact.
const LOWEST_NS: u64 = 32;
/// One hour: no single transaction of a bounded trial lasts longer.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// An empty histogram of nanoseconds, 32 ns to one hour, three digits (about 230 KB).
pub fn new_histogram() -> Histogram {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid")
}

/// The figures of a histogram that are shown and compared. Microseconds of response time; `None` if
/// nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    pub response_us_mean: Option<f64>,
    pub response_us_p50: Option<f64>,
    pub response_us_p95: Option<f64>,
    pub response_us_p99: Option<f64>,
    pub response_us_p999: Option<f64>,
    pub response_us_max: Option<f64>,
}

impl LatencyFigures {
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            response_us_mean: (!histogram.is_empty()).then(|| histogram.mean() / 1e3),
            response_us_p50: quantile_us(histogram, 0.50),
            response_us_p95: quantile_us(histogram, 0.95),
            response_us_p99: quantile_us(histogram, 0.99),
            response_us_p999: quantile_us(histogram, 0.999),
            response_us_max: max_us(histogram),
        }
    }
}

/// A quantile in microseconds; `None` if nothing was counted.
pub(crate) fn quantile_us(histogram: &Histogram, quantile: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile) as f64 / 1e3)
}

/// The highest value in microseconds; `None` if nothing was counted.
pub(crate) fn max_us(histogram: &Histogram) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.max() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_microseconds() {
        let mut histogram = new_histogram();
        histogram.record(5_000_000).unwrap();
        let figures = LatencyFigures::of(&histogram);
        let p50 = figures.response_us_p50.unwrap();
        assert!((p50 - 5000.0).abs() / 5000.0 < 0.001, "{p50}");
        assert_eq!(LatencyFigures::of(&new_histogram()).response_us_max, None);
    }

    /// A read of a row in the buffer pool takes about 20 µs.
    #[test]
    fn short_times_are_as_exact_as_long_ones() {
        for ns in [20_000, 20_100, 49_999, 70_001, 524_000, 3_000_000, 60_000_000_000] {
            let mut histogram = new_histogram();
            histogram.record(ns).unwrap();
            let found = LatencyFigures::of(&histogram).response_us_p99.unwrap() * 1e3;
            assert!((found / ns as f64 - 1.0).abs() < 0.0017, "{ns} ns is shown as {found}");
        }
    }

    #[test]
    fn a_histogram_takes_about_230_kb() {
        let bytes = new_histogram().distinct_values() * size_of::<u64>();
        assert!(bytes < 235_000, "{bytes}");
    }
}
