//! The rates that may be tried: preferred numbers, so that a rate is tried again and not one beside
//! it.

/// Rates of a decade: the series E48 of IEC 60063, in which neighbours are 4.9 % apart.
pub(crate) const OF_DECADE: i32 = 48;

/// The rate with this number: three digits.
pub(crate) fn rate(step: i32) -> f64 {
    let digits =
        (100.0 * 10_f64.powf(f64::from(step.rem_euclid(OF_DECADE)) / f64::from(OF_DECADE))).round();
    // A quotient of whole numbers has no digits that binary fractions add.
    match step.div_euclid(OF_DECADE) - 2 {
        up @ 0.. => digits * 10_f64.powi(up),
        down => digits / 10_f64.powi(-down),
    }
}

/// The number of the nearest rate.
pub(crate) fn nearest(rate: f64) -> i32 {
    (rate.log10() * f64::from(OF_DECADE)).round() as i32
}

/// The number of a rate of the series; `None` for another rate.
pub(crate) fn step_of(rate: f64) -> Option<i32> {
    let is_possible = rate.is_finite() && rate > 0.0;
    let step = is_possible.then(|| nearest(rate))?;
    ((self::rate(step) / rate - 1.0).abs() < 1e-9).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_preferred_numbers() {
        let decade: Vec<_> = (96..144).map(rate).collect();
        assert_eq!(
            decade,
            [
                100.0, 105.0, 110.0, 115.0, 121.0, 127.0, 133.0, 140.0, 147.0, 154.0, 162.0, 169.0,
                178.0, 187.0, 196.0, 205.0, 215.0, 226.0, 237.0, 249.0, 261.0, 274.0, 287.0, 301.0,
                316.0, 332.0, 348.0, 365.0, 383.0, 402.0, 422.0, 442.0, 464.0, 487.0, 511.0, 536.0,
                562.0, 590.0, 619.0, 649.0, 681.0, 715.0, 750.0, 787.0, 825.0, 866.0, 909.0, 953.0
            ]
        );
        let others: Vec<_> = [-1, 0, 49, 192].into_iter().map(rate).collect();
        assert_eq!(others, [0.953, 1.0, 10.5, 10_000.0]);
        for step in -200..400 {
            assert_eq!(nearest(rate(step)), step);
        }
    }
}
