//! The order of steps, from one connection to the advice.

use truetps_adaptive::{AdaptiveQuestion, Batch, Source, Stopped};
use truetps_random::RandomStream;

use crate::curve::{CurvePoint, PoolRow, curve_of};
use crate::findings::{PoolAgainst, PoolComparison, PoolFindings, PoolOutcome};
use crate::question::{PoolQuestion, PoolResult, PoolStage};
use crate::usl::Usl;

/// The advice has at least this part of the best throughput.
pub const SHARE_OF_BEST: f64 = 0.95;
/// The climb ends after this many numbers in a row that were not better than all before by the
/// factor below.
const FLAT_MAX: u32 = 2;
const GROWTH: f64 = 1.03;
/// From this block of the ladder on, numbers far below the best one are left out: they are not the
/// answer.
const BLOCKS_OF_ALL: u32 = 2;
const FAR_BELOW: f64 = 0.6;
/// Numbers that are closer than this are not told apart.
const RESOLUTION: f64 = 1.3;
/// The advice may move when its neighbours are measured, and by the check. On a flat curve it moves
/// by noise alone.
const REFINEMENTS_MAX: u32 = 4;
const CHECKS_MAX: u32 = 2;

impl AdaptiveQuestion for PoolQuestion {
    /// A number of connections.
    type Point = u32;
    type Reading = PoolResult;
    type Stage = PoolStage;
    type Findings = PoolFindings;

    fn investigate(&self, source: &mut dyn Source<Self>) -> PoolFindings {
        let mut search = PoolSteps {
            question: self,
            source,
            random: RandomStream::new(self.seed, 0),
            rows: Vec::new(),
            blocks: 0,
            findings: PoolFindings::default(),
        };
        // Stopped or not: the findings are up to date.
        let _ = search.run();
        search.findings
    }
}

struct PoolSteps<'a> {
    question: &'a PoolQuestion,
    source: &'a mut dyn Source<PoolQuestion>,
    random: RandomStream,
    rows: Vec<PoolRow>,
    blocks: usize,
    findings: PoolFindings,
}

