//! The order of steps, from one connection to the advice.

use truetps_random::RandomStream;
use truetps_record::{LatencyFigures, PoolRecord, Trial};

use crate::SHARE_OF_BEST;
use crate::curve::{CurvePoint, PoolRow, curve_of};
use crate::findings::{PoolAgainst, PoolComparison, PoolFindings, PoolOutcome};
use crate::usl::Usl;

/// The climb ends after this many numbers in a row that were not better than all before by the factor below.
const FLAT_MAX: u32 = 2;
const GROWTH: f64 = 1.03;
/// From this block of the ladder on, numbers far below the best one are left out: they are not the answer.
const BLOCKS_OF_ALL: u32 = 2;
const FAR_BELOW: f64 = 0.6;
/// Numbers that are closer than this are not told apart.
const RESOLUTION: f64 = 1.3;
/// The advice may move when its neighbours are measured, and by the check. On a flat curve it moves by noise alone.
const REFINEMENTS_MAX: u32 = 4;
const CHECKS_MAX: u32 = 2;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolQuestion {
    /// Of all random orders.
    pub seed: u64,
    /// The largest number that may be tried.
    pub most: u32,
    pub p99_limit_us: Option<f64>,
    /// The number that the user has now.
    pub current: Option<u32>,
    /// Numbers of rules of thumb, measured beside the others.
    pub rules: Vec<u32>,
    /// Blocks of ladder and refinement.
    pub blocks: u32,
    pub check_blocks: u32,
}

impl PoolQuestion {
    /// As it was recorded.
    pub fn of(record: &PoolRecord) -> Self {
        Self {
            seed: record.seed,
            most: record.connections_most,
            p99_limit_us: record.p99_limit_us,
            current: record.current,
            rules: record.rule.iter().map(|rule| rule.connections).collect(),
            blocks: record.blocks,
            check_blocks: record.check_blocks,
        }
    }
}

impl PoolResult {
    /// `None` where the trial gave no result.
    pub fn of(trial: &Trial) -> Option<Self> {
        let measured = trial
            .measured
            .as_ref()
            .filter(|measured| trial.validity.is_valid() && measured.tps > 0.0)?;
        let LatencyFigures { response_us_p99, response_us_mean, .. } = measured.response;
        Some(Self { tps: measured.tps, response_us_p99, response_us_mean })
    }
}

/// What a trial gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolResult {
    /// Transactions a second; more than 0.
    pub tps: f64,
    pub response_us_p99: Option<f64>,
    pub response_us_mean: Option<f64>,
}

/// What a batch is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolStage {
    Climb,
    Ladder,
    Refinement,
    Check,
}

/// Numbers of connections to measure one after the other, in this order: a block.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolBatch {
    pub stage: PoolStage,
    pub connections: Vec<u32>,
    /// Trials of this stage that are planned with this batch and after it.
    pub planned: usize,
}

/// Measures numbers of connections, or knows their results.
pub trait PoolSource {
    /// The result for each number of the batch, in its order; `None` for a trial without one. In place of a list, `None`
    /// ends the search with what is known.
    fn run(&mut self, batch: &PoolBatch, so_far: &PoolFindings) -> Option<Vec<Option<PoolResult>>>;
}

/// The source has ended the search.
struct SearchStopped;

/// Searches as far as the source has results. The same question and results make the same batches and findings.
pub fn search(question: &PoolQuestion, source: &mut dyn PoolSource) -> PoolFindings {
    let mut search = PoolSteps {
        question,
        source,
        random: RandomStream::new(question.seed, 0),
        rows: Vec::new(),
        blocks: 0,
        findings: PoolFindings::default(),
    };
    // SearchStopped or not: the findings are up to date.
    let _ = search.run();
    search.findings
}

struct PoolSteps<'a> {
    question: &'a PoolQuestion,
    source: &'a mut dyn PoolSource,
    random: RandomStream,
    rows: Vec<PoolRow>,
    blocks: usize,
    findings: PoolFindings,
}

