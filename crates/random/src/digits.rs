//! The digits of numbers, as text.

/// The decimal digits of a number below 10^8, all eight at once: halves, then pairs, then digits,
/// each in a lane of one word of its own.
#[inline]
pub fn eight_digits(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // Multiplying and shifting divides: by 100 below 10,000, by 10 below 100.
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_match_the_number() {
        for number in
            (0..100_000_000).step_by(997).chain([0, 9, 99, 100, 9_999, 10_000, 99_999_999])
        {
            assert_eq!(eight_digits(number), *format!("{number:08}").as_bytes(), "{number}");
        }
    }
}
