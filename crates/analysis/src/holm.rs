//! Holm's step-down correction for multiple comparisons.

/// What Holm's procedure says about a family of p-values.
#[derive(Debug, PartialEq)]
pub(crate) struct Holm {
    /// In the order of the p-values: rejected ("these differ") at the family's level.
    pub(crate) rejected: Vec<bool>,
    /// The level that the smallest p-value not rejected was tested at.
    pub(crate) next_alpha: f64,
}

/// Sorts the m p-values; the smallest is held against α/m, the next against α/(m − 1), …, and the first that is too
/// large ends it. The chance of even one false "these differ" in the family is at most α, whatever the dependence
/// between the comparisons (they share their baseline). Holm 1979, Scandinavian Journal of Statistics 6(2).
pub(crate) fn holm(p_values: &[f64], alpha: f64) -> Holm {
    let mut order: Vec<_> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut rejected = vec![false; p_values.len()];
    for (rank, index) in order.into_iter().enumerate() {
        let level = alpha / (p_values.len() - rank) as f64;
        if p_values[index] > level {
            return Holm { rejected, next_alpha: level };
        }
        rejected[index] = true;
    }
    Holm { rejected, next_alpha: alpha }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(p_values: &[f64], rejected: &[bool], divisor: f64) {
        let got = holm(p_values, 0.05);
        assert_eq!(got.rejected, rejected, "{p_values:?}");
        assert!((got.next_alpha - 0.05 / divisor).abs() < 1e-12, "{p_values:?}: {}", got.next_alpha);
    }

    #[test]
    fn steps_down_and_stops_at_the_first_failure() {
        // 0.005 ≤ 0.05/4; 0.01 ≤ 0.05/3; 0.03 > 0.05/2 ends it, so that 0.04 ≤ 0.05 no longer counts.
        check(&[0.01, 0.04, 0.03, 0.005], &[true, false, false, true], 2.0);
        check(&[0.001, 0.001], &[true, true], 1.0);
        check(&[0.03], &[true], 1.0);
        check(&[0.03, 0.9], &[false, false], 2.0);
        check(&[], &[], 1.0);
        check(&[1.0, 0.0], &[false, true], 1.0);
    }
}
