//! What each number of connections and each block contributes to ln(tps), whatever disturbed some
//! of the trials.
//!
//! A checkpoint, a backup or another program takes a half of one trial's throughput and none of the
//! next one's. A mean of five trials loses a tenth by it. So each trial counts by Tukey's biweight:
//! fully near the fit, and not at all beyond 4.7 standard deviations.

use std::ops::Range;

use crate::concave::{WeightedPoint, concave, eliminate};

/// The constant of Tukey's biweight: 95 % of the efficiency of a mean where nothing disturbs.
const BIWEIGHT: f64 = 4.685;
/// The median of the absolute deviations of a normal distribution, in standard deviations.
pub(crate) const MEDIAN_DEVIATION: f64 = 0.6745;
/// The weight of a trial beyond all others: it decides where there is no other.
const WEIGHT_MIN: f64 = 0.01;
/// Trials differ by more than this on every machine.
const SD_MIN: f64 = 0.002;
/// The variance of a normal distribution divided by its weighted one: E(w) / E(w z²) of the weights
/// above.
const OF_BIWEIGHT: f64 = 1.21;
const MEDIAN_TURNS: usize = 4;
const TURNS_MAX: usize = 60;
/// Effects have settled when none moves by more.
const SETTLED: f64 = 1e-6;

/// One trial: indices of its block and number, and ln(tps).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Observation {
    pub(crate) block: usize,
    pub(crate) number: usize,
    pub(crate) value: f64,
}

/// The fit of all trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RobustFit {
    /// On the curve, of each number.
    pub(crate) effects: Vec<f64>,
    /// The weighted mean of each number's trials alone.
    pub(crate) means: Vec<f64>,
    /// How many undisturbed trials each number has.
    pub(crate) counts: Vec<f64>,
    /// How many trials each number has.
    pub(crate) trials: Vec<u32>,
    /// The effect of each block; their mean over the trials is 0.
    pub(crate) blocks: Vec<f64>,
    /// How many trials each block has.
    pub(crate) block_trials: Vec<u32>,
    /// The weight of each trial: 1 is undisturbed.
    pub(crate) weights: Vec<f64>,
    /// For each block, its numbers and their trials' weights.
    weights_in_blocks: Vec<Vec<(usize, f64)>>,
    /// Standard deviation of one trial.
    pub(crate) sd: f64,
}

/// Indices of numbers that lie on one concave curve.
pub(crate) type ConcavePiece = Range<usize>;

/// `x`: the logarithm of each number of connections, ascending.
pub(crate) fn robust_fit(rows: &[Observation], x: &[f64], pieces: &[ConcavePiece]) -> RobustFit {
    let blocks = rows.iter().map(|row| row.block + 1).max().unwrap_or(0);
    let mut fit = RobustFit {
        effects: vec![0.0; x.len()],
        means: vec![0.0; x.len()],
        counts: vec![0.0; x.len()],
        trials: vec![0; x.len()],
        blocks: vec![0.0; blocks],
        block_trials: vec![0; blocks],
        weights: vec![1.0; rows.len()],
        weights_in_blocks: vec![Vec::new(); blocks],
        sd: 0.0,
    };
    for row in rows {
        fit.trials[row.number] += 1;
        fit.block_trials[row.block] += 1;
    }
    for _ in 0..MEDIAN_TURNS {
        fit.polish(rows);
    }
    for _ in 0..TURNS_MAX {
        let before = fit.effects.clone();
        fit.weigh(rows);
        fit.turn(rows, x, pieces);
        let moved = before.iter().zip(&fit.effects).map(|(a, b)| (a - b).abs());
        if moved.fold(0.0, f64::max) < SETTLED {
            break;
        }
    }
    fit.sd = fit.spread(rows);
    for (row, weight) in rows.iter().zip(&fit.weights) {
        fit.weights_in_blocks[row.block].push((row.number, *weight));
    }
    fit
}

impl RobustFit {
    /// The climb's blocks have none.
    pub(crate) fn blocks_with_trials(&self) -> usize {
        self.block_trials.iter().filter(|trials| **trials > 0).count()
    }

