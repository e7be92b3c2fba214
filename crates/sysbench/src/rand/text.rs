//! Random strings.

use truetps_random::eight_digits;

use super::Xoroshiro;
use super::distribution::uniform;

/// Fills `out` by a pattern: a digit for each `#`, a letter `a` to `z` for each `@`, all other
/// bytes as they are. A NUL in the pattern ends it. Returns how many bytes were written, at most
/// the shorter of both lengths; the rest of `out` stays as it is.
pub(crate) fn string(random: &mut Xoroshiro, pattern: &[u8], out: &mut [u8]) -> usize {
    let mut rest = out;
    let mut written = 0;
    for run in pattern.chunk_by(|one, next| one == next) {
        let (bytes, after) = rest.split_at_mut(run.len().min(rest.len()));
        match run[0] {
            0 => break,
            b'#' => digits(random, bytes),
            b'@' => symbols(random, b'a', 26, bytes),
            // Mostly one separator.
            other => match &mut *bytes {
                [byte] => *byte = other,
                bytes => bytes.fill(other),
            },
        }
        written += bytes.len();
        rest = after;
    }
    written
}

/// Fills the start of `out` with `min..=max` characters from `0` to `z`, those between digits and
/// letters included, and returns how many they are. `out` has room for `max`; a shorter one is
/// filled.
pub(crate) fn varstring(random: &mut Xoroshiro, min: u32, max: u32, out: &mut [u8]) -> usize {
    let length = (uniform(random, min, max) as usize).min(out.len());
    symbols(random, b'0', b'z' - b'0' + 1, &mut out[..length]);
    length
}

/// 8 symbols of up to 75 use 50 of the 64 bits of a draw: what is not uniform is less than 2^-14 of
/// a symbol's probability.
const SYMBOLS_PER_DRAW: usize = 8;

/// Any of `count` bytes from `first` on.
fn symbols(random: &mut Xoroshiro, first: u8, count: u8, out: &mut [u8]) {
    for bytes in out.chunks_mut(SYMBOLS_PER_DRAW) {
        let mut fraction = random.next_u64();
        for byte in bytes {
            *byte = first + take_digit(&mut fraction, u64::from(count)) as u8;
        }
    }
}

/// Digits, which most strings of scripts are made of, so they are made by eights, and two eights of
/// a draw. What is not uniform is less than 2^-10 of the probability of all 16 together.
fn digits(random: &mut Xoroshiro, out: &mut [u8]) {
    for bytes in out.chunks_mut(16) {
        let mut fraction = random.next_u64();
        for eight in bytes.chunks_mut(8) {
            let text = eight_digits(take_digit(&mut fraction, 100_000_000));
            // A copy whose length is known is one move; any other is a call.
            match <&mut [u8; 8]>::try_from(&mut *eight) {
                Ok(eight) => *eight = text,
                Err(_) => eight.copy_from_slice(&text[..eight.len()]),
            }
        }
    }
}

/// Takes a number below `count` out of a binary fraction below 1: the whole part of the product.
/// What is left behind the point is the next fraction.
#[inline]
fn take_digit(fraction: &mut u64, count: u64) -> u64 {
    let product = u128::from(*fraction) * u128::from(count);
    *fraction = product as u64;
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use truetps_testkit::assert_fits;

    use super::*;

    #[test]
    fn patterns_are_filled() {
        let mut random = Xoroshiro::from_seed(1, 0);
        let mut out = [0; 8];
        assert_eq!(string(&mut random, b"#-@-##@x", &mut out), 8);
        let text = std::str::from_utf8(&out).unwrap();
        let kinds: String = text
            .chars()
            .map(|c| {
                if c.is_ascii_digit() {
                    '#'
                } else if c.is_ascii_lowercase() && c != 'x' {
                    '@'
                } else {
                    c
                }
            })
            .collect();
        assert_eq!(&kinds[..6], "#-@-##");
        assert!(text.ends_with('x'));
    }

    #[test]
    fn a_nul_or_the_end_of_room_ends_the_string() {
        let mut random = Xoroshiro::from_seed(1, 0);
        let mut out = *b"------";
        assert_eq!(string(&mut random, b"ab\0cd", &mut out), 2);
        assert_eq!(&out, b"ab----");
        assert_eq!(string(&mut random, b"abcdefgh", &mut out), 6);
        assert_eq!(&out, b"abcdef");
        assert_eq!(string(&mut random, b"", &mut out), 0);
    }

    #[test]
    fn symbols_are_uniform_at_every_place() {
        let mut random = Xoroshiro::from_seed(2, 0);
        let (mut digits, mut letters) = (vec![vec![0; 10]; 20], vec![vec![0; 26]; 20]);
        let mut out = [0; 40];
        for _ in 0..20_000 {
            string(&mut random, b"####################@@@@@@@@@@@@@@@@@@@@", &mut out);
            for place in 0..20 {
                digits[place][usize::from(out[place] - b'0')] += 1;
                letters[place][usize::from(out[place + 20] - b'a')] += 1;
            }
        }
        for (digits, letters) in digits.iter().zip(&letters) {
            assert_fits("digits", digits, &[0.1; 10]);
            assert_fits("letters", letters, &[1.0 / 26.0; 26]);
        }
    }

    #[test]
    fn neighbours_are_independent() {
        let mut random = Xoroshiro::from_seed(3, 0);
        // Within an eight, from one to the next, and from one draw to the next.
        for place in [0, 7, 15] {
            let mut pairs = vec![0; 100];
            let mut out = [0; 24];
            for _ in 0..50_000 {
                string(&mut random, &[b'#'; 24], &mut out);
                pairs[usize::from(out[place] - b'0') * 10 + usize::from(out[place + 1] - b'0')] +=
                    1;
            }
            assert_fits("pairs", &pairs, &[0.01; 100]);
        }
    }

    #[test]
    fn lengths_and_characters_vary() {
        let mut random = Xoroshiro::from_seed(4, 0);
        let mut out = [0; 20];
        let (mut lengths, mut characters) = (vec![0; 11], vec![0; 75]);
        for _ in 0..20_000 {
            let length = varstring(&mut random, 10, 20, &mut out);
            lengths[length - 10] += 1;
            for character in &out[..length] {
                characters[usize::from(character - b'0')] += 1;
            }
        }
        assert_fits("lengths", &lengths, &[1.0 / 11.0; 11]);
        assert_fits("characters", &characters, &[1.0 / 75.0; 75]);
        assert_eq!(varstring(&mut random, 5, 5, &mut out), 5);
        assert_eq!(varstring(&mut random, 50, 50, &mut out), 20);
    }
}
