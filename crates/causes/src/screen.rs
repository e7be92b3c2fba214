//! Mixtures that were measured in mirrored pairs.

use crate::cells::Noise;
use crate::linear::LeastSquares;
use crate::mixture::Mixture;

/// The pairs that were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Screen {
    /// The first mixture of a pair, and its result less the result of the mirror image.
    pairs: Vec<(Mixture, f64)>,
}

impl Screen {
    pub(crate) fn add(&mut self, first: Mixture, difference: f64) {
        self.pairs.push((first, difference));
    }

    /// The effects of the units, by least squares.
    pub(crate) fn fit(&self, units: &[Mixture]) -> Option<LeastSquares> {
        // Pairs in which each unit is whole, as signs of the units.
        let rows = self.pairs.iter().filter_map(|(mixture, difference)| {
            let signs: Option<Vec<_>> = units.iter().map(|unit| sign(*mixture, *unit)).collect();
            Some((signs?, *difference))
        });
        LeastSquares::solve(&rows.collect::<Vec<_>>())
    }

    /// What the effects of single factors leave, for one trial.
    pub(crate) fn noise(&self, units: &[Mixture]) -> Noise {
        match self.fit(units) {
            Some(fit) if fit.freedom > 0 => {
                Noise { squares: fit.squares / 2.0, freedom: fit.freedom as f64 }
            }
            _ => Noise::default(),
        }
    }
}

/// Whether a mixture has the unit's levels of B (1) or of A (-1); `None`: some of both.
fn sign(mixture: Mixture, unit: Mixture) -> Option<f64> {
    if mixture.contains(unit) {
        Some(1.0)
    } else {
        (mixture.without(unit) == mixture).then_some(-1.0)
    }
}
