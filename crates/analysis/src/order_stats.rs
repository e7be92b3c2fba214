//! One figure for several trials: the mean, the median, or the largest.

use std::collections::BTreeMap;

/// The middle value, or the mean of the two in the middle. Each trial has one vote, whatever its
/// number of transactions: percentiles of trials of different length are never averaged by weight.
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

/// The figure of a configuration: the geometric mean of its trials' own figures, the mean where one
/// is zero. Comparisons have the same, so that figures that are shown have the ratio that is shown.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<_> = values.filter(|value| value.is_finite()).collect();
    let is_ratio = values.iter().all(|value| *value > 0.0);
    mean_on(&values, is_ratio)
}

/// The mean with one vote a block, as throughput and all ratios have it. Where one of the A/A pair
/// is lost, a configuration has two trials in one block and one in another: rows a second over
/// trials would not fit transactions a second over blocks.
pub(crate) fn mean_by_block(values: impl Iterator<Item = (u32, f64)>) -> Option<f64> {
    let values: Vec<_> = values.filter(|(_, value)| value.is_finite()).collect();
    mean_by_block_on(&values, values.iter().all(|(_, value)| *value > 0.0))
}

pub(crate) fn mean_by_block_on(values: &[(u32, f64)], of_logarithms: bool) -> Option<f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (block, value) in values {
        blocks.entry(*block).or_default().push(*value);
    }
    let means: Vec<_> =
        blocks.values().filter_map(|of_block| mean_on(of_block, of_logarithms)).collect();
    mean_on(&means, of_logarithms)
}

/// The mean, of logarithms where ratios are compared.
pub(crate) fn mean_on(values: &[f64], of_logarithms: bool) -> Option<f64> {
    let (first, n) = (values.first()?, values.len() as f64);
    // The mean of logarithms of equal values is not quite their logarithm.
    if values.iter().all(|value| value.to_bits() == first.to_bits()) {
        return Some(*first);
    }
    let scaled = values.iter().map(|value| if of_logarithms { value.ln() } else { *value });
    let mean = scaled.sum::<f64>() / n;
    Some(if of_logarithms { mean.exp() } else { mean })
}

pub(crate) fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.filter(|value| value.is_finite()).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_one_vote() {
        let check = |values: &[(u32, f64)], expect: f64| {
            let got = mean_by_block(values.iter().copied()).unwrap();
            assert!((got - expect).abs() < 1e-9, "{values:?}: {got}");
        };
        check(&[(1, 2.0), (2, 8.0)], 4.0);
        // The pair of block 1 is as much as the trial of block 2.
        check(&[(1, 1.0), (2, 8.0), (1, 4.0)], 4.0);
        check(&[(1, 0.0), (1, 4.0), (2, 8.0)], 5.0);
        assert_eq!(mean_by_block([(1, f64::NAN)].into_iter()), None);
    }

    #[test]
    fn means_are_geometric_but_for_zeros() {
        let check = |values: &[f64], expect: Option<f64>| {
            let got = mean(values.iter().copied());
            assert!(
                got.zip(expect).map_or(got == expect, |(got, expect)| (got - expect).abs() < 1e-9),
                "{values:?}: {got:?}"
            );
        };
        check(&[], None);
        check(&[3.3], Some(3.3));
        check(&[2.0, 8.0, f64::NAN], Some(4.0));
        check(&[0.0, 8.0], Some(4.0));
        check(&[0.0, 0.0], Some(0.0));
    }

    #[test]
    fn medians() {
        let check = |values: &[f64], expect| {
            assert_eq!(median(values.iter().copied()), expect, "{values:?}");
        };
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 4.0], Some(4.0));
        check(&[9.0, f64::NAN, 1.0, 4.0, 5.0], Some(4.5));
        assert_eq!(largest([1.0, f64::INFINITY, 3.0].into_iter()), Some(3.0));
    }
}
