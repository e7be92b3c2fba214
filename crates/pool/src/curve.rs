//! Throughput and p99 by connections, from trials in blocks.

use serde::Serialize;

use crate::p99::{P99Range, p99_ranges};
use crate::question::{PoolQuestion, PoolStage};
use crate::robust::RobustFit;
use crate::row::MeasuredRow;
use crate::shape::shaped_fit;

/// The advice has at least this part of the best throughput.
pub const SHARE_OF_BEST: f64 = 0.95;
/// It is looked for where the curve reaches this part, so that an error of measurement seldom takes
/// the advice below the other one.
const SHARE_AIMED_AT: f64 = 0.97;
/// Values of one plateau differ in their last digits.
const SAME: f64 = 1e-9;
/// Numbers within this factor say about the same of the curve.
const NEIGHBOURS: f64 = 1.15;
/// Numbers with this share of the best are at the top of the curve.
const TOP_SHARE: f64 = 0.985;
/// A number without an undisturbed trial counts as a part of one.
const COUNT_MIN: f64 = 0.5;
/// A trial with less weight is far from all others.
const FAR_OFF: f64 = 0.1;

/// One number of connections.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePoint {
    pub connections: u32,
    pub trials: u32,
    /// Geometric mean, corrected for the blocks that this number was measured in; disturbed trials
    /// count less.
    pub tps: f64,
    /// On the curve through all numbers.
    pub tps_smoothed: f64,
    /// Median of the trials, corrected for their blocks, with its 95 % range; `None` where no
    /// transaction ended.
    pub response_us_p99: Option<f64>,
    pub response_us_p99_low: Option<f64>,
    pub response_us_p99_high: Option<f64>,
    /// From the trials of `tps`, with their weights.
    pub response_us_mean: Option<f64>,
    /// Whether p99 is within the limit; true without one.
    pub meets_limit: bool,
    /// Whether the range of p99 has the limit: more trials could lead to the opposite.
    pub is_near_limit: bool,
}

/// What all trials in blocks say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedCurve {
    pub(crate) points: Vec<CurvePoint>,
    pub(crate) fit: RobustFit,
    /// Indices of the numbers that may be advised.
    pub(crate) allowed: Vec<usize>,
    /// Index of the best one of them.
    pub(crate) top: Option<usize>,
}

