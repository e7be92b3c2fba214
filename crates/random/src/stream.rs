//! Seeded random values.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::eight_digits;

/// A generator of uniform numbers.
pub trait UnitSource {
    /// Uniform in `0.0..1.0`.
    fn unit(&mut self) -> f64;
}

/// A stream of random numbers: 16 bytes of state, the same on every machine.
#[derive(Debug, Clone)]
pub struct RandomStream {
    generator: Pcg64Mcg,
}

impl RandomStream {
    /// Stream number `number` of `seed`. Streams of different numbers are independent.
    pub fn new(seed: u64, number: u64) -> Self {
        // The two are mixed before they seed the generator, so that (1, 2) and (2, 1) are
        // unrelated.
        Self {
            generator: Pcg64Mcg::seed_from_u64(mix(
                seed ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15))
            )),
        }
    }

    /// A stream that begins anywhere in the generator's period.
    #[must_use]
    pub fn split(&mut self) -> Self {
        let state = (u128::from(self.next_u64()) << 64) | u128::from(self.next_u64());
        Self { generator: Pcg64Mcg::new(state) }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in `0..below`, by the high half of a product (Lemire 2019, without the rejection:
    /// the bias is under `below / 2^64`). `below` must not be 0.
    #[inline]
    pub fn below(&mut self, below: u64) -> u64 {
        debug_assert!(below > 0);
        ((u128::from(self.next_u64()) * u128::from(below)) >> 64) as u64
    }

    /// A random order (Fisher-Yates, from the end).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Uniform in the open interval (0, 1): 53 bits, never 0 and never 1.
    #[inline]
    pub fn open_unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.next_u64() >> 11) as f64 + 0.5) * STEP
    }

    /// Appends groups of 11 random digits joined by `-`: the text of a sysbench-shaped row.
    pub fn put_digit_groups(&mut self, groups: usize, out: &mut Vec<u8>) {
        for group in 0..groups {
            let number = self.below(100_000_000_000);
            let mut text = [b'-'; 12];
            text[..3].copy_from_slice(&eight_digits(number / 100_000_000)[5..]);
            text[3..11].copy_from_slice(&eight_digits(number % 100_000_000));
            out.extend_from_slice(&text[..if group + 1 == groups { 11 } else { 12 }]);
        }
    }
}

impl UnitSource for RandomStream {
    /// In steps of 2^-53.
    #[inline]
    fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fixed_by_seed_and_number() {
        let first = |seed, number| RandomStream::new(seed, number).next_u64();
        assert_eq!(first(42, 7), first(42, 7));
        assert_ne!(first(42, 7), first(42, 8));
        assert_ne!(first(1, 2), first(2, 1));
    }

    #[test]
    fn digit_groups_have_the_shape_and_all_digits() {
        let mut out = Vec::new();
        RandomStream::new(1, 1).put_digit_groups(10, &mut out);
        assert_eq!(out.len(), 10 * 11 + 9);
        for (n, byte) in out.iter().enumerate() {
            if n % 12 == 11 { assert_eq!(*byte, b'-') } else { assert!(byte.is_ascii_digit()) }
        }
        // Each of the eleven places has each digit as often: 10,000 groups, 1,000 of each, a
        // standard deviation of 30.
        let mut seen = [[0_u32; 10]; 11];
        let mut stream = RandomStream::new(1, 2);
        for _ in 0..10_000 {
            out.clear();
            stream.put_digit_groups(1, &mut out);
            out.iter().zip(&mut seen).for_each(|(byte, seen)| seen[usize::from(byte - b'0')] += 1);
        }
        assert!(seen.iter().flatten().all(|count| (850..1150).contains(count)), "{seen:?}");
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut stream = RandomStream::new(3, 3);
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[stream.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
