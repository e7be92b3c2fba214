//! The best concave curve.
//!
//! Throughput over the logarithm of connections bends one way: each doubling brings less than the
//! one before, then nothing, then it costs. A curve that bends only so uses all trials of its
//! neighbourhood for each number.

/// A gain in the sum of squares below this part of the largest weight is rounding.
const GAIN_MIN: f64 = 1e-10;

/// A number on the curve: where it is, its value, and how much it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightedPoint {
    /// Logarithm of connections; ascending.
    pub(crate) x: f64,
    pub(crate) value: f64,
    /// Positive.
    pub(crate) weight: f64,
}

/// Weighted least squares of a line that bends down at some of the points: by how much at each is
/// found as in Lawson and Hanson's non-negative least squares.
pub(crate) fn concave(points: &[WeightedPoint]) -> Vec<f64> {
    let mut bent = Vec::new();
    let mut bends = vec![0.0; points.len()];
    // Each turn lowers the sum of squares: no set of bends comes again. Rounding could make one.
    for _ in 0..4 * points.len() {
        let Some(solved) = settle(points, &mut bent, &mut bends) else { break };
        let rest: Vec<_> =
            points.iter().zip(&solved).map(|(point, fit)| point.value - fit).collect();
        match steepest(points, &rest, &bent) {
            Some(next) => bent.push(next),
            None => return solved,
        }
    }
    settle(points, &mut bent, &mut bends)
        .unwrap_or_else(|| points.iter().map(|point| point.value).collect())
}

/// The point at which a bend would lower the sum of squares most.
fn steepest(points: &[WeightedPoint], rest: &[f64], bent: &[usize]) -> Option<usize> {
    let inner = 1..points.len().saturating_sub(1);
    let least = GAIN_MIN * points.iter().map(|point| point.weight).fold(0.0, f64::max);
    inner
        .filter(|at| !bent.contains(at))
        .map(|at| (at, gain(points, rest, at)))
        .filter(|(_, gain)| *gain > least)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(at, _)| at)
}

/// By how much the sum of squares falls with a bend at a point, at first.
fn gain(points: &[WeightedPoint], rest: &[f64], at: usize) -> f64 {
    let later = points.iter().zip(rest).skip(at + 1);
    later.map(|(point, rest)| -point.weight * rest * (point.x - points[at].x)).sum()
}

/// Least squares with bends at these points only; those that would bend up are taken out.
fn settle(points: &[WeightedPoint], bent: &mut Vec<usize>, bends: &mut [f64]) -> Option<Vec<f64>> {
    loop {
        let solved = solve(points, bent)?;
        let wrong = bent.iter().enumerate().filter(|(index, _)| solved[index + 2] <= 0.0);
        // How far the old bends may go towards the new ones.
        let step = wrong
            .map(|(index, at)| (bends[*at] / (bends[*at] - solved[index + 2]), *at))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let part = step.map_or(1.0, |(part, _)| if part.is_finite() { part } else { 0.0 });
        for (index, at) in bent.iter().enumerate() {
            bends[*at] += part * (solved[index + 2] - bends[*at]);
        }
        let Some((_, out)) = step else {
            return Some(
                points.iter().map(|point| value(points, bent, &solved, point.x)).collect(),
            );
        };
        bends[out] = 0.0;
        bent.retain(|at| *at != out);
    }
}

/// Height and slope at the first point, then the bends.
fn factors(points: &[WeightedPoint], bent: &[usize], x: f64) -> Vec<f64> {
    let mut factors = vec![1.0, x - points[0].x];
    factors.extend(bent.iter().map(|at| -(x - points[*at].x).max(0.0)));
    factors
}

fn value(points: &[WeightedPoint], bent: &[usize], solved: &[f64], x: f64) -> f64 {
    factors(points, bent, x).iter().zip(solved).map(|(factor, one)| factor * one).sum()
}

/// The normal equations by Gauss's elimination; a line needs two points.
fn solve(points: &[WeightedPoint], bent: &[usize]) -> Option<Vec<f64>> {
    let free = (bent.len() + 2).min(points.len());
    if points.len() == 1 {
        return Some(vec![points[0].value, 0.0]);
    }
    let mut system = vec![vec![0.0; free + 1]; free];
    for point in points {
        let factors = factors(points, bent, point.x);
        for (line, equation) in system.iter_mut().enumerate() {
            for (column, cell) in equation[..free].iter_mut().enumerate() {
                *cell += point.weight * factors[line] * factors[column];
            }
            equation[free] += point.weight * factors[line] * point.value;
        }
    }
    eliminate(&mut system)
}

/// Solves the equations, whose last column is the right side.
pub(crate) fn eliminate(system: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let free = system.len();
    for pivot in 0..free {
        let best = (pivot..free)
            .max_by(|a, b| system[*a][pivot].abs().total_cmp(&system[*b][pivot].abs()))?;
        system.swap(pivot, best);
        if system[pivot][pivot].abs() < 1e-300 {
            return None;
        }
        let own = system[pivot].clone();
        for (line, equation) in system.iter_mut().enumerate() {
            if line != pivot {
                let factor = equation[pivot] / own[pivot];
                equation.iter_mut().zip(&own).for_each(|(cell, above)| *cell -= factor * above);
            }
        }
    }
    Some((0..free).map(|line| system[line][free] / system[line][line]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(values: &[f64]) -> Vec<f64> {
        let points = values.iter().enumerate().map(|(x, value)| WeightedPoint {
            x: x as f64,
            value: *value,
            weight: 1.0,
        });
        concave(&points.collect::<Vec<_>>())
    }

    fn check(values: &[f64], expect: &[f64]) {
        let fit = even(values);
        assert!(
            fit.len() == expect.len()
                && fit.iter().zip(expect).all(|(fit, expect)| (fit - expect).abs() < 1e-9),
            "{values:?}: {fit:?}"
        );
    }

    #[test]
    fn a_concave_curve_is_kept() {
        for curve in [&[0.0, 3.0, 5.0, 6.0, 6.0, 4.0][..], &[3.0], &[1.0, 2.0], &[2.0, 2.0, 2.0]] {
            check(curve, curve);
        }
    }

    /// By hand: what bends up at its only inner point becomes the straight line of least squares,
    /// whose slope is Σ(x − 1)y / Σ(x − 1)² through the mean.
    #[test]
    fn what_bends_up_becomes_a_straight_line() {
        check(&[0.0, 0.0, 3.0], &[-0.5, 1.0, 2.5]);
        check(&[3.0, 0.0, 3.0], &[2.0, 2.0, 2.0]);
    }
}
