//! Results that are known already.

use crate::findings::PoolFindings;
use crate::search::{PoolBatch, PoolResult, PoolSource};

/// The results of an earlier search, in their order. It ends where they end.
#[derive(Debug, Clone, Default)]
pub struct PoolTape {
    results: Vec<(u32, Option<PoolResult>)>,
    used: usize,
    is_foreign: bool,
}

impl PoolTape {
    pub fn new(results: Vec<(u32, Option<PoolResult>)>) -> Self {
        Self { results, used: 0, is_foreign: false }
    }

    /// Whether other numbers were asked for than were recorded: the record is of another version, or was edited.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}

impl PoolSource for PoolTape {
    fn run(&mut self, batch: &PoolBatch, _: &PoolFindings) -> Option<Vec<Option<PoolResult>>> {
        let rest = self.results.get(self.used..).unwrap_or_default();
        let pairs = rest.iter().zip(&batch.connections);
        let known: Vec<_> =
            pairs.map_while(|((was, result), is)| (was == is).then_some(*result)).collect();
        self.is_foreign |= known.len() < batch.connections.len().min(rest.len());
        self.used += known.len();
        (known.len() == batch.connections.len()).then_some(known)
    }
}
