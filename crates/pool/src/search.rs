//! The order of steps, from one connection to the advice.

use truetps_adaptive::{AdaptiveQuestion, Batch, Source, Stopped};
use truetps_random::RandomStream;

use crate::choice::{ascending, deciding, middles};
use crate::curve::FittedCurve;
use crate::findings::{PoolFindings, PoolOutcome};
use crate::judge::judge;
use crate::question::{PoolQuestion, PoolResult, PoolStage};
use crate::row::MeasuredRow;

/// The climb ends after this many numbers in a row with less than this part of the best throughput:
/// on a plateau, and in a dip that is not so wide, it goes on.
const LOWER_MAX: u32 = 3;
const LOWER: f64 = 0.85;
const BLOCKS_OF_LADDER: u32 = 2;
const BLOCKS_OF_MIDDLES: u32 = 2;
/// At most so many blocks decide on the advice before it is checked, for each block that is asked
/// for.
const DECIDING_BLOCKS: u32 = 5;
const PER_BLOCKS_ASKED: u32 = 2;
/// The advice is decided where its share of the best has this standard error: 5 % are three of it.
const ERROR_WANTED: f64 = 0.016;

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
            curve: None,
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
    rows: Vec<MeasuredRow>,
    blocks: usize,
    curve: Option<FittedCurve>,
    findings: PoolFindings,
}

impl PoolSteps<'_> {
    fn run(&mut self) -> Result<(), Stopped> {
        let climbed = self.climb()?;
        if self.rows.is_empty() {
            self.findings.outcome = PoolOutcome::NoResult;
            return Ok(());
        }
        let ladder = ascending(climbed.into_iter().chain(self.asked()).collect());
        self.blocks_of(PoolStage::Ladder, &ladder, BLOCKS_OF_LADDER)?;
        let middles = self.curve.as_ref().map(middles).unwrap_or_default();
        self.blocks_of(PoolStage::Refinement, &middles, BLOCKS_OF_MIDDLES)?;
        self.decide()?;
        self.check()?;
        self.findings.outcome = self.outcome();
        Ok(())
    }

    fn outcome(&self) -> PoolOutcome {
        if self.findings.advice.is_some() {
            PoolOutcome::Advised
        } else {
            PoolOutcome::NothingMeetsLimit
        }
    }

    /// Doubles the number until throughput is well below the best; returns the numbers that were
    /// tried.
    fn climb(&mut self) -> Result<Vec<u32>, Stopped> {
        let (mut tried, mut best, mut lower) = (Vec::new(), 0.0, 0);
        let mut number = 1;
        loop {
            tried.push(number);
            self.measure(PoolStage::Climb, &[number], 1)?;
            // A trial without a result says nothing about throughput: the climb goes on.
            if let Some(row) = self.rows.last().filter(|row| row.connections == number) {
                lower = if row.result.tps < best * LOWER { lower + 1 } else { 0 };
                best = f64::max(best, row.result.tps);
            }
            if lower >= LOWER_MAX || number >= self.question.most {
                return Ok(tried);
            }
            number = number.saturating_mul(2).min(self.question.most);
        }
    }

    /// Numbers that the user asked about.
    fn asked(&self) -> impl Iterator<Item = u32> {
        let question = self.question;
        let rules = question.rules.iter().copied().filter(|number| question.may_try(*number));
        rules.chain(question.current_tried())
    }

    /// Measures where the advice is decided, until it is, or the trials for it are used up.
    fn decide(&mut self) -> Result<(), Stopped> {
        let blocks = self.question.blocks * DECIDING_BLOCKS / PER_BLOCKS_ASKED;
        for block in 0..blocks {
            let Some(curve) = &self.curve else { break };
            let numbers = deciding(curve, self.question.most);
            let error = curve.threshold().and_then(|number| curve.share_error(number));
            if error.is_none_or(|error| error <= ERROR_WANTED) {
                break;
            }
            self.block(PoolStage::Refinement, &numbers, blocks - block)?;
        }
        Ok(())
    }

    /// Measures them again, with the current number. It may still move the advice.
    fn check(&mut self) -> Result<(), Stopped> {
        let blocks = self.question.check_blocks;
        for block in 0..blocks {
            let Some(curve) = &self.curve else { break };
            let mut numbers = deciding(curve, self.question.most);
            numbers.extend(self.findings.advice);
            numbers.extend(self.question.current_tried());
            if curve.top.is_none() {
                break;
            }
            self.block(PoolStage::Check, &ascending(numbers), blocks - block)?;
        }
        Ok(())
    }

    fn blocks_of(&mut self, stage: PoolStage, numbers: &[u32], blocks: u32) -> Result<(), Stopped> {
        (0..blocks).try_for_each(|block| self.block(stage, numbers, blocks - block))
    }

    /// Measures a block of these numbers in random order. `left`: blocks of the stage, with this
    /// one.
    fn block(&mut self, stage: PoolStage, numbers: &[u32], left: u32) -> Result<(), Stopped> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut order = numbers.to_vec();
        self.random.shuffle(&mut order);
        self.measure(stage, &order, left as usize * numbers.len())
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
                self.rows.push(MeasuredRow { block, stage, connections: *connections, result });
            }
        }
        self.curve = FittedCurve::new(&self.rows, self.question);
        if let Some(curve) = &self.curve {
            self.findings = judge(curve, self.question);
        }
        Ok(())
    }
}
