//! Random strings.

use super::Xoroshiro;
use super::distribution::uniform;

/// Fills `out` by a pattern: a digit for each `#`, a letter `a` to `z` for each `@`, all other bytes as they are. A NUL
/// in the pattern ends it. Returns how many bytes were written, at most the shorter of both lengths; the rest of `out`
/// stays as it is.
pub(crate) fn string(random: &mut Xoroshiro, pattern: &[u8], out: &mut [u8]) -> usize {
    let mut symbols = Symbols { random, fraction: 0, left: 0 };
    let mut written = 0;
    for (&byte, place) in pattern.iter().zip(out) {
        *place = match byte {
            0 => break,
            b'#' => b'0' + symbols.below(10),
            b'@' => b'a' + symbols.below(26),
            other => other,
        };
        written += 1;
    }
    written
}

/// Fills the start of `out` with `min..=max` characters from `0` to `z`, those between digits and letters included, and
/// returns how many they are. `out` has room for `max`; a shorter one is filled.
pub(crate) fn varstring(random: &mut Xoroshiro, min: u32, max: u32, out: &mut [u8]) -> usize {
    let length = (uniform(random, min, max) as usize).min(out.len());
    let mut symbols = Symbols { random, fraction: 0, left: 0 };
    for place in &mut out[..length] {
        *place = b'0' + symbols.below(b'z' - b'0' + 1);
    }
    length
}

/// Takes several symbols out of one draw: a long string costs an eighth of the draws.
///
/// The draw is a binary fraction below 1. Times 10, its whole part is a digit, and what is left is a fraction again.
struct Symbols<'a> {
    random: &'a mut Xoroshiro,
    fraction: u64,
    left: u32,
}

/// 8 symbols of up to 75 use 50 of the 64 bits: what is not uniform is less than 2^-14 of a symbol's probability, and 2^-37
/// for digits.
const SYMBOLS_PER_DRAW: u32 = 8;

impl Symbols<'_> {
    #[inline]
    fn below(&mut self, symbols: u8) -> u8 {
        if self.left == 0 {
            self.fraction = self.random.next_u64();
            self.left = SYMBOLS_PER_DRAW;
        }
        self.left -= 1;
        let product = u128::from(self.fraction) * u128::from(symbols);
        self.fraction = product as u64;
        (product >> 64) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rand::statistics::assert_fits;

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
        let (mut digits, mut letters) = (vec![vec![0; 10]; 10], vec![vec![0; 26]; 10]);
        let mut out = [0; 20];
        for _ in 0..20_000 {
            string(&mut random, b"##########@@@@@@@@@@", &mut out);
            for place in 0..10 {
                digits[place][usize::from(out[place] - b'0')] += 1;
                letters[place][usize::from(out[place + 10] - b'a')] += 1;
            }
        }
        for (digits, letters) in digits.iter().zip(&letters) {
            assert_fits(digits, &[0.1; 10]);
            assert_fits(letters, &[1.0 / 26.0; 26]);
        }
    }

    #[test]
    fn neighbours_are_independent() {
        let mut random = Xoroshiro::from_seed(3, 0);
        let mut pairs = vec![0; 100];
        let mut out = [0; 2];
        for _ in 0..100_000 {
            string(&mut random, b"##", &mut out);
            pairs[usize::from(out[0] - b'0') * 10 + usize::from(out[1] - b'0')] += 1;
        }
        assert_fits(&pairs, &[0.01; 100]);
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
        assert_fits(&lengths, &[1.0 / 11.0; 11]);
        assert_fits(&characters, &[1.0 / 75.0; 75]);
        assert_eq!(varstring(&mut random, 5, 5, &mut out), 5);
        assert_eq!(varstring(&mut random, 50, 50, &mut out), 20);
    }
}
