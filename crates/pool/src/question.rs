//! What is asked, and what is measured to answer it.

use truetps_record::{LatencyFigures, PoolRecord, Trial};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolQuestion {
    /// The seed of all random orders.
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
    pub fn recorded(record: &PoolRecord) -> Self {
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

    /// The number that the user has now, if it may be tried.
    pub(crate) fn current_tried(&self) -> Option<u32> {
        self.current.filter(|number| self.may_try(*number))
    }

    pub(crate) fn may_try(&self, connections: u32) -> bool {
        (1..=self.most).contains(&connections)
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

impl PoolResult {
    /// `None` where the trial gave no result.
    pub fn read(trial: &Trial) -> Option<Self> {
        let measured = trial
            .measured
            .as_ref()
            .filter(|measured| trial.validity.is_valid() && measured.tps > 0.0)?;
        let LatencyFigures { response_us_p99, response_us_mean, .. } = measured.response;
        Some(Self { tps: measured.tps, response_us_p99, response_us_mean })
    }
}

/// What a batch is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolStage {
    Climb,
    Ladder,
    Refinement,
    Check,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::curve::FittedCurve;
    use crate::row::MeasuredRow;

    /// Up to 512 connections, without a limit.
    pub(crate) fn unlimited() -> PoolQuestion {
        PoolQuestion {
            seed: 1,
            most: 512,
            p99_limit_us: None,
            current: None,
            rules: Vec::new(),
            blocks: 5,
            check_blocks: 8,
        }
    }

    /// Three blocks without noise, of these numbers and their throughput.
    pub(crate) fn made_up(points: &[(u32, f64)]) -> FittedCurve {
        let rows: Vec<_> = (0..3)
            .flat_map(|block| {
                points.iter().map(move |(connections, tps)| MeasuredRow {
                    block,
                    stage: PoolStage::Ladder,
                    connections: *connections,
                    result: PoolResult { tps: *tps, response_us_p99: None, response_us_mean: None },
                })
            })
            .collect();
        FittedCurve::new(&rows, &unlimited()).expect("there are rows")
    }
}
