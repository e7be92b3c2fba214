//! Zipfian ranks, exactly and without a table: rejection-inversion (Hörmann and Derflinger 1996, "Rejection-inversion to
//! generate variates from monotone discrete distributions").
//!
//! `r^-theta` is bounded from above by a function whose integral has an inverse. A uniform number is put through the
//! inverse and rounded to a rank; the few points between the function and the ranks' steps are drawn again. More than 3
//! of 4 draws are accepted at once, for any `count` and `theta`.

use crate::RandomStream;

/// Draws rank `r` of `1..=count` with a probability in proportion to `r^-theta`, for `theta > 0`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipf {
    ranks: u64,
    theta: f64,
    /// The integral up to half a rank beyond the first, less the first rank's whole mass.
    low: f64,
    /// The integral up to half a rank beyond the last.
    high: f64,
    /// A point this close below its rank is always accepted.
    surely: f64,
}

impl Zipf {
    pub(crate) fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self { ranks: count, theta, low: 0.0, high: 0.0, surely: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(count as f64 + 0.5);
        zipf.surely = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.mass(2.0));
        zipf
    }

    pub(crate) fn draw(&self, stream: &mut RandomStream) -> u64 {
        loop {
            let area = self.high + stream.unit() * (self.low - self.high);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().max(1.0).min(self.ranks as f64);
            if rank - point <= self.surely || area >= self.integral(rank + 0.5) - self.mass(rank) {
                // The largest counts have no exact double.
                return (rank as u64).min(self.ranks);
            }
        }
    }

    fn mass(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// Integral of `t^-theta` from 1 to `x`: `(x^(1-theta) - 1) / (1-theta)`, and `ln x` at `theta` = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.theta) * log;
        // Near theta = 1 the quotient of two tiny numbers is replaced by the first terms of its series.
        if power.abs() > 1e-8 { power.exp_m1() / power * log } else { (1.0 + power / 2.0) * log }
    }

    fn inverse(&self, area: f64) -> f64 {
        // Above -1 except for rounding, if theta > 1 and the area is the whole.
        let power = ((1.0 - self.theta) * area).max(-1.0);
        if power.abs() > 1e-8 { (power.ln_1p() / power * area).exp() } else { ((1.0 - power / 2.0) * area).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{assert_fits, chi_square};

    /// Masses by summing them up.
    fn masses(count: u64, theta: f64) -> Vec<f64> {
        let weights: Vec<_> = (1..=count).map(|rank| (rank as f64).powf(-theta)).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    #[test]
    fn ranks_have_exactly_their_masses() {
        for (n, theta) in [0.2, 0.5, 0.8, 0.99, 1.0, 1.000_000_01, 1.2, 2.0, 3.0].into_iter().enumerate() {
            for count in [1, 2, 10, 1_000] {
                let zipf = Zipf::new(count, theta);
                let mut stream = RandomStream::new(11, n as u64 * 10_000 + count);
                assert_fits(&format!("theta {theta}, {count}"), &masses(count, theta), || zipf.draw(&mut stream));
            }
        }
    }

    #[test]
    fn the_test_sees_a_wrong_exponent() {
        let mut stream = RandomStream::new(1, 1);
        let zipf = Zipf::new(1_000, 0.99);
        let (chi, limit) = chi_square(&masses(1_000, 0.95), || zipf.draw(&mut stream));
        assert!(chi > limit, "{chi} {limit}");
    }

    #[test]
    fn large_ranges_and_steep_exponents_stay_in_range() {
        for (count, theta) in [(1 << 62, 0.99), (1_000_000_000, 10.0), (1_000_000_000, 0.01), (u64::MAX >> 1, 1.0)] {
            let zipf = Zipf::new(count, theta);
            let mut stream = RandomStream::new(1, 1);
            for _ in 0..10_000 {
                assert!((1..=count).contains(&zipf.draw(&mut stream)), "{count} {theta}");
            }
        }
    }
}
