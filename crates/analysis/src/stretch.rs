//! Stretches of time, as a beginning and an end, and the readings around them.

/// To the last reading before a stretch and the first one after it: between two readings nothing is
/// known.
pub(crate) fn widened(times: &[f64], from_ms: f64, to_ms: f64) -> (f64, f64) {
    let before = times.partition_point(|at| *at <= from_ms).saturating_sub(1);
    let after = times.partition_point(|at| *at < to_ms).min(times.len().saturating_sub(1));
    (times.get(before).copied().unwrap_or(from_ms), times.get(after).copied().unwrap_or(to_ms))
}

/// The mean over stretches, by their length.
pub(crate) fn mean_over(
    stretches: &[(f64, f64)],
    of: impl Fn((f64, f64)) -> Option<f64>,
) -> Option<f64> {
    let known = stretches.iter().filter_map(|stretch| Some((of(*stretch)?, stretch.1 - stretch.0)));
    let (sum, length) =
        known.fold((0.0, 0.0), |(sum, all), (value, ms)| (sum + value * ms, all + ms));
    (length > 0.0).then(|| sum / length)
}