impl PoolSteps<'_> {
    fn run(&mut self) -> Result<(), SearchStopped> {
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
    fn climb(&mut self) -> Result<Vec<u32>, SearchStopped> {
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

    fn ladder(&mut self, mut numbers: Vec<u32>) -> Result<(), SearchStopped> {
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
        let tps = |number: u32| self.findings.point(number).map_or(0.0, |point| point.tps);
        let meets =
            |number: u32| self.findings.point(number).is_some_and(|point| point.meets_limit);
        let best = numbers
            .iter()
            .filter(|number| meets(**number))
            .map(|number| tps(*number))
            .fold(0.0, f64::max);
        numbers.iter().copied().filter(|number| tps(*number) >= FAR_BELOW * best).collect()
    }

    /// Measures numbers where the answer may lie between two that were measured: below the advice, and between the best
    /// number and a larger one that misses the limit. Returns whether there were any.
    fn refine(&mut self) -> Result<bool, SearchStopped> {
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
        let number =
            |step: u32| (f64::from(low) * ratio.powf(f64::from(step) / steps)).round() as u32;
        let mut numbers: Vec<_> = (1..steps as u32).map(number).collect();
        numbers.dedup();
        numbers.retain(|number| {
            *number > low && *number < high && self.findings.point(*number).is_none()
        });
        numbers
    }

    /// Measures the advice and those that it is compared with. It may move the advice, the last time only to a number that
    /// was measured in it.
    fn check(&mut self, checked: u32, is_last: bool) -> Result<(), SearchStopped> {
        let best = self.findings.best.unwrap_or(checked);
        // The best number is the advice: the check shows that more connections bring no more.
        let measured = || self.findings.curve.iter().map(|point| point.connections);
        let best = if best == checked {
            measured().find(|number| *number > checked).unwrap_or(best)
        } else {
            best
        };
        // A smaller number may have been unlucky so far.
        let smaller = measured().rfind(|number| *number < checked);
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
        // Of a check before this one.
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

    /// In the blocks from `first` on, which have both.
    fn compare(
        &self,
        first: usize,
        advice: u32,
        against: PoolAgainst,
        connections: u32,
    ) -> Option<PoolComparison> {
        let value = |block: usize, number: u32| {
            let mut of_block = self.rows.iter().filter(|row| row.block == block);
            of_block.find(|row| row.connections == number).map(PoolRow::log_tps)
        };
        let pairs: Vec<_> = (first..self.blocks)
            .filter_map(|block| Some(value(block, advice)? - value(block, connections)?))
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

    /// A block of these numbers in random order. `left`: blocks of the stage, with this one.
    fn block(
        &mut self,
        stage: PoolStage,
        numbers: &[u32],
        left: usize,
    ) -> Result<(), SearchStopped> {
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
    ) -> Result<(), SearchStopped> {
        let batch = PoolBatch { stage, connections: numbers.to_vec(), planned };
        let results = self.source.run(&batch, &self.findings).ok_or(SearchStopped)?;
        let block = self.blocks;
        self.blocks += 1;
        let row = |(connections, result): (&u32, Option<PoolResult>)| {
            let result = result.filter(|result| result.tps > 0.0)?;
            Some(PoolRow { block, stage, connections: *connections, result })
        };
        self.rows.extend(numbers.iter().zip(results).filter_map(row));
        self.judge();
        Ok(())
    }

    /// What all trials so far say.
    fn judge(&mut self) {
        let curve = curve_of(&self.rows, self.question.p99_limit_us);
        let allowed = || curve.iter().filter(|point| point.meets_limit);
        let top = allowed().map(|point| point.tps_smoothed).fold(0.0, f64::max);
        let first =
            |share: f64| allowed().find(|point| point.tps_smoothed >= share * top).map(number_of);
        // The values of a pool of points differ in their last digit.
        self.findings.best = first(1.0 - 1e-9);
        self.findings.advice = first(SHARE_OF_BEST);
        self.findings.is_growing =
            self.findings.best.is_some_and(|best| best >= self.question.most);
        self.findings.usl = Usl::fit(&curve);
        self.findings.curve = curve;
    }
}

fn number_of(point: &CurvePoint) -> u32 {
    point.connections
}

/// Of the 95 % interval; `None` with one pair.
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