    /// The variance of the means' difference, in variances of one trial, with what blocks add: the
    /// normal equations of the numbers, after the blocks are eliminated from them. `None` where no
    /// block links the two.
    pub(crate) fn variance_of_difference(&self, own: usize, other: usize) -> Option<f64> {
        let count = self.effects.len();
        let mut system = vec![vec![0.0; count + 1]; count];
        for (number, weight) in self.counts.iter().enumerate() {
            system[number][number] = *weight;
        }
        for weights in &self.weights_in_blocks {
            let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
            for (line, weight) in weights {
                for (column, beside) in weights {
                    system[*line][*column] -= weight * beside / all;
                }
            }
        }
        // Only differences are known: the other number is held at 0.
        system[other] = vec![0.0; count + 1];
        system[other][other] = 1.0;
        system[own][count] = 1.0;
        Some(eliminate(&mut system)?[own]).filter(|variance| *variance > 0.0)
    }

    fn rest(&self, row: &Observation) -> f64 {
        row.value - self.effects[row.number] - self.blocks[row.block]
    }

    /// Medians in place of means: a start that no disturbed trial has moved.
    fn polish(&mut self, rows: &[Observation]) {
        for number in 0..self.effects.len() {
            let own = rows.iter().filter(|row| row.number == number);
            let own = own.map(|row| row.value - self.blocks[row.block]);
            self.effects[number] = median(own).unwrap_or_default();
        }
        for block in 0..self.blocks.len() {
            let own = rows.iter().filter(|row| row.block == block);
            let own = own.map(|row| row.value - self.effects[row.number]);
            self.blocks[block] = median(own).unwrap_or_default();
        }
    }

    /// Each trial's weight, by how far it is from the fit.
    fn weigh(&mut self, rows: &[Observation]) {
        let deviations = rows.iter().map(|row| self.rest(row).abs());
        let used = self.effects_used(rows.len());
        let left = (rows.len() as f64 / (rows.len() - used).max(1) as f64).sqrt();
        let sd = median(deviations).unwrap_or_default() / MEDIAN_DEVIATION * left;
        self.sd = sd.max(SD_MIN);
        let weights = rows.iter().map(|row| {
            let far = self.rest(row) / (BIWEIGHT * self.sd);
            (1.0 - far.powi(2)).max(0.0).powi(2).max(WEIGHT_MIN)
        });
        self.weights = weights.collect();
    }

    /// The standard deviation of one undisturbed trial: more exact than the one for the
    /// weights, which is from medians.
    fn spread(&self, rows: &[Observation]) -> f64 {
        let (mut squares, mut weights, mut trials) = (0.0, 0.0, 0_usize);
        for (row, weight) in rows.iter().zip(&self.weights).filter(|one| *one.1 > WEIGHT_MIN) {
            squares += weight * self.rest(row).powi(2);
            weights += weight;
            trials += 1;
        }
        let left = trials as f64 / trials.saturating_sub(self.effects_used(trials)).max(1) as f64;
        if weights > 0.0 {
            (OF_BIWEIGHT * left * squares / weights).sqrt().max(SD_MIN)
        } else {
            self.sd
        }
    }

    /// Effects that were estimated from so many trials.
    fn effects_used(&self, trials: usize) -> usize {
        (self.effects.len() + self.blocks_with_trials()).saturating_sub(1).min(trials / 2)
    }

    /// Blocks from numbers, then numbers from blocks, and the curve through them.
    fn turn(&mut self, rows: &[Observation], x: &[f64], pieces: &[ConcavePiece]) {
        let mut sums = vec![(0.0, 0.0); self.blocks.len()];
        for (row, weight) in rows.iter().zip(&self.weights) {
            let sum = &mut sums[row.block];
            *sum = (sum.0 + weight * (row.value - self.effects[row.number]), sum.1 + weight);
        }
        for (block, (sum, weight)) in self.blocks.iter_mut().zip(sums) {
            *block = if weight > 0.0 { sum / weight } else { 0.0 };
        }
        let middle = rows.iter().map(|row| self.blocks[row.block]).sum::<f64>() / rows.len() as f64;
        self.blocks.iter_mut().for_each(|block| *block -= middle);
        let mut sums = vec![(0.0, 0.0); x.len()];
        for (row, weight) in rows.iter().zip(&self.weights) {
            let sum = &mut sums[row.number];
            *sum = (sum.0 + weight * (row.value - self.blocks[row.block]), sum.1 + weight);
        }
        self.means = sums.iter().map(|(sum, weight)| sum / weight).collect();
        self.counts = sums.iter().map(|(_, weight)| *weight).collect();
        self.effects = on_pieces(x, &self.means, &self.counts, pieces);
    }
}

