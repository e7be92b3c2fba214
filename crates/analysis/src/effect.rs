//! The difference of two groups of trials: its size, how sure that is, and what may be said of it.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use truetps_record::Estimate;

use crate::sample::{LogSample, POWER, UPPER, first_that};

/// As many trials as a plan may have blocks: where more would be needed, "run it longer" is no advice.
const TRIALS_MAX: usize = 1000;

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
    /// With n pairs (or trials in each group) the error is `unit / √n`.
    unit: f64,
    is_paired: bool,
}

/// What a comparison may claim of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Change {
    Higher,
    Lower,
    /// The whole interval is inside the smallest effect of interest.
    Equivalent,
    /// About this many more trials of each would decide it; `None` where that cannot be said.
    NotEnoughData {
        more_trials: Option<u32>,
    },
}

impl Effect {
    /// Of differences that were made pair by pair.
    pub(crate) fn paired(differences: &[f64]) -> Option<Self> {
        let sample = LogSample::of(differences)?;
        let n = sample.n;
        let spread = sample.sd.map(|sd| Spread {
            error: sd / (n as f64).sqrt(),
            freedom: (n - 1) as f64,
            unit: sd,
            is_paired: true,
        });
        Some(Self { mean: sample.mean, n, spread })
    }

    /// Of two groups that have nothing to do with each other, b − a: Welch's t, with the degrees of freedom of Satterthwaite.
    pub(crate) fn welch(a: &[f64], b: &[f64]) -> Option<Self> {
        let (a, b) = (LogSample::of(a)?, LogSample::of(b)?);
        let spread = a.sd.zip(b.sd).map(|(sd_a, sd_b)| {
            let (of_a, of_b) = (sd_a.powi(2) / a.n as f64, sd_b.powi(2) / b.n as f64);
            let both = of_a + of_b;
            let each = of_a.powi(2) / (a.n - 1) as f64 + of_b.powi(2) / (b.n - 1) as f64;
            let all = (a.n + b.n - 2) as f64;
            Spread {
                error: both.sqrt(),
                // Equal values have no spread at all, and nothing to weigh.
                freedom: if each > 0.0 { (both.powi(2) / each).clamp(1.0, all) } else { all },
                unit: (sd_a.powi(2) + sd_b.powi(2)).sqrt(),
                is_paired: false,
            }
        });
        Some(Self { mean: b.mean - a.mean, n: a.n.min(b.n), spread })
    }

    /// The same, of differences whose variance cannot be known to be less than this.
    pub(crate) fn with_variance_at_least(self, least: f64) -> Self {
        let widen = |spread: Spread| Spread {
            unit: spread.unit.max(least.sqrt()),
            error: spread.error.max((least / self.n as f64).sqrt()),
            ..spread
        };
        Self { spread: self.spread.map(widen), ..self }
    }

    /// The mean with its 95 % interval, each end turned back by `back`.
    pub(crate) fn estimate(&self, back: impl Fn(f64) -> f64) -> Estimate {
        let half = self.spread.map(|spread| quantile(UPPER, spread.freedom) * spread.error);
        Estimate {
            value: back(self.mean),
            low: half.map(|half| back(self.mean - half)),
            high: half.map(|half| back(self.mean + half)),
            n: self.n,
        }
    }

    /// Two-sided p-value of "nothing differs"; 1 where there is no spread to hold it against.
    pub(crate) fn p_value(&self) -> f64 {
        match self.spread {
            None => 1.0,
            Some(spread) if spread.error == 0.0 => f64::from(u8::from(self.mean == 0.0)),
            Some(spread) => 2.0 * student(spread.freedom).sf(self.mean.abs() / spread.error),
        }
    }

    /// Smallest true difference that one t test on these trials tells from none with 80 % power.
    pub(crate) fn visible(&self) -> Option<f64> {
        let spread = self.spread?;
        Some((quantile(UPPER, spread.freedom) + quantile(POWER, spread.freedom)) * spread.error)
    }

