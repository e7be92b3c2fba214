//! The numbers of a text, in the form in which two languages can be compared.

/// Signs that belong to the number behind them.
const SIGNS: [char; 5] = ['−', '+', '×', '±', '≤'];

/// Each with its sign, and `%` where that follows: `×1.9`, `1,000`, `−44%`.
pub(super) fn numbers(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        if !chars[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = end_of_number(&chars, at);
        let sign =
            at.checked_sub(1).map(|before| chars[before]).filter(|sign| SIGNS.contains(sign));
        let percent = chars[end..].iter().find(|c| !c.is_whitespace()).filter(|c| **c == '%');
        found.push(
            sign.into_iter()
                .chain(chars[at..end].iter().copied())
                .chain(percent.copied())
                .collect(),
        );
        at = end;
    }
    found
}

/// A point or a comma is part of a number only between digits.
fn end_of_number(chars: &[char], start: usize) -> usize {
    let mut at = start;
    loop {
        at += match chars[at..] {
            [digit, ..] if digit.is_ascii_digit() => 1,
            ['.' | ',', digit, ..] if digit.is_ascii_digit() => 2,
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_signs_and_percent() {
        for (text, expect) in [
            ("×1.9 [1.7, 2.1], in 8.0.", "×1.9 1.7 2.1 8.0"),
            ("−44 % [−50 %, +6.4 %]", "−44% −50% +6.4%"),
            ("−44%（±3%）", "−44% ±3%"),
            ("1,350 和 15,020", "1,350 15,020"),
            ("p99 and 38 060", "99 38 060"),
            ("none", ""),
        ] {
            assert_eq!(numbers(text).join(" "), expect, "{text}");
        }
    }
}
