//! The shape that throughput by connections is held to.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::robust::{ConcavePiece, Observation, RobustFit, on_pieces, robust_fit};
use crate::row::MeasuredRow;

/// The shape is of numbers with at least this part of the best throughput: a few connections that
/// wait for a disk say nothing about the top.
const NEAR: f64 = 0.6;
/// Trials that are so far from a shape by chance in 1 of 100 curves have another one.
const CHANCE: f64 = 0.99;

/// Concave near the best number; where the trials contradict that, concave on both sides of a dip;
/// and free where they contradict that, too.
pub(crate) fn shaped_fit(rows: &[MeasuredRow], numbers: &[u32]) -> RobustFit {
    let observed = observations(rows, numbers);
    let x = log_numbers(numbers);
    let free = robust_fit(&observed, &x, &[]);
    let best = free.effects.iter().copied().fold(f64::MIN, f64::max);
    let near: Vec<_> = free.effects.iter().map(|effect| *effect >= best + NEAR.ln()).collect();
    let first = near.iter().position(|near| *near).unwrap_or(0);
    let end = near.iter().rposition(|near| *near).map_or(1, |last| last + 1);
    let one = vec![ConcavePiece { start: first, end }];
    let two = (first + 1..end)
        .map(|dip| vec![first..dip, dip..end])
        .min_by(|a, b| misfit(&free, &x, a).total_cmp(&misfit(&free, &x, b)));
    let shapes = std::iter::once(one).chain(two);
    let mut plausible = shapes.filter(|pieces| {
        let degrees = (end - first).saturating_sub(2 * pieces.len());
        let by_chance = ChiSquared::new(degrees as f64).map_or(0.0, |chi| chi.inverse_cdf(CHANCE));
        misfit(&free, &x, pieces) <= by_chance * free.sd.powi(2)
    });
    plausible.next().map_or(free.clone(), |pieces| robust_fit(&observed, &x, &pieces))
}

/// The weighted sum of squares that a shape adds.
fn misfit(free: &RobustFit, x: &[f64], pieces: &[ConcavePiece]) -> f64 {
    let effects = on_pieces(x, &free.means, &free.counts, pieces);
    let each = effects.iter().zip(&free.means).zip(&free.counts);
    each.map(|((effect, mean), count)| count * (effect - mean).powi(2)).sum()
}

pub(crate) fn log_numbers(numbers: &[u32]) -> Vec<f64> {
    numbers.iter().map(|number| f64::from(*number).ln()).collect()
}

fn observations(rows: &[MeasuredRow], numbers: &[u32]) -> Vec<Observation> {
    let each = rows.iter().map(|row| Observation {
        block: row.block,
        number: numbers.binary_search(&row.connections).expect("the numbers are of the rows"),
        value: row.log_tps(),
    });
    each.collect()
}
