//! Whole numbers with a suffix.

use super::spec::WordRefusal;

const NO_NUMBER: u8 = 9;
const NEGATIVE: u8 = 13;
/// Each is 1,024 times the one before.
const SUFFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// `10`, `10K`, `1M`: powers of 1,024. An empty text is 0, and so is a suffix alone.
pub(super) fn read(name: &str, text: &str) -> Result<u64, WordRefusal> {
    parse(name, text).map_err(|(exit, before)| WordRefusal {
        before: Some(before),
        text: format!("Error while setting value '{text}' to '{name}'"),
        exit,
    })
}

/// # Errors
///
/// The exit status, and the first line of the message.
fn parse(name: &str, text: &str) -> Result<u64, (u8, String)> {
    let trimmed = if text.trim().is_empty() { text } else { text.trim() };
    if trimmed.starts_with('-') {
        return Err((NEGATIVE, format!("Incorrect unsigned value: '{text}' for {name}")));
    }
    let digits_end = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (digits, suffix) = trimmed.split_at(digits_end);
    let unit = SUFFIXES
        .iter()
        .position(|known| suffix.eq_ignore_ascii_case(known))
        .map(|power| 1 << (10 * power));
    let digits = if digits.is_empty() { "0" } else { digits };
    let number =
        digits.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    number.ok_or_else(|| {
        let first = suffix.chars().next().map_or(String::new(), String::from);
        (
            NO_NUMBER,
            format!(
                "Unknown suffix '{first}' used for variable '{name}' (value '{text}'). Legal \
                 suffix characters are: K, M, G, T, P, E"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_and_suffixes() {
        let read = |text| super::read("commit", text);
        assert_eq!(read("10"), Ok(10));
        assert_eq!(read("2k"), Ok(2048));
        assert_eq!(read("1G"), Ok(1 << 30));
        assert_eq!((read(""), read("K")), (Ok(0), Ok(0)));
        let wrong = read("x").unwrap_err();
        assert_eq!(
            (wrong.exit, wrong.text.as_str()),
            (9, "Error while setting value 'x' to 'commit'")
        );
        assert!(
            wrong
                .before
                .unwrap()
                .starts_with("Unknown suffix 'x' used for variable 'commit' (value 'x').")
        );
        assert_eq!(read("-1").unwrap_err().exit, 13);
        assert!(read(" ").unwrap_err().before.unwrap().starts_with("Unknown suffix ' ' used"));
        for text in [" ", "1x", "99999999999999999999", "16E"] {
            assert_eq!(read(text).unwrap_err().exit, 9, "{text}");
        }
    }
}
