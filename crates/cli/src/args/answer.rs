//! How an answer is printed.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use truetps_report::{AnswerFormat, AnswerSubject};

/// The form of an answer that was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerForm {
    pub(crate) format: &'static AnswerFormat,
    pub(crate) full: bool,
}

impl AnswerForm {
    /// One screen at a terminal.
    pub(crate) fn is_screen(self) -> bool {
        self.format.is_text() && !self.full
    }
}

/// Flags of an answer about trials.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TrialsAnswerArgs {
    /// Format of the answer on stdout
    #[arg(long, value_parser = format_of(AnswerSubject::Trials), default_value = "text")]
    pub(crate) format: &'static AnswerFormat,
    /// Print the full report: all tables, figures and explanations, in place of one screen
    #[arg(long)]
    full: bool,
}

impl TrialsAnswerArgs {
    pub(crate) fn form(self) -> AnswerForm {
        AnswerForm { format: self.format, full: self.full }
    }
}

/// Flags of an answer that is a list of figures or stalls.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ListAnswerArgs {
    /// Format of the answer on stdout
    #[arg(long, value_parser = format_of(AnswerSubject::List), default_value = "text")]
    pub(crate) format: &'static AnswerFormat,
    /// Print the full report: all tables, figures and explanations, in place of one screen
    #[arg(long)]
    full: bool,
}

impl ListAnswerArgs {
    pub(crate) fn form(self) -> AnswerForm {
        AnswerForm { format: self.format, full: self.full }
    }
}

/// Flags of an answer that is not a table of trials.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DocumentArgs {
    /// Format of the answer on stdout
    #[arg(long, value_parser = format_of(AnswerSubject::Document), default_value = "text")]
    format: &'static AnswerFormat,
    /// Print the full report in place of one screen
    #[arg(long)]
    full: bool,
}

impl DocumentArgs {
    pub(crate) fn form(self) -> AnswerForm {
        AnswerForm { format: self.format, full: self.full }
    }
}

/// Reads the name of a format that can show the subject.
pub(crate) fn format_of(
    subject: AnswerSubject,
) -> impl TypedValueParser<Value = &'static AnswerFormat> {
    let values = AnswerFormat::all_for(subject)
        .map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values)
        .map(|name| AnswerFormat::named(&name).expect("only names of formats are possible"))
}
