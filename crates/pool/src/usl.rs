//! Gunther's Universal Scalability Law, as a description of what was measured: X(N) = λN / (1 +
//! σ(N−1) + κN(N−1)).

use serde::Serialize;

use crate::curve::CurvePoint;

/// A point that is further from the fit, as a logarithm, shows that the law does not describe the
/// curve.
const RESIDUAL_MAX: f64 = 0.15;
const POINTS_MIN: usize = 4;

/// The law's parameters, where it describes all points. It says nothing of numbers beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Usl {
    /// Transactions a second of one connection without any other.
    pub lambda: f64,
    /// Contention: the part of the work that one connection at a time can do.
    pub sigma: f64,
    /// Coherency: work that each connection makes for each other one.
    pub kappa: f64,
    /// The largest difference of a point from the fit, as a factor: 1.05 is 5 %.
    pub worst: f64,
}

impl Usl {
    pub fn tps(&self, connections: f64) -> f64 {
        let others = connections - 1.0;
        self.lambda * connections / (1.0 + self.sigma * others + self.kappa * connections * others)
    }

    /// Weighted least squares of N/X = a + b(N−1) + cN(N−1) with non-negative parameters: each
    /// point counts by its relative error.
    pub(crate) fn fit(curve: &[CurvePoint]) -> Option<Self> {
        if curve.len() < POINTS_MIN {
            return None;
        }
        let rows: Vec<_> = curve.iter().map(equation).collect();
        // All subsets of b and c that may be 0: the best one without a negative value is the
        // constrained solution.
        let fits = [[true, true], [true, false], [false, true], [false, false]]
            .into_iter()
            .filter_map(|has| {
                let [a, b, c] = solve(&rows, [true, has[0], has[1]])?;
                (a > 0.0 && b >= 0.0 && c >= 0.0).then(|| (squares(&rows, [a, b, c]), [a, b, c]))
            });
        let (_, [a, b, c]) = fits.min_by(|x, y| x.0.total_cmp(&y.0))?;
        let mut fit = Self { lambda: 1.0 / a, sigma: b / a, kappa: c / a, worst: 1.0 };
        let worst = curve
            .iter()
            .map(|point| (point.tps / fit.tps(point.connections.into())).ln().abs())
            .fold(0.0, f64::max);
        fit.worst = worst.exp();
        (worst <= RESIDUAL_MAX).then_some(fit)
    }
}

/// The factors of a, b and c, and the value, all divided by the value: relative errors count.
fn equation(point: &CurvePoint) -> ([f64; 3], f64) {
    let number = f64::from(point.connections);
    let weight = point.tps / number;
    ([weight, weight * (number - 1.0), weight * number * (number - 1.0)], 1.0)
}

fn squares(rows: &[([f64; 3], f64)], x: [f64; 3]) -> f64 {
    rows.iter().map(|(factors, value)| (value - dot(*factors, x)).powi(2)).sum()
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The normal equations of the parameters that are not held at 0, by Gauss's elimination.
fn solve(rows: &[([f64; 3], f64)], is_free: [bool; 3]) -> Option<[f64; 3]> {
    let mut system = [[0.0; 4]; 3];
    for (line, equation) in system.iter_mut().enumerate() {
        if !is_free[line] {
            equation[line] = 1.0;
            continue;
        }
        for (factors, value) in rows {
            for column in (0..3).filter(|column| is_free[*column]) {
                equation[column] += factors[line] * factors[column];
            }
            equation[3] += factors[line] * value;
        }
    }
    for pivot in 0..3 {
        let best = (pivot..3)
            .max_by(|a, b| system[*a][pivot].abs().total_cmp(&system[*b][pivot].abs()))?;
        system.swap(pivot, best);
        if system[pivot][pivot].abs() < 1e-300 {
            return None;
        }
        let own = system[pivot];
        for (line, equation) in system.iter_mut().enumerate().filter(|(line, _)| *line != pivot) {
            let _: usize = line;
            let factor = equation[pivot] / own[pivot];
            equation.iter_mut().zip(own).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    Some([0, 1, 2].map(|line| system[line][3] / system[line][line]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(numbers: &[u32], tps: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        let point = |connections: &u32| CurvePoint {
            connections: *connections,
            trials: 1,
            tps: tps(f64::from(*connections)),
            tps_smoothed: 0.0,
            response_us_p99: None,
            response_us_p99_low: None,
            response_us_p99_high: None,
            response_us_mean: None,
            meets_limit: true,
            is_near_limit: false,
        };
        numbers.iter().map(point).collect()
    }

    #[test]
    fn a_curve_of_the_law_gives_its_parameters() {
        for (lambda, sigma, kappa) in
            [(1_000.0, 0.05, 0.000_2), (50.0, 0.0, 0.0), (9_000.0, 0.4, 0.0), (70.0, 0.0, 1e-4)]
        {
            let truth = Usl { lambda, sigma, kappa, worst: 1.0 };
            let fit = Usl::fit(&curve(&[1, 2, 4, 8, 16, 32, 64, 128], |number| truth.tps(number)))
                .unwrap();
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(1e-3);
            assert!(
                close(fit.lambda, lambda) && close(fit.sigma, sigma) && close(fit.kappa, kappa),
                "{fit:?}"
            );
        }
    }

    /// Linear up to a hard limit: the law has no such corner.
    #[test]
    fn what_does_not_fit_is_left_out() {
        assert_eq!(
            Usl::fit(&curve(&[1, 2, 4, 8, 16, 32, 64, 128], |number| (50.0 * number).min(400.0))),
            None
        );
        assert_eq!(Usl::fit(&curve(&[1, 2, 4], |number| number)), None);
    }
}
