//! Levels that do not work together: their factors become one.

use crate::investigation::Investigation;
use crate::mixture::Mixture;

impl Investigation<'_> {
    /// Looks for two factors that were apart in at least two mixtures that gave no result, in the same direction, and never in
    /// one that did. They are then one unit, which has both levels of A or both of B, as the corners have. What was measured with the two apart
    /// no longer counts for the screening.
    pub(crate) fn repair(&mut self) {
        if self.findings.not_started.is_empty() {
            return;
        }
        let failed: Vec<_> = self.findings.not_started.iter().map(|one| one.mixture).collect();
        let units = self.units.clone();
        for (index, one) in units.iter().enumerate() {
            for other in &units[index + 1..] {
                let is_apart = |mixture: &Mixture, of_b: Mixture, of_a: Mixture| {
                    mixture.contains(of_b) && mixture.without(of_a) == *mixture
                };
                let blamed = |of_b: Mixture, of_a: Mixture| {
                    failed.iter().any(|mixture| is_apart(mixture, of_b, of_a))
                        && !self.started.iter().any(|mixture| is_apart(mixture, of_b, of_a))
                };
                let times = |of_b: Mixture, of_a: Mixture| {
                    failed.iter().filter(|mixture| is_apart(mixture, of_b, of_a)).count()
                };
                // One failure may be a server that died once; every mixture of a half of a design is no coincidence.
                if [(*one, *other), (*other, *one)]
                    .into_iter()
                    .any(|(b, a)| blamed(b, a) && times(b, a) >= 2)
                {
                    self.merge(*one, *other);
                    return self.repair_again();
                }
            }
        }
    }

    fn merge(&mut self, one: Mixture, other: Mixture) {
        self.units.retain(|unit| *unit != one && *unit != other);
        self.units.push(one.with(other));
        self.findings.merged.retain(|group| !one.with(other).contains(*group));
        self.findings.merged.push(one.with(other));
    }

    /// Failures that the merged units still leave unexplained.
    fn repair_again(&mut self) {
        let units = self.units.clone();
        let is_whole = |mixture: Mixture| {
            units.iter().all(|unit| mixture.contains(*unit) || mixture.without(*unit) == mixture)
        };
        if self.findings.not_started.iter().any(|one| is_whole(one.mixture)) {
            self.repair();
        }
    }
}
