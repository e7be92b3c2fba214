//! Lines of Rust code and of its tests that are counted, because there are too many to change at
//! once.

use unicode_width::UnicodeWidthStr;

use super::ratchet;

/// Comments of documentation that begin with these words say what something belongs to before they
/// say what it is.
const RIDDLES: [&str; 2] = ["Of", "The same"];
/// Numbers that fall are lowered here, and they never rise.
const RIDDLES_MAX: usize = 0;
const COLUMNS_MAX: usize = 100;
const WIDE_MAX: usize = 266;

/// The lines of all files.
#[derive(Default)]
pub(super) struct CountedLines {
    riddles: usize,
    wide: usize,
}

impl CountedLines {
    pub(super) fn add(&mut self, text: &str) {
        for line in text.lines() {
            self.riddles += usize::from(is_riddle(line));
            self.wide += usize::from(line.width() > COLUMNS_MAX);
        }
    }

    pub(super) fn problems(self) -> impl Iterator<Item = String> {
        let Self { riddles, wide } = self;
        let riddles = ratchet(
            riddles,
            RIDDLES_MAX,
            "comments begin with \"Of\" or \"The same\"",
            "`RIDDLES_MAX` of xtask/src/tidy/lines.rs",
        );
        let wide = ratchet(
            wide,
            WIDE_MAX,
            &format!("lines of code have more than {COLUMNS_MAX} columns"),
            "`WIDE_MAX` of xtask/src/tidy/lines.rs",
        );
        riddles.into_iter().chain(wide)
    }
}

/// The number of the first line that opens a doc test, which no step of the CI would run: a block
/// that does not say that it is text.
pub(super) fn doc_test(text: &str) -> Option<usize> {
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_open = false;
            continue;
        };
        let comment = comment.trim_start();
        let fence = comment.strip_prefix("```").or_else(|| comment.strip_prefix("~~~"));
        if let Some(kind) = fence {
            if !is_open && kind != "text" {
                return Some(number);
            }
            is_open = !is_open;
        }
    }
    None
}

fn is_riddle(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "));
    let behind = RIDDLES.iter().find_map(|words| comment?.strip_prefix(words));
    behind.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        let mut lines = CountedLines::default();
        let wide = "é".repeat(101);
        lines.add(&format!(
            "    /// Of one.\n//! The same, as a file.\n/// Office.\n// Of all.\n{wide}\n{}\n",
            &wide[2..]
        ));
        assert_eq!((lines.riddles, lines.wide), (2, 1));
    }

    /// `cargo test --doc` would compile them, which no step runs.
    #[test]
    fn a_doc_comment_shows_text_alone() {
        let fine = "//! ```text\n//! a\n//! ```\n\n/// ```text\n/// b\n/// ```\nfn f() {}\n";
        assert_eq!(doc_test(fine), None);
        for (wrong, line) in [
            ("//! ```\n//! a();\n//! ```\n", 1),
            ("//! ```text\n//! ```\n    /// ```rust\n    /// ```\n", 3),
            ("/// ```no_run\n", 1),
            ("/// ~~~\n", 1),
        ] {
            assert_eq!(doc_test(wrong), Some(line), "{wrong}");
        }
    }

    #[test]
    fn a_number_that_falls_is_lowered() {
        assert_eq!(ratchet(3, 3, "a", "b"), None);
        assert_eq!(ratchet(2, 3, "are left", "b").unwrap(), "only 2 are left: lower b from 3");
        assert_eq!(ratchet(4, 3, "are left", "b").unwrap(), "4 are left, more than 3");
    }
}
