//! Rules that the figures of any printed answer obey, whatever was measured.

/// What cannot be, in the words of the text: a fall by more than all, a value outside of its own
/// interval, more trials than there were.
pub fn contradictions(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let found = (0..words.len()).filter_map(|at| {
        let here = &words[at..];
        let is_odd =
            is_impossible_percent(here) || is_outside_of_interval(here) || is_more_than_all(here);
        is_odd.then(|| words[at.saturating_sub(6)..words.len().min(at + 8)].join(" "))
    });
    found.collect()
}

/// `-144 %` and `±144 %`: nothing falls by more than all of it.
fn is_impossible_percent(words: &[&str]) -> bool {
    let [number, percent, ..] = words else { return false };
    let number = number.trim_start_matches(['(', '[', '"']);
    let size = number.strip_prefix(['-', '\u{2212}', '\u{b1}']);
    let is_percent = percent.starts_with('%');
    is_percent && size.and_then(|size| size.parse::<f64>().ok()).is_some_and(|size| size > 100.0)
}

/// `×4.68 [1.274, 17.2]` and `-2.8 % [-12, +6.8]`.
fn is_outside_of_interval(words: &[&str]) -> bool {
    let ([value, "%", low, high, ..] | [value, low, high, ..]) = words else { return false };
    let bounds = low.strip_prefix('[').and_then(|low| low.strip_suffix(',')).and_then(number);
    let Some(low) = bounds else { return false };
    let Some((high, _)) = high.split_once(']') else { return false };
    let (Some(value), Some(high)) = (number(value), number(high)) else { return false };
    // Each is rounded by itself, to three digits or more.
    let slack = 0.006 * low.abs().max(value.abs()).max(high.abs());
    low > high + slack || value < low - slack || value > high + slack
}

/// `16 of 15 trials`.
fn is_more_than_all(words: &[&str]) -> bool {
    const COUNTED: [&str; 6] = ["trials", "valid", "crashes", "blocks", "pairs", "readings"];
    let [some, "of", all, what, ..] = words else { return false };
    let counts = some.parse::<u64>().ok().zip(all.parse::<u64>().ok());
    let is_counted = COUNTED.iter().any(|word| what.starts_with(word));
    is_counted && counts.is_some_and(|(some, all)| some > all)
}

fn number(word: &str) -> Option<f64> {
    let word = word.trim_start_matches(['(', '"', '×', '+']).trim_end_matches('%');
    word.replace('\u{2212}', "-").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_found() {
        for text in [
            "one trial varies by ±144 %",
            "it fell (-101 %)",
            "B has ×4.68 [5.1, 17.2]",
            "×4.68 [1.2, 4.1], which",
            "-2.8 % [+1, +6.8]",
            "1.0 [2.0, 1.5]",
            "16 of 15 trials",
        ] {
            assert_eq!(contradictions(text).len(), 1, "{text}");
        }
        for text in [
            "one trial varies by a factor of 2.4",
            "+144 % and -100 %, 5-150 % of it",
            "B has ×4.68 [1.274, 17.2]\n(2 464 tps)",
            "-2.8 % [-12, +6.8]",
            "×1.00 [1.001, 1.2]",
            "15 of 15 valid; 1.8 of 2 cores; 3 of 2 a day",
            "[ 1s ] thds: 4 [a, b]",
        ] {
            assert_eq!(contradictions(text), Vec::<String>::new(), "{text}");
        }
    }
}