impl FittedCurve {
    /// The climb is left out: its order is not random.
    pub(crate) fn new(rows: &[MeasuredRow], question: &PoolQuestion) -> Option<Self> {
        let rows: Vec<_> =
            rows.iter().filter(|row| row.stage != PoolStage::Climb).copied().collect();
        let mut numbers: Vec<_> = rows.iter().map(|row| row.connections).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return None;
        }
        let fit = shaped_fit(&rows, &numbers);
        let p99s = p99_ranges(&rows, &numbers, &fit);
        let limit_us = question.p99_limit_us;
        let points = numbers.iter().enumerate().map(|(index, connections)| {
            point(*connections, &fit, index, mean_us(&rows, &fit, *connections), p99s[index])
                .within(limit_us)
        });
        let points: Vec<_> = points.collect();
        let surely = (0..points.len()).filter(|index| keeps(p99s[*index], limit_us));
        let curve = Self { points, fit, allowed: surely.collect(), top: None };
        Some(if curve.allowed.is_empty() { curve.hopeful() } else { curve.with_top() })
    }

    /// All numbers whose p99 itself keeps the limit: trials will show which of them surely do.
    pub(crate) fn hopeful(&self) -> Self {
        let points = self.points.iter().enumerate();
        let allowed = points.filter(|(_, point)| point.meets_limit).map(|(index, _)| index);
        Self { allowed: allowed.collect(), ..self.clone() }.with_top()
    }

    fn with_top(self) -> Self {
        let top = self.smallest_with(|_, effect, best| effect >= best - SAME);
        Self { top, ..self }
    }

    pub(crate) fn best(&self) -> Option<u32> {
        Some(self.points[self.top?].connections)
    }

    /// The smallest number that the curve takes to the share that is aimed at.
    pub(crate) fn advice(&self) -> Option<u32> {
        let found = self.smallest_with(|_, effect, best| effect >= best + SHARE_AIMED_AT.ln())?;
        Some(self.points[found].connections)
    }

    /// The first index, among the numbers that keep the limit, whose effect is as wanted beside the
    /// best effect of them.
    fn smallest_with(&self, is_wanted: impl Fn(usize, f64, f64) -> bool) -> Option<usize> {
        let effects = &self.fit.effects;
        let best = self.allowed.iter().map(|index| effects[*index]).fold(f64::MIN, f64::max);
        self.allowed.iter().copied().find(|index| is_wanted(*index, effects[*index], best))
    }

    /// Where the curve reaches the share that is aimed at, between the measured numbers, too.
    pub(crate) fn threshold(&self) -> Option<f64> {
        let wanted = self.fit.effects[self.top?] + SHARE_AIMED_AT.ln();
        let at = self.smallest_with(|_, effect, _| effect >= wanted)?;
        let [high, low] = [at, at.saturating_sub(1)]
            .map(|index| (f64::from(self.points[index].connections).ln(), self.fit.effects[index]));
        let part = (wanted - low.1) / (high.1 - low.1);
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 1.0 };
        Some((low.0 + part * (high.0 - low.0)).exp())
    }

    /// Standard error of the logarithm of a number's share of the best. Numbers near it count, and
    /// all that are at the top: the curve goes through their middle.
    pub(crate) fn share_error(&self, number: f64) -> Option<f64> {
        let best = self.fit.effects[self.top?];
        let (mut own, mut at_top) = (0.0, 0.0);
        for ((point, effect), count) in
            self.points.iter().zip(&self.fit.effects).zip(&self.fit.counts)
        {
            if point.distance(number) < NEIGHBOURS.ln() {
                own += count;
            }
            if *effect >= best + TOP_SHARE.ln() {
                at_top += count;
            }
        }
        Some(self.fit.sd * (1.0 / own.max(COUNT_MIN) + 1.0 / at_top.max(COUNT_MIN)).sqrt())
    }

    /// The largest number up to which all surely lack the share of the best that is asked for, and
    /// the smallest that surely has it: `deviations` standard errors on both sides.
    pub(crate) fn needed(&self, deviations: f64) -> (Option<u32>, Option<u32>) {
        let Some(top) = self.top else { return (None, None) };
        let wanted = self.fit.effects[top] + SHARE_OF_BEST.ln();
        let maybe = self
            .smallest_with(|index, effect, _| effect + deviations * self.error_at(index) >= wanted);
        let surely = self
            .smallest_with(|index, effect, _| effect - deviations * self.error_at(index) >= wanted);
        let too_few = maybe.and_then(|first| first.checked_sub(1));
        (too_few.map(|at| self.connections(at)), surely.map(|at| self.connections(at)))
    }

    fn error_at(&self, index: usize) -> f64 {
        self.share_error(self.connections(index).into()).unwrap_or_default()
    }

    pub(crate) fn connections(&self, index: usize) -> u32 {
        self.points[index].connections
    }

    pub(crate) fn index_of(&self, connections: u32) -> Option<usize> {
        self.points.iter().position(|point| point.connections == connections)
    }

    /// Trials that are far from all others: their number.
    pub(crate) fn far_off(&self) -> u32 {
        self.fit.weights.iter().filter(|weight| **weight < FAR_OFF).count() as u32
    }
}

fn point(
    connections: u32,
    fit: &RobustFit,
    index: usize,
    response_us_mean: Option<f64>,
    p99: Option<P99Range>,
) -> CurvePoint {
    CurvePoint {
        connections,
        trials: fit.trials[index],
        tps: fit.means[index].exp(),
        tps_smoothed: fit.effects[index].exp(),
        response_us_p99: p99.map(|range| range.median),
        response_us_p99_low: p99.map(|range| range.low),
        response_us_p99_high: p99.map(|range| range.high),
        response_us_mean,
        meets_limit: true,
        is_near_limit: false,
    }
}

/// Whether p99 is within the limit with 90 %: more trials take a number that is near the limit to
/// one side of it.
fn keeps(p99: Option<P99Range>, limit_us: Option<f64>) -> bool {
    limit_us.is_none_or(|limit| p99.is_some_and(|range| range.likely <= limit))
}

impl CurvePoint {
    fn within(self, limit_us: Option<f64>) -> Self {
        let Some(limit) = limit_us else { return self };
        let [meets_limit, low_meets, high_meets] =
            [self.response_us_p99, self.response_us_p99_low, self.response_us_p99_high]
                .map(|us| us.is_some_and(|us| us <= limit));
        Self { meets_limit, is_near_limit: low_meets && !high_meets, ..self }
    }

    /// As a logarithm of the quotient.
    pub(crate) fn distance(&self, connections: f64) -> f64 {
        (f64::from(self.connections) / connections).ln().abs()
    }
}

