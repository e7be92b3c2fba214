//! Zipfian ranks, exactly and without a table: rejection-inversion (Hörmann and Derflinger 1996,
//! "Rejection-inversion to generate variates from monotone discrete distributions").
//!
//! `r^-exponent` is bounded from above by a function whose integral has an inverse. A uniform
//! number is put through the inverse and rounded to a rank; the few points between the function and
//! the ranks' steps are drawn again. More than 3 of 4 draws are accepted at once, for any number of
//! ranks and any exponent.

use crate::UnitSource;

/// Draws rank `r` with a probability in proportion to `r^-exponent`.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    exponent: f64,
    /// The integral up to half a rank beyond the first, less the first rank's whole mass.
    low: f64,
    /// A point this close below its rank is always accepted.
    surely: f64,
}

impl Zipf {
    /// `exponent` is at least 0.
    pub fn new(exponent: f64) -> Self {
        let mut zipf = Self { exponent, low: 0.0, surely: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.surely = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.mass(2.0));
        zipf
    }

    /// The constant of a number of ranks, for [`Self::draw`].
    #[inline]
    pub fn high(&self, ranks: f64) -> f64 {
        self.integral(ranks + 0.5)
    }

    /// A rank of `1..=ranks`, whose [`Self::high`] is known.
    #[inline]
    pub fn draw(&self, random: &mut impl UnitSource, ranks: f64, high: f64) -> f64 {
        loop {
            let area = high + random.unit() * (self.low - high);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().max(1.0).min(ranks);
            if rank - point <= self.surely || area >= self.integral(rank + 0.5) - self.mass(rank) {
                return rank;
            }
        }
    }

    #[inline]
    fn mass(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Integral of `t^-exponent` from 1 to `x`: `(x^(1-exponent) - 1) / (1-exponent)`, and `ln x`
    /// at 1.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        // Near 1 the quotient of two tiny numbers is replaced by the first terms of its series.
        if power.abs() > 1e-8 { power.exp_m1() / power * log } else { (1.0 + power / 2.0) * log }
    }

    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // Above -1 except for rounding, if the exponent is above 1 and the area is the whole.
        let power = ((1.0 - self.exponent) * area).max(-1.0);
        if power.abs() > 1e-8 {
            (power.ln_1p() / power * area).exp()
        } else {
            ((1.0 - power / 2.0) * area).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use truetps_testkit::{assert_fits, chi_square};

    use super::*;
    use crate::RandomStream;

    /// Masses by summing them up.
    fn masses(ranks: u32, exponent: f64) -> Vec<f64> {
        let weights: Vec<_> = (1..=ranks).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    fn counts(ranks: u32, exponent: f64) -> Vec<u64> {
        let (zipf, ranks) = (Zipf::new(exponent), f64::from(ranks));
        let mut stream = RandomStream::new(11, ranks as u64);
        let mut seen = vec![0; ranks as usize];
        for _ in 0..100_000 {
            seen[zipf.draw(&mut stream, ranks, zipf.high(ranks)) as usize - 1] += 1;
        }
        seen
    }

    #[test]
    fn ranks_have_exactly_their_masses() {
        for exponent in [0.0, 0.2, 0.5, 0.8, 0.99, 1.0, 1.000_000_01, 1.2, 2.0, 3.0] {
            for ranks in [1, 2, 10, 1_000] {
                let what = format!("exponent {exponent}, {ranks}");
                assert_fits(&what, &counts(ranks, exponent), &masses(ranks, exponent));
            }
        }
    }

    #[test]
    fn the_test_sees_a_wrong_exponent() {
        let (chi, limit) = chi_square(&counts(1_000, 0.99), &masses(1_000, 0.95));
        assert!(chi > limit, "{chi} {limit}");
    }

    #[test]
    fn large_ranges_and_steep_exponents_stay_in_range() {
        for (ranks, exponent) in
            [(2_f64.powi(62), 0.99), (1e9, 10.0), (1e9, 0.01), (2_f64.powi(63), 1.0)]
        {
            let zipf = Zipf::new(exponent);
            let mut stream = RandomStream::new(1, 1);
            for _ in 0..10_000 {
                let rank = zipf.draw(&mut stream, ranks, zipf.high(ranks));
                assert!((1.0..=ranks).contains(&rank), "{ranks} {exponent}");
            }
        }
    }
}
