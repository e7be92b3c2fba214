//! Draws keys by a plan's distribution. docs/reference/workloads.md has the formulas and their
//! uses.

use truetps_plan::KeyDistribution;
use truetps_random::{RandomStream, UnitSource, Zipf, mix};

/// Draws numbers of `1..=count`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    count: u64,
    draw: Draw,
    scramble: Option<Scramble>,
}

#[derive(Debug, Clone, Copy)]
enum Draw {
    Uniform,
    Zipf(ZipfRange),
    /// `count × u^exponent`.
    Power {
        exponent: f64,
    },
    /// A share of the accesses goes to the first `hot` numbers.
    Special {
        hot: u64,
        accesses: f64,
    },
    /// Back from the newest.
    Latest(ZipfRange),
}

impl Keys {
    /// `count` must not be 0.
    pub(crate) fn new(distribution: KeyDistribution, count: u64) -> Self {
        let (draw, scrambled) = match distribution {
            KeyDistribution::Uniform => (Draw::Uniform, false),
            KeyDistribution::Zipfian { theta, scrambled } => {
                (Draw::Zipf(ZipfRange::new(count, theta)), scrambled)
            }
            // P(u^e <= h) = h^(1/e), which is 1 - h for this exponent.
            KeyDistribution::Pareto { h, scrambled } => {
                (Draw::Power { exponent: h.ln() / (-h).ln_1p() }, scrambled)
            }
            KeyDistribution::Special { accesses, keys, scrambled } => {
                let hot = ((keys * count as f64).round() as u64).clamp(1, count);
                (Draw::Special { hot, accesses }, scrambled)
            }
            KeyDistribution::Latest { theta } => {
                (Draw::Latest(ZipfRange::new(count, theta)), false)
            }
        };
        Self { count, draw, scramble: scrambled.then(|| Scramble::new(count)) }
    }

    pub(crate) fn draw(&self, stream: &mut RandomStream) -> u64 {
        self.draw_with_newest(stream, self.count)
    }

    /// `newest` is the number that `latest` counts back from, at least `count`: then the newest
    /// `count` numbers are drawn. The other distributions ignore it.
    pub(crate) fn draw_with_newest(&self, stream: &mut RandomStream, newest: u64) -> u64 {
        let key = match self.draw {
            Draw::Uniform => stream.below(self.count) + 1,
            Draw::Zipf(zipf) => zipf.draw(stream),
            Draw::Power { exponent } => {
                ((self.count as f64 * stream.unit().powf(exponent)) as u64).min(self.count - 1) + 1
            }
            Draw::Special { hot, accesses } => {
                if hot == self.count || stream.unit() < accesses {
                    stream.below(hot) + 1
                } else {
                    hot + stream.below(self.count - hot) + 1
                }
            }
            Draw::Latest(zipf) => newest + 1 - zipf.draw(stream),
        };
        self.scramble.map_or(key, |scramble| scramble.permute(key - 1) + 1)
    }
}

/// Zipfian ranks of `1..=count`.
#[derive(Debug, Clone, Copy)]
struct ZipfRange {
    zipf: Zipf,
    count: u64,
    high: f64,
}

impl ZipfRange {
    fn new(count: u64, theta: f64) -> Self {
        let zipf = Zipf::new(theta);
        Self { zipf, count, high: zipf.high(count as f64) }
    }

    fn draw(&self, stream: &mut RandomStream) -> u64 {
        // The largest counts have no exact double.
        (self.zipf.draw(stream, self.count as f64, self.high) as u64).min(self.count)
    }
}

/// A fixed permutation of `0..count`: a Feistel network over the next power of four, repeated until
/// the result is in the range (Black and Rogaway 2002). Popular keys are spread over the range, and
/// each keeps its share.
#[derive(Debug, Clone, Copy)]
struct Scramble {
    count: u64,
    /// Bits in each of the network's halves.
    half: u32,
}

impl Scramble {
    const ROUNDS: u64 = 4;

