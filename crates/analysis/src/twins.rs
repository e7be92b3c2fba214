//! Two runs of the same configuration in each block: do they differ by more than noise?
//! `docs/method/estimates.md` has the rule.

use crate::evidence::is_cell;
use crate::evidence::{Evidence, ratio_sample};
use crate::sample::LogSample;
use crate::{AaPair, Twins, generator_reason};

/// Finds the A/A twins and the trial that each repeats. `None` where no block has both.
pub(crate) fn from_twins(valid: &[Evidence<'_>]) -> Option<Twins> {
    let pairs: Vec<_> = valid.iter().filter_map(|twin| first_and_second(valid, twin)).collect();
    let second_over_first: Vec<_> = pairs.iter().map(|(first, second)| (*second, *first)).collect();
    let sample = ratio_sample(&second_over_first)?;
    let ratio = sample.estimate();
    Some(Twins {
        sigma: sigma(&sample),
        pairs: pairs.iter().map(describe).collect(),
        alarm: excludes_one(ratio.low, ratio.high),
        ratio,
    })
}

/// The twin and the trial of the same configuration in the same block, in the order in which they
/// ran. `None` for a trial that is no twin, or whose partner is missing, or where either finished
/// no transaction: that is a standstill, and no noise.
fn first_and_second<'a>(
    valid: &[Evidence<'a>],
    twin: &Evidence<'a>,
) -> Option<(Evidence<'a>, Evidence<'a>)> {
    if is_cell(twin.trial) {
        return None;
    }
    let cell = valid.iter().find(|other| {
        is_cell(other.trial)
            && other.trial.block == twin.trial.block
            && other.trial.configuration == twin.trial.configuration
    })?;
    if twin.is_zero() || cell.is_zero() {
        return None;
    }
    Some(if twin.trial.position < cell.trial.position { (*twin, *cell) } else { (*cell, *twin) })
}

fn describe((first, second): &(Evidence<'_>, Evidence<'_>)) -> AaPair {
    AaPair {
        block: first.trial.block,
        configuration: first.trial.configuration.clone(),
        first_tps: first.measured.tps,
        second_tps: second.measured.tps,
        generator_limited: [first, second]
            .iter()
            .any(|one| generator_reason(one.measured).is_some()),
    }
}

/// Standard deviation of ln(tps) of one trial. The mean difference of twins is 0 by construction,
/// so that no degree of freedom is spent on it, and a difference has twice the variance of one
/// trial: `√(Σ d² / 2n)`.
fn sigma(differences: &LogSample) -> f64 {
    let n = differences.n as f64;
    let about_mean = differences.sd.map_or(0.0, |sd| sd.powi(2) * (n - 1.0));
    ((about_mean + n * differences.mean.powi(2)) / (2.0 * n)).sqrt()
}

fn excludes_one(low: Option<f64>, high: Option<f64>) -> bool {
    low.is_some_and(|low| low > 1.0) || high.is_some_and(|high| high < 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigma_by_hand() {
        // 0.03² + 0.04² = 0.0025 over 2 · 2: √0.000625 = 0.025
        let differences = LogSample::of(&[0.03, -0.04]).unwrap();
        assert!((sigma(&differences) - 0.025).abs() < 1e-12);
    }
}
