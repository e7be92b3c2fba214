//! A page of a report that is all text and tables: the same document as in the terminal.

use askama::Template;

use super::page::CSS;
use crate::document::{Block, Document, Tone};

#[derive(Template)]
#[template(path = "document.html", whitespace = "minimize")]
pub(crate) struct DocumentPage<'a> {
    document: &'a Document,
    tool_version: &'a str,
    css: &'static str,
}

impl<'a> DocumentPage<'a> {
    pub(crate) fn html(document: &'a Document, tool_version: &'a str) -> String {
        let page = Self { document, tool_version, css: CSS };
        page.render().expect("templates are checked when they are compiled, and a String takes all that is written")
    }
}

impl Tone {
    /// A class of `report.css`.
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Unsure => "unsure",
        }
    }
}
