//! Zipfian numbers of ranges that may differ from draw to draw.

use std::cell::Cell;

use truetps_random::Zipf;

use super::Xoroshiro;

#[derive(Debug, Clone)]
pub(crate) struct SysbenchZipf {
    zipf: Zipf,
    /// The last rank (less 1) and its constant. A script usually draws from one or two ranges, and
    /// computing it again takes one power.
    high: Cell<(u32, f64)>,
}

impl SysbenchZipf {
    pub(crate) fn new(exponent: f64) -> Self {
        // NaN is no exponent either.
        let zipf = Zipf::new(if exponent > 0.0 { exponent } else { 0.0 });
        Self { zipf, high: Cell::new((0, zipf.high(1.0))) }
    }

    /// A rank less 1, of `0..=last`.
    #[inline]
    pub(crate) fn beyond_first(&self, random: &mut Xoroshiro, last: u32) -> u32 {
        (self.zipf.draw(random, f64::from(last) + 1.0, self.high(last)) - 1.0) as u32
    }

    #[inline]
    fn high(&self, last: u32) -> f64 {
        let (known, high) = self.high.get();
        if known == last {
            return high;
        }
        let high = self.zipf.high(f64::from(last) + 1.0);
        self.high.set((last, high));
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_alternate_do_not_disturb_each_other() {
        let (alternating, steady) = (SysbenchZipf::new(0.8), SysbenchZipf::new(0.8));
        let mut random = Xoroshiro::from_seed(1, 0);
        for _ in 0..1_000 {
            let mut copy = random;
            assert_eq!(
                alternating.beyond_first(&mut random, 99_999),
                steady.beyond_first(&mut copy, 99_999)
            );
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
