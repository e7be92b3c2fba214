//! An error as it is shown: the failure, its cause, and a hint.

use std::fmt;

use truetps_compat::NoLogin;
use truetps_disk::DiskError;
use truetps_driver::DriverError;
use truetps_folder::{FolderError, MergeError};
use truetps_gateway::GatewayError;
use truetps_inspect::InspectError;
use truetps_lab::LabError;
use truetps_sandbox::{BinaryError, CatalogueError, NamedError, SandboxError};

use crate::exit::Exit;
use crate::terminal::print_message;

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

    /// The message, and the hint in parentheses.
    pub(crate) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_if(Some(hint.into()))
    }

    pub(crate) fn hint_if(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// Adds what an error advises to a message that has more than the error's own words.
    pub(crate) fn advised_by(self, error: &impl Advice) -> Self {
        self.hint_if(error.hint())
    }

    /// Adds a hint where there is none.
    pub(crate) fn or_hint(self, other: &str) -> Self {
        let hint = self.hint.or_else(|| Some(other.to_owned()));
        Self { hint, ..self }
    }

    /// An error of something that broke, with its advice; `?` takes it for wrong usage.
    pub(crate) fn broken(error: impl Advice) -> Self {
        Self { exit: Exit::Failed, ..Self::from(error) }
    }
}

impl<E: Advice> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        let failure = if error.is_usage() { Self::usage(&error) } else { Self::failed(&error) };
        failure.advised_by(&error)
    }
}

/// An error that may say what to do about it.
pub(crate) trait Advice: fmt::Display {
    fn hint(&self) -> Option<String>;

    /// Whether the command line, a plan or the environment is wrong; otherwise something broke.
    fn is_usage(&self) -> bool {
        true
    }
}

macro_rules! advice {
    ($($error:ty),*) => {
        $(impl Advice for $error {
            fn hint(&self) -> Option<String> {
                self.hint()
            }
        })*
    };
}

advice!(BinaryError, CatalogueError, DiskError, DriverError, FolderError, InspectError);
advice!(MergeError, NamedError, NoLogin, SandboxError);

impl Advice for LabError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }

    fn is_usage(&self) -> bool {
        self.is_usage()
    }
}

impl Advice for GatewayError {
    fn hint(&self) -> Option<String> {
        self.hint()
    }

    fn is_usage(&self) -> bool {
        self.is_usage()
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", indented(&self.message))?;
        if let Some(hint) = &self.hint {
            writeln!(f, "\nhint: {}", indented(hint))?;
        }
        Ok(())
    }
}

/// A name in a message may have an end of line: what follows it is not a line of truetps.
fn indented(text: &str) -> String {
    let mut lines = text.trim_end().lines();
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(
        first,
        |all, line| if line.starts_with(' ') { all + "\n" + line } else { all + "\n  " + line },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_begin_a_line_of_its_own() {
        let failure = CommandFailure::usage("x\nhint: run this: No such file")
            .hint("name y\n  z\nerror: none");
        assert_eq!(
            failure.to_string(),
            "error: x\n  hint: run this: No such file\n\nhint: name y\n  z\n  error: none\n"
        );
    }
}
