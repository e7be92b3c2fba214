//! Exact bounds of a share that was counted: of n crashes, k lost something.
//! `docs/method/crash-losses.md` has the rule.

use statrs::distribution::{Beta, ContinuousCDF};

use crate::effect::ALPHA;

/// The share that the true one exceeds with 95 % confidence: Clopper and Pearson's lower bound. 0
/// where nothing was counted.
pub(crate) fn share_at_least(counted: usize, of: usize) -> f64 {
    if counted == 0 { 0.0 } else { beta(counted, of - counted + 1).inverse_cdf(ALPHA) }
}

/// The share that the true one does not exceed with 95 % confidence: Clopper and Pearson's upper
/// bound, `1 − 0.05^(1/n)` where nothing was counted. 1 where everything was, and of no crash.
pub(crate) fn share_at_most(counted: usize, of: usize) -> f64 {
    if counted >= of { 1.0 } else { beta(counted + 1, of - counted).inverse_cdf(1.0 - ALPHA) }
}

/// The smallest number of crashes without a loss that bounds the share at `share`.
pub(crate) fn crashes_that_bound(share: f64) -> usize {
    (ALPHA.ln() / (-share).ln_1p()).ceil() as usize
}

fn beta(a: usize, b: usize) -> Beta {
    Beta::new(a as f64, b as f64).expect("both shapes are positive")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: sums of the binomial distribution, and bisection, by a program in Python.
    #[test]
    fn exact_bounds() {
        for (counted, of, least, most) in [
            (0, 1, 0.0, 0.95),
            (0, 2, 0.0, 0.776_393),
            (0, 4, 0.0, 0.527_129),
            (0, 5, 0.0, 0.450_720),
            (0, 10, 0.0, 0.258_866),
            (0, 100, 0.0, 0.029_513),
            (1, 10, 0.005_116, 0.394_163),
            (3, 10, 0.087_264, 0.606_624),
            (17, 20, 0.656_336, 0.957_831),
            (10, 10, 0.741_134, 1.0),
            (1, 1, 0.05, 1.0),
            (50, 1000, 0.039_164, 0.062_863),
        ] {
            let got = (share_at_least(counted, of), share_at_most(counted, of));
            assert!(
                (got.0 - least).abs() < 1e-5 && (got.1 - most).abs() < 1e-5,
                "{counted} of {of}: {got:?}"
            );
        }
        assert_eq!((share_at_least(0, 0), share_at_most(0, 0)), (0.0, 1.0));
    }

    /// `1 − 0.05^(1/4)` is 0.527, `1 − 0.05^(1/5)` is 0.451.
    #[test]
    fn five_crashes_bound_the_share_at_a_half() {
        assert_eq!((crashes_that_bound(0.5), crashes_that_bound(0.03)), (5, 99));
        for share in [0.5, 0.1, 0.01] {
            let n = crashes_that_bound(share);
            assert!(share_at_most(0, n) <= share && share_at_most(0, n - 1) > share);
        }
    }
}
