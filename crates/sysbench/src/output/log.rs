//! Where lines go: levels, prefixes, and the collapse of repeated messages.
//!
//! A message that equals the one before it, whatever their levels, is only counted. The count is printed as a line of its
//! own before the next message that differs. Lines with a time stamp and what scripts print neither count nor end a
//! series, and a count that is still open at the end of the process is never printed. So it is in sysbench.

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
        [Self::Fatal, Self::Alert, Self::Warning, Self::Notice, Self::Info, Self::Debug].get(number as usize).copied()
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

/// Which of its two writers a log sends messages to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessagesTo {
    /// With the results, as sysbench has it.
    Results,
    /// Apart from them, so that the results are one document: `--report-format=json`.
    Aside,
}

/// All threads' lines. Each call writes whole lines by one `write`, unbuffered, so that they keep their order with what
/// others write to the same file.
pub(crate) struct MessageLog {
    verbosity: MessageLevel,
    messages_to: MessagesTo,
    state: Mutex<LogState>,
}

struct LogState {
    results: Box<dyn Write + Send>,
    aside: Box<dyn Write + Send>,
    last: Option<String>,
    repeats: u64,
}

impl MessageLog {
    /// `results` is stdout and `aside` stderr, both without a buffer.
    pub(crate) fn new(
        verbosity: MessageLevel,
        messages_to: MessagesTo,
        results: Box<dyn Write + Send>,
        aside: Box<dyn Write + Send>,
    ) -> Self {
        let state = Mutex::new(LogState { results, aside, last: None, repeats: 0 });
        Self { verbosity, messages_to, state }
    }

    /// Whether messages of a level are shown: saves making them.
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
        // Messages of servers and scripts: the terminal must not obey them.
        let line = format!("{}{}{}\n", state.take_repeats(), level.prefix(), printable_text(message));
        state.last = Some(message.to_owned());
        self.write_message(&mut state, line.as_bytes());
    }

    /// A line with a time stamp, `[ 2s ] …`, and such as belong to it: shown however often it comes, and a series of
    /// repeats goes on behind it.
    pub(crate) fn stamped(&self, level: MessageLevel, line: &str) {
        if self.shows(level) {
            let line = format!("{}{}\n", level.prefix(), printable_text(line));
            self.write_message(&mut self.lock(), line.as_bytes());
        }
    }

    /// A report of many lines. To sysbench each line is a message: where the report before this one ended in an empty
    /// line, and this one begins with one, that is a repeat.
    pub(crate) fn report(&self, text: &str) {
        if self.shows(MessageLevel::Notice) {
            let mut state = self.lock();
            let repeated = text.strip_prefix('\n').filter(|_| state.last.as_deref() == Some(""));
            state.repeats += u64::from(repeated.is_some());
            let line = format!("{}{}\n", state.take_repeats(), printable_text(repeated.unwrap_or(text)));
            state.last = text.rsplit('\n').next().map(str::to_owned);
            self.write_message(&mut state, line.as_bytes());
        }
    }

    /// What a script prints, as it is and at every verbosity.
    pub(crate) fn script(&self, bytes: &[u8]) {
        self.write_message(&mut self.lock(), bytes);
    }

    /// A document, to the results whatever becomes of messages, with a line end.
    ///
    /// # Errors
    ///
    /// It could not be written; a reader that went away is none.
    pub(crate) fn document(&self, text: &str) -> io::Result<()> {
        match self.lock().results.write_all(format!("{}\n", printable_json(text)).as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    fn write_message(&self, state: &mut LogState, bytes: &[u8]) {
        let writer = match self.messages_to {
            MessagesTo::Results => &mut state.results,
            MessagesTo::Aside => &mut state.aside,
        };
        // What cannot be written is lost: there is no better place to say so.
        let _ = writer.write_all(bytes);
    }

    /// A thread that panicked while it wrote left nothing half done that matters.
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
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
