//! The best curve that rises to a peak and falls after it.
//!
//! The highest of ten noisy points is too high by chance, and the advice is a share of it.
//! Throughput does not go up and down with the number of connections: where the points do, that is
//! noise, and their mean is the better estimate.

/// Weighted least squares under this shape: values in the order of connections, with positive
/// weights.
pub(crate) fn unimodal(points: &[(f64, f64)]) -> Vec<f64> {
    let fits = (0..points.len()).map(|peak| {
        let (left, right) = points.split_at(peak + 1);
        let mut fit = rising(left);
        let falling: Vec<_> = right.iter().rev().copied().collect();
        fit.extend(rising(&falling).into_iter().rev());
        let squares: f64 = fit
            .iter()
            .zip(points)
            .map(|(fit, (value, weight))| weight * (fit - value).powi(2))
            .sum();
        (fit, squares)
    });
    fits.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(fit, _)| fit).unwrap_or_default()
}

/// Isotonic regression: neighbours that fall are pooled into their mean, until none does.
fn rising(points: &[(f64, f64)]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (value, weight) in points {
        let mut pool = (*value, *weight, 1);
        while let Some(last) = pools.last().filter(|last| last.0 > pool.0) {
            let weight = last.1 + pool.1;
            pool = ((last.0 * last.1 + pool.0 * pool.1) / weight, weight, last.2 + pool.2);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, _, length)| std::iter::repeat_n(value, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(values: &[f64]) -> Vec<f64> {
        unimodal(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>())
    }

    #[test]
    fn a_curve_of_that_shape_is_kept() {
        for curve in [&[1.0, 2.0, 5.0, 4.0][..], &[3.0], &[1.0, 2.0], &[4.0, 2.0, 1.0]] {
            assert_eq!(even(curve), curve);
        }
        assert_eq!(even(&[]), [] as [f64; 0]);
    }

    #[test]
    fn what_goes_down_and_up_is_pooled() {
        assert_eq!(even(&[1.0, 4.0, 2.0, 6.0, 5.0]), [1.0, 3.0, 3.0, 6.0, 5.0]);
        // A weight of 3 counts as three points.
        assert_eq!(unimodal(&[(4.0, 3.0), (0.0, 1.0), (9.0, 1.0)]), [3.0, 3.0, 9.0]);
    }
}
