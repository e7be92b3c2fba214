//! Command lines and option files of MySQL's programs: `--name=value`, names cut short, `-c5`, `--skip-name`, my.cnf.
//!
//! Rules, texts and exit statuses are those of the MySQL family's own client programs, as they were seen to be.

mod files;
mod number;
mod words;

pub(crate) use files::OptionFiles;
pub(crate) use words::{GivenValue, HIDDEN, MysqlWords, parse};

/// What a word takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// Nothing, or whether it is on.
    Switch,
    /// Nothing; given twice is more than once.
    Count,
    Text,
    /// A text behind `=`, or nothing.
    OptionalText,
    /// The same, and nobody may see the text.
    Secret,
    /// A whole number of at least 0, with a suffix such as K.
    Number,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) kind: WordKind,
    /// The original has it: where a name is cut short, such a one is meant before any other.
    pub(crate) is_original: bool,
    /// A line of the help page.
    pub(crate) about: &'static str,
}

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordRefusal {
    /// Lines that stand before the one with the program's name.
    pub(crate) before: Option<String>,
    /// Empty: those lines are all.
    pub(crate) text: String,
    pub(crate) exit: u8,
}

impl WordRefusal {
    pub(crate) fn new(exit: u8, text: impl Into<String>) -> Self {
        Self { before: None, text: text.into(), exit }
    }

    /// Lines that the original says without its name.
    pub(crate) fn without_name(exit: u8, lines: impl Into<String>) -> Self {
        Self { before: Some(lines.into()), text: String::new(), exit }
    }
}
