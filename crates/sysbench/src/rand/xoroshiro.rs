//! xoroshiro128+ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018),
//! with the rotations of its first version, 55, 14 and 36, as in sysbench.

use truetps_random::UnitSource;

/// Two words of state, small enough for a `Cell`: [`Xoroshiro::state`] and
/// [`Xoroshiro::from_state`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Xoroshiro {
    state: [u64; 2],
}

/// The generator never leaves the state of zeros, so that state is replaced by this one.
const INSTEAD_OF_ZEROS: [u64; 2] = [GOLDEN, 1];

/// 2^64 divided by the golden ratio: the step of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Xoroshiro {
    /// The state that four values of `random()` make in sysbench: high and low half of the first
    /// word, then of the second.
    #[cfg(test)]
    pub(crate) fn from_u32s(values: [u32; 4]) -> Self {
        let [high, low, high2, low2] = values.map(u64::from);
        Self::from_state([high << 32 | low, high2 << 32 | low2])
    }

    /// The generator of client number `client` under a seed. It depends on nothing else, so a seed
    /// gives the same numbers with any number of threads, in any order of their starts.
    pub(crate) fn from_seed(seed: u64, client: u64) -> Self {
        // The start is mixed twice: streams of splitmix64 that start a few steps apart would
        // overlap.
        let start = splitmix(splitmix(seed).wrapping_add(client));
        Self::from_state([splitmix(start), splitmix(start.wrapping_add(GOLDEN))])
    }

    /// Continues from this state.
    pub(crate) fn from_state(state: [u64; 2]) -> Self {
        Self { state: if state == [0, 0] { INSTEAD_OF_ZEROS } else { state } }
    }

    #[cfg(test)]
    pub(crate) fn state(&self) -> [u64; 2] {
        self.state
    }

    /// 64 random bits. The lowest ones are the poorest; take the upper ones first.
    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        let [first, second] = self.state;
        let mixed = first ^ second;
        self.state = [first.rotate_left(55) ^ mixed ^ mixed << 14, mixed.rotate_left(36)];
        first.wrapping_add(second)
    }
}

impl UnitSource for Xoroshiro {
    /// In steps of 2^-52.
    #[inline]
    fn unit(&mut self) -> f64 {
        // Exact: 52 bits fit a double, and the factor is a power of two.
        (self.next_u64() >> 12) as f64 * (1.0 / (1_u64 << 52) as f64)
    }
}

/// One output of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn splitmix(start: u64) -> u64 {
    let mut word = start.wrapping_add(GOLDEN);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_like_sysbench_it_gives_the_same_numbers() {
        // `srandom(5)` of glibc gives these four; an event draws once unseen after each number that
        // it asks for.
        let mut random =
            Xoroshiro::from_u32s([590_011_675, 99_788_765, 2_131_925_610, 171_864_072]);
        let seen: Vec<u64> = (0..7).map(|_| random.next_u64()).step_by(2).collect();
        let printed = [
            11_690_631_621_109_684_197,
            7_762_135_257_998_954_424,
            9_117_686_778_993_156_194,
            11_405_790_220_419_805_489,
        ];
        assert_eq!(seen, printed);
    }

    #[test]
    fn a_double_is_the_upper_52_bits() {
        let mut random =
            Xoroshiro::from_u32s([590_011_675, 99_788_765, 2_131_925_610, 171_864_072]);
        assert!((random.unit() - 0.633_750_410_066_742_6).abs() < 1e-16);
        // All bits set: still less than 1.
        assert!(Xoroshiro::from_state([u64::MAX, 0]).unit() < 1.0);
    }

    #[test]
    fn splitmix_is_the_published_one() {
        // First outputs for the seed 1234567.
        let outputs = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([splitmix(1_234_567), splitmix(1_234_567_u64.wrapping_add(GOLDEN))], outputs);
    }

    #[test]
    fn clients_and_seeds_have_streams_of_their_own() {
        let mut firsts = std::collections::BTreeSet::new();
        for seed in 0..100 {
            for client in 0..100 {
                let mut random = Xoroshiro::from_seed(seed, client);
                for _ in 0..4 {
                    assert!(firsts.insert(random.next_u64()));
                }
            }
        }
        assert_eq!(Xoroshiro::from_seed(7, 3), Xoroshiro::from_seed(7, 3));
    }

    #[test]
    fn a_state_goes_on_where_it_was_and_is_never_zero() {
        let mut random = Xoroshiro::from_seed(1, 0);
        random.next_u64();
        let mut copy = Xoroshiro::from_state(random.state());
        assert_eq!(copy.next_u64(), random.next_u64());
        let mut zeros = Xoroshiro::from_u32s([0; 4]);
        assert_ne!((zeros.next_u64(), zeros.next_u64()), (0, 0));
    }
}
