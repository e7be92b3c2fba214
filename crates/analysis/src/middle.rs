//! One figure for several trials: the middle one, or the largest.

/// The middle value, or the mean of the two in the middle. Each trial has one vote, whatever its number of
/// transactions: percentiles of trials of different length are never averaged by weight.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<_> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

pub(crate) fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.filter(|value| value.is_finite()).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let check = |values: &[f64], expect| assert_eq!(median(values.iter().copied()), expect, "{values:?}");
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 4.0], Some(4.0));
        check(&[9.0, f64::NAN, 1.0, 4.0, 5.0], Some(4.5));
        assert_eq!(largest([1.0, f64::INFINITY, 3.0].into_iter()), Some(3.0));
    }
}
