//! Least squares for a few dozen unknowns.

/// Below this share of its column a pivot is zero but for rounding.
const PIVOT_MIN: f64 = 1e-9;

/// The solution of `X β ≈ y`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeastSquares {
    pub(crate) beta: Vec<f64>,
    /// `(X'X)⁻¹`: times the variance of one value it is the variance of the solution.
    inverse: Vec<Vec<f64>>,
    /// Sum of the squared residuals.
    pub(crate) squares: f64,
    /// Values less unknowns.
    pub(crate) freedom: usize,
}

impl LeastSquares {
    /// `None`: the rows do not determine all unknowns.
    pub(crate) fn solve(rows: &[(Vec<f64>, f64)]) -> Option<Self> {
        let unknowns = rows.first()?.0.len();
        let mut normal = vec![vec![0.0; unknowns]; unknowns];
        let mut right = vec![0.0; unknowns];
        for (row, value) in rows {
            for i in 0..unknowns {
                right[i] += row[i] * value;
                for j in 0..unknowns {
                    normal[i][j] += row[i] * row[j];
                }
            }
        }
        let inverse = inverted(normal)?;
        let beta: Vec<f64> = inverse.iter().map(|line| dot(line, &right)).collect();
        let squares = rows.iter().map(|(row, value)| (value - dot(row, &beta)).powi(2)).sum();
        Some(Self { beta, inverse, squares, freedom: rows.len() - unknowns })
    }

    /// `c'β`.
    pub(crate) fn contrast(&self, weights: &[f64]) -> f64 {
        dot(weights, &self.beta)
    }

    /// The variance of `c'β`, in units of the variance of one value.
    pub(crate) fn variance(&self, weights: &[f64]) -> f64 {
        let product: Vec<f64> = self.inverse.iter().map(|line| dot(line, weights)).collect();
        dot(&product, weights)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gauss and Jordan, with the largest pivot of each column.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    let scale = matrix.iter().enumerate().map(|(i, row)| row[i].abs()).fold(0.0, f64::max);
    for column in 0..n {
        let best = (column..n)
            .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, best);
        let pivot = matrix[column][column];
        if pivot.abs() <= PIVOT_MIN * scale {
            return None;
        }
        matrix[column].iter_mut().for_each(|value| *value /= pivot);
        let pivot_row = matrix[column].clone();
        for (i, row) in matrix.iter_mut().enumerate() {
            let factor = row[column];
            if i != column && factor != 0.0 {
                row.iter_mut()
                    .zip(&pivot_row)
                    .for_each(|(value, of_pivot)| *value -= factor * of_pivot);
            }
        }
    }
    Some(matrix.into_iter().map(|row| row[n..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points() {
        let rows: Vec<_> =
            [(0.0, 1.0), (1.0, 3.1), (2.0, 4.9)].map(|(x, y)| (vec![1.0, x], y)).into();
        let fit = LeastSquares::solve(&rows).unwrap();
        assert!(
            (fit.beta[0] - 1.05).abs() < 1e-12 && (fit.beta[1] - 1.95).abs() < 1e-12,
            "{fit:?}"
        );
        assert!((fit.squares - 0.015).abs() < 1e-12 && fit.freedom == 1);
        // Var(slope) = 1 / Σ (x − mean)².
        assert!((fit.variance(&[0.0, 1.0]) - 0.5).abs() < 1e-12);
        assert!((fit.contrast(&[1.0, 3.0]) - 6.9).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_determined() {
        let rows: Vec<_> = [1.0, 2.0].map(|y| (vec![1.0, 1.0], y)).into();
        assert_eq!(LeastSquares::solve(&rows), None);
        assert_eq!(LeastSquares::solve(&[]), None);
    }
}