impl PoolSteps<'_> {
    fn run(&mut self) -> Result<(), Stopped> {
        let climbed = self.climb()?;
        if self.rows.is_empty() {
            self.findings.outcome = PoolOutcome::NoResult;
            return Ok(());
        }
        self.ladder(climbed)?;
        for _ in 0..REFINEMENTS_MAX {
            if !self.refine()? {
                break;
            }
        }
        for left in (0..CHECKS_MAX).rev() {
            let Some(advice) = self.findings.advice else { break };
            self.check(advice, left == 0)?;
            if self.findings.advice == Some(advice) {
                break;
            }
        }
        let is_advised = self.findings.advice.is_some();
        self.findings.outcome =
            if is_advised { PoolOutcome::Advised } else { PoolOutcome::NothingMeetsLimit };
        Ok(())
    }

    /// Doubles the number until throughput no longer grows; returns the numbers that were tried.
    fn climb(&mut self) -> Result<Vec<u32>, Stopped> {
        let (mut tried, mut best, mut flat) = (Vec::new(), 0.0, 0);
        let mut number = 1;
        loop {
            tried.push(number);
            self.measure(PoolStage::Climb, &[number], 1)?;
            // A trial without a result says nothing about throughput: the climb goes on.
            if let Some(row) = self.rows.last().filter(|row| row.connections == number) {
                flat = if row.result.tps > best * GROWTH { 0 } else { flat + 1 };
                best = f64::max(best, row.result.tps);
            }
            if flat >= FLAT_MAX || number >= self.question.most {
                return Ok(tried);
            }
            number = number.saturating_mul(2).min(self.question.most);
        }
    }

    fn ladder(&mut self, mut numbers: Vec<u32>) -> Result<(), Stopped> {
        numbers.extend(self.asked());
        numbers.sort_unstable();
        numbers.dedup();
        for block in 0..self.question.blocks {
            if block == BLOCKS_OF_ALL {
                numbers = self.near(&numbers);
            }
            let left = (self.question.blocks - block) as usize;
            self.block(PoolStage::Ladder, &numbers, left)?;
        }
        Ok(())
    }

    /// Numbers that the user asked about.
    fn asked(&self) -> impl Iterator<Item = u32> {
        let question = self.question;
        question
            .rules
            .iter()
            .copied()
            .chain(question.current)
            .filter(move |number| (1..=question.most).contains(number))
    }

    /// Those whose throughput is not far below the best, which keep their place in the order.
    fn near(&self, numbers: &[u32]) -> Vec<u32> {
        let points = numbers.iter().filter_map(|number| self.findings.point(*number));
        let best =
            points.filter(|point| point.meets_limit).map(|point| point.tps).fold(0.0, f64::max);
        let mut near = numbers.to_vec();
        near.retain(|number| {
            let tps = self.findings.point(*number).map_or(0.0, |point| point.tps);
            tps >= FAR_BELOW * best
        });
        near
    }

    /// Measures numbers where the answer may lie between two that were measured: below the advice,
    /// and between the best number and a larger one that misses the limit. Returns whether there
    /// were any.
    fn refine(&mut self) -> Result<bool, Stopped> {
        let PoolFindings { advice: Some(advice), best: Some(best), curve, .. } = &self.findings
        else {
            return Ok(false);
        };
        let below = curve
            .iter()
            .rfind(|point| point.connections < *advice)
            .map(|point| (point.connections, *advice));
        let above = curve.iter().find(|point| point.connections > *best);
        let above =
            above.filter(|point| !point.meets_limit).map(|point| (*best, point.connections));
        let mut numbers = Vec::new();
        for (low, high) in below.into_iter().chain(above) {
            let between = self.between(low, high);
            if !between.is_empty() {
                numbers.extend([low, high, *best]);
                numbers.extend(between);
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        for block in 0..self.question.blocks {
            self.block(PoolStage::Refinement, &numbers, (self.question.blocks - block) as usize)?;
        }
        Ok(!numbers.is_empty())
    }

    /// Geometric steps between two numbers, none closer to another than the resolution.
    fn between(&self, low: u32, high: u32) -> Vec<u32> {
        let ratio = f64::from(high) / f64::from(low);
        let steps = (ratio.ln() / RESOLUTION.ln()).ceil().max(1.0);
        let mut numbers: Vec<_> = (1..steps as u32)
            .map(|step| (f64::from(low) * ratio.powf(f64::from(step) / steps)).round() as u32)
            .collect();
        numbers.dedup();
        numbers.retain(|number| {
            *number > low && *number < high && self.findings.point(*number).is_none()
        });
        numbers
    }

    /// Measures the advice and those that it is compared with. It may move the advice, the last
    /// time only to a number that was measured in it.
    fn check(&mut self, checked: u32, is_last: bool) -> Result<(), Stopped> {
        let best = self.findings.best.unwrap_or(checked);
        let measured: Vec<_> = self.findings.curve.iter().map(number_of).collect();
        // The best number is the advice: the check shows that more connections bring no more.
        let best = if best == checked {
            measured.iter().copied().find(|number| *number > checked).unwrap_or(best)
        } else {
            best
        };
        // A smaller number may have been unlucky so far.
        let smaller = measured.into_iter().rfind(|number| *number < checked);
        let current =
            self.question.current.filter(|current| (1..=self.question.most).contains(current));
        let mut numbers: Vec<_> =
            [smaller, Some(checked), Some(best), current].into_iter().flatten().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let first = self.blocks;
        for block in 0..self.question.check_blocks {
            self.block(PoolStage::Check, &numbers, (self.question.check_blocks - block) as usize)?;
        }
        // They may be a check's before this one.
        self.findings.comparisons.clear();
        let Some(moved) = self.findings.advice else { return Ok(()) };
        let advice = if is_last && !numbers.contains(&moved) { checked } else { moved };
        self.findings.advice = Some(advice);
        let smaller = numbers.iter().copied().rfind(|number| *number < advice);
        let against = [
            (PoolAgainst::Best, Some(best)),
            (PoolAgainst::Current, current),
            (PoolAgainst::Smaller, smaller),
        ];
        let others = against
            .into_iter()
            .filter_map(|(what, number)| Some((what, number.filter(|one| *one != advice)?)));
        self.findings.comparisons = others
            .filter_map(|(against, number)| self.compare(first, advice, against, number))
            .collect();
        Ok(())
    }

    /// Compares the two in the blocks from `first` on that have both.
    fn compare(
        &self,
        first: usize,
        advice: u32,
        against: PoolAgainst,
        connections: u32,
    ) -> Option<PoolComparison> {
        let pairs: Vec<_> = (first..self.blocks)
            .filter_map(|block| {
                Some(self.log_tps(block, advice)? - self.log_tps(block, connections)?)
            })
            .collect();
        let (mean, half) = mean_and_half_width(&pairs)?;
        Some(PoolComparison {
            against,
            connections,
            ratio: mean.exp(),
            ratio_low: half.map(|half| (mean - half).exp()),
            ratio_high: half.map(|half| (mean + half).exp()),
            pairs: pairs.len() as u32,
        })
    }

    /// What a number gave in a block.
    fn log_tps(&self, block: usize, connections: u32) -> Option<f64> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.block == block && row.connections == connections).map(PoolRow::log_tps)
    }

    /// Measures a block of these numbers in random order. `left`: blocks of the stage, with this
    /// one.
    fn block(&mut self, stage: PoolStage, numbers: &[u32], left: usize) -> Result<(), Stopped> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut order = numbers.to_vec();
        self.random.shuffle(&mut order);
        self.measure(stage, &order, left * numbers.len())
    }

    fn measure(
        &mut self,
        stage: PoolStage,
        numbers: &[u32],
        planned: usize,
    ) -> Result<(), Stopped> {
        let batch = Batch { stage, points: numbers.to_vec(), planned };
        let results = self.source.run(&batch, &self.findings).ok_or(Stopped)?;
        let block = self.blocks;
        self.blocks += 1;
        for (connections, result) in numbers.iter().zip(results) {
            if let Some(result) = result.filter(|result| result.tps > 0.0) {
                self.rows.push(PoolRow { block, stage, connections: *connections, result });
            }
        }
        self.judge();
        Ok(())
    }

    /// What all trials so far say.
    fn judge(&mut self) {
        let curve = curve_of(&self.rows, self.question.p99_limit_us);
        // The values of a pool of points differ in their last digit.
        self.findings.best = smallest_with(&curve, 1.0 - 1e-9);
        self.findings.advice = smallest_with(&curve, SHARE_OF_BEST);
        self.findings.is_growing =
            self.findings.best.is_some_and(|best| best >= self.question.most);
        self.findings.usl = Usl::fit(&curve);
        self.findings.curve = curve;
    }
}

/// The smallest number with this share of the best throughput, among those that keep the limit.
fn smallest_with(curve: &[CurvePoint], share: f64) -> Option<u32> {
    let allowed = curve.iter().filter(|point| point.meets_limit);
    let top = allowed.clone().map(|point| point.tps_smoothed).fold(0.0, f64::max);
    allowed.into_iter().find(|point| point.tps_smoothed >= share * top).map(number_of)
}

fn number_of(point: &CurvePoint) -> u32 {
    point.connections
}

/// The mean, and half of its 95 % interval, which one pair does not have.
fn mean_and_half_width(values: &[f64]) -> Option<(f64, Option<f64>)> {
    use statrs::distribution::{ContinuousCDF, StudentsT};
    let count = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return Some((mean, None));
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
    Some((mean, Some(student.inverse_cdf(0.975) * (variance / count).sqrt())))
}
