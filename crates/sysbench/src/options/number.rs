//! Numbers as sysbench reads them: parsing stops where C's functions stop.

/// A whole number of 32 bits: leading blanks and a `+` are accepted, hexadecimal and trailing text
/// are not, and an empty text is 0. None for anything else.
pub(crate) fn int(text: &[u8]) -> Option<i32> {
    if text.is_empty() {
        return Some(0);
    }
    let text = after_blanks(text);
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Bytes: digits, optionally followed by K, M, G or T in either case; text after the suffix is
/// ignored. A text that is not a size is 0, as in sysbench, and one that is too large is the
/// maximum.
pub(crate) fn size(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return 0;
    }
    let number = text[..digits]
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    let shift = match text.get(digits).map(u8::to_ascii_uppercase) {
        None => 0,
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        Some(_) => return 0,
    };
    number.saturating_mul(1 << shift)
}

/// The number at the start of the text, as C's `strtod` reads it: hexadecimal, `inf` and `nan` are
/// numbers, and a text without a number is 0.
pub(crate) fn double(text: &[u8]) -> f64 {
    let text = after_blanks(text);
    let (negative, text) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    // A sign without a number gives 0, without its minus.
    match magnitude(text) {
        Some(magnitude) if negative => -magnitude,
        Some(magnitude) => magnitude,
        None => 0.0,
    }
}

/// A number of truetps's own options: the whole text, finite.
pub(crate) fn strict_double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

fn after_blanks(text: &[u8]) -> &[u8] {
    let blanks =
        text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b'\x0b').count();
    &text[blanks..]
}

fn starts_with_word(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

fn magnitude(text: &[u8]) -> Option<f64> {
    if starts_with_word(text, "inf") {
        return Some(f64::INFINITY);
    }
    if starts_with_word(text, "nan") {
        return Some(f64::NAN);
    }
    if starts_with_word(text, "0x") {
        return Some(hexadecimal(&text[2..]));
    }
    let whole = digits(text);
    let mut end = whole;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(&text[end + 1..]);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if end == 0 {
        return None;
    }
    end += exponent_length(&text[end..], b'E');
    std::str::from_utf8(&text[..end]).ok().and_then(|number| number.parse().ok())
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Length of an exponent such as `e-3`; 0 if no digits follow the letter.
fn exponent_length(text: &[u8], letter: u8) -> usize {
    if !text.first().is_some_and(|byte| byte.eq_ignore_ascii_case(&letter)) {
        return 0;
    }
    let sign = usize::from(matches!(text.get(1), Some(b'+' | b'-')));
    match digits(&text[1 + sign..]) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

fn hexadecimal(text: &[u8]) -> f64 {
    let mut sum = 0.0_f64;
    let mut scale = 1.0_f64;
    let mut point = false;
    let mut end = 0;
    for byte in text {
        match (char::from(*byte).to_digit(16), byte) {
            (Some(digit), _) => {
                sum = sum * 16.0 + f64::from(digit);
                scale *= if point { 16.0 } else { 1.0 };
            }
            (None, b'.') if !point => point = true,
            _ => break,
        }
        end += 1;
    }
    let length = exponent_length(&text[end..], b'P');
    let exponent =
        text.get(end + 1..end + length).and_then(|digits| std::str::from_utf8(digits).ok());
    let exponent: i32 = exponent.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    sum / scale * 2.0_f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_sysbench_was_seen_to() {
        let fine: [(&str, i32); 9] = [
            ("", 0),
            ("5", 5),
            (" 5", 5),
            ("\t5", 5),
            ("+3", 3),
            ("-5", -5),
            ("010", 10),
            ("2147483647", i32::MAX),
            ("-2147483648", i32::MIN),
        ];
        for (text, number) in fine {
            assert_eq!(int(text.as_bytes()), Some(number), "{text:?}");
        }
        let refused = [
            "x",
            "0x10",
            "5 ",
            "5x",
            "1.5",
            "1e1",
            "+",
            "-",
            "--5",
            "- 5",
            " ",
            "2147483648",
            "-2147483649",
            "é",
        ];
        for text in refused {
            assert_eq!(int(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_read_as_sysbench_was_seen_to() {
        let known: [(&str, u64); 20] = [
            ("", 0),
            ("x", 0),
            ("K", 0),
            ("-3", 0),
            ("+5", 0),
            (" 5", 0),
            ("0x10", 0),
            ("1.5G", 0),
            ("10 K", 0),
            ("5X", 0),
            ("5", 5),
            ("3M", 3 << 20),
            ("5m", 5 << 20),
            ("2g", 2 << 30),
            ("2T", 2 << 40),
            ("5t", 5 << 40),
            ("1KK", 1024),
            ("64Kb", 65536),
            ("99999999999999999999", u64::MAX),
            ("16777216T", u64::MAX),
        ];
        for (text, bytes) in known {
            assert_eq!(size(text.as_bytes()), bytes, "{text:?}");
        }
    }

    #[test]
    fn numbers_with_a_fraction_are_read_as_sysbench_was_seen_to() {
        let known: [(&str, f64); 24] = [
            ("", 0.0),
            ("x", 0.0),
            ("1e3", 1000.0),
            ("1e-3", 0.001),
            ("1,5", 1.0),
            ("1.5abc", 1.5),
            ("-1", -1.0),
            ("+2", 2.0),
            (" 2", 2.0),
            (".5", 0.5),
            ("5.", 5.0),
            (".", 0.0),
            ("1e", 1.0),
            ("1e+", 1.0),
            ("1_000", 1.0),
            ("0x", 0.0),
            ("0x10", 16.0),
            ("0x1p3", 8.0),
            ("0x1.8", 1.5),
            ("inf", f64::INFINITY),
            ("-x", 0.0),
            ("-0", -0.0),
            ("-infinity", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
        ];
        for (text, number) in known {
            assert_eq!(double(text.as_bytes()).to_bits(), number.to_bits(), "{text:?}");
        }
        assert!(double(b"nan").is_nan());
        assert!(double(b"-nan").is_nan());
        assert_eq!(double(b"1\xff").to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn numbers_of_our_own_options_are_read_to_the_end() {
        assert_eq!(strict_double(b"0.5"), Some(0.5));
        assert_eq!(strict_double(b"-2e1"), Some(-20.0));
        for text in [&b""[..], b"x", b"1x", b" 1", b"inf", b"nan", b"0x10", b"1e999", b"\xff"] {
            assert_eq!(strict_double(text), None, "{text:?}");
        }
    }
}
