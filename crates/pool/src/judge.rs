//! What the trials say.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::curve::FittedCurve;
use crate::findings::{PoolAgainst, PoolComparison, PoolFindings};
use crate::question::PoolQuestion;
use crate::usl::Usl;

/// The best number is the largest, and what is needed is at least this part of it: throughput still
/// rises there.
const RISING: f64 = 0.72;
/// 95 % of a normal distribution are within so many standard deviations.
const DEVIATIONS: f64 = 1.96;

pub(crate) fn judge(curve: &FittedCurve, question: &PoolQuestion) -> PoolFindings {
    let advice = curve.advice();
    let hopeful = curve.hopeful().advice();
    let largest = curve.points.last().map(|point| point.connections);
    let is_rising = largest.zip(curve.threshold()).is_some_and(|(largest, threshold)| {
        curve.best() == Some(largest) && threshold >= RISING * f64::from(largest)
    });
    let comparisons = advice.map(|advice| comparisons(curve, question, advice));
    let (too_few, enough) = curve.needed(DEVIATIONS);
    PoolFindings {
        advice,
        near_limit: hopeful.filter(|number| advice.is_some_and(|advice| *number > advice)),
        best: curve.best(),
        too_few,
        enough,
        is_growing: is_rising,
        comparisons: comparisons.unwrap_or_default(),
        usl: Usl::fit(&curve.points),
        trial_sd: (curve.degrees() > 0.0).then_some(curve.fit.sd),
        far_off: curve.far_off(),
        curve: curve.points.clone(),
        ..PoolFindings::default()
    }
}

/// The advice against the best number (where that is the advice: the next larger one), the current
/// one, and a smaller one.
fn comparisons(curve: &FittedCurve, question: &PoolQuestion, advice: u32) -> Vec<PoolComparison> {
    let best = curve.best().filter(|best| *best != advice);
    let best = best.or_else(|| most_measured(curve, |number| number > advice));
    let smaller = most_measured(curve, |number| number < advice);
    let against = [
        (PoolAgainst::Best, best),
        (PoolAgainst::Current, question.current_tried()),
        (PoolAgainst::Smaller, smaller),
    ];
    let others = against.into_iter().filter(|(_, number)| *number != Some(advice));
    others.filter_map(|(against, number)| compare(curve, (advice, number?), against)).collect()
}

/// The number whose trials say most, of those on one side of the advice.
fn most_measured(curve: &FittedCurve, is_on_side: impl Fn(u32) -> bool) -> Option<u32> {
    let of_side = curve.points.iter().zip(&curve.fit.counts);
    let of_side = of_side.filter(|(point, _)| is_on_side(point.connections));
    of_side.max_by(|a, b| a.1.total_cmp(b.1)).map(|(point, _)| point.connections)
}

/// The quotient of the two rows of the table.
fn compare(
    curve: &FittedCurve,
    (advice, connections): (u32, u32),
    against: PoolAgainst,
) -> Option<PoolComparison> {
    let (own, other) = (curve.index_of(advice)?, curve.index_of(connections)?);
    let log_ratio = curve.fit.means[own] - curve.fit.means[other];
    let half = half_width(curve, own, other);
    Some(PoolComparison {
        against,
        connections,
        ratio: log_ratio.exp(),
        ratio_low: half.map(|half| (log_ratio - half).exp()),
        ratio_high: half.map(|half| (log_ratio + half).exp()),
        pairs: curve.points[own].trials.min(curve.points[other].trials),
    })
}

/// Half of the 95 % interval of a difference of two means.
fn half_width(curve: &FittedCurve, own: usize, other: usize) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, curve.degrees()).ok()?;
    let variance = curve.fit.variance_of_difference(own, other)?;
    Some(student.inverse_cdf(0.975) * curve.fit.sd * variance.sqrt())
}

impl FittedCurve {
    /// Degrees of freedom: trials less the effects that were estimated.
    fn degrees(&self) -> f64 {
        let trials: u32 = self.fit.trials.iter().sum();
        let blocks = self.fit.blocks_with_trials();
        f64::from(trials) + 1.0 - (self.points.len() + blocks) as f64
    }
}
