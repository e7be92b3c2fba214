//! What every answer has, whatever it is about: a screen, a document, JSON, and a verdict.

use std::path::Path;

use crate::document::Document;
use crate::{ReportInput, TextScreen, markdown, text};

/// An answer, to be drawn in any format of [`crate::FORMATS`] that fits it.
pub trait ReportAnswer {
    /// One screen.
    fn summary(&self, screen: TextScreen) -> String;

    /// Everything, in sections and tables, from which text and Markdown are drawn.
    fn documents(&self) -> Vec<Document>;

    /// Everything as an indented JSON document that ends with a line feed.
    fn json(&self) -> String;

    fn verdict(&self) -> AnswerVerdict;

    fn text(&self, screen: TextScreen) -> String {
        let drawn = self.documents().into_iter().map(|document| text::draw(document, screen));
        drawn.collect::<Vec<_>>().join("\n")
    }

    fn markdown(&self) -> String {
        self.documents().into_iter().map(markdown::draw).collect::<Vec<_>>().join("\n")
    }

    /// One line a figure, if the answer is a table of figures.
    fn csv(&self) -> Option<String> {
        None
    }

    fn junit(&self) -> Option<String> {
        None
    }

    /// What the formats of single trials are made from.
    fn report_input(&self) -> Option<&ReportInput<'_>> {
        None
    }
}

/// An answer that a folder keeps: it has a page there, `report.html`.
pub trait FolderAnswer: ReportAnswer {
    fn folder(&self) -> &Path;

    /// One file that needs no network.
    fn html(&self) -> String;
}

/// What an answer says to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerVerdict {
    Good,
    /// A condition is not met.
    No,
    /// The question is still open.
    Inconclusive,
    /// Something broke while it was measured.
    Failed,
}
