//! The difference of two groups of trials: its size, how certain that is, and what may be claimed.

use statrs::distribution::ContinuousCDF;
use truetps_record::Estimate;

use crate::pooled::{POOLED_WEIGHT, PooledVariance};
use crate::sample::{FACTOR_MAX, LogSample, POWER, UPPER, exp};
use crate::student::{quantile, student};

/// The chance of a false claim: for throughput, the one declared measure, for all other figures
/// together, and for all thresholds together. Also what is outside of a 95 % interval.
pub(crate) const ALPHA: f64 = 0.05;
/// Below this level a test is in the far tail of its distribution, where approximate degrees of
/// freedom are too bold …
const FAR_TAIL: f64 = 0.02;
/// … and everywhere, if a group is smaller than this: it does not tell how noisy it is.
const GROUP_MIN: usize = 4;

/// A mean difference (of logarithms, or of the figures themselves) with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effect {
    pub(crate) mean: f64,
    /// Pairs, or trials of the smaller group.
    pub(crate) n: usize,
    spread: Option<Spread>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    /// Standard error of the mean difference.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
    /// Degrees of freedom for the far tails.
    freedom_least: f64,
    /// With n pairs (or trials in each group) the error is `unit / √n`.
    unit: f64,
    kind: SpreadKind,
}

/// What a spread is estimated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpreadKind {
    Pairs,
    /// The pairs and all configurations with the same load.
    PooledPairs,
    Groups,
}

impl Spread {
    fn freedom_at(&self, alpha: f64) -> f64 {
        let is_small =
            self.kind == SpreadKind::Groups && self.freedom_least < (GROUP_MIN - 1) as f64;
        let far_tail = if is_small { ALPHA } else { FAR_TAIL };
        if alpha < far_tail { self.freedom_least } else { self.freedom }
    }
}

impl Effect {
    /// The effect in differences that were made pair by pair.
    pub(crate) fn paired(differences: &[f64]) -> Option<Self> {
        LogSample::of(differences).map(Self::of_pairs)
    }

    /// The effect in pairs, from what is known of their differences.
    pub(crate) fn of_pairs(sample: LogSample) -> Self {
        let n = sample.n;
        let spread = sample.sd.map(|sd| Spread {
            error: sd / (n as f64).sqrt(),
            freedom: (n - 1) as f64,
            freedom_least: (n - 1) as f64,
            unit: sd,
            kind: SpreadKind::Pairs,
        });
        Self { mean: sample.mean, n, spread }
    }

    /// This effect of pairs with its variance drawn towards the one that all configurations with
    /// the same load have together: `(2 v + (n − 1) s²) / (n + 1)`, where v is the pooled variance
    /// of a difference. `trials` is the variance of a difference in units of the variance of one
    /// trial: 2 for one trial against one, 1.5 where one side has two in each block.
    ///
    /// Where all levels have the same noise, intervals with n + 1 degrees of freedom (two pairs: 2)
    /// hold the truth 95 times out of 100; tests far out in the tail have n, which keeps false
    /// claims within their level where levels differ in their noise by a factor of four.
    #[must_use]
    pub(crate) fn pooled_with(self, pooled: Option<&PooledVariance>, trials: f64) -> Self {
        let Some(pooled) = pooled.filter(|pooled| pooled.is_shared()) else { return self };
        let n = self.n as f64;
        let spread = self.spread.map(|spread| {
            let own = spread.unit.powi(2) * (n - 1.0);
            let unit = ((POOLED_WEIGHT * trials * pooled.of_one_trial + own)
                / (POOLED_WEIGHT + n - 1.0))
                .sqrt();
            let (freedom, freedom_least) = (if self.n == 2 { n } else { n + 1.0 }, n);
            Spread {
                error: unit / n.sqrt(),
                freedom,
                freedom_least,
                unit,
                kind: SpreadKind::PooledPairs,
            }
        });
        Self { spread, ..self }
    }

