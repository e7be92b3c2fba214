//! Holm's step-down correction for multiple comparisons, with weights.

/// A test of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FamilyTest {
    pub(crate) p_value: f64,
    /// Its part of the family's α, relative to the others'.
    pub(crate) weight: f64,
}

/// What Holm's procedure says about one test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HolmResult {
    /// Rejected ("these differ") at the family's level.
    pub(crate) rejected: bool,
    /// The level that it was tested at; of a test that is not rejected, the level that it has to
    /// reach now that others are.
    pub(crate) level: f64,
}

/// Sorts the tests by p-value over weight; the first is held against α · w / Σ w, the next against
/// the same without the first in the sum, …, and the first that is too large ends it. The chance of
/// even one false "these differ" in the family is at most α, whatever the dependence between the
/// comparisons (they share their baseline). Holm 1979, Scandinavian Journal of Statistics 6(2),
/// section 4 with weights.
pub(crate) fn holm(tests: &[FamilyTest], alpha: f64) -> Vec<HolmResult> {
    let mut order: Vec<_> = (0..tests.len()).collect();
    order.sort_by(|a, b| {
        let [a, b] = [a, b].map(|index| tests[*index].p_value / tests[*index].weight);
        a.total_cmp(&b)
    });
    let mut left: f64 = tests.iter().map(|test| test.weight).sum();
    let mut results = vec![HolmResult { rejected: false, level: 0.0 }; tests.len()];
    let mut is_over = false;
    for index in order {
        let FamilyTest { p_value, weight } = tests[index];
        let level = alpha * weight / left;
        is_over |= p_value > level;
        results[index] = HolmResult { rejected: !is_over, level };
        if !is_over {
            left -= weight;
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tests: &[(f64, f64)], rejected: &[bool], levels: &[f64]) {
        let tests: Vec<_> = tests
            .iter()
            .map(|(p_value, weight)| FamilyTest { p_value: *p_value, weight: *weight })
            .collect();
        let got = holm(&tests, 0.05);
        assert_eq!(got.iter().map(|one| one.rejected).collect::<Vec<_>>(), rejected, "{tests:?}");
        for (one, level) in got.iter().zip(levels) {
            assert!((one.level - level).abs() < 1e-12, "{tests:?}: {got:?}");
        }
    }

    #[test]
    fn steps_down_and_stops_at_the_first_failure() {
        let even =
            |p_values: &[f64]| p_values.iter().map(|p_value| (*p_value, 1.0)).collect::<Vec<_>>();
        // 0.005 ≤ 0.05/4; 0.01 ≤ 0.05/3; 0.03 > 0.05/2 ends it, so that 0.04 ≤ 0.05 no longer
        // counts.
        check(
            &even(&[0.01, 0.04, 0.03, 0.005]),
            &[true, false, false, true],
            &[0.05 / 3.0, 0.025, 0.025, 0.0125],
        );
        check(&even(&[0.001, 0.001]), &[true, true], &[0.025, 0.05]);
        check(&even(&[0.03]), &[true], &[0.05]);
        check(&even(&[0.03, 0.9]), &[false, false], &[0.025, 0.025]);
        check(&[], &[], &[]);
        check(&even(&[1.0, 0.0]), &[false, true], &[0.05, 0.025]);
    }

    /// Weights 1 and 0.25: the second has a fifth of the 5 %, and all of it after the first is
    /// rejected.
    #[test]
    fn weights_share_the_level() {
        check(&[(0.5, 1.0), (0.009, 0.25)], &[false, true], &[0.05, 0.01]);
        check(&[(0.5, 1.0), (0.011, 0.25)], &[false, false], &[0.04, 0.01]);
        check(&[(0.03, 1.0), (0.04, 0.25)], &[true, true], &[0.04, 0.05]);
    }
}
