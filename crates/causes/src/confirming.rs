//! Whether the factors that the screening found are causes, how much each makes, and whether they
//! are all.

use truetps_adaptive::Stopped;

use crate::cells::{CellMeans, Noise};
use crate::findings::Closures;
use crate::interval::{LogEstimate, LogInterval};
use crate::investigation::Investigation;
use crate::mixture::Mixture;
use crate::question::Stage;

/// Chance that a factor without effect is called a cause, for all of them together: once by the
/// mixtures of those that were found alone, and once by these and the screening, where each factor
/// of the screening counts.
const CONFIRM_ALPHA: f64 = 0.01;
/// Where all mixtures of all factors are measured, nothing was screened before, and every factor is
/// tried at every look.
const ALL_MIXTURES_ALPHA: f64 = 0.003;
/// The screening alone, with a trial that was far off, makes no cause: the fresh trials have to
/// agree.
const AGREES_ALPHA: f64 = 0.1;
/// An effect that has at most this chance where there is none is worth another block.
const SUSPECTED_ALPHA: f64 = 0.1;
/// A remainder with a smaller chance under no remainder is one.
const OPEN_ALPHA: f64 = 0.005;
/// A remainder is of interest from this part of the difference on.
const OPEN_SHARE: f64 = 0.15;
/// Up to so many factors all mixtures of them are measured.
const FACTORIAL_MAX: usize = 4;
const BLOCKS_MIN: usize = 2;
const BLOCKS_MAX: usize = 8;
/// A mean that is known better than this part of the difference needs no more blocks.
const KNOWN_SHARE: f64 = 0.5;
/// Whether A with the causes is B, and B without them is A.
pub(crate) struct Confirmed {
    pub(crate) is_closed: bool,
}

/// What the mixtures say about one unit.
pub(crate) struct UnitShare {
    pub(crate) unit: Mixture,
    pub(crate) share: LogEstimate,
    is_cause: bool,
    /// It may be a cause: more blocks will show.
    is_open: bool,
}

impl Investigation<'_> {
    /// Measures mixtures of these units until each is a cause or none, and it is known whether they
    /// are all.
    pub(crate) fn confirm(&mut self, units: &[Mixture]) -> Result<Confirmed, Stopped> {
        let mixtures = self.confirming_mixtures(units);
        let mut sorted = units.to_vec();
        sorted.sort_unstable();
        let known = self.confirmed.take().filter(|(known, _)| *known == sorted);
        let mut blocks = known.map_or(0, |(_, blocks)| blocks);
        while blocks < BLOCKS_MAX && (blocks < BLOCKS_MIN || !self.judge(units)) {
            let planned = mixtures.len() * BLOCKS_MIN.saturating_sub(blocks).max(1);
            self.run_block(Stage::Confirming, mixtures.clone(), planned)?;
            blocks += 1;
        }
        self.confirmed = Some((sorted, blocks));
        self.judge(units);
        let causes: Vec<_> = units.iter().copied().filter(|unit| self.is_cause(*unit)).collect();
        let claimed = self.claimed(units, &causes);
        Ok(Confirmed {
            is_closed: self
                .means()
                .is_some_and(|(means, noise)| self.is_closed(claimed, &means, noise)),
        })
    }

    /// Whether a unit is one of the causes found so far.
    pub(crate) fn is_cause(&self, unit: Mixture) -> bool {
        self.findings.causes.iter().any(|cause| unit.has(cause.factor))
    }

    /// What is to make A into B: all units, or only the causes among them where every mixture is
    /// measured.
    fn claimed(&self, units: &[Mixture], causes: &[Mixture]) -> Mixture {
        let all = together(units);
        if all == self.b() { together(causes) } else { all }
    }

    /// All mixtures of the units, or each of them first and last; and both corners with their
    /// closures.
    fn confirming_mixtures(&self, units: &[Mixture]) -> Vec<Mixture> {
        let all = together(units);
        let mut mixtures = if units.len() <= FACTORIAL_MAX {
            subsets(units)
        } else {
            let ends = units.iter().flat_map(|unit| [*unit, all.without(*unit)]);
            [Mixture::A, all].into_iter().chain(ends).collect()
        };
        mixtures.extend([self.b(), self.b().without(all)]);
        mixtures.sort_unstable();
        mixtures.dedup();
        mixtures
    }

    /// Fills in causes and closures. Whether more blocks would add nothing.
    fn judge(&mut self, units: &[Mixture]) -> bool {
        let Some((means, noise)) = self.means() else { return false };
        let means = &means;
        let shares = self.unit_shares(units, means, noise);
        let found: Vec<_> = shares.iter().filter(|one| one.is_cause).map(|one| one.unit).collect();
        let claimed = self.claimed(units, &found);
        let measured = means.step(self.b(), claimed, noise).zip(means.step(
            Mixture::A,
            self.b().without(claimed),
            noise,
        ));
        self.findings.closures = Closures {
            sufficiency: measured.map(|(rest, _)| rest.interval()),
            exclusivity: measured.map(|(_, rest)| rest.interval()),
            with: claimed,
        };
        if let Some(gap) = means.step(Mixture::A, self.b(), noise) {
            self.findings.gap = Some(gap.interval());
        }
        let causes = shares.iter().filter(|one| one.is_cause);
        let causes = causes.map(|one| self.cause(one, units, &found, means, noise));
        self.findings.causes = causes.collect();
        self.sort_causes();
        self.shares = shares.iter().map(|one| (one.unit, one.share)).collect();
        let Closures { sufficiency, exclusivity, .. } = &self.findings.closures;
        let are_known = sufficiency.iter().chain(exclusivity).all(|rest| self.is_known_well(rest));
        are_known && !shares.iter().any(|one| one.is_open)
    }

    /// The share of each unit that was measured, and what it makes of it.
    fn unit_shares(&self, units: &[Mixture], means: &CellMeans, noise: Noise) -> Vec<UnitShare> {
        let least = self.smallest();
        let effects = self.scattered_effects();
        let alpha = if together(units) == self.b() { ALL_MIXTURES_ALPHA } else { CONFIRM_ALPHA };
        let mut shares = Vec::new();
        for unit in units.iter().copied() {
            let Some(share) = means.contrast(&share_terms(unit, units), noise) else { continue };
            let index = self.units.iter().position(|other| *other == unit);
            let screened = index.zip(effects.as_ref()).map(|(index, effects)| effects[index]);
            let both = screened.map_or(share, |effect| share.and(&effect));
            let is_sure = share.differs(alpha / units.len() as f64)
                || (share.differs(AGREES_ALPHA) && both.differs(alpha / self.units.len() as f64));
            let is_cause = is_sure && share.value.abs() >= least / 2.0;
            let is_open = !is_cause && both.value.abs() >= least && both.differs(SUSPECTED_ALPHA);
            shares.push(UnitShare { unit, share, is_cause, is_open });
        }
        shares
    }

    /// Whether a remainder is known well enough beside the difference.
    fn is_known_well(&self, rest: &LogInterval) -> bool {
        let half = (rest.high - rest.low) / 2.0;
        half <= self.gap() * KNOWN_SHARE || half <= self.question.smallest
    }

    /// Whether A with all of these is B, and B without them is A.
    fn is_closed(&self, all: Mixture, means: &CellMeans, noise: Noise) -> bool {
        let ends = [(self.b(), all), (Mixture::A, self.b().without(all))];
        let steps: Option<Vec<_>> =
            ends.into_iter().map(|(from, to)| means.step(from, to, noise)).collect();
        steps.is_some_and(|steps| !steps.iter().any(|step| self.is_open(step)))
    }

    /// Whether a remainder is there, and matters.
    pub(crate) fn is_open(&self, rest: &LogEstimate) -> bool {
        rest.differs(OPEN_ALPHA) && self.is_of_interest(rest.value)
    }

    /// Whether a remainder of this size matters beside the difference.
    fn is_of_interest(&self, rest: f64) -> bool {
        rest.abs() >= (self.gap() * OPEN_SHARE).max(self.question.smallest)
    }
}

