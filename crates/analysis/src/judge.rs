//! The rule for claims about one figure, in an experiment's verdicts and in comparisons.

use serde::Serialize;

use crate::Noise;
use crate::effect::{Effect, quantile};
use crate::noise::detectable_log;
use crate::sample::{FACTOR_MAX, POWER, UPPER, first_that};

/// The largest number of blocks of a plan: if more were needed, more blocks are no advice.
const TRIALS_MAX: usize = 1000;

/// What a comparison may claim of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Judgement {
    Higher,
    Lower,
    /// The whole interval is inside the smallest effect of interest.
    Equivalent,
    /// About this many more trials of each would decide it; `None` if that is unknown.
    NotEnoughData {
        more_trials: Option<u32>,
    },
}

/// Why there is no verdict on a throughput whose 95 % interval does not include "no difference".
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Missing {
    /// Several comparisons share the 5 %: the test has to be passed at this level.
    Test { alpha: f64 },
    /// The difference is smaller than the smallest one of interest, and may be larger.
    Interest,
    /// These trials detect differences of this size (0.03 is 3 %) four times out of five; smaller ones less often.
    Power { least: f64 },
    /// Differences of this size are detectable over the noise between two runs of the same configuration.
    Twins { least: f64 },
}

/// The conditions of a claim, beside the effect. Effects on throughput are natural logarithms of ratios, so that "twice" and
/// "half" are equally far from "the same".
pub(crate) struct Judge<'a> {
    /// The test is passed, in the family of tests that it belongs to.
    pub(crate) passes: bool,
    /// The level that the next test of the family has to reach.
    pub(crate) alpha: f64,
    /// Smallest difference of interest, in the unit of the effect.
    pub(crate) margin: f64,
    /// Of the experiment's twins, where it bounds the claims about this figure.
    pub(crate) noise: Option<&'a Noise>,
}

