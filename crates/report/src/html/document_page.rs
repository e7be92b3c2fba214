//! A page of a report that is all text and tables: the same document as in the terminal.

use askama::Template;

use super::forest::{Forest, Scale};
use super::page::CSS;
use crate::document::{Block, Document, DocumentTable, TableEntry, TableForest, Tone};

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

impl DocumentTable {
    /// What the ends of the pictures' scale are; `None`: the table has no pictures.
    fn forest_ends(&self) -> Option<(String, String)> {
        self.forest.as_ref().map(|forest| forest.scale().ends())
    }

    /// Each row with its picture.
    fn pictured_rows(&self) -> impl Iterator<Item = (Option<Forest>, &Vec<TableEntry>)> {
        let scale = self.forest.as_ref().map(TableForest::scale);
        self.rows.iter().enumerate().map(move |(index, row)| {
            let ratio = self.forest.as_ref().and_then(|forest| forest.ratios.get(index)?.as_ref());
            (ratio.zip(scale).map(|(ratio, scale)| scale.picture(ratio)), row)
        })
    }
}

impl TableForest {
    fn scale(&self) -> Scale {
        Scale::of(self.ratios.iter().flatten(), self.smallest_effect)
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
