//! Log output: levels, prefixes, and the collapsing of repeated messages.
//!
//! A message that equals the one before it, at any level, is only counted. The count is printed on
//! a separate line before the next different message. Lines with a time stamp and output of scripts
//! neither count nor end a series, and a count that is still open at the end of the process is
//! never printed. This is sysbench's behaviour.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use truetps_record::{printable_json, printable_text};

/// How important a message is: `--verbosity` is the number of the last level that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MessageLevel {
    Fatal,
    Alert,
    Warning,
    Notice,
    Info,
    Debug,
}

impl MessageLevel {
    /// The level with this number, 0 to 5.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        [Self::Fatal, Self::Alert, Self::Warning, Self::Notice, Self::Info, Self::Debug]
            .get(number as usize)
            .copied()
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Fatal => "FATAL: ",
            Self::Alert => "ALERT: ",
            Self::Warning => "WARNING: ",
            Self::Notice | Self::Info => "",
            Self::Debug => "DEBUG: ",
        }
    }
}

/// Lines of all threads. Each call writes complete lines with one `write`, unbuffered, so that they
/// keep their order with other writers to the same file.
pub(crate) struct MessageLog {
    verbosity: MessageLevel,
    state: Mutex<LogState>,
}

struct LogState {
    results: Box<dyn Write + Send>,
    /// For messages, if the results are one document.
    aside: Option<Box<dyn Write + Send>>,
    last: Option<String>,
    repeats: u64,
}

impl MessageLog {
    /// `results` is stdout, where messages go as well, as in sysbench. With `aside` (stderr) the
    /// results are apart from messages, as one document: `--report-format=json`. Neither has a
    /// buffer.
    pub(crate) fn new(
        verbosity: MessageLevel,
        results: Box<dyn Write + Send>,
        aside: Option<Box<dyn Write + Send>>,
    ) -> Self {
        Self { verbosity, state: Mutex::new(LogState { results, aside, last: None, repeats: 0 }) }
    }

    /// Whether messages of a level are shown: avoids formatting others.
    pub(crate) fn shows(&self, level: MessageLevel) -> bool {
        level <= self.verbosity
    }

    /// One message, of one or several lines; its prefix is for the first.
    pub(crate) fn text(&self, level: MessageLevel, message: &str) {
        if !self.shows(level) {
            return;
        }
        let mut state = self.lock();
        if state.last.as_deref() == Some(message) {
            state.repeats += 1;
            return;
        }
        // Messages come from servers and scripts: the terminal must not interpret them.
        let line =
            format!("{}{}{}\n", state.take_repeats(), level.prefix(), printable_text(message));
        state.last = Some(message.to_owned());
        state.write(line.as_bytes());
    }

    /// A line with a time stamp, `[ 2s ] …`, or a line that belongs to one: always shown, even if
    /// repeated. A series of repeats continues after it.
    pub(crate) fn stamped(&self, level: MessageLevel, line: &str) {
        if self.shows(level) {
            let line = format!("{}{}\n", level.prefix(), printable_text(line));
            self.lock().write(line.as_bytes());
        }
    }

    /// A report of many lines. To sysbench each line is a message: if the previous report ended in
    /// an empty line, and this one begins with one, that is a repeat.
    pub(crate) fn report(&self, text: &str) {
        if self.shows(MessageLevel::Notice) {
            let mut state = self.lock();
            let repeated = text.strip_prefix('\n').filter(|_| state.last.as_deref() == Some(""));
            state.repeats += u64::from(repeated.is_some());
            let line =
                format!("{}{}\n", state.take_repeats(), printable_text(repeated.unwrap_or(text)));
            state.last = text.rsplit('\n').next().map(str::to_owned);
            state.write(line.as_bytes());
        }
    }

    /// Output of a script, unchanged and at every verbosity.
    pub(crate) fn script(&self, bytes: &[u8]) {
        self.lock().write(bytes);
    }

    /// Writes a document to the results, wherever messages go, with a line end.
    ///
    /// # Errors
    ///
    /// It could not be written; a closed reader is no error.
    pub(crate) fn document(&self, text: &str) -> io::Result<()> {
        match self.lock().results.write_all(format!("{}\n", printable_json(text)).as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// A thread that panicked during a write left no important state half done.
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
    fn write(&mut self, bytes: &[u8]) {
        let writer = self.aside.as_mut().unwrap_or(&mut self.results);
        // A failed write is ignored: there is no better place to report it.
        let _ = writer.write_all(bytes);
    }

    /// The line that closes a series, or nothing.
    fn take_repeats(&mut self) -> String {
        match std::mem::take(&mut self.repeats) {
            0 => String::new(),
            times => format!("(last message repeated {times} times)\n"),
        }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
