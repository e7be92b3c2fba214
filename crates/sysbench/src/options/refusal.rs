//! Messages before a run, or instead of it, with their output stream.

use std::fmt;

use crate::exit_code::FAILED;

/// The output stream of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// A message before the run continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// With the end of its line.
    pub(crate) text: Vec<u8>,
    pub(crate) stream: OutputStream,
}

impl Notice {
    /// A line of the log. sysbench prints these before it knows the verbosity, so they are always
    /// printed.
    pub(super) fn warning(text: &str) -> Self {
        Self { text: format!("WARNING: {text}\n").into_bytes(), stream: OutputStream::Stdout }
    }

    /// A line about usage, which is not part of the log.
    pub(super) fn usage(text: impl AsRef<[u8]>) -> Self {
        Self { text: line(text.as_ref()), stream: OutputStream::Stderr }
    }
}

/// Why nothing is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionRefusal {
    /// Notices to print before it, in order.
    pub(crate) notices: Vec<Notice>,
    /// The exact output, with line ends. Typed names are included as bytes.
    pub(crate) text: Vec<u8>,
    pub(crate) stream: OutputStream,
    /// Status of the process.
    pub(crate) exit: u8,
}

impl OptionRefusal {
    /// A line on the standard error: the command line is wrong.
    pub(super) fn usage(text: impl AsRef<[u8]>) -> Self {
        Self {
            notices: Vec::new(),
            text: line(text.as_ref()),
            stream: OutputStream::Stderr,
            exit: FAILED,
        }
    }

    /// A line of the log: a value or a combination is wrong.
    pub(super) fn fatal(text: impl AsRef<[u8]>) -> Self {
        Self::logged([b"FATAL: ", text.as_ref()].concat())
    }

    /// A line of the log without its prefix.
    pub(super) fn logged(text: impl AsRef<[u8]>) -> Self {
        Self {
            notices: Vec::new(),
            text: line(text.as_ref()),
            stream: OutputStream::Stdout,
            exit: FAILED,
        }
    }

    /// A number that a run cannot have: sysbench has an empty line after it.
    pub(super) fn invalid_limit(name: &str, number: i32) -> Self {
        Self::fatal(format!("Invalid value for {name}: {number}.\n"))
    }

    /// An invalid number.
    pub(super) fn invalid_value(key: &[u8], text: &[u8]) -> Self {
        Self::usage([b"Invalid value for the '", key, b"' option: '", text, b"'"].concat())
    }

    /// An invalid value of one of truetps's own options, with the valid ones.
    pub(super) fn invalid_choice(key: &[u8], text: &[u8], right: &str) -> Self {
        let start = [b"Invalid value for the '", key, b"' option: '", text, b"' ("].concat();
        Self::usage([start.as_slice(), right.as_bytes(), b")"].concat())
    }
}

impl fmt::Display for OptionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(String::from_utf8_lossy(&self.text).trim_end())
    }
}

fn line(text: &[u8]) -> Vec<u8> {
    [text, b"\n"].concat()
}
