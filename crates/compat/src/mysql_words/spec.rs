//! The options of a program, and why a command line is refused.

/// The value that a word takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// Nothing, or on or off.
    Switch,
    /// Nothing; the number of occurrences counts.
    Count,
    Text,
    /// A text after `=`, or nothing.
    OptionalText,
    /// A secret text after `=`, or nothing.
    Secret,
    /// A whole number of at least 0, with a suffix such as K.
    Number,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) kind: WordKind,
    /// The original has it: an abbreviated name prefers such an option.
    pub(crate) is_original: bool,
    /// A line of the help page.
    pub(crate) about: &'static str,
}

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordRefusal {
    /// Lines before the one with the program's name.
    pub(crate) before: Option<String>,
    /// Empty: there are only the lines before it.
    pub(crate) text: String,
    pub(crate) exit: u8,
}

impl WordRefusal {
    pub(crate) fn new(exit: u8, text: impl Into<String>) -> Self {
        Self { before: None, text: text.into(), exit }
    }

    /// Lines that the original prints without its name.
    pub(crate) fn without_name(exit: u8, lines: impl Into<String>) -> Self {
        Self { before: Some(lines.into()), text: String::new(), exit }
    }
}
