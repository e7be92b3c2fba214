//! Where two texts differ, line by line.

use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff};

/// Lines of each text that are compared: with nothing in common, the time grows with their square.
const LINES_MAX: usize = 5_000;
/// Equal lines that are shown around those that differ.
const CONTEXT: usize = 2;
/// Lines that are shown of a difference; a whole other text is of no use to a reader.
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

pub(super) fn line_diff(a: &str, b: &str) -> LineDiff {
    let (a, b) = (beginning(a), beginning(b));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(a, b);
    let mut shown = LineDiff::default();
    let mut push = |line: String| {
        if shown.lines.len() < SHOWN_MAX { shown.lines.push(line) } else { shown.left_out += 1 }
    };
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        push(hunk.header().to_string());
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            push(shortened(&format!("{sign}{}", change.value().trim_end_matches(['\n', '\r']))));
        }
    }
    shown
}

fn beginning(text: &str) -> &str {
    text.match_indices('\n').nth(LINES_MAX - 1).map_or(text, |(end, _)| &text[..=end])
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_MAX) {
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
        let text =
            |word: &str| (0..20_000).map(|n| format!("{word} {n} {}\n", "x".repeat(500))).collect::<Vec<_>>().concat();
        let diff = line_diff(&text("a"), &text("b"));
        assert_eq!((diff.lines.len(), diff.left_out), (SHOWN_MAX, 2 * LINES_MAX + 1 - SHOWN_MAX));
        assert!(diff.lines.iter().all(|line| line.chars().count() <= LINE_MAX + 1));
    }
}