/// The means, with each piece's on its concave curve. The others are free.
pub(crate) fn on_pieces(
    x: &[f64],
    means: &[f64],
    counts: &[f64],
    pieces: &[ConcavePiece],
) -> Vec<f64> {
    let mut effects = means.to_vec();
    for piece in pieces.iter().filter(|piece| piece.len() > 2) {
        let points = piece.clone().map(|at| WeightedPoint {
            x: x[at],
            value: means[at],
            weight: counts[at],
        });
        effects[piece.clone()].copy_from_slice(&concave(&points.collect::<Vec<_>>()));
    }
    effects
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        even if even % 2 == 0 => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(rows: &[(usize, usize, f64)]) -> Vec<Observation> {
        let of = |(block, number, value): &(usize, usize, f64)| Observation {
            block: *block,
            number: *number,
            value: *value,
        };
        rows.iter().map(of).collect()
    }

    /// Five blocks of three numbers, whose trials differ by 0.02; one trial lost a half.
    #[test]
    fn a_disturbed_trial_hardly_counts() {
        let noise = [0.02, -0.02, 0.01, -0.01, 0.0];
        let mut rows = Vec::new();
        for (block, noise) in noise.into_iter().enumerate() {
            rows.extend([(block, 0, 1.0 + noise), (block, 1, 2.0 - noise), (block, 2, 3.0)]);
        }
        rows[4].2 -= 2.0_f64.ln();
        let fit = robust_fit(&observed(&rows), &[0.0, 1.0, 2.0], &[]);
        for (mean, expect) in fit.means.iter().zip([1.0, 2.0, 3.0]) {
            assert!((mean - expect).abs() < 0.015, "{:?}", fit.means);
        }
        assert!(fit.weights[4] <= WEIGHT_MIN && fit.weights[5] > 0.5, "{:?}", fit.weights);
        assert!(fit.sd < 0.05, "{}", fit.sd);
    }

    /// By hand: two numbers that no block has together are compared by way of a third, and each of
    /// the two differences has the variance of two trials. Three blocks that have both: 2/3.
    #[test]
    fn a_difference_is_as_sure_as_the_blocks_that_link_it() {
        let variance = |rows: &[(usize, usize, f64)], numbers: usize| {
            let x: Vec<_> = (0..numbers).map(|x| x as f64).collect();
            let mut fit = robust_fit(&observed(rows), &x, &[]);
            // Whatever the values are.
            fit.counts = fit.trials.iter().map(|trials| f64::from(*trials)).collect();
            for (_, weight) in fit.weights_in_blocks.iter_mut().flatten() {
                *weight = 1.0;
            }
            fit.variance_of_difference(0, 1).unwrap()
        };
        let chain = [(0, 0, 1.0), (0, 2, 3.0), (1, 2, 3.1), (1, 1, 2.0)];
        assert!((variance(&chain, 3) - 4.0).abs() < 1e-9);
        let pairs: Vec<_> = (0..3).flat_map(|block| [(block, 0, 1.0), (block, 1, 2.0)]).collect();
        assert!((variance(&pairs, 2) - 2.0 / 3.0).abs() < 1e-9);
    }

    /// E(w) / E(w z²) of Tukey's biweight on normal values: their integrals, by the trapezium
    /// rule.
    #[test]
    fn the_spread_is_of_undisturbed_trials() {
        let (mut weights, mut squares) = (0.0, 0.0);
        for step in -4685..=4685 {
            let z = f64::from(step) / 1000.0;
            let weight = (1.0 - (z / BIWEIGHT).powi(2)).powi(2) * (-z * z / 2.0).exp();
            weights += weight;
            squares += weight * z * z;
        }
        assert!((weights / squares / OF_BIWEIGHT - 1.0).abs() < 0.01, "{}", weights / squares);
    }
}