impl Judge<'_> {
    /// - *higher*, *lower*: the test is passed (so that the 95 % interval excludes "no difference"), **and** the estimate is at
    ///   least the smallest effect of interest, **and** it is at least the smallest one that these trials could detect with
    ///   80 % power, **and** it is at least the smallest one that is detectable over the noise of the A/A twins.
    /// - *equivalent*: the whole 95 % interval lies inside ± the smallest effect of interest.
    /// - anything else is not enough data.
    pub(crate) fn change(&self, effect: &Effect) -> Judgement {
        let (Some(half), Some(detectable)) = (effect.half_width(), effect.detectable()) else {
            return Judgement::NotEnoughData { more_trials: None };
        };
        let size = effect.mean.abs();
        let over_noise = size >= self.noise.map_or(0.0, |noise| noise.smallest_detectable_effect.ln_1p());
        if self.passes && size >= self.margin && size >= detectable && over_noise {
            return if effect.mean > 0.0 { Judgement::Higher } else { Judgement::Lower };
        }
        if size + half < self.margin {
            return Judgement::Equivalent;
        }
        Judgement::NotEnoughData { more_trials: self.more_trials(effect) }
    }

    /// The first condition that is not met, where the 95 % interval excludes "no difference". Effects are logarithms.
    pub(crate) fn missing(&self, effect: &Effect) -> Option<Missing> {
        let (half, detectable) = (effect.half_width()?, effect.detectable()?);
        let size = effect.mean.abs();
        if size <= half {
            return None;
        }
        let twins = self.noise.map_or(0.0, |noise| noise.smallest_detectable_effect);
        let missing = match () {
            () if !self.passes => Missing::Test { alpha: self.alpha },
            () if size < self.margin => Missing::Interest,
            () if size < twins.ln_1p() => Missing::Twins { least: twins },
            () if size < detectable => Missing::Power { least: detectable.min(FACTOR_MAX.ln()).exp_m1() },
            () => return None,
        };
        Some(missing)
    }

    /// Trials of each (pairs, where there are pairs) beyond those seen after which a verdict is likely (about 80 %), if effect and
    /// spread are what they now seem to be. Where the effect now seems too small to matter, that verdict is *equivalent*.
    ///
    /// The estimate has to pass a threshold, and it scatters around the truth: the truth has to lie beyond the threshold by
    /// t(0.8) standard errors for the estimate to pass four times out of five.
    fn more_trials(&self, effect: &Effect) -> Option<u32> {
        let size = effect.mean.abs();
        let enough = |n: usize| {
            let Some((error, freedom)) = effect.at(n) else { return false };
            let (single, scatter) = (quantile(UPPER, freedom), quantile(POWER, freedom));
            if size < self.margin {
                return size + (single + scatter) * error < self.margin;
            }
            let own = quantile(1.0 - self.alpha / 2.0, freedom).max(single + scatter) * error;
            let twins = self.noise.map_or(0.0, |noise| detectable_log(noise.sigma, n));
            size >= own.max(twins) + scatter * error
        };
        let needed = first_that(effect.n.max(2) + 1, TRIALS_MAX, enough)?;
        u32::try_from(needed - effect.n).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::ALPHA;
    use crate::holm::holm;
    use crate::sample::LogSample;

    fn judge(effect: Option<Effect>, noise: Option<&Noise>) -> Judgement {
        let effect = effect.unwrap();
        let family = holm(&[effect.p_value(ALPHA)], ALPHA);
        Judge { passes: family.rejected[0], alpha: family.next_alpha, margin: 0.03_f64.ln_1p(), noise }.change(&effect)
    }

    #[test]
    fn of_pairs() {
        let check = |logs: &[f64], expect| assert_eq!(judge(Effect::paired(logs), None), expect, "{logs:?}");
        check(&[0.50, 0.52, 0.49, 0.51, 0.50], Judgement::Higher);
        check(&[-0.50, -0.52, -0.49, -0.51, -0.50], Judgement::Lower);
        check(&[0.001, -0.002, 0.000, 0.003, -0.001], Judgement::Equivalent);
        check(&[0.5], Judgement::NotEnoughData { more_trials: None });
        // Shown to differ, but by 2 %, and the plan cares for 3 %.
        check(&[0.0201, 0.0199, 0.0200, 0.0202, 0.0198], Judgement::Equivalent);
        // Equal pairs: no spread at all.
        check(&[0.5, 0.5], Judgement::Higher);
        check(&[0.0, 0.0], Judgement::Equivalent);
    }

    #[test]
    fn of_groups() {
        let check = |a: &[f64], b: &[f64], expect| assert_eq!(judge(Effect::groups(a, b), None), expect, "{a:?} {b:?}");
        check(&[1.0, 1.01, 1.02], &[1.5, 1.51, 1.52], Judgement::Higher);
        check(&[1.0], &[2.0], Judgement::NotEnoughData { more_trials: None });
        check(&[2.0, 2.0], &[2.0, 2.0], Judgement::Equivalent);
        check(&[2.0, 2.0], &[1.0, 1.0], Judgement::Lower);
        // Mean 0.1, s = 0.1 each, two groups of 3: error at n is 0.1414/√n with 2n − 2 degrees of freedom.
        // n = 17: (2.0369 + 2 · 0.8530) · 0.03430 = 0.1284; n = 28: (2.0049 + 2 · 0.8482) · 0.02673 = 0.0989;
        // n = 27: (2.0066 + 2 · 0.8484) · 0.02722 = 0.1008.
        check(&[0.0, 0.1, 0.2], &[0.1, 0.2, 0.3], Judgement::NotEnoughData { more_trials: Some(25) });
    }

    #[test]
    fn more_trials_follow_the_power_formula() {
        // Mean 0.10, s = 0.1581, n = 5. The estimate has to be detectable, and one scatter more is needed for 80 %:
        // n = 35: (2.0322 + 2 · 0.8523) · 0.1581 / √35 = 0.0999; n = 34: (2.0345 + 2 · 0.8527) · 0.1581 / √34 = 0.1014.
        let change = judge(Effect::paired(&[-0.1, 0.0, 0.1, 0.2, 0.3]), None);
        assert_eq!(change, Judgement::NotEnoughData { more_trials: Some(30) });
        // Far too noisy to be decided by any plan.
        let change = judge(Effect::paired(&[-3.0, 3.0, -3.0, 3.1]), None);
        assert_eq!(change, Judgement::NotEnoughData { more_trials: None });
    }

    #[test]
    fn an_effect_below_the_noise_of_the_twins_is_no_verdict() {
        let noise = |detectable: f64| Noise {
            sigma: detectable.ln_1p() / 2.8 * (5.0_f64 / 2.0).sqrt(),
            smallest_detectable_effect: detectable,
            pairs: Vec::new(),
            ratio: LogSample::of(&[0.0]).unwrap().estimate(),
            alarm: false,
        };
        let effect = Effect::paired(&[0.095, 0.1, 0.1, 0.105, 0.1]);
        let missing = |passes: bool, detectable: f64| {
            let noise = noise(detectable);
            Judge { passes, alpha: 0.01, margin: 0.03_f64.ln_1p(), noise: Some(&noise) }.missing(&effect.unwrap())
        };
        assert_eq!(missing(true, 0.2), Some(Missing::Twins { least: 0.2 }));
        assert_eq!(missing(false, 0.2), Some(Missing::Test { alpha: 0.01 }));
        assert_eq!(missing(true, 0.08), None);
        assert_eq!(judge(effect, Some(&noise(0.08))), Judgement::Higher);
        // e^0.1 = 1.105: below 20 %. ln(1.2) = 0.1823 falls with √(5/n): 0.0989 at n = 17, with little scatter.
        assert_eq!(judge(effect, Some(&noise(0.2))), Judgement::NotEnoughData { more_trials: Some(12) });
    }
}
