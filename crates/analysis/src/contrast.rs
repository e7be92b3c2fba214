//! Each configuration against the baseline, and what may be claimed about it.

use indexmap::IndexMap;
use truetps_record::{Configuration, SettingValue};

use crate::evidence::{Evidence, p99_ratio_sample, tps_ratio_sample};
use crate::holm::holm;
use crate::noise::visible_log;
use crate::sample::{LogSample, POWER, UPPER, exp, first_that, t_quantile};
use crate::{Cell, Contrast, Noise, Verdict};

/// The chance of even one false "faster" or "slower" in a whole experiment in which nothing differs.
const FAMILY_ALPHA: f64 = 0.05;
/// As many blocks as a plan may have: where more would be needed, "run it longer" is no advice.
const BLOCKS_MAX: usize = 1000;

pub(crate) struct Question<'a> {
    pub(crate) baseline: &'a IndexMap<String, SettingValue>,
    pub(crate) configurations: &'a [Configuration],
    /// Evidence for each of the configurations.
    pub(crate) by_cell: &'a [Vec<Evidence<'a>>],
    pub(crate) cells: &'a [Cell],
    pub(crate) smallest_effect: f64,
    pub(crate) noise: Option<&'a Noise>,
}

/// One configuration and its baseline with what their pairs say, not yet judged.
struct Compared {
    cell: usize,
    baseline_cell: usize,
    tps: LogSample,
    p99: Option<LogSample>,
}

/// All contrasts that have at least one pair, in the plan's order of configurations.
pub(crate) fn all(question: &Question<'_>) -> Vec<Contrast> {
    let compared: Vec<_> = (0..question.configurations.len()).filter_map(|cell| compare(question, cell)).collect();
    let p_values: Vec<_> = compared.iter().map(|one| one.tps.p_value()).collect();
    let family = holm(&p_values, FAMILY_ALPHA);
    let is_limited = |cell: usize| question.cells[cell].generator_limited.is_some();
    let judged = compared.iter().zip(&family.rejected).map(|(one, rejected)| {
        let judge = Judge {
            sample: one.tps,
            passes_holm: *rejected,
            holm_alpha: family.next_alpha,
            margin: question.smallest_effect.ln_1p(),
            noise: question.noise,
        };
        Contrast {
            cell: one.cell,
            baseline_cell: one.baseline_cell,
            tps_ratio: one.tps.estimate(),
            p99_ratio: one.p99.map(|sample| sample.estimate()),
            smallest_visible_effect: one.tps.visible().map(|log| exp(log) - 1.0),
            generator_limited: is_limited(one.cell) || is_limited(one.baseline_cell),
            verdict: judge.verdict(),
        }
    });
    judged.collect()
}

/// `None` where the cell is its own baseline, and where no block has both.
fn compare(question: &Question<'_>, cell: usize) -> Option<Compared> {
    let mut levels = question.configurations[cell].levels.clone();
    for (name, level) in question.baseline {
        levels.insert(name.clone(), level.clone());
    }
    let wanted = Configuration { levels };
    let baseline_cell = question.configurations.iter().position(|configuration| *configuration == wanted)?;
    if baseline_cell == cell {
        return None;
    }
    let (above, below) = (&question.by_cell[cell], &question.by_cell[baseline_cell]);
    Some(Compared { cell, baseline_cell, tps: tps_ratio_sample(above, below)?, p99: p99_ratio_sample(above, below) })
}

/// What one verdict is made from. All effects are natural logarithms of ratios, so that "twice" and "half" are equally
/// far from "the same".
struct Judge<'a> {
    sample: LogSample,
    passes_holm: bool,
    /// The level that the next comparison of the family has to reach.
    holm_alpha: f64,
    /// ln(1 + smallest effect of interest): the plan does not care for less.
    margin: f64,
    noise: Option<&'a Noise>,
}

