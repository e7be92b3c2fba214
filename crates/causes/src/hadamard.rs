//! Hadamard matrices: square matrices of +1 and −1 with orthogonal columns.

/// An order, and its matrix as rows of signs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hadamard {
    rows: Vec<Vec<bool>>,
}

impl Hadamard {
    /// The smallest one that can be made here with at least so many columns.
    pub(crate) fn with_columns(columns: usize) -> Self {
        (1..)
            .filter(|order| *order >= columns.max(1))
            .find_map(Self::of_order)
            .expect("each power of two is one")
    }

    pub(crate) fn order(&self) -> usize {
        self.rows.len()
    }

    /// `true` stands for +1.
    pub(crate) fn is_positive(&self, row: usize, column: usize) -> bool {
        self.rows[row][column]
    }

    fn of_order(order: usize) -> Option<Self> {
        match order {
            1 => Some(Self { rows: vec![vec![true]] }),
            _ if order.is_multiple_of(2) => Self::paley(order - 1)
                .or_else(|| Self::of_order(order / 2).map(|half| half.doubled())),
            _ => None,
        }
    }

    /// Sylvester's: `[H H; H −H]`.
    fn doubled(&self) -> Self {
        let mut rows = Vec::new();
        for is_same in [true, false] {
            rows.extend(self.rows.iter().map(|row| {
                row.iter().copied().chain(row.iter().map(|sign| *sign == is_same)).collect()
            }));
        }
        Self { rows }
    }

    /// Paley's first one, of order q + 1 for a prime q = 3 mod 4: the designs of Plackett and
    /// Burman (1946).
    fn paley(q: usize) -> Option<Self> {
        let is_prime = q >= 3 && (2..q).take_while(|n| n * n <= q).all(|n| !q.is_multiple_of(n));
        if !is_prime || q % 4 != 3 {
            return None;
        }
        let order = q + 1;
        let squares: Vec<usize> = (1..q).map(|n| n * n % q).collect();
        let mut rows = vec![vec![true; order]];
        for row in 1..order {
            let signs = (0..order).map(|column| {
                let is_square = squares.contains(&((column + q - row) % q));
                column == row || (column > 0 && is_square)
            });
            rows.push(signs.collect());
        }
        Some(Self { rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_orthogonal() {
        for columns in 1..=128 {
            let matrix = Hadamard::with_columns(columns);
            let order = matrix.order();
            assert!(order >= columns && order < columns + 20, "{columns}: {order}");
            for one in 0..order {
                for other in 0..one {
                    let same = (0..order).filter(|row| {
                        matrix.is_positive(*row, one) == matrix.is_positive(*row, other)
                    });
                    assert_eq!(same.count() * 2, order, "order {order}, columns {one} and {other}");
                }
            }
        }
    }

    #[test]
    fn orders_of_usual_numbers_of_factors() {
        let order = |columns| Hadamard::with_columns(columns).order();
        assert_eq!(
            [5, 8, 9, 12, 13, 17, 24, 25, 33, 55].map(order),
            [8, 8, 12, 12, 16, 20, 24, 32, 40, 60]
        );
    }
}
