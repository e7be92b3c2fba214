//! Numbers that never repeat: a counter, mapped by a permutation of the 32-bit numbers.
//!
//! The idea is Jeff Preshing's ("How to generate a sequence of unique random integers", 2012): for
//! a prime p = 3 modulo 4, squares modulo p of the numbers up to p/2 are all different, and so are
//! their distances to p for the numbers above.

use std::sync::atomic::{AtomicU32, Ordering};

use truetps_record::Part;

/// The largest prime below 2^32. It is 3 modulo 4.
const PRIME: u32 = 4_294_967_291;
/// Lies between the two permutations, so that their structures do not add up.
const BETWEEN: u32 = 0x5bf0_3635;

/// A sequence of all 32-bit numbers in an order that looks random, for all threads together.
#[derive(Debug)]
pub(crate) struct Unique {
    next: AtomicU32,
    offset: u32,
    stride: u32,
}

impl Unique {
    /// Seeds choose where the counter starts and which of 2^32 sequences it is.
    pub(crate) const fn new(start: u32, sequence: u32) -> Self {
        Self { next: AtomicU32::new(permuted(start)), offset: permuted(sequence), stride: 1 }
    }

    /// Each part of a load has its own numbers of the same sequence.
    pub(crate) const fn of_part(start: u32, sequence: u32, part: Part) -> Self {
        let first = permuted(start).wrapping_add(part.index);
        Self { next: AtomicU32::new(first), offset: permuted(sequence), stride: part.of }
    }

    /// The next number; it repeats only after 2^32 numbers. One atomic addition.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        // No other memory access depends on the order of these additions.
        let index = self.next.fetch_add(self.stride, Ordering::Relaxed);
        permuted(permuted(index).wrapping_add(self.offset) ^ BETWEEN)
    }
}

/// Each number once; the 5 numbers from the prime on stay where they are.
#[inline]
const fn permuted(number: u32) -> u32 {
    if number >= PRIME {
        return number;
    }
    let square = number as u64 * number as u64;
    let residue = (square % PRIME as u64) as u32;
    if number <= PRIME / 2 { residue } else { PRIME - residue }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_number_repeats_in_any_thread() {
        let unique = Unique::new(1, 2);
        let parts: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..50_000).map(|_| unique.next()).collect()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let all: HashSet<u32> = parts.iter().flatten().copied().collect();
        assert_eq!(all.len(), 200_000);
    }

    #[test]
    fn no_number_repeats_in_any_part() {
        let whole = Unique::new(1, 2);
        let mut of_whole: Vec<u32> = (0..4_000).map(|_| whole.next()).collect();
        let part = |index| {
            let unique = Unique::of_part(1, 2, Part { index, of: 4 });
            (0..1_000).map(move |_| unique.next())
        };
        let mut of_parts: Vec<u32> = (0..4).flat_map(part).collect();
        of_whole.sort_unstable();
        of_parts.sort_unstable();
        assert_eq!(of_parts, of_whole);
    }

    #[test]
    fn the_permutation_keeps_numbers_apart_at_its_seams() {
        let seams = [0, PRIME / 2 - 10_000, PRIME - 20_000];
        let ends = [20_000, PRIME / 2 + 10_000, u32::MAX];
        let numbers: Vec<u32> =
            seams.into_iter().zip(ends).flat_map(|(from, to)| from..=to).collect();
        let images: HashSet<u32> = numbers.iter().map(|&number| permuted(number)).collect();
        assert_eq!(images.len(), numbers.len());
    }

    #[test]
    fn numbers_are_spread_over_the_whole_range() {
        let unique = Unique::new(0, 0);
        let mut seen = [0; 16];
        for _ in 0..16_000 {
            seen[(unique.next() >> 28) as usize] += 1;
        }
        // No chi-square: a permutation is not random. Yet no sixteenth may be preferred.
        assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
    }

    #[test]
    fn seeds_choose_the_sequence() {
        let firsts = |start, sequence| {
            let unique = Unique::new(start, sequence);
            [unique.next(), unique.next(), unique.next()]
        };
        assert_eq!(firsts(5, 6), firsts(5, 6));
        assert_ne!(firsts(5, 6), firsts(6, 6));
        assert_ne!(firsts(5, 6), firsts(5, 7));
    }
}
