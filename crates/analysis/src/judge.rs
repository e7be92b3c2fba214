//! The rule for claims about one figure, in an experiment's verdicts and in comparisons.
//! `docs/method/verdicts.md` has the rule.

use serde::Serialize;

use crate::effect::Effect;
use crate::sample::{POWER, first_that};
use crate::student::quantile;

/// The largest number of blocks of a plan: if more were needed, more blocks are no advice.
const TRIALS_MAX: usize = 1000;

/// What a comparison may claim of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Judgement {
    Higher,
    Lower,
    /// The difference is shown to be within the smallest effect of interest.
    Equivalent,
    /// About this many more trials of each would decide it; `None` if that is unknown.
    NotEnoughData {
        more_trials: Option<u32>,
    },
}

impl Judgement {
    pub fn is_decided(self) -> bool {
        !matches!(self, Self::NotEnoughData { .. })
    }
}

/// Why there is no verdict on a throughput whose 95 % interval does not include "no difference".
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Missing {
    /// Several comparisons, and several looks at the data, share the 5 %: the test has to be passed
    /// at this level.
    Test { alpha: f64 },
    /// The difference is smaller than the smallest one of interest, and may be larger.
    Interest,
}

/// The conditions of a claim, beside the effect. Effects on throughput are natural logarithms of
/// ratios, so that "twice" and "half" are equally far from "the same".
pub(crate) struct Judge {
    /// The test for a difference is passed, in the family of tests that it belongs to.
    pub(crate) differs: bool,
    /// Whether the test for equivalence is passed.
    pub(crate) is_equivalent: bool,
    /// The level of the test, or the one that it has to reach.
    pub(crate) level: f64,
    /// The level that it will have to reach at the next look, with more data.
    pub(crate) level_next: f64,
    /// Smallest difference of interest, in the unit of the effect.
    pub(crate) margin: f64,
}

impl Judge {
    /// - *higher*, *lower*: the test is passed (so that the 95 % interval excludes "no
    ///   difference"), **and** the estimate is at least the smallest effect of interest.
    /// - *equivalent*: the test for that is passed (so that the whole 95 % interval lies inside ±
    ///   the smallest effect of interest).
    /// - anything else is not enough data.
    pub(crate) fn change(&self, effect: &Effect) -> Judgement {
        if self.differs && effect.n >= 2 && effect.mean.abs() >= self.margin {
            return if effect.mean > 0.0 { Judgement::Higher } else { Judgement::Lower };
        }
        if self.is_equivalent {
            return Judgement::Equivalent;
        }
        Judgement::NotEnoughData { more_trials: self.more_trials(effect) }
    }

    /// The first condition that is not met, where the 95 % interval excludes "no difference".
    /// Effects are logarithms.
    pub(crate) fn missing(&self, effect: &Effect) -> Option<Missing> {
        let size = effect.mean.abs();
        if size <= effect.half_width()? {
            return None;
        }
        match () {
            () if !self.differs => Some(Missing::Test { alpha: self.level }),
            () if size < self.margin && !self.is_equivalent => Some(Missing::Interest),
            () => None,
        }
    }

    /// Trials of each (pairs, where there are pairs) beyond those seen after which a verdict is
    /// likely (about 80 %), if effect and spread are what they now seem to be. Where the effect now
    /// seems too small to matter, that verdict is *equivalent*.
    ///
    /// The estimate has to pass a threshold, and it scatters around the truth: the truth has to lie
    /// beyond the threshold by t(0.8) standard errors for the estimate to pass four times out of
    /// five.
    fn more_trials(&self, effect: &Effect) -> Option<u32> {
        effect.half_width()?;
        let needed = first_that(effect.n.max(2) + 1, TRIALS_MAX, |n| self.is_enough(n, effect))?;
        u32::try_from(needed - effect.n).ok()
    }

