//! Small causes are measured again: what was chosen because it was large is exaggerated.

use truetps_adaptive::Stopped;

use crate::cells::Cells;
use crate::confirming::{share_as_first_and_last, together};
use crate::findings::Cause;
use crate::interval::{LogEstimate, MISSED};
use crate::investigation::Investigation;
use crate::mixture::Mixture;
use crate::question::Stage;

/// A cause is small below this part of the difference.
const SMALL_CAUSE_SHARE: f64 = 0.25;
/// Or if its share is below so many standard errors.
const SURE_ERRORS: f64 = 5.0;
/// Blocks are made until the standard error is this part of the share.
const ERROR_SHARE: f64 = 0.3;
const BLOCKS_MIN: usize = 3;
const BLOCKS_MAX: usize = 6;

impl Investigation<'_> {
    /// Measures the small causes in fresh blocks, whose number does not depend on their results.
    /// Their shares are of these blocks alone. A cause whose effect then is below the smallest of
    /// interest, or has the other direction, is none.
    pub(crate) fn measure_small_causes(&mut self) -> Result<(), Stopped> {
        let causes: Vec<_> = self.findings.causes.iter().map(|one| self.unit_of(one)).collect();
        let small: Vec<_> = causes.iter().copied().filter(|unit| self.is_small(*unit)).collect();
        if small.is_empty() {
            return Ok(());
        }
        let all = together(&causes);
        let ends = small.iter().flat_map(|unit| [*unit, all.without(*unit)]);
        let mut mixtures: Vec<_> = [Mixture::A, all].into_iter().chain(ends).collect();
        if causes.len() > 1 {
            mixtures.sort_unstable();
            mixtures.dedup();
        }
        let mut fresh = Cells::default();
        let blocks = self.blocks_again(&small);
        for block in 0..blocks {
            let planned = mixtures.len() * (blocks - block);
            self.random.shuffle(&mut mixtures);
            let results = self.ask(Stage::Confirming, &mixtures, planned)?;
            fresh.add_block(mixtures.iter().copied().zip(results));
        }
        self.note_fresh_shares(&fresh, &causes, &small);
        Ok(())
    }

    fn is_small(&self, unit: Mixture) -> bool {
        self.share(unit).is_some_and(|share| {
            share.value.abs() < self.gap() * SMALL_CAUSE_SHARE
                || share.value.abs() < share.error * SURE_ERRORS
        })
    }

    fn blocks_again(&self, small: &[Mixture]) -> usize {
        let noise = self.findings.noise.unwrap_or(0.0);
        let shares = small.iter().filter_map(|unit| self.share(*unit));
        let least = shares.map(|share| share.value.abs()).fold(f64::INFINITY, f64::min);
        // Two differences of two trials in each block.
        let blocks = (noise / (least * ERROR_SHARE)).powi(2).ceil();
        (blocks as usize).clamp(BLOCKS_MIN, BLOCKS_MAX)
    }

    fn note_fresh_shares(&mut self, fresh: &Cells, causes: &[Mixture], small: &[Mixture]) {
        let Some((means, (_, noise))) = fresh.fit().zip(self.means()) else { return };
        let noise = noise.and(means.noise());
        for unit in small {
            let terms = share_as_first_and_last(*unit, causes);
            if let Some(share) = means.contrast(&terms, noise) {
                self.note_fresh_share(*unit, share, causes.len());
            }
        }
        self.sort_causes();
    }

    fn note_fresh_share(&mut self, unit: Mixture, share: LogEstimate, causes: usize) {
        let level = MISSED / causes as f64;
        let part = self.gap_estimate().and_then(|gap| share.ratio(&gap, 0.0, level));
        let least = self.question.smallest;
        let list = &mut self.findings.causes;
        let Some(index) = list.iter().position(|one| unit.has(one.factor)) else { return };
        if share.value * list[index].share.value.signum() < least {
            list.remove(index);
            return;
        }
        let cause = &mut list[index];
        (cause.share, cause.part) = (share.joint_interval(causes), part);
        cause.is_of_fresh_trials = true;
    }

    /// B against A.
    fn gap_estimate(&self) -> Option<LogEstimate> {
        let (means, noise) = self.means()?;
        means.step(Mixture::A, self.b(), noise)
    }

    /// The unit of a cause.
    fn unit_of(&self, cause: &Cause) -> Mixture {
        let unit = self.units.iter().find(|unit| unit.has(cause.factor));
        unit.copied().unwrap_or(Mixture::only(cause.factor))
    }
}