    fn new(count: u64) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        Self { count, half: bits.div_ceil(2).max(1) }
    }

    fn permute(&self, number: u64) -> u64 {
        let mut number = number;
        loop {
            number = self.network(number);
            // The network covers fewer than four times as many numbers, so that few steps are
            // enough.
            if number < self.count {
                return number;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 1..=Self::ROUNDS {
            (left, right) = (right, (left ^ mix(right.wrapping_add(round << 40))) & mask);
        }
        (left << self.half) | right
    }
}

#[cfg(test)]
mod tests {
    use truetps_testkit::assert_fits;

    use super::*;

    fn check(distribution: &str, masses: &[f64]) {
        let keys = Keys::new(distribution.parse().unwrap(), masses.len() as u64);
        let mut stream = RandomStream::new(77, 1);
        let mut seen = vec![0; masses.len()];
        (0..100_000).for_each(|_| seen[keys.draw(&mut stream) as usize - 1] += 1);
        assert_fits(distribution, &seen, masses);
    }

    #[test]
    fn each_distribution_has_its_masses() {
        check("uniform", &[0.001; 1_000]);
        check("uniform", &[1.0]);
        for h in [0.1_f64, 0.2, 0.4] {
            let upto = |n: f64| (n / 500.0).powf((1.0 - h).ln() / h.ln());
            let masses: Vec<_> =
                (0..500).map(|n| upto(f64::from(n) + 1.0) - upto(n.into())).collect();
            assert!(
                (masses[..(500.0 * h) as usize].iter().sum::<f64>() - (1.0 - h)).abs() < 1e-9,
                "1 - h to h"
            );
            check(&format!("pareto:h={h}"), &masses);
        }
        let special: Vec<_> =
            (0..1_000).map(|n| if n < 10 { 0.075 } else { 0.25 / 990.0 }).collect();
        check("special", &special);
        let hot: Vec<_> = (0..100).map(|n| if n < 20 { 0.9 / 20.0 } else { 0.1 / 80.0 }).collect();
        check("special:accesses=0.9,keys=0.2", &hot);
        check("special", &[1.0]);
        let weights: Vec<_> = (1..=300).map(|distance| f64::from(distance).powf(-0.8)).collect();
        let sum: f64 = weights.iter().sum();
        let latest: Vec<_> = weights.iter().rev().map(|weight| weight / sum).collect();
        check("latest:theta=0.8", &latest);
    }

    #[test]
    fn latest_follows_the_newest() {
        let keys = Keys::new("latest".parse().unwrap(), 100);
        let mut stream = RandomStream::new(1, 1);
        let drawn: Vec<_> = (0..1_000).map(|_| keys.draw_with_newest(&mut stream, 5_000)).collect();
        assert!(drawn.iter().all(|key| (4_901..=5_000).contains(key)));
        assert!(drawn.iter().filter(|key| **key == 5_000).count() > 100);
    }

    #[test]
    fn scrambling_moves_each_key_to_another_place_and_keeps_its_share() {
        for count in [1, 2, 3, 10, 1_000, 4_097] {
            let scramble = Scramble::new(count);
            let mut places: Vec<_> = (0..count).map(|n| scramble.permute(n)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..count).collect::<Vec<_>>(), "a permutation of {count}");
        }
        let scramble = Scramble::new(1_000);
        let neighbours = (0..999)
            .filter(|n| scramble.permute(*n).abs_diff(scramble.permute(n + 1)) < 10)
            .count();
        assert!(neighbours < 50, "{neighbours} of 999 pairs are still near each other");

        let plain: Vec<_> = (1..=1_000).map(|rank| f64::from(rank).powf(-0.99)).collect();
        let sum: f64 = plain.iter().sum();
        let mut masses = vec![0.0; 1_000];
        plain
            .iter()
            .enumerate()
            .for_each(|(n, mass)| masses[scramble.permute(n as u64) as usize] = mass / sum);
        check("zipfian:scrambled=true", &masses);
    }
}
