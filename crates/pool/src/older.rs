//! Trials that the search of an older version has chosen: they are judged as they are now, and
//! lead to no further trial.

use crate::curve::FittedCurve;
use crate::findings::{PoolFindings, PoolOutcome};
use crate::judge::judge;
use crate::question::{PoolQuestion, PoolResult, PoolStage};
use crate::row::MeasuredRow;

/// The version of the search: which trials a seed and results lead to.
pub const SEARCH_VERSION: u32 = 2;

/// One trial of an older search; `result` is `None` where it gave none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OlderPoolTrial {
    pub block: u32,
    pub connections: u32,
    pub result: Option<PoolResult>,
}

impl PoolQuestion {
    /// What the trials of an older search say.
    pub fn judged(&self, trials: &[OlderPoolTrial]) -> PoolFindings {
        let climbed = climb_length(trials);
        let rows: Vec<_> = trials
            .iter()
            .enumerate()
            .filter_map(|(index, trial)| {
                let stage = if index < climbed { PoolStage::Climb } else { PoolStage::Ladder };
                let result = trial.result?;
                let block = trial.block as usize;
                Some(MeasuredRow { block, stage, connections: trial.connections, result })
            })
            .collect();
        let Some(curve) = FittedCurve::new(&rows, self) else { return PoolFindings::default() };
        let findings = judge(&curve, self);
        let outcome = match (self.is_checked(trials), findings.advice) {
            (false, _) => PoolOutcome::Unfinished,
            (true, Some(_)) => PoolOutcome::Advised,
            (true, None) => PoolOutcome::NothingMeetsLimit,
        };
        PoolFindings { outcome, ..findings }
    }

    /// A check was the last blocks, all of the same numbers, and of more blocks than any other
    /// stage.
    fn is_checked(&self, trials: &[OlderPoolTrial]) -> bool {
        let mut blocks: Vec<(u32, Vec<u32>)> = Vec::new();
        for trial in trials {
            match blocks.last_mut().filter(|(block, _)| *block == trial.block) {
                Some((_, numbers)) => numbers.push(trial.connections),
                None => blocks.push((trial.block, vec![trial.connections])),
            }
        }
        for (_, numbers) in &mut blocks {
            numbers.sort_unstable();
        }
        let last = blocks.last().map(|(_, numbers)| numbers.clone());
        let alike = blocks.iter().rev().take_while(|(_, numbers)| Some(numbers) == last.as_ref());
        alike.count() >= self.check_blocks as usize
    }
}

/// The climb was blocks of one trial each, of ever more connections.
fn climb_length(trials: &[OlderPoolTrial]) -> usize {
    (0..trials.len()).take_while(|index| is_of_climb(trials, *index)).count()
}

fn is_of_climb(trials: &[OlderPoolTrial], index: usize) -> bool {
    let OlderPoolTrial { block, connections, .. } = trials[index];
    let is_alone = trials.iter().filter(|trial| trial.block == block).count() == 1;
    is_alone && (index == 0 || connections > trials[index - 1].connections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::unlimited;

    /// A climb to 4, and blocks of 1, 2 and 4: 100, 200 and 220 transactions a second.
    fn older(blocks: u32) -> Vec<OlderPoolTrial> {
        let trial = |block, connections: u32| {
            let tps = f64::from(connections * 100).min(220.0);
            let result = PoolResult { tps, response_us_p99: None, response_us_mean: None };
            OlderPoolTrial { block, connections, result: Some(result) }
        };
        let climb = (0..3).map(|block| trial(block, 1 << block));
        let others = (3..3 + blocks).flat_map(|block| [4, 1, 2].map(|one| trial(block, one)));
        climb.chain(others).collect()
    }

    #[test]
    fn an_older_search_is_judged_anew() {
        let question = PoolQuestion { blocks: 5, check_blocks: 8, ..unlimited() };
        let stopped = question.judged(&older(7));
        assert_eq!((stopped.outcome, stopped.advice), (PoolOutcome::Unfinished, Some(4)));
        let ended = question.judged(&older(8));
        assert_eq!((ended.outcome, ended.best), (PoolOutcome::Advised, Some(4)));
        assert_eq!(ended.point(2).map(|point| point.trials), Some(8), "the climb does not count");
        assert_eq!(question.judged(&[]).outcome, PoolOutcome::Unfinished);
    }
}
