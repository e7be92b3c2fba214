//! Seeded random values.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers: 16 bytes of state, the same on every machine.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: Pcg64Mcg,
}

impl Stream {
    /// Stream number `number` of `seed`. Streams of different numbers are independent.
    pub fn new(seed: u64, number: u64) -> Self {
        // The two are mixed before they seed the generator, so that (1, 2) and (2, 1) have nothing in common.
        Self { generator: Pcg64Mcg::seed_from_u64(mix(seed ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15)))) }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in `0..below`, by the high half of a product (Lemire 2019, without the rejection: the bias is under
    /// `below / 2^64`). `below` must not be 0.
    pub fn below(&mut self, below: u64) -> u64 {
        debug_assert!(below > 0);
        ((u128::from(self.next_u64()) * u128::from(below)) >> 64) as u64
    }

    /// Uniform in the open interval (0, 1): 53 bits, never 0 and never 1.
    pub fn open_unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.next_u64() >> 11) as f64 + 0.5) * STEP
    }

    /// Appends groups of 11 random digits joined by `-`: the text of a sysbench-shaped row.
    pub fn put_digit_groups(&mut self, groups: usize, out: &mut Vec<u8>) {
        const GROUP_DIGITS: usize = 11;
        let mut supply = 0_u64;
        let mut left = 0;
        for group in 0..groups {
            if group > 0 {
                out.push(b'-');
            }
            for _ in 0..GROUP_DIGITS {
                if left == 0 {
                    supply = self.below(1_000_000_000_000_000_000);
                    left = 18;
                }
                out.push(b'0' + (supply % 10) as u8);
                supply /= 10;
                left -= 1;
            }
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fixed_by_seed_and_number() {
        let first = |seed, number| Stream::new(seed, number).next_u64();
        assert_eq!(first(42, 7), first(42, 7));
        assert_ne!(first(42, 7), first(42, 8));
        assert_ne!(first(1, 2), first(2, 1));
    }

    #[test]
    fn digit_groups_have_the_shape_and_all_digits() {
        let mut out = Vec::new();
        Stream::new(1, 1).put_digit_groups(10, &mut out);
        assert_eq!(out.len(), 10 * 11 + 9);
        for (n, byte) in out.iter().enumerate() {
            if n % 12 == 11 { assert_eq!(*byte, b'-') } else { assert!(byte.is_ascii_digit()) }
        }
        let mut seen = [0_u32; 10];
        let mut stream = Stream::new(1, 2);
        for _ in 0..100 {
            out.clear();
            stream.put_digit_groups(10, &mut out);
            out.iter().filter(|byte| byte.is_ascii_digit()).for_each(|byte| seen[usize::from(byte - b'0')] += 1);
        }
        // 11,000 digits, 1,100 expected of each with a standard deviation of 31.
        assert!(seen.iter().all(|count| (900..1300).contains(count)), "{seen:?}");
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut stream = Stream::new(3, 3);
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[stream.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