    /// The difference b − a of two independent groups: Welch's t, with the degrees of freedom of
    /// Satterthwaite, as far as two groups of the smaller size would have them. They are an
    /// approximation that holds at 5 %, and is too bold far out in the tails, where tests that
    /// share the 5 % with many others look: those have the degrees of freedom of the smaller group,
    /// with which no spreads make it claim too much.
    pub(crate) fn groups(a: &[f64], b: &[f64]) -> Option<Self> {
        let (a, b) = (LogSample::of(a)?, LogSample::of(b)?);
        let n = a.n.min(b.n);
        let spread = a.sd.zip(b.sd).map(|(sd_a, sd_b)| {
            let (of_a, of_b) = (sd_a.powi(2) / a.n as f64, sd_b.powi(2) / b.n as f64);
            let both = of_a + of_b;
            let each = of_a.powi(2) / (a.n - 1) as f64 + of_b.powi(2) / (b.n - 1) as f64;
            let least = (n - 1) as f64;
            // At most as for two groups of the smaller size: a small group with a small spread by
            // chance is not a large one.
            let most = 2.0 * least;
            Spread {
                error: both.sqrt(),
                // Equal values have no spread to weight.
                freedom: if each > 0.0 { (both.powi(2) / each).clamp(least, most) } else { most },
                freedom_least: least,
                unit: (sd_a.powi(2) + sd_b.powi(2)).sqrt(),
                kind: SpreadKind::Groups,
            }
        });
        Some(Self { mean: b.mean - a.mean, n, spread })
    }

    /// a − b in place of b − a.
    #[must_use]
    pub(crate) fn reversed(self) -> Self {
        Self { mean: -self.mean, ..self }
    }

    /// This effect with a lower bound of the standard error: the square root of the variance
    /// `least`, which counting in whole transactions leaves. Equal counts are rounded in the same
    /// direction each time, so that more of them do not make it smaller.
    #[must_use]
    pub(crate) fn with_resolution(self, least: f64) -> Self {
        let spread = self.spread.map(|spread| Spread {
            unit: spread.unit.max(least.sqrt()),
            error: spread.error.max(least.sqrt()),
            ..spread
        });
        Self { spread, ..self }
    }

    /// The ratio, of an effect in logarithms, with its 95 % interval, which is left out if it is
    /// too wide to be useful.
    pub(crate) fn ratio(&self) -> Estimate {
        let estimate = self.estimate(exp);
        if self.half_width().is_some_and(|half| half <= FACTOR_MAX.ln()) {
            return estimate;
        }
        Estimate { low: None, high: None, ..estimate }
    }

    /// [`Self::detectable`] of logarithms as a share, 0.03 for 3 %. `None` also beyond
    /// [`FACTOR_MAX`].
    pub(crate) fn detectable_share(&self, level: f64) -> Option<f64> {
        self.detectable(level).filter(|log| *log <= FACTOR_MAX.ln()).map(f64::exp_m1)
    }

    /// The mean with its 95 % interval, each end turned back by `back`.
    pub(crate) fn estimate(&self, back: impl Fn(f64) -> f64) -> Estimate {
        self.estimate_at(ALPHA, back)
    }

    /// [`Self::estimate`] with an interval that misses the true value with probability `alpha`.
    pub(crate) fn estimate_at(&self, alpha: f64, back: impl Fn(f64) -> f64) -> Estimate {
        let half = self
            .spread
            .map(|spread| quantile(1.0 - alpha / 2.0, spread.freedom_at(alpha)) * spread.error);
        Estimate {
            value: back(self.mean),
            low: half.map(|half| back(self.mean - half)),
            high: half.map(|half| back(self.mean + half)),
            n: self.n,
        }
    }

    /// Two-sided p-value of "nothing differs", for a test at the level `alpha` or a smaller one; 1
    /// where there is no spread to hold it against.
    pub(crate) fn p_value(&self, alpha: f64) -> f64 {
        match self.spread {
            None => 1.0,
            Some(spread) if spread.error == 0.0 => f64::from(u8::from(self.mean == 0.0)),
            Some(spread) => {
                2.0 * student(spread.freedom_at(alpha)).sf(self.mean.abs() / spread.error)
            }
        }
    }

