//! Mixtures that were measured in blocks: each has a mean, each block has an effect, and what is
//! left is noise.

use crate::interval::{LogEstimate, LogInterval};
use crate::linear::LeastSquares;
use crate::mixture::Mixture;

/// The sum of squared deviations of single trials, and its degrees of freedom.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Noise {
    pub(crate) squares: f64,
    pub(crate) freedom: f64,
}

impl Noise {
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { squares: self.squares + other.squares, freedom: self.freedom + other.freedom }
    }

    /// The variance of one trial.
    pub(crate) fn variance(&self) -> f64 {
        self.squares / self.freedom.max(1.0)
    }
}

/// One trial in a block.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    block: usize,
    mixture: Mixture,
    value: f64,
}

/// Trials in blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cells {
    rows: Vec<Row>,
    blocks: usize,
}

impl Cells {
    /// Trials without a result are left out.
    pub(crate) fn add_block(&mut self, trials: impl IntoIterator<Item = (Mixture, Option<f64>)>) {
        let block = self.blocks;
        self.blocks += 1;
        self.rows.extend(
            trials
                .into_iter()
                .filter_map(|(mixture, value)| Some(Row { block, mixture, value: value? })),
        );
    }

    /// Means of all mixtures. `None`: nothing can be compared.
    pub(crate) fn fit(&self) -> Option<CellMeans> {
        let mut mixtures: Vec<_> = self.rows.iter().map(|row| row.mixture).collect();
        mixtures.sort_unstable();
        mixtures.dedup();
        let mut blocks: Vec<_> = self.rows.iter().map(|row| row.block).collect();
        blocks.dedup();
        let mut rows = Vec::new();
        for row in &self.rows {
            let is_mixture = mixtures.iter().map(|mixture| *mixture == row.mixture);
            // The first block is in the means.
            let is_block = blocks.iter().skip(1).map(|block| *block == row.block);
            let line = is_mixture.chain(is_block).map(|is_one| f64::from(u8::from(is_one)));
            rows.push((line.collect(), row.value));
        }
        Some(CellMeans { fit: LeastSquares::solve(&rows)?, mixtures })
    }
}

/// What blocks of mixtures say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CellMeans {
    fit: LeastSquares,
    mixtures: Vec<Mixture>,
}

impl CellMeans {
    pub(crate) fn noise(&self) -> Noise {
        Noise { squares: self.fit.squares, freedom: self.fit.freedom as f64 }
    }

    /// A weighted sum of means, whose weights add up to 0. `None`: one of them was not measured.
    pub(crate) fn contrast(&self, terms: &[(Mixture, f64)], noise: Noise) -> Option<LogEstimate> {
        let mut weights = vec![0.0; self.fit.beta.len()];
        for (mixture, weight) in terms {
            weights[self.mixtures.binary_search(mixture).ok()?] += weight;
        }
        let error = (self.fit.variance(&weights) * noise.variance()).max(0.0).sqrt();
        Some(LogEstimate { value: self.fit.contrast(&weights), error, freedom: noise.freedom })
    }

    /// One contrast over another one, with the interval that misses the truth with this chance:
    /// Fieller's. `None`: one was not measured, or the divisor may be 0.
    pub(crate) fn ratio(
        &self,
        one: &[(Mixture, f64)],
        divisor: &[(Mixture, f64)],
        noise: Noise,
        alpha: f64,
    ) -> Option<LogInterval> {
        let both: Vec<_> = one.iter().chain(divisor).copied().collect();
        let both = self.contrast(&both, noise)?;
        let (one, divisor) = (self.contrast(one, noise)?, self.contrast(divisor, noise)?);
        let covariance = (both.error.powi(2) - one.error.powi(2) - divisor.error.powi(2)) / 2.0;
        one.ratio(&divisor, covariance, alpha)
    }

    /// The second less the first.
    pub(crate) fn step(&self, from: Mixture, to: Mixture, noise: Noise) -> Option<LogEstimate> {
        self.contrast(&[(to, 1.0), (from, -1.0)], noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences of 0.2 in three blocks of A, one cause and two, with noise of 0.01: a half.
    #[test]
    fn a_part_of_a_difference() {
        let mut cells = Cells::default();
        let (a, one) = (Mixture::A, Mixture::only(0));
        let both = one.with(Mixture::only(1));
        for noise in [0.01, -0.01, 0.0] {
            cells.add_block([(a, Some(1.0)), (one, Some(1.2 + noise)), (both, Some(1.4))]);
        }
        let means = cells.fit().unwrap();
        let step = [(one, 1.0), (a, -1.0)];
        let whole = [(both, 1.0), (a, -1.0)];
        let part = means.ratio(&step, &whole, means.noise(), 0.05).unwrap();
        assert!((part.value - 0.5).abs() < 1e-12 && part.low < 0.5 && part.high > 0.5, "{part:?}");
        // The two have A in common: the variance of (one − both / 2 − A / 2) / 0.4.
        let error = (means.noise().variance() / 3.0 * 1.5).sqrt() / 0.4;
        // Student's t of 97.5 % with 4 degrees of freedom.
        assert!((part.high - part.low - 2.0 * 2.776 * error).abs() < 0.1 * error, "{part:?}");
        assert_eq!(
            means.ratio(&step, &[(one.without(one), 1.0), (a, -1.0)], means.noise(), 0.05),
            None
        );
    }

    /// Two-way analysis of variance, by hand: cells 0 and 1 over blocks with effects 0 and 2.
    #[test]
    fn blocks_do_not_count() {
        let mut cells = Cells::default();
        let (a, b) = (Mixture::A, Mixture::only(0));
        cells.add_block([(a, Some(1.0)), (b, Some(2.0))]);
        cells.add_block([(b, Some(4.2)), (a, Some(3.0))]);
        let means = cells.fit().unwrap();
        let noise = means.noise();
        // Differences 1.0 and 1.2: their mean, and half of their variance.
        assert!(
            (noise.variance() - 0.01).abs() < 1e-12 && noise.freedom.to_bits() == 1.0_f64.to_bits()
        );
        let step = means.step(a, b, noise).unwrap();
        assert!((step.value - 1.1).abs() < 1e-12 && (step.error - 0.1).abs() < 1e-12, "{step:?}");
        assert_eq!(means.step(a, Mixture::only(1), noise), None);
    }

    #[test]
    fn a_missing_trial_leaves_the_others() {
        let mut cells = Cells::default();
        let (a, b, c) = (Mixture::A, Mixture::only(0), Mixture::only(1));
        cells.add_block([(a, Some(1.0)), (b, None), (c, Some(3.0))]);
        cells.add_block([(a, Some(2.0)), (b, Some(3.0)), (c, Some(4.0))]);
        let means = cells.fit().unwrap();
        assert!((means.step(a, b, means.noise()).unwrap().value - 1.0).abs() < 1e-12);
        assert!((means.step(a, c, means.noise()).unwrap().value - 2.0).abs() < 1e-12);
    }
}