impl Judge<'_> {
    /// - *faster*, *slower*: the t test passes Holm's correction at 5 % over the family (so that the 95 % interval
    ///   excludes 1), **and** the estimate is at least the smallest effect of interest, **and** it is at least the
    ///   smallest effect that this comparison could have seen with 80 % power, **and** it is at least the smallest
    ///   effect that the A/A twins leave visible.
    /// - *equivalent*: the whole 95 % interval lies inside ± the smallest effect of interest.
    /// - anything else is not enough data.
    fn verdict(&self) -> Verdict {
        let (Some(half), Some(visible)) = (self.sample.half_width(), self.sample.visible()) else {
            return Verdict::NotEnoughData { more_blocks: None };
        };
        let effect = self.sample.mean.abs();
        let over_noise = effect >= self.noise.map_or(0.0, |noise| noise.smallest_visible_effect.ln_1p());
        if self.passes_holm && effect >= self.margin && effect >= visible && over_noise {
            return if self.sample.mean > 0.0 { Verdict::Faster } else { Verdict::Slower };
        }
        if effect + half < self.margin {
            return Verdict::Equivalent;
        }
        Verdict::NotEnoughData { more_blocks: self.more_blocks() }
    }

    /// Blocks beyond those seen after which a verdict is likely (about 80 %), if effect and spread are what they now
    /// seem to be. Where the effect now seems too small to matter, that verdict is *equivalent*.
    ///
    /// The estimate has to pass a threshold, and it scatters around the truth: the truth has to lie beyond the
    /// threshold by `t(0.8, n − 1) · s / √n` for the estimate to pass four times out of five.
    fn more_blocks(&self) -> Option<u32> {
        let sd = self.sample.sd?;
        let effect = self.sample.mean.abs();
        let enough = |n: usize| {
            let error = sd / (n as f64).sqrt();
            let single = t_quantile(UPPER, n);
            let scatter = t_quantile(POWER, n);
            if effect < self.margin {
                return effect + (single + scatter) * error < self.margin;
            }
            let own = t_quantile(1.0 - self.holm_alpha / 2.0, n).max(single + scatter) * error;
            let twins = self.noise.map_or(0.0, |noise| visible_log(noise.sigma, n));
            effect >= own.max(twins) + scatter * error
        };
        let seen = self.sample.n;
        let needed = first_that(seen + 1, BLOCKS_MAX, enough)?;
        u32::try_from(needed - seen).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(logs: &[f64], noise: Option<&Noise>) -> Verdict {
        let sample = LogSample::of(logs).unwrap();
        let family = holm(&[sample.p_value()], FAMILY_ALPHA);
        let margin = 0.03_f64.ln_1p();
        Judge { sample, passes_holm: family.rejected[0], holm_alpha: family.next_alpha, margin, noise }.verdict()
    }

    #[test]
    fn verdicts() {
        let check = |logs: &[f64], expect| assert_eq!(judge(logs, None), expect, "{logs:?}");
        check(&[0.50, 0.52, 0.49, 0.51, 0.50], Verdict::Faster);
        check(&[-0.50, -0.52, -0.49, -0.51, -0.50], Verdict::Slower);
        check(&[0.001, -0.002, 0.000, 0.003, -0.001], Verdict::Equivalent);
        check(&[0.5], Verdict::NotEnoughData { more_blocks: None });
        // Shown to differ, but by 2 %, and the plan cares for 3 %.
        check(&[0.0201, 0.0199, 0.0200, 0.0202, 0.0198], Verdict::Equivalent);
        // Equal pairs: no spread at all.
        check(&[0.5, 0.5], Verdict::Faster);
        check(&[0.0, 0.0], Verdict::Equivalent);
    }

    #[test]
    fn more_blocks_follow_the_power_formula() {
        // Mean 0.10, s = 0.1581, n = 5. The estimate has to be visible, and one scatter more is needed for 80 %:
        // n = 35: (2.0322 + 2 · 0.8523) · 0.1581 / √35 = 0.0999; n = 34: (2.0345 + 2 · 0.8527) · 0.1581 / √34 = 0.1014.
        let verdict = judge(&[-0.1, 0.0, 0.1, 0.2, 0.3], None);
        assert_eq!(verdict, Verdict::NotEnoughData { more_blocks: Some(30) });
        // Far too noisy to be decided by any plan.
        let verdict = judge(&[-3.0, 3.0, -3.0, 3.1], None);
        assert_eq!(verdict, Verdict::NotEnoughData { more_blocks: None });
    }

    #[test]
    fn an_effect_below_the_noise_of_the_twins_is_no_verdict() {
        let noise = |visible: f64| Noise {
            sigma: visible.ln_1p() / 2.8 * (5.0_f64 / 2.0).sqrt(),
            smallest_visible_effect: visible,
            pairs: Vec::new(),
            ratio: LogSample::of(&[0.0]).unwrap().estimate(),
            alarm: false,
        };
        let logs = [0.095, 0.1, 0.1, 0.105, 0.1];
        assert_eq!(judge(&logs, Some(&noise(0.08))), Verdict::Faster);
        // e^0.1 = 1.105: below 20 %. ln(1.2) = 0.1823 falls with √(5/n): 0.0989 at n = 17, with little scatter.
        assert_eq!(judge(&logs, Some(&noise(0.2))), Verdict::NotEnoughData { more_blocks: Some(12) });
    }
}