pub(crate) fn together(units: &[Mixture]) -> Mixture {
    units.iter().copied().fold(Mixture::A, Mixture::with)
}

/// All mixtures of these units, on A.
fn subsets(units: &[Mixture]) -> Vec<Mixture> {
    units.iter().fold(vec![Mixture::A], |list, unit| {
        list.iter().copied().chain(list.iter().map(|mixture| mixture.with(*unit))).collect()
    })
}

/// The contrast of Shapley's share of a unit: its effect on each mixture of the others, weighted as
/// in all orders of adding them. Of many units it is the mean of its effects as the first and as
/// the last one.
pub(crate) fn share_terms(unit: Mixture, units: &[Mixture]) -> Vec<(Mixture, f64)> {
    let others: Vec<_> = units.iter().copied().filter(|other| *other != unit).collect();
    if units.len() > FACTORIAL_MAX {
        return share_as_first_and_last(unit, units);
    }
    let mut bases = Vec::new();
    for base in subsets(&others) {
        let size = others.iter().filter(|other| base.contains(**other)).count();
        let orders = factorial(size) * factorial(others.len() - size);
        bases.push((base, orders / factorial(units.len())));
    }
    steps_on(&bases, unit)
}

/// The mean of a unit's effects as the first and as the last one: its share, where no three of the
/// units act together.
pub(crate) fn share_as_first_and_last(unit: Mixture, units: &[Mixture]) -> Vec<(Mixture, f64)> {
    let others = together(units).without(unit);
    steps_on(&[(Mixture::A, 0.5), (others, 0.5)], unit)
}

/// The effects of a unit on these mixtures, with weights.
fn steps_on(bases: &[(Mixture, f64)], unit: Mixture) -> Vec<(Mixture, f64)> {
    bases.iter().flat_map(|(base, weight)| [(base.with(unit), *weight), (*base, -weight)]).collect()
}

fn factorial(n: usize) -> f64 {
    (1..=n).product::<usize>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_whole() {
        let units: Vec<_> = [0, 3, 5].map(Mixture::only).into();
        // Both of the first two together, and the third one alone.
        let value = |mixture: Mixture| {
            f64::from(u8::from(mixture.has(0) && mixture.has(3))) * 6.0
                + f64::from(u8::from(mixture.has(5)))
        };
        let share = |unit: Mixture| {
            share_terms(unit, &units).iter().map(|(at, weight)| weight * value(*at)).sum::<f64>()
        };
        let shares: Vec<_> = units.iter().map(|unit| share(*unit)).collect();
        for (found, expect) in shares.iter().zip([3.0, 3.0, 1.0]) {
            assert!((found - expect).abs() < 1e-12, "{shares:?}");
        }
    }

    #[test]
    fn all_mixtures_of_a_few_units() {
        let units: Vec<_> = [1, 2].map(Mixture::only).into();
        assert_eq!(
            subsets(&units),
            [Mixture::A, Mixture::only(1), Mixture::only(2), [1, 2].into_iter().collect()]
        );
    }
}
