//! An error as it is shown: what failed, because of what, and what to do about it.

use std::fmt;

use truetps_lab::LabError;

use crate::exit::Exit;
use crate::print_message;

#[derive(Debug)]
pub(crate) struct CommandFailure {
    pub(crate) exit: Exit,
    message: String,
    hint: Option<String>,
}

impl CommandFailure {
    /// Wrong usage, plan or environment.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), hint: None }
    }

    /// Something broke while it ran.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Failed, message: message.to_string(), hint: None }
    }

    /// The user interrupted the command.
    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Interrupted, message: message.to_string(), hint: None }
    }

    /// Shows it; returns the exit code.
    pub(crate) fn print(self) -> Exit {
        print_message(&self.to_string());
        self.exit
    }

    pub(crate) fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl From<LabError> for CommandFailure {
    fn from(error: LabError) -> Self {
        if error.is_usage() { Self::usage(&error) } else { Self::failed(&error) }.hint(error.hint())
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message.trim_end())?;
        if let Some(hint) = &self.hint {
            writeln!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
