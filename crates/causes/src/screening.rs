//! Which factors have an effect: a two-level design of Plackett and Burman, in mirrored pairs.
//!
//! Each row of the design is a mixture, and its mirror image has the other level of every factor.
//! The difference of the two is the sum of all effects with the signs of the row: what the machine
//! does in the meantime is in both, and effects of two factors together cancel. With as many pairs
//! as columns, each effect is estimated from every trial: its standard error is `σ √(2 / pairs)`.

use truetps_adaptive::Stopped;

use crate::hadamard::Hadamard;
use crate::interval::LogEstimate;
use crate::investigation::Investigation;
use crate::mixture::Mixture;
use crate::question::Stage;
use crate::steps::SCREENINGS_MAX;

/// Chance that a factor without effect is looked at again. It is not the chance of a false cause:
/// that is [`crate::confirming`]'s.
const SCREEN_ALPHA: f64 = 0.005;
/// An effect with a smaller chance where there is none is screened once more.
const SUSPECTED_ALPHA: f64 = 0.05;
/// In the last screening the level is this one: nothing is looked at again.
const LAST_SCREEN_ALPHA: f64 = 0.05;
/// Part of the difference that the screening has to see: either of two causes that act together
/// only, or are enough each, has an effect of a half.
const SEEN_SHARE: f64 = 1.0 / 3.5;

impl Investigation<'_> {
    /// Runs the design once, with factors on random columns with random signs, and pairs in random
    /// order.
    pub(crate) fn screen_once(&mut self) -> Result<(), Stopped> {
        let design = Hadamard::with_columns(self.units.len());
        let order = design.order();
        let mut columns: Vec<usize> = (0..order).collect();
        let mut rows = columns.clone();
        self.random.shuffle(&mut columns);
        self.random.shuffle(&mut rows);
        let flipped: Vec<bool> = self.units.iter().map(|_| self.random.below(2) == 1).collect();
        for (done, row) in rows.into_iter().enumerate() {
            let of_b =
                self.units.iter().enumerate().filter(|(index, _)| {
                    design.is_positive(row, columns[*index]) != flipped[*index]
                });
            let mixture = of_b.fold(Mixture::A, |mixture, (_, unit)| mixture.with(*unit));
            let mirror = self.b().without(mixture);
            let is_first = self.random.below(2) == 0;
            let pair = if is_first { [mixture, mirror] } else { [mirror, mixture] };
            let results = self.ask(Stage::Screening, &pair, 2 * (order - done))?;
            if let [Some(first), Some(second)] = results[..] {
                self.screen.add(pair[0], first - second);
            }
        }
        self.findings.screenings += 1;
        self.note_noise();
        Ok(())
    }

    /// The mean effect of each unit over mixtures of the others.
    pub(crate) fn effects(&self) -> Option<Vec<LogEstimate>> {
        let fit = self.screen.fit(&self.units)?;
        let (_, noise) = self.means()?;
        let mut effects = Vec::new();
        for (index, value) in fit.beta.iter().enumerate() {
            let mut weights = vec![0.0; self.units.len()];
            weights[index] = 1.0;
            let error = (fit.variance(&weights) * 2.0 * noise.variance()).sqrt();
            effects.push(LogEstimate { value: *value, error, freedom: noise.freedom });
        }
        Some(effects)
    }

    /// The effects, with errors as large as the effects of the others scatter: Birge's ratio. A
    /// trial that was far off moves all effects of its pair, and is in no mean of a mixture.
    pub(crate) fn scattered_effects(&self) -> Option<Vec<LogEstimate>> {
        let effects = self.effects()?;
        let squares: Vec<_> = effects
            .iter()
            .map(|one| Some((one.value / one.error).powi(2)).filter(|_| !one.differs(SCREEN_ALPHA)))
            .collect();
        let scaled = effects.iter().enumerate().map(|(index, effect)| {
            let others = squares.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<_> = others.filter_map(|(_, square)| *square).collect();
            let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
            effect.widened(mean.max(1.0).sqrt())
        });
        Some(scaled.collect())
    }

    /// Whether one of the units that were not found may have an effect of interest.
    pub(crate) fn has_suspected(&self, found: &[Mixture]) -> bool {
        let effects = self.effects().unwrap_or_default();
        let mut others = effects.iter().zip(&self.units).filter(|(_, unit)| !found.contains(unit));
        others.any(|(one, _)| one.differs(SUSPECTED_ALPHA) && one.value.abs() >= self.smallest())
    }

    /// Whether the screening sees what it has to see.
    pub(crate) fn is_screened(&self) -> bool {
        let seen = (self.gap() * SEEN_SHARE).max(self.question.smallest);
        self.effects()
            .is_some_and(|effects| effects.iter().all(|one| one.half_width(SCREEN_ALPHA) <= seen))
    }

    /// Units with an effect, the largest first.
    pub(crate) fn screened_units(&self) -> Vec<Mixture> {
        let least = self.smallest() / 2.0;
        let is_last = self.findings.screenings >= SCREENINGS_MAX;
        let alpha = if is_last { LAST_SCREEN_ALPHA } else { SCREEN_ALPHA };
        let effects = self.effects().unwrap_or_default();
        let mut found: Vec<_> = effects
            .iter()
            .zip(&self.units)
            .filter(|(one, _)| one.differs(alpha) && one.value.abs() >= least)
            .collect();
        found.sort_by(|(one, _), (other, _)| other.value.abs().total_cmp(&one.value.abs()));
        let sure = found.iter().filter(|(one, _)| one.differs(SCREEN_ALPHA)).count();
        found.truncate(sure.max(3));
        found.into_iter().map(|(_, unit)| *unit).collect()
    }
}
