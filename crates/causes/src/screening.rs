//! Which factors have an effect: a two-level design of Plackett and Burman, in mirrored pairs.
//!
//! Each row of the design is a mixture, and its mirror image has the other level of every factor. The difference of the two
//! is the sum of all effects with the signs of the row: what the machine does in the meantime is in both, and effects of
//! two factors together cancel. With as many pairs as columns, each effect is estimated from every trial:
//! its standard error is `σ √(2 / pairs)`.

use crate::cells::Noise;
use crate::hadamard::Hadamard;
use crate::interval::LogEstimate;
use crate::investigation::{Investigation, Stage, Stopped};
use crate::linear::LeastSquares;
use crate::mixture::Mixture;

/// Chance that a factor without effect is looked at again. It is not the chance of a false cause: that is
/// [`crate::confirming`]'s.
const SCREEN_ALPHA: f64 = 0.005;
/// Part of the difference that the screening has to see: either of two causes that act together only, or are enough each,
/// has an effect of a half.
const SEEN_SHARE: f64 = 1.0 / 3.5;

/// The pairs that were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Screen {
    /// The first mixture of a pair, and its result less the result of the mirror image.
    pairs: Vec<(Mixture, f64)>,
}

impl Screen {
    /// Pairs in which each unit is whole, as signs of the units.
    fn rows(&self, units: &[Mixture]) -> Vec<(Vec<f64>, f64)> {
        let sign = |mixture: Mixture, unit: Mixture| match (
            mixture.contains(unit),
            mixture.without(unit) == mixture,
        ) {
            (true, _) => Some(1.0),
            (_, true) => Some(-1.0),
            _ => None,
        };
        let row = |(mixture, difference): &(Mixture, f64)| {
            let signs: Option<Vec<_>> = units.iter().map(|unit| sign(*mixture, *unit)).collect();
            Some((signs?, *difference))
        };
        self.pairs.iter().filter_map(row).collect()
    }

    /// What the effects of single factors leave, for one trial.
    pub(crate) fn noise(&self, units: &[Mixture]) -> Noise {
        match LeastSquares::solve(&self.rows(units)) {
            Some(fit) if fit.freedom > 0 => {
                Noise { squares: fit.squares / 2.0, freedom: fit.freedom as f64 }
            }
            _ => Noise::default(),
        }
    }
}

impl Investigation<'_> {
    /// Runs the design once, with factors on random columns with random signs, and pairs in random order.
    pub(crate) fn screen_once(&mut self) -> Result<(), Stopped> {
        let design = Hadamard::with_columns(self.units.len());
        let order = design.order();
        let mut columns: Vec<usize> = (0..order).collect();
        let mut rows = columns.clone();
        self.random.shuffle(&mut columns);
        self.random.shuffle(&mut rows);
        let flipped: Vec<bool> = self.units.iter().map(|_| self.random.below(2) == 1).collect();
        for (done, row) in rows.into_iter().enumerate() {
            let is_b = |index: &usize| design.is_positive(row, columns[*index]) != flipped[*index];
            let of_b = (0..self.units.len()).filter(is_b).map(|index| self.units[index]);
            let mixture = of_b.fold(Mixture::A, Mixture::with);
            let mirror = self.b().without(mixture);
            let is_first = self.random.below(2) == 0;
            let pair = if is_first { [mixture, mirror] } else { [mirror, mixture] };
            let results = self.ask(Stage::Screening, &pair, 2 * (order - done))?;
            if let [Some(first), Some(second)] = results[..] {
                self.screen.pairs.push((pair[0], first - second));
            }
        }
        self.findings.screenings += 1;
        self.findings.noise = self.means().map(|(_, noise)| noise.variance().sqrt());
        Ok(())
    }

    /// The mean effect of each unit over mixtures of the others.
    pub(crate) fn effects(&self) -> Option<Vec<LogEstimate>> {
        let fit = LeastSquares::solve(&self.screen.rows(&self.units))?;
        let (_, noise) = self.means()?;
        let effect = |index: usize| {
            let mut weights = vec![0.0; self.units.len()];
            weights[index] = 1.0;
            let error = (fit.variance(&weights) * 2.0 * noise.variance()).sqrt();
            LogEstimate { value: fit.beta[index], error, freedom: noise.freedom }
        };
        Some((0..self.units.len()).map(effect).collect())
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
        let effects = self.effects().unwrap_or_default();
        let has_effect = |one: &LogEstimate| one.differs(SCREEN_ALPHA) && one.value.abs() >= least;
        let mut found: Vec<_> =
            effects.iter().zip(&self.units).filter(|(one, _)| has_effect(one)).collect();
        found.sort_by(|(one, _), (other, _)| other.value.abs().total_cmp(&one.value.abs()));
        found.into_iter().map(|(_, unit)| *unit).collect()
    }
}
