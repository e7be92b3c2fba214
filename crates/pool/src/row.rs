//! One trial of a search.

use crate::question::{PoolResult, PoolStage};

/// One trial with a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredRow {
    pub(crate) block: usize,
    pub(crate) stage: PoolStage,
    pub(crate) connections: u32,
    pub(crate) result: PoolResult,
}

impl MeasuredRow {
    pub(crate) fn log_tps(&self) -> f64 {
        self.result.tps.ln()
    }
}
