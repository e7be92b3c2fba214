//! Whether the factors that the screening found are causes, how much each makes, and whether they are all.

use crate::cells::{CellMeans, Noise};
use crate::findings::{Cause, CauseRole, Closures};
use crate::interval::{LogEstimate, LogInterval};
use crate::investigation::{Investigation, Stage, Stopped};
use crate::mixture::Mixture;

/// Chance that a factor without effect is called a cause, for all of them together: once by the mixtures of those that were
/// found alone, and once by these and the screening, where each factor of the screening counts.
const CONFIRM_ALPHA: f64 = 0.002;
/// Where all mixtures of all factors are measured, nothing was screened before, and every factor is tried at every look.
const ALL_MIXTURES_ALPHA: f64 = 0.001;
/// The screening alone, with a trial that was far off, makes no cause: the fresh trials have to agree.
const AGREES_ALPHA: f64 = 0.05;
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
/// An effect below this part of another one is none beside it.
const SMALL_SHARE: f64 = 0.3;

/// Whether A with the causes is B, and B without them is A.
pub(crate) struct Confirmed {
    pub(crate) is_closed: bool,
}

impl Investigation<'_> {
    /// Measures mixtures of these units until each is a cause or none, and it is known whether they are all.
    pub(crate) fn confirm(&mut self, units: &[Mixture]) -> Result<Confirmed, Stopped> {
        let mixtures = self.confirming_mixtures(units);
        for block in 0..BLOCKS_MAX {
            let planned = mixtures.len() * BLOCKS_MIN.saturating_sub(block).max(1);
            self.run_block(Stage::Confirming, mixtures.clone(), planned)?;
            let Some((means, noise)) = self.means() else { continue };
            let is_known = self.judge(units, &means, noise);
            if block + 1 >= BLOCKS_MIN && is_known {
                break;
            }
        }
        let causes: Vec<_> = units
            .iter()
            .filter(|unit| self.findings.causes.iter().any(|cause| unit.has(cause.factor)))
            .copied()
            .collect();
        let claimed = self.claimed(units, &causes);
        Ok(Confirmed {
            is_closed: self
                .means()
                .is_some_and(|(means, noise)| self.is_closed(claimed, &means, noise)),
        })
    }

    /// What is to make A into B: all units, or only the causes among them where every mixture is measured.
    fn claimed(&self, units: &[Mixture], causes: &[Mixture]) -> Mixture {
        let all = |list: &[Mixture]| list.iter().copied().fold(Mixture::A, Mixture::with);
        if all(units) == self.b() { all(causes) } else { all(units) }
    }

    /// All mixtures of the units, or each of them first and last; and both corners with their closures.
    fn confirming_mixtures(&self, units: &[Mixture]) -> Vec<Mixture> {
        let all = units.iter().copied().fold(Mixture::A, Mixture::with);
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
    fn judge(&mut self, units: &[Mixture], means: &CellMeans, noise: Noise) -> bool {
        let least = self.smallest();
        let shares: Vec<_> = units
            .iter()
            .filter_map(|unit| Some((*unit, means.contrast(&share_terms(*unit, units), noise)?)))
            .collect();
        let effects = self.effects();
        let with_screening = |unit: &Mixture, share: &LogEstimate| {
            let index = self.units.iter().position(|other| other == unit);
            index
                .zip(effects.as_ref())
                .map_or(*share, |(index, effects)| share.and(&effects[index]))
        };
        let all = units.iter().copied().fold(Mixture::A, Mixture::with);
        let alpha = if all == self.b() { ALL_MIXTURES_ALPHA } else { CONFIRM_ALPHA };
        let is_cause = |(unit, share): &&(Mixture, LogEstimate)| {
            let is_sure = share.differs(alpha / units.len() as f64)
                || (share.differs(AGREES_ALPHA)
                    && with_screening(unit, share).differs(alpha / self.units.len() as f64));
            is_sure && share.value.abs() >= least / 2.0
        };
        let is_open = |one: &&(Mixture, LogEstimate)| {
            let both = with_screening(&one.0, &one.1);
            !is_cause(one) && both.value.abs() >= least && both.differs(SUSPECTED_ALPHA)
        };
        let causes: Vec<_> = shares.iter().filter(is_cause).copied().collect();
        let has_open = shares.iter().any(|one| is_open(&one));
        let found: Vec<_> = causes.iter().map(|(unit, _)| *unit).collect();
        let claimed = self.claimed(units, &found);
        let measured = means.step(self.b(), claimed, noise).zip(means.step(
            Mixture::A,
            self.b().without(claimed),
            noise,
        ));
        self.findings.closures = Closures {
            sufficiency: measured.map(|(rest, _)| rest.interval()),
            exclusivity: measured.map(|(_, rest)| rest.interval()),
        };
        if let Some(gap) = means.step(Mixture::A, self.b(), noise) {
            self.findings.gap = Some(gap.interval());
        }
        let mut list: Vec<_> = causes
            .iter()
            .map(|(unit, share)| self.cause(*unit, *share, all, &found, means, noise))
            .collect();
        list.sort_by(|one, other| other.share.value.abs().total_cmp(&one.share.value.abs()));
        self.findings.causes = list;
        self.shares = shares;
        let is_known = |rest: &LogInterval| {
            let half = (rest.high - rest.low) / 2.0;
            half <= self.gap() * KNOWN_SHARE || half <= self.question.smallest
        };
        let closures =
            self.findings.closures.sufficiency.iter().chain(&self.findings.closures.exclusivity);
        !has_open && closures.into_iter().all(is_known)
    }

    /// Whether A with all of these is B, and B without them is A.
    fn is_closed(&self, all: Mixture, means: &CellMeans, noise: Noise) -> bool {
        let ends = [(self.b(), all), (Mixture::A, self.b().without(all))];
        let steps: Option<Vec<_>> =
            ends.into_iter().map(|(from, to)| means.step(from, to, noise)).collect();
        steps.is_some_and(|steps| {
            !steps.iter().any(|step| step.differs(OPEN_ALPHA) && self.is_of_interest(step.value))
        })
    }

    /// Whether a remainder of this size matters beside the difference.
    fn is_of_interest(&self, rest: f64) -> bool {
        rest.abs() >= (self.gap() * OPEN_SHARE).max(self.question.smallest)
    }

    fn cause(
        &self,
        unit: Mixture,
        share: LogEstimate,
        all: Mixture,
        causes: &[Mixture],
        means: &CellMeans,
        noise: Noise,
    ) -> Cause {
        let alone = means.step(Mixture::A, unit, noise).map(|step| step.interval());
        let last = means.step(all.without(unit), all, noise).map(|step| step.interval());
        let share = share.interval();
        Cause {
            factor: unit.factors().next().expect("a unit has a factor"),
            share,
            alone,
            last,
            role: self.role(share, alone, last, causes.len()),
        }
    }

    fn role(
        &self,
        share: LogInterval,
        alone: Option<LogInterval>,
        last: Option<LogInterval>,
        causes: usize,
    ) -> CauseRole {
        if self.findings.gap.is_some_and(|gap| gap.value * share.value < 0.0) {
            return CauseRole::Opposite;
        }
        let rest = self.findings.closures.sufficiency;
        if causes == 1 {
            let is_whole =
                rest.is_none_or(|rest| !rest.is_decided() || !self.is_of_interest(rest.value));
            return if is_whole { CauseRole::Sufficient } else { CauseRole::Part };
        }
        let Some((alone, last)) = alone.zip(last) else { return CauseRole::Part };
        let is_small = |one: LogInterval, beside: LogInterval| {
            beside.is_decided() && one.value.abs() < beside.value.abs() * SMALL_SHARE
        };
        if is_small(alone, last) {
            CauseRole::OnlyTogether
        } else if is_small(last, alone) {
            CauseRole::EitherAlone
        } else {
            CauseRole::Part
        }
    }
}