    fn is_enough(&self, n: usize, effect: &Effect) -> bool {
        let Some((error, freedom)) = effect.at(n) else { return false };
        let needed =
            (quantile(1.0 - self.level_next / 2.0, freedom) + quantile(POWER, freedom)) * error;
        let size = effect.mean.abs();
        if size < self.margin { size + needed < self.margin } else { size >= needed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::ALPHA;
    use crate::family::{Question, judge as judge_all};

    fn judge(effect: Option<Effect>) -> Judgement {
        let question = Question { effect: effect.unwrap(), weight: 1.0, margin: 0.03_f64.ln_1p() };
        judge_all(&[question], ALPHA, ALPHA)[0].change
    }

    #[test]
    fn of_pairs() {
        let check =
            |logs: &[f64], expect| assert_eq!(judge(Effect::paired(logs)), expect, "{logs:?}");
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
        let check = |a: &[f64], b: &[f64], expect| {
            assert_eq!(judge(Effect::groups(a, b)), expect, "{a:?} {b:?}");
        };
        check(&[1.0, 1.01, 1.02], &[1.5, 1.51, 1.52], Judgement::Higher);
        check(&[1.0], &[2.0], Judgement::NotEnoughData { more_trials: None });
        check(&[2.0, 2.0], &[2.0, 2.0], Judgement::Equivalent);
        check(&[2.0, 2.0], &[1.0, 1.0], Judgement::Lower);
        // Mean 0.1, s = 0.1 each, two groups of 3: error at n is 0.1414/√n with 2n − 2 degrees of
        // freedom. n = 17: (2.0369 + 0.8530) · 0.03430 = 0.0991; n = 16: (2.0423 + 0.8538) ·
        // 0.03536 = 0.1024.
        check(
            &[0.0, 0.1, 0.2],
            &[0.1, 0.2, 0.3],
            Judgement::NotEnoughData { more_trials: Some(14) },
        );
    }

    #[test]
    fn more_trials_follow_the_power_formula() {
        // Mean 0.10, s = 0.1581, n = 5. The test has to be passed, and one scatter more is needed
        // for 80 %: n = 22: (2.0796 + 0.8591) · 0.1581 / √22 = 0.0991; n = 21: (2.0860 + 0.8600) ·
        // 0.1581 / √21 = 0.1016.
        let change = judge(Effect::paired(&[-0.1, 0.0, 0.1, 0.2, 0.3]));
        assert_eq!(change, Judgement::NotEnoughData { more_trials: Some(17) });
        // Far too noisy to be decided by any plan.
        let change = judge(Effect::paired(&[-3.0, 3.0, -3.0, 3.1]));
        assert_eq!(change, Judgement::NotEnoughData { more_trials: None });
    }

    #[test]
    fn an_interval_that_excludes_no_difference_is_no_verdict_by_itself() {
        let missing = |logs: &[f64], differs: bool| {
            let (level, margin) = (0.01, 0.03_f64.ln_1p());
            let judge = Judge { differs, is_equivalent: false, level, level_next: level, margin };
            judge.missing(&Effect::paired(logs).unwrap())
        };
        assert_eq!(
            missing(&[0.095, 0.1, 0.1, 0.105, 0.1], false),
            Some(Missing::Test { alpha: 0.01 })
        );
        assert_eq!(missing(&[0.095, 0.1, 0.1, 0.105, 0.1], true), None);
        assert_eq!(missing(&[0.025, 0.03, 0.02, 0.025, 0.025], true), Some(Missing::Interest));
        assert_eq!(missing(&[-0.1, 0.1, 0.0, 0.05], false), None);
    }

    /// The review's E7: ten effects at the margin. Alone, each is called equivalent one time out of
    /// forty.
    #[test]
    fn equivalence_shares_the_error_with_all_others() {
        let logs = [0.004, -0.003, 0.002, 0.005, -0.002, 0.001];
        let alone = judge(Effect::paired(&logs));
        assert_eq!(alone, Judgement::Equivalent);
        let wide: Vec<f64> = logs.iter().map(|log| log * 6.0).collect();
        // Of one question the whole 95 % interval is inside the margin, of forty it is not proven.
        assert_eq!(judge(Effect::paired(&wide)), Judgement::Equivalent);
        let question = || Question {
            effect: Effect::paired(&wide).unwrap(),
            weight: 1.0,
            margin: 0.03_f64.ln_1p(),
        };
        let many: Vec<_> = (0..40).map(|_| question()).collect();
        assert!(judge_all(&many, ALPHA, ALPHA).iter().all(|answer| !answer.change.is_decided()));
    }
}