    /// The p-value of "they differ by `margin` or more": twice the larger p-value of the two
    /// one-sided tests, so that at 5 % it is passed where the 95 % interval lies within the margin.
    pub(crate) fn p_value_equivalent(&self, alpha: f64, margin: f64) -> f64 {
        let distance = margin - self.mean.abs();
        match self.spread {
            Some(spread) if distance > 0.0 && spread.error == 0.0 => 0.0,
            Some(spread) if distance > 0.0 => {
                2.0 * student(spread.freedom_at(alpha)).sf(distance / spread.error)
            }
            _ => 1.0,
        }
    }

    /// Smallest true difference that a test at `level` detects on these trials with 80 % power. The
    /// spread is taken as it is estimated, with Student's t for both quantiles, which counts its
    /// uncertainty.
    pub(crate) fn detectable(&self, level: f64) -> Option<f64> {
        let spread = self.spread?;
        let freedom = spread.freedom_at(level);
        Some((quantile(1.0 - level / 2.0, freedom) + quantile(POWER, freedom)) * spread.error)
    }

    /// Half the width of the 95 % interval of the mean.
    pub(crate) fn half_width(&self) -> Option<f64> {
        self.spread.map(|spread| quantile(UPPER, spread.freedom) * spread.error)
    }

    /// Standard error and degrees of freedom for far tails, if there were `n` pairs (or trials in
    /// each group) with the spread of those seen.
    pub(crate) fn at(&self, n: usize) -> Option<(f64, f64)> {
        let spread = self.spread?;
        let freedom = match spread.kind {
            SpreadKind::Pairs => n - 1,
            SpreadKind::PooledPairs => n,
            SpreadKind::Groups => 2 * n - 2,
        };
        Some((spread.unit / (n as f64).sqrt(), freedom as f64))
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_1_SQRT_2;

    use super::*;

    fn close(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-3, "{got} is not {expect}");
    }

