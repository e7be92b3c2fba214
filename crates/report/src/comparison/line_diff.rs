//! Where two texts differ, line by line.

use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff};

use crate::document::Block;
use crate::format;

/// Lines of each text that are compared: with nothing in common, the time grows with their square.
const LINES_MAX: usize = 5_000;
/// Equal lines that are shown around those that differ.
const CONTEXT: usize = 2;
/// Lines of a difference that are shown: an entirely different text is useless to a reader.
const SHOWN_MAX: usize = 60;
/// Characters of a line that are shown.
const LINE_MAX: usize = 160;

/// The difference of two texts, in the form of `diff -u` without its head.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct LineDiff {
    /// `@@ -3,5 +3,5 @@`, and lines that begin with `-` (A alone), `+` (B alone) or a blank.
    pub(super) lines: Vec<String>,
    /// Further lines.
    pub(super) left_out: usize,
}

impl LineDiff {
    /// `None` where no line that is compared differs.
    pub(super) fn block(&self) -> Option<Block> {
        let more = (self.left_out > 0)
            .then(|| format!("… and {}", format::plural(self.left_out as u64, "more line")));
        (!self.lines.is_empty())
            .then(|| Block::Lines(self.lines.iter().cloned().chain(more).collect()))
    }

    fn push(&mut self, sign: &str, line: &str) {
        if self.lines.len() < SHOWN_MAX {
            self.lines.push(format!("{sign}{line}"));
        } else {
            self.left_out += 1;
        }
    }

    /// Lines that replace each other. Long ones are cut around the difference.
    fn push_replaced(&mut self, mut a: Vec<String>, mut b: Vec<String>) {
        for (a, b) in a.iter_mut().zip(&mut b) {
            (*a, *b) = cut_around_difference(std::mem::take(a), std::mem::take(b), LINE_MAX);
        }
        for line in &a {
            self.push("-", &shortened(line));
        }
        for line in &b {
            self.push("+", &shortened(line));
        }
    }
}

pub(super) fn line_diff(a: &str, b: &str) -> LineDiff {
    let (a, b) = (beginning(a), beginning(b));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(a, b);
    let mut shown = LineDiff::default();
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        shown.push("", &hunk.header().to_string());
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches(['\n', '\r']);
            match change.tag() {
                ChangeTag::Delete => of_a.push(line.to_owned()),
                ChangeTag::Insert => of_b.push(line.to_owned()),
                ChangeTag::Equal => {
                    shown.push_replaced(std::mem::take(&mut of_a), std::mem::take(&mut of_b));
                    shown.push(" ", &shortened(line));
                }
            }
        }
        shown.push_replaced(of_a, of_b);
    }
    shown
}

/// Cuts two texts, which may be long, around the first character that differs.
pub(super) fn cut_around_difference(a: String, b: String, chars_max: usize) -> (String, String) {
    const CONTEXT: usize = 10;
    if a.chars().count().max(b.chars().count()) <= chars_max {
        return (a, b);
    }
    let same = a.chars().zip(b.chars()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(CONTEXT);
    (part_of(&a, from, chars_max), part_of(&b, from, chars_max))
}

/// Some characters of a text, with a sign at each end that was cut off.
fn part_of(text: &str, from: usize, chars_max: usize) -> String {
    let start = if from > 0 { "…" } else { "" };
    let middle: String = text.chars().skip(from).take(chars_max).collect();
    let end = if from + chars_max < text.chars().count() { "…" } else { "" };
    format!("{start}{middle}{end}")
}

fn beginning(text: &str) -> &str {
    text.match_indices('\n').nth(LINES_MAX - 1).map_or(text, |(end, _)| &text[..=end])
}

fn shortened(line: &str) -> String {
    // A text that was cut before has a mark at both ends.
    match line.char_indices().nth(LINE_MAX + 2) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_have_their_neighbours() {
        let a = (1..=20).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let b = a.replace("line 7\n", "line seven\n") + "line 21";
        let diff = line_diff(&a, &b);
        let expect = [
            "@@ -5,5 +5,5 @@",
            " line 5",
            " line 6",
            "-line 7",
            "+line seven",
            " line 8",
            " line 9",
            "@@ -19,2 +19,3 @@",
            " line 19",
            " line 20",
            "+line 21",
        ];
        assert_eq!((diff.lines, diff.left_out), (expect.map(str::to_owned).to_vec(), 0));
        assert_eq!(line_diff(&a, &a), LineDiff::default());
    }

    #[test]
    fn a_difference_has_an_end() {
        let text = |word: &str| {
            (0..20_000)
                .map(|n| format!("{word} {n} {}\n", "x".repeat(500)))
                .collect::<Vec<_>>()
                .concat()
        };
        let diff = line_diff(&text("a"), &text("b"));
        assert_eq!((diff.lines.len(), diff.left_out), (SHOWN_MAX, 2 * LINES_MAX + 1 - SHOWN_MAX));
        assert!(diff.lines.iter().all(|line| line.chars().count() <= LINE_MAX + 3));
    }

    #[test]
    fn long_texts_are_cut_around_the_place_where_they_differ() {
        let check = |a: &str, b: &str, expect: (&str, &str)| {
            let (got_a, got_b) = cut_around_difference(a.to_owned(), b.to_owned(), 60);
            assert_eq!((got_a.as_str(), got_b.as_str()), expect);
        };
        check("deleted", "auto", ("deleted", "auto"));
        let same = "x".repeat(70);
        check(&format!("{same}one"), &format!("{same}two"), ("…xxxxxxxxxxone", "…xxxxxxxxxxtwo"));
        let long = format!("{}…", "y".repeat(60));
        check(&"y".repeat(90), "not set", (&long, "not set"));
        let line = |word: &str| format!("{}{word}{}\n", "x".repeat(500), "y".repeat(500));
        let lines = line_diff(&line("one"), &line("two")).lines;
        assert!(
            lines[1].contains("xxone") && lines[2].contains("xxtwo") && lines[2].len() < 200,
            "{lines:?}"
        );
    }
}
