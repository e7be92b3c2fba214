//! Command lines and option files of MySQL's programs: `--name=value`, names cut short, `-c5`, `--skip-name`, my.cnf.
//!
//! Rules, texts and exit statuses are those of the MySQL family's own client programs, as they were seen to be.

mod files;
mod number;
mod words;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub(crate) use files::OptionFiles;
pub(crate) use words::{Given, HIDDEN, Words, parse};

/// What a word takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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
    pub(crate) kind: Kind,
    /// The original has it: where a name is cut short, such a one is meant before any other.
    pub(crate) is_original: bool,
    /// A line of the help page.
    pub(crate) about: &'static str,
}

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Lines that stand before the one with the program's name.
    pub(crate) before: Option<String>,
    /// Empty: those lines are all.
    pub(crate) text: String,
    pub(crate) exit: u8,
}

impl Refusal {
    pub(crate) fn new(exit: u8, text: impl Into<String>) -> Self {
        Self { before: None, text: text.into(), exit }
    }

    /// Lines that the original says without its name.
    pub(crate) fn without_name(exit: u8, lines: impl Into<String>) -> Self {
        Self { before: Some(lines.into()), text: String::new(), exit }
    }
}

/// A text of a bounded length, from whatever can be read: a pipe has no length that could be asked for.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("there is more in it than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no UTF-8"))
}