    /// By hand: means 3 and 5.5, variances 2.5 (n = 5) and 1.6667 (n = 4): 0.5 + 0.41667 = 0.91667,
    /// error 0.95743; freedom 0.91667² / (0.5²/4 + 0.41667²/3) = 0.84028 / (0.0625 + 0.05787) =
    /// 6.9808.
    #[test]
    fn groups_by_hand() {
        let effect = Effect::groups(&[1.0, 2.0, 3.0, 4.0, 5.0], &[4.0, 5.0, 6.0, 7.0]).unwrap();
        let spread = effect.spread.unwrap();
        close(effect.mean, 2.5);
        close(spread.error, 0.95743);
        // Satterthwaite's, and at most the degrees of freedom of two groups of four.
        close(spread.freedom, 6.0);
        // t = 2.6112; 2 · pt(−2.6112, 6) = 0.04008; far out in the tail, 2 · pt(−2.6112, 3) =
        // 0.07960.
        assert!((effect.p_value(ALPHA) - 0.04008).abs() < 5e-4, "{}", effect.p_value(ALPHA));
        assert!(
            (effect.p_value(ALPHA / 4.0) - 0.07960).abs() < 5e-4,
            "{}",
            effect.p_value(ALPHA / 4.0)
        );
        // Of equal size: variances 2.5 and 10 (n = 5) have 4 · 2.5² / (0.5² + 2²) = 5.88235.
        let even = Effect::groups(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
        close(even.spread.unwrap().freedom, 5.88235);
    }

    /// By hand: 1, 2, 3, 4, 5 has mean 3, s/√5 = 0.70711, t = 4.2426 with 4 degrees of freedom: p =
    /// 0.01324. For 4 degrees the tail has a closed form, P(T > t) = 1/2 − (3/4)·x·(1 − x²/3) with
    /// x = t/√(4 + t²) = 0.904534: 0.5 − 0.678401 · 0.727273 = 0.006618.
    #[test]
    fn pairs_by_hand() {
        let effect = Effect::paired(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(
            (effect.p_value(ALPHA) - 2.0 * 0.006_618).abs() < 2e-6,
            "{}",
            effect.p_value(ALPHA)
        );
        // (2.7764 + 0.9410) · 0.70711
        close(effect.detectable(ALPHA).unwrap(), 2.6286);
        close(effect.half_width().unwrap(), 1.9632);
        // With one degree of freedom t is Cauchy: t = 1 has a quarter of the distribution beyond it
        // on each side.
        assert!((Effect::paired(&[0.0, 0.2]).unwrap().p_value(ALPHA) - 0.5).abs() < 1e-9);
        close(Effect::paired(&[2.0]).unwrap().p_value(ALPHA), 1.0);
        assert_eq!(Effect::groups(&[], &[1.0]), None);
    }

    #[test]
    fn a_wider_interval_for_a_smaller_chance() {
        let effect = Effect::paired(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        // t(0.995, 4) = 4.604.
        let estimate = effect.estimate_at(0.01, |x| x);
        close(estimate.low.unwrap(), 3.0 - 4.604 * FRAC_1_SQRT_2);
        close(estimate.high.unwrap(), 3.0 + 4.604 * FRAC_1_SQRT_2);
    }

    /// Two and two trials: t(0.975, 1) = 12.7 makes e^±30 of a spread of 3.3, which no ratio is.
    #[test]
    fn an_interval_that_says_nothing_is_left_out() {
        let apart = Effect::groups(&[0.0, 5.0], &[1.0, 4.0]).unwrap();
        let ratio = apart.ratio();
        assert_eq!(
            (ratio.low, ratio.high, ratio.n, apart.detectable_share(ALPHA)),
            (None, None, 2, None)
        );
        assert!((ratio.value - 1.0).abs() < 1e-12);
        let near = Effect::groups(&[0.0, 0.1], &[1.0, 1.1]).unwrap();
        assert!(near.ratio().low.is_some() && near.detectable_share(ALPHA).is_some());
        assert_eq!(Effect::paired(&[1.0]).unwrap().ratio().low, None);
    }

    #[test]
    fn equal_values_have_no_spread() {
        let p_value = |a: &[f64], b: &[f64]| Effect::groups(a, b).unwrap().p_value(ALPHA);
        assert_eq!(
            (p_value(&[2.0, 2.0], &[2.0, 2.0]), p_value(&[2.0, 2.0], &[3.0, 3.0])),
            (1.0, 0.0)
        );
    }

    /// By hand: s² = 2.5 of five pairs, and 0.5 of one trial from three rows: (2 · 2 · 0.5 + 4 ·
    /// 2.5) / 6 = 2, error √(2/5).
    #[test]
    fn a_variance_is_drawn_towards_the_pooled_one() {
        let pooled = |rows: usize| PooledVariance { of_one_trial: 0.5, freedom: 8, rows };
        let own = Effect::paired(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let drawn = own.pooled_with(Some(&pooled(3)), 2.0);
        let spread = drawn.spread.unwrap();
        close(spread.error, 0.632_46);
        assert!((spread.freedom - 6.0).abs() < 1e-12 && (spread.freedom_least - 5.0).abs() < 1e-12);
        assert_eq!(
            (own.pooled_with(Some(&pooled(2)), 2.0), own.pooled_with(None, 2.0)),
            (own, own)
        );
    }

    /// The interval of 1, 2, 3, 4, 5 ends at 3 + 1.9632: within 5 at 5 %, and not within 4.9.
    #[test]
    fn equivalence_is_the_interval_within_the_margin() {
        let effect = Effect::paired(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let p_value = |margin: f64| effect.p_value_equivalent(ALPHA, margin);
        assert!(p_value(4.97) < ALPHA && p_value(4.95) > ALPHA && p_value(3.0) >= 1.0);
    }
}