/// All mixtures of these units, on A.
fn subsets(units: &[Mixture]) -> Vec<Mixture> {
    units.iter().fold(vec![Mixture::A], |list, unit| {
        list.iter().copied().chain(list.iter().map(|mixture| mixture.with(*unit))).collect()
    })
}

/// The contrast of Shapley's share of a unit: its effect on each mixture of the others, weighted as in all orders of adding
/// them. Of many units it is the mean of its effects as the first and as the last one.
fn share_terms(unit: Mixture, units: &[Mixture]) -> Vec<(Mixture, f64)> {
    let others: Vec<_> = units.iter().copied().filter(|other| *other != unit).collect();
    let all_others = others.iter().copied().fold(Mixture::A, Mixture::with);
    let step = |base: Mixture, weight: f64| [(base.with(unit), weight), (base, -weight)];
    if units.len() > FACTORIAL_MAX {
        return [step(Mixture::A, 0.5), step(all_others, 0.5)].concat();
    }
    let factorial = |n: usize| (1..=n).product::<usize>() as f64;
    let weight =
        |size: usize| factorial(size) * factorial(others.len() - size) / factorial(units.len());
    let size = |base: Mixture| others.iter().filter(|other| base.contains(**other)).count();
    subsets(&others).into_iter().flat_map(|base| step(base, weight(size(base)))).collect()
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
