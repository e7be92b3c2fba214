//! Decimal numbers, compared by their value: `1.50`, `15e-1` and `1.5` have one normal form.

/// A number as its sign, its significant digits, and the power of ten of the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Without zeros at both ends; empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads `-12.50e3`; also with a plus sign or zeros before the first digit, as servers read
    /// text.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let is_negative = text.first() == Some(&b'-');
        let rest = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        let (mantissa, exponent) = match rest.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&rest[..at], parse_exponent(&rest[at + 1..])?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &[][..]),
        };
        let is_number = !(whole.is_empty() && fraction.is_empty());
        if !is_number || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return None;
        }
        let mut digits: Vec<u8> =
            whole.iter().chain(fraction).copied().skip_while(|digit| *digit == b'0').collect();
        let significant =
            digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        let exponent = exponent - fraction.len() as i64 + (digits.len() - significant) as i64;
        digits.truncate(significant);
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        Some(Self { is_negative, digits, exponent })
    }

    /// Number of significant digits.
    pub(super) fn digits(&self) -> usize {
        self.digits.len()
    }

    /// Number of digits after the point that it needs.
    pub(super) fn scale(&self) -> u64 {
        u64::try_from(-self.exponent).unwrap_or(0)
    }

    /// The power of ten of its first digit.
    pub(super) fn magnitude(&self) -> i64 {
        self.exponent + self.digits.len() as i64
    }

    /// `-15e-1`
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        if self.digits.is_empty() {
            out.push(b'0');
            return;
        }
        if self.is_negative {
            out.push(b'-');
        }
        out.extend_from_slice(&self.digits);
        if self.exponent != 0 {
            out.extend_from_slice(format!("e{}", self.exponent).as_bytes());
        }
    }
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    // A longer one is beyond every type.
    const DIGITS_MAX: usize = 9;
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.trim_start_matches('+').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let mut out = Vec::new();
        Decimal::parse(text.as_bytes()).map_or_else(
            || "none".to_owned(),
            |number| {
                number.put(&mut out);
                String::from_utf8(out).unwrap()
            },
        )
    }

    #[test]
    fn equal_numbers_have_one_form() {
        for text in ["1.5", "1.50", "15e-1", "0.15E1", "+01.500", "0.0015e+3"] {
            assert_eq!(normal(text), "15e-1", "{text}");
        }
        for text in ["0", "-0", "0.00", "0e5", "000"] {
            assert_eq!(normal(text), "0", "{text}");
        }
        assert_eq!(normal("-1200"), "-12e2");
        assert_eq!(normal("100000000000000000000000000001"), "100000000000000000000000000001");
        for text in ["", ".", "-", "1e", "1e1000000000", "0x1", "1 ", "nan", "1.2.3", "1e+-2"] {
            assert_eq!(normal(text), "none", "{text}");
        }
    }

    #[test]
    fn scale_and_magnitude_are_of_the_shortest_form() {
        let number = Decimal::parse(b"12.3400").unwrap();
        assert_eq!((number.digits(), number.scale(), number.magnitude()), (4, 2, 2));
        let number = Decimal::parse(b"1e3").unwrap();
        assert_eq!((number.digits(), number.scale(), number.magnitude()), (1, 0, 4));
    }
}
