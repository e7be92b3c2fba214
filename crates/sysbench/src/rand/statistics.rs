//! How tests judge draws.

/// Fails where counts are unlikely under the probabilities: chi-square, with classes of fewer than 5 expected draws
/// joined to their neighbours.
pub(super) fn assert_fits(seen: &[u64], probabilities: &[f64]) {
    assert_eq!(seen.len(), probabilities.len());
    let draws = seen.iter().sum::<u64>() as f64;
    let (mut chi, mut classes) = (0.0, 0.0);
    let (mut count, mut expected) = (0.0, 0.0);
    for (&seen, probability) in seen.iter().zip(probabilities) {
        count += seen as f64;
        expected += probability * draws;
        if expected >= 5.0 {
            chi += (count - expected).powi(2) / expected;
            classes += 1.0;
            (count, expected) = (0.0, 0.0);
        }
    }
    // Wilson and Hilferty (1931): the cube root of chi-square by its degrees of freedom is nearly normal. 4.5 standard
    // deviations are passed once in 300 000 times.
    let degrees = f64::max(classes - 1.0, 1.0);
    let spread = 2.0 / (9.0 * degrees);
    let deviations = ((chi / degrees).cbrt() - (1.0 - spread)) / spread.sqrt();
    assert!(deviations < 4.5, "chi-square {chi} of {classes} classes is {deviations} standard deviations off");
}
