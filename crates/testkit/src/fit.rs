//! Whether random draws have their expected frequencies.

/// Classes that expect fewer draws are joined to their neighbours.
const EXPECTED_MIN: f64 = 5.0;
/// Standard deviations that one of 300,000 true samples exceeds.
const DEVIATIONS_MAX: f64 = 4.5;

/// Chi-square of counts under these probabilities, with the value that one of 300,000 true samples
/// exceeds.
pub fn chi_square(seen: &[u64], probabilities: &[f64]) -> (f64, f64) {
    assert_eq!(seen.len(), probabilities.len());
    let draws = seen.iter().sum::<u64>() as f64;
    let (mut chi, mut classes) = (0.0, 0.0);
    let (mut count, mut expected) = (0.0, 0.0);
    for (&seen, probability) in seen.iter().zip(probabilities) {
        count += seen as f64;
        expected += probability * draws;
        if expected >= EXPECTED_MIN {
            chi += (count - expected).powi(2) / expected;
            classes += 1.0;
            (count, expected) = (0.0, 0.0);
        }
    }
    // Wilson and Hilferty (1931): the cube root of chi-square by its degrees of freedom is nearly
    // normal.
    let degrees = f64::max(classes - 1.0, 1.0);
    let spread = 2.0 / (9.0 * degrees);
    (chi, degrees * (1.0 - spread + DEVIATIONS_MAX * spread.sqrt()).powi(3))
}

/// Fails if counts are unlikely under these probabilities.
pub fn assert_fits(what: &str, seen: &[u64], probabilities: &[f64]) {
    let (chi, limit) = chi_square(seen, probabilities);
    assert!(chi <= limit, "{what}: chi-square {chi} is above {limit}");
}