/// In each trial of a closed loop, throughput × mean response time = connections. So it is in these
/// means, as a block that is faster is one with shorter times.
fn mean_us(rows: &[MeasuredRow], fit: &RobustFit, connections: u32) -> Option<f64> {
    let own = rows.iter().zip(&fit.weights).filter(|(row, _)| row.connections == connections);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (row, weight) in own {
        let Some(mean) = row.result.response_us_mean else { continue };
        sum += weight * (mean.ln() + fit.blocks[row.block]);
        weights += weight;
    }
    (weights > 0.0).then(|| (sum / weights).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::PoolResult;
    use crate::question::tests::{made_up, unlimited};

    fn row(block: usize, connections: u32, tps: f64) -> MeasuredRow {
        let result = PoolResult {
            tps,
            response_us_p99: Some(100.0 * tps),
            response_us_mean: Some(f64::from(connections) / tps * 1e6),
        };
        MeasuredRow { block, stage: PoolStage::Ladder, connections, result }
    }

    /// The second block is half as fast, and has a number that the first one lacks.
    #[test]
    fn blocks_do_not_count() {
        let rows = [row(0, 1, 100.0), row(0, 2, 200.0), row(1, 2, 100.0), row(1, 4, 150.0)];
        let curve = FittedCurve::new(&rows, &unlimited()).unwrap();
        let tps: Vec<_> = curve.points.iter().map(|point| point.tps).collect();
        assert!(
            (tps[1] / tps[0] - 2.0).abs() < 1e-4 && (tps[2] / tps[1] - 1.5).abs() < 1e-4,
            "{tps:?}"
        );
    }

    /// Little's law holds in each row, also where a number was measured in fast blocks only.
    #[test]
    fn throughput_times_response_time_is_connections() {
        let rows = [row(0, 1, 100.0), row(0, 2, 210.0), row(1, 2, 90.0), row(1, 4, 150.0)];
        for point in FittedCurve::new(&rows, &unlimited()).unwrap().points {
            let in_use = point.tps * point.response_us_mean.unwrap() / 1e6;
            assert!((in_use / f64::from(point.connections) - 1.0).abs() < 1e-9, "{point:?}");
        }
    }

    /// Straight lines between the measured logarithms: ln 0.97 of the way from 900 to 1 000 at
    /// ln(970/900) / ln(1000/900) = 0.7109 of the doubling, 16 × 2^0.7109 = 26.19.
    #[test]
    fn the_threshold_lies_between_measured_numbers() {
        let curve = made_up(&[(4, 400.0), (8, 700.0), (16, 900.0), (32, 1_000.0), (64, 1_000.0)]);
        assert!((curve.threshold().unwrap() - 26.19).abs() < 0.05, "{:?}", curve.threshold());
        assert_eq!((curve.best(), curve.advice()), (Some(32), Some(32)));
    }

    /// p99 in ms of each block, with one number.
    fn of_p99s(p99s_ms: &[f64], limit_ms: f64) -> FittedCurve {
        let rows = p99s_ms.iter().enumerate().map(|(block, ms)| MeasuredRow {
            block,
            stage: PoolStage::Ladder,
            connections: 8,
            result: PoolResult {
                tps: 100.0,
                response_us_p99: Some(ms * 1e3),
                response_us_mean: None,
            },
        });
        let question = PoolQuestion { p99_limit_us: Some(limit_ms * 1e3), ..unlimited() };
        FittedCurve::new(&rows.collect::<Vec<_>>(), &question).unwrap()
    }

    /// By hand: ln of 10, 11, 12, 13 and 80 ms; the median deviation from ln 12 is ln(12/11) =
    /// 0.0870, × √(5/4) / 0.6745 = 0.1442; × 1.96 × 1.2533 / √5 = 0.1584: 12 ms / 1.1717 to
    /// 12 ms × 1.1717. The stall of 80 ms is one of five.
    #[test]
    fn a_range_is_of_the_median() {
        let found = of_p99s(&[10.0, 80.0, 12.0, 11.0, 13.0], 20.0);
        let point = &found.points[0];
        let ms = [point.response_us_p99, point.response_us_p99_low, point.response_us_p99_high]
            .map(|us| us.unwrap() / 1e3);
        for (found, expect) in ms.into_iter().zip([12.0, 10.24, 14.06]) {
            assert!((found - expect).abs() < 0.02, "{ms:?}");
        }
        assert!(point.meets_limit && !point.is_near_limit);
    }

    #[test]
    fn a_limit_within_the_range_is_near() {
        let state = |limit_ms: f64| {
            let found = of_p99s(&[10.0, 80.0, 12.0, 11.0, 13.0], limit_ms);
            (found.points[0].meets_limit, found.points[0].is_near_limit, found.allowed.len())
        };
        assert_eq!(state(15.0), (true, false, 1));
        assert_eq!(state(13.0), (true, true, 1), "the only number that may keep it");
        assert_eq!(state(11.0), (false, true, 0));
        assert_eq!(state(9.0), (false, false, 0));
    }
}
