//! Numbers of a range, as `sysbench.rand` draws them.
//!
//! The ends of a range are unsigned 32-bit numbers and all arithmetic wraps, as in C: a range from
//! 5 to 3 has 2^32 - 1 numbers, and one from 0 to 2^32 - 1 has none, so that only its first number
//! is drawn.

use truetps_random::UnitSource;

use super::Xoroshiro;
use super::zipf::SysbenchZipf;

/// A distribution's name: `--rand-type`, and the functions of `sysbench.rand`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DistributionName {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

/// The options `--rand-*` that shape the distributions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parameters {
    /// Uniform numbers that make one of a bell curve: `--rand-spec-iter`.
    pub(crate) iter: u32,
    /// Width of the special window in percent of the range: `--rand-spec-pct`.
    pub(crate) pct: u32,
    /// Percentage of the draws that fall into the special window: `--rand-spec-res`.
    pub(crate) res: u32,
    /// 1 - h of the draws go to a share h of the range: `--rand-pareto-h`.
    pub(crate) pareto_h: f64,
    /// Rank r is drawn in proportion to r^-exp: `--rand-zipfian-exp`. Negative exponents count as
    /// 0, uniform.
    pub(crate) zipfian_exp: f64,
}

/// The default of `--rand-spec-iter`. It also replaces 0, with which every bell curve would be its
/// lowest number.
const ITER: u32 = 12;

/// All distributions with their parameters, and the chosen one.
///
/// The zipfian one remembers its last range, in a `Cell`: each thread has its own copy.
#[derive(Debug, Clone)]
pub(crate) struct RandomDistributions {
    kind: DistributionName,
    iter: u32,
    pct: f64,
    /// How many times the range the special draw goes over; only the part within the range itself
    /// is a bell curve.
    special_stretch: f64,
    pareto_power: f64,
    zipf: SysbenchZipf,
}

impl RandomDistributions {
    pub(crate) fn new(kind: DistributionName, parameters: &Parameters) -> Self {
        Self {
            kind,
            iter: if parameters.iter == 0 { ITER } else { parameters.iter },
            pct: f64::from(parameters.pct),
            special_stretch: 100.0 / (100.0 - f64::from(parameters.res)),
            pareto_power: parameters.pareto_h.ln() / (1.0 - parameters.pareto_h).ln(),
            zipf: SysbenchZipf::new(parameters.zipfian_exp),
        }
    }

    /// A number of `a..=b` by the chosen distribution: `sysbench.rand.default`.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
        match self.kind {
            DistributionName::Uniform => self.uniform(random, a, b),
            DistributionName::Gaussian => self.gaussian(random, a, b),
            DistributionName::Special => self.special(random, a, b),
            DistributionName::Pareto => self.pareto(random, a, b),
            DistributionName::Zipfian => self.zipfian(random, a, b),
        }
    }

    /// Each number as often as any other.
    #[inline]
    #[expect(clippy::unused_self, reason = "all distributions are called alike")]
    pub(crate) fn uniform(&self, random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
        uniform(random, a, b)
    }

    /// A bell curve over the range: the mean of `iter` uniform numbers.
    #[inline]
    pub(crate) fn gaussian(&self, random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
        a.wrapping_add(whole(self.mean(random) * numbers(a, b)))
    }

    /// `res` percent of the draws in a window of `pct` percent at the middle of the range, the
    /// others on a bell curve over all of it.
    ///
    /// The number that decides between the two also determines the position in the window, and is
    /// then never below 1 - `res` / 100: with the defaults only the upper three quarters of the
    /// window are used.
    #[inline]
    pub(crate) fn special(&self, random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
        let span = f64::from(b.wrapping_sub(a));
        let draw = random.unit();
        if draw * self.special_stretch * span < span {
            return a.wrapping_add(whole(self.mean(random) * span));
        }
        let window = span * self.pct / 100.0;
        a.wrapping_add(whole((span - window) / 2.0 + draw * (window + 1.0)))
    }

    /// A share 1 - `h` of the draws within the first share `h` of the range, and so again within
    /// that.
    #[inline]
    pub(crate) fn pareto(&self, random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
        a.wrapping_add(whole(numbers(a, b) * random.unit().powf(self.pareto_power)))
    }

    /// `a` most often, the number r - 1 beyond it in proportion to r^-`exp`. Here the range from 0
    /// to 2^32 - 1 is all of it.
    #[inline]
    pub(crate) fn zipfian(&self, random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
        a.wrapping_add(self.zipf.beyond_first(random, b.wrapping_sub(a)))
    }

    /// Mean of `iter` numbers of [0, 1).
    #[inline]
    fn mean(&self, random: &mut Xoroshiro) -> f64 {
        (0..self.iter).map(|_| random.unit()).sum::<f64>() / f64::from(self.iter)
    }
}

/// Each number of `a..=b` as often as any other.
#[inline]
pub(crate) fn uniform(random: &mut Xoroshiro, a: u32, b: u32) -> u32 {
    a.wrapping_add(whole(random.unit() * numbers(a, b)))
}

/// How many numbers a range has, modulo 2^32.
#[inline]
fn numbers(a: u32, b: u32) -> f64 {
    f64::from(b.wrapping_sub(a).wrapping_add(1))
}

/// Truncated to a whole number, modulo 2^32: as C does on 64-bit machines.
#[inline]
fn whole(value: f64) -> u32 {
    value as i64 as u32
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
