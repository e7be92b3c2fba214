//! What is said in place of a run, or before it: texts with the stream that they go to.

use std::fmt;

/// Where a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// Something to say before the run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// With the end of its line.
    pub(crate) text: Vec<u8>,
    pub(crate) stream: OutputStream,
}

impl Notice {
    /// A line of the log. sysbench says these before it knows the verbosity, so that they are always printed.
    pub(super) fn warning(text: &str) -> Self {
        Self { text: format!("WARNING: {text}\n").into_bytes(), stream: OutputStream::Stdout }
    }

    /// A line of the usage, which is no log.
    pub(super) fn usage(text: impl AsRef<[u8]>) -> Self {
        Self { text: line(text.as_ref()), stream: OutputStream::Stderr }
    }
}

/// Why nothing is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionRefusal {
    /// What was to be said before, in order.
    pub(crate) notices: Vec<Notice>,
    /// Exactly what is written, with the ends of its lines. Names that were typed are in it as bytes.
    pub(crate) text: Vec<u8>,
    pub(crate) stream: OutputStream,
    /// Status of the process.
    pub(crate) exit: u8,
}

impl OptionRefusal {
    /// A line on the standard error: the command line is wrong.
    pub(super) fn usage(text: impl AsRef<[u8]>) -> Self {
        Self { notices: Vec::new(), text: line(text.as_ref()), stream: OutputStream::Stderr, exit: 1 }
    }

    /// A line of the log: a value or a combination is wrong.
    pub(super) fn fatal(text: impl AsRef<[u8]>) -> Self {
        Self::logged([b"FATAL: ", text.as_ref()].concat())
    }

    /// A line of the log without the word before it.
    pub(super) fn logged(text: impl AsRef<[u8]>) -> Self {
        Self { notices: Vec::new(), text: line(text.as_ref()), stream: OutputStream::Stdout, exit: 1 }
    }

    /// An empty line follows: sysbench has one after some of its texts.
    pub(super) fn and_empty_line(mut self) -> Self {
        self.text.push(b'\n');
        self
    }

    /// A number that is none.
    pub(super) fn invalid_value(key: &[u8], text: &[u8]) -> Self {
        Self::usage([b"Invalid value for the '", key, b"' option: '", text, b"'"].concat())
    }

    /// A value of one of our own options, with what would be right.
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

impl std::error::Error for OptionRefusal {}

fn line(text: &[u8]) -> Vec<u8> {
    [text, b"\n"].concat()
}
