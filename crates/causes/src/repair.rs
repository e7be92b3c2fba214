//! Levels that do not work together: their factors become one.

use crate::investigation::Investigation;
use crate::mixture::Mixture;

impl Investigation<'_> {
    /// Looks for two factors that were apart in at least two mixtures that gave no result, in the
    /// same direction, and never in one that did. They are then one unit, which has both levels of
    /// A or both of B, as the corners have. What was measured with the two apart no longer counts
    /// for the screening.
    pub(crate) fn repair(&mut self) {
        if self.findings.not_started.is_empty() {
            return;
        }
        let units = self.units.clone();
        for (index, one) in units.iter().enumerate() {
            for other in &units[index + 1..] {
                if self.is_blamed(*one, *other) || self.is_blamed(*other, *one) {
                    self.merge(*one, *other);
                    return self.repair_again();
                }
            }
        }
    }

    /// Whether the level of B of the first with the level of A of the second is what gave no
    /// result. One failure may be a server that died once; every mixture of a half of a design is
    /// no coincidence.
    fn is_blamed(&self, of_b: Mixture, of_a: Mixture) -> bool {
        let failed = self.findings.not_started.iter().map(|one| one.mixture);
        failed.filter(|mixture| is_apart(*mixture, of_b, of_a)).count() >= 2
            && !self.started.iter().any(|mixture| is_apart(*mixture, of_b, of_a))
    }

    fn merge(&mut self, one: Mixture, other: Mixture) {
        self.units.retain(|unit| *unit != one && *unit != other);
        self.units.push(one.with(other));
        self.findings.merged.retain(|group| !one.with(other).contains(*group));
        self.findings.merged.push(one.with(other));
    }

    /// Failures that the merged units still leave unexplained.
    fn repair_again(&mut self) {
        if self.findings.not_started.iter().any(|one| self.has_whole_units(one.mixture)) {
            self.repair();
        }
    }

    fn has_whole_units(&self, mixture: Mixture) -> bool {
        self.units.iter().all(|unit| mixture.contains(*unit) || mixture.without(*unit) == mixture)
    }
}

fn is_apart(mixture: Mixture, of_b: Mixture, of_a: Mixture) -> bool {
    mixture.contains(of_b) && mixture.without(of_a) == mixture
}