    /// - *higher*, *lower*: the test is passed, **and** the difference is at least `margin`, **and** it is at least the
    ///   smallest one that these trials could have shown, **and** it is at least `noise`: what twins leave visible.
    /// - *equivalent*: the whole interval is within ± `margin`.
    pub(crate) fn change(&self, passes: bool, margin: f64, noise: f64) -> Change {
        let (Some(spread), Some(visible)) = (self.spread, self.visible()) else {
            return Change::NotEnoughData { more_trials: None };
        };
        let size = self.mean.abs();
        if passes && size >= margin && size >= visible && size >= noise {
            return if self.mean > 0.0 { Change::Higher } else { Change::Lower };
        }
        if size + quantile(UPPER, spread.freedom) * spread.error < margin {
            return Change::Equivalent;
        }
        Change::NotEnoughData { more_trials: self.more_trials(margin) }
    }

    /// Trials beyond those seen after which a verdict is likely (about 80 %), if difference and spread are what they now
    /// seem to be.
    fn more_trials(&self, margin: f64) -> Option<u32> {
        let (spread, size) = (self.spread?, self.mean.abs());
        let enough = |n: usize| {
            let error = spread.unit / (n as f64).sqrt();
            let freedom = if spread.is_paired { n - 1 } else { 2 * n - 2 } as f64;
            let (test, scatter) = (quantile(UPPER, freedom), quantile(POWER, freedom));
            if size < margin {
                size + (test + scatter) * error < margin
            } else {
                size >= (test + scatter) * error + scatter * error
            }
        };
        let needed = first_that(self.n.max(2) + 1, TRIALS_MAX, enough)?;
        u32::try_from(needed - self.n).ok()
    }
}

fn quantile(probability: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(probability)
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("a positive number of degrees of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-3, "{got} is not {expect}");
    }

    /// By hand: means 3 and 5.5, variances 2.5 (n = 5) and 1.6667 (n = 4): 0.5 + 0.41667 = 0.91667, error 0.95743;
    /// freedom 0.91667² / (0.5²/4 + 0.41667²/3) = 0.84028 / (0.0625 + 0.05787) = 6.9808.
    #[test]
    fn welch_by_hand() {
        let effect = Effect::welch(&[1.0, 2.0, 3.0, 4.0, 5.0], &[4.0, 5.0, 6.0, 7.0]).unwrap();
        let spread = effect.spread.unwrap();
        close(effect.mean, 2.5);
        close(spread.error, 0.95743);
        close(spread.freedom, 6.9808);
        // t = 2.6112; R: 2 * pt(-2.6112, 6.9808) = 0.03497.
        assert!((effect.p_value() - 0.03497).abs() < 5e-4, "{}", effect.p_value());
    }

    #[test]
    fn changes() {
        let margin = 0.03;
        let check =
            |effect: Option<Effect>, passes, expect| assert_eq!(effect.unwrap().change(passes, margin, 0.0), expect);
        check(Effect::welch(&[1.0, 1.01, 1.02], &[1.5, 1.51, 1.52]), true, Change::Higher);
        check(Effect::paired(&[-0.5, -0.51, -0.49]), true, Change::Lower);
        check(Effect::paired(&[0.001, -0.001, 0.0, 0.002]), false, Change::Equivalent);
        check(Effect::welch(&[1.0], &[2.0]), false, Change::NotEnoughData { more_trials: None });
        check(Effect::paired(&[-3.0, 3.0, -3.0, 3.1]), false, Change::NotEnoughData { more_trials: None });
        let unsure = Effect::paired(&[0.0, 0.1, 0.2]).unwrap().change(false, margin, 0.0);
        assert!(matches!(unsure, Change::NotEnoughData { more_trials: Some(1..=20) }), "{unsure:?}");
        assert_eq!(Effect::welch(&[], &[1.0]), None);
        // Below what twins leave visible.
        let high = Effect::paired(&[0.1, 0.11, 0.09]).unwrap();
        assert_eq!(
            (high.change(true, margin, 0.09), high.change(true, margin, 0.2)),
            (Change::Higher, Change::NotEnoughData { more_trials: Some(1) })
        );
    }

    #[test]
    fn equal_values_have_no_spread() {
        let same = Effect::welch(&[2.0, 2.0], &[2.0, 2.0]).unwrap();
        assert_eq!((same.p_value(), same.change(false, 0.03, 0.0)), (1.0, Change::Equivalent));
        let other = Effect::welch(&[2.0, 2.0], &[3.0, 3.0]).unwrap();
        assert_eq!((other.p_value(), other.change(true, 0.03, 0.0)), (0.0, Change::Higher));
    }
}
