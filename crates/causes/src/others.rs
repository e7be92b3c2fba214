//! What is known of the factors that are no causes.

use crate::findings::Screened;
use crate::interval::{LogEstimate, LogInterval};
use crate::investigation::Investigation;
use crate::mixture::Mixture;

impl Investigation<'_> {
    /// Fills in the factors that are not causes, and what holds the effects of all of them.
    pub(crate) fn note_others(&mut self) {
        let effects = self.scattered_effects();
        let others = self.units.iter().enumerate().filter(|(_, unit)| !self.is_cause(**unit));
        let others: Vec<(Mixture, Option<LogEstimate>)> = others
            .map(|(index, unit)| {
                let effect = match &effects {
                    Some(effects) => Some(effects[index]),
                    None => self.share(*unit),
                };
                (*unit, effect)
            })
            .collect();
        let known: Vec<_> = others.iter().filter_map(|(_, effect)| *effect).collect();
        self.findings.others_bound = joint_bound(&known);
        self.findings.others = others
            .iter()
            .flat_map(|(unit, effect)| {
                let effect = effect.map(|effect| effect.interval());
                unit.factors().map(move |factor| Screened { factor, effect })
            })
            .collect();
    }

    pub(crate) fn share(&self, unit: Mixture) -> Option<LogEstimate> {
        let share = self.shares.iter().find(|(other, _)| *other == unit);
        share.map(|(_, share)| *share)
    }
}

/// From the lowest to the highest end of intervals that all have the truth in 95 %.
fn joint_bound(effects: &[LogEstimate]) -> Option<LogInterval> {
    let joint = effects.iter().map(|effect| effect.joint_interval(effects.len()));
    joint.reduce(|one, other| LogInterval {
        value: 0.0,
        low: one.low.min(other.low),
        high: one.high.max(other.high),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's t with 10 degrees of freedom is 2.633767 at 98.75 %.
    #[test]
    fn a_bound_holds_all_at_once() {
        let [one, other] = [(0.1, 0.1), (-0.3, 0.2)].map(|(value, error)| LogEstimate {
            value,
            error,
            freedom: 10.0,
        });
        let bound = joint_bound(&[one, other]).unwrap();
        assert!((bound.high - 0.363_376_7).abs() < 1e-6, "{bound:?}");
        assert!((bound.low + 0.826_753_4).abs() < 1e-6, "{bound:?}");
        assert_eq!(joint_bound(&[]), None);
    }
}
