//! Zipfian numbers, exactly and without a table: rejection-inversion (Hörmann and Derflinger 1996, "Rejection-inversion to
//! generate variates from monotone discrete distributions").
//!
//! r^-exp is bounded from above by a function whose integral has an inverse. A uniform number is put through the
//! inverse and rounded to a rank; the few points between the function and the ranks' steps are drawn again. More than 3
//! of 4 draws are accepted at once, for any range and exponent.

use std::cell::Cell;

use super::Xoroshiro;

/// Draws rank r in proportion to r^-exp.
#[derive(Debug, Clone)]
pub(crate) struct SysbenchZipf {
    exponent: f64,
    /// The integral up to half a rank beyond the first, less the first rank's whole mass.
    low: f64,
    /// A point this close below its rank is always accepted.
    surely: f64,
    /// The last rank (less 1), and the integral up to half a rank beyond it: the only constant that depends on the
    /// range. A script usually draws from one or two ranges, and computing it again takes one power.
    high: Cell<(u32, f64)>,
}

impl SysbenchZipf {
    pub(crate) fn new(exponent: f64) -> Self {
        // NaN is no exponent either.
        let exponent = if exponent > 0.0 { exponent } else { 0.0 };
        let mut zipf = Self { exponent, low: 0.0, surely: 0.0, high: Cell::new((0, 0.0)) };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.surely = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.mass(2.0));
        zipf.high.set((0, zipf.integral(1.5)));
        zipf
    }

    /// A rank less 1, of `0..=last`.
    #[inline]
    pub(crate) fn beyond_first(&self, random: &mut Xoroshiro, last: u32) -> u32 {
        let high = self.high(last);
        loop {
            let area = high + random.unit() * (self.low - high);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().max(1.0).min(f64::from(last) + 1.0);
            if rank - point <= self.surely || area >= self.integral(rank + 0.5) - self.mass(rank) {
                return (rank - 1.0) as u32;
            }
        }
    }

    #[inline]
    fn high(&self, last: u32) -> f64 {
        let (known, high) = self.high.get();
        if known == last {
            return high;
        }
        let high = self.integral(f64::from(last) + 1.5);
        self.high.set((last, high));
        high
    }

    fn mass(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Integral of t^-exp from 1 to `x`: (x^(1-exp) - 1) / (1-exp), and ln x at exp = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        // Near exp = 1 the quotient of two tiny numbers is replaced by the first terms of its series.
        if power.abs() > 1e-8 { power.exp_m1() / power * log } else { (1.0 + power / 2.0) * log }
    }

    fn inverse(&self, area: f64) -> f64 {
        // Above -1 but for rounding, where exp > 1 and the area is the whole.
        let power = ((1.0 - self.exponent) * area).max(-1.0);
        if power.abs() > 1e-8 { (power.ln_1p() / power * area).exp() } else { ((1.0 - power / 2.0) * area).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rand::statistics::assert_fits;

    /// Masses by summing them up.
    fn masses(count: u32, exponent: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=count).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    #[test]
    fn ranks_have_exactly_their_masses() {
        for (n, exponent) in [0.0, 0.2, 0.8, 0.99, 1.0, 1.000_000_01, 1.2, 3.0].into_iter().enumerate() {
            let zipf = SysbenchZipf::new(exponent);
            for count in [1, 2, 10, 1_000] {
                let mut random = Xoroshiro::from_seed(11, n as u64 * 10_000 + u64::from(count));
                let mut seen = vec![0; count as usize];
                for _ in 0..50_000 {
                    seen[zipf.beyond_first(&mut random, count - 1) as usize] += 1;
                }
                assert_fits(&seen, &masses(count, exponent));
            }
        }
    }

    #[test]
    fn ranges_that_alternate_do_not_disturb_each_other() {
        let (alternating, steady) = (SysbenchZipf::new(0.8), SysbenchZipf::new(0.8));
        let mut random = Xoroshiro::from_seed(1, 0);
        for _ in 0..1_000 {
            let mut copy = random;
            assert_eq!(alternating.beyond_first(&mut random, 99_999), steady.beyond_first(&mut copy, 99_999));
            assert!(alternating.beyond_first(&mut random, 3) <= 3);
        }
    }

    #[test]
    fn the_whole_range_and_odd_exponents_are_fine() {
        let mut random = Xoroshiro::from_seed(1, 0);
        for exponent in [-1.0, 0.0, 0.8, 1.0, 50.0, f64::NAN] {
            let zipf = SysbenchZipf::new(exponent);
            let highest = (0..1_000).map(|_| zipf.beyond_first(&mut random, u32::MAX)).max();
            let steep = exponent > 1.0;
            assert_eq!(highest > Some(1 << 31), !steep, "{exponent}: {highest:?}");
        }
    }
}
