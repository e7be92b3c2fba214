//! A page of a report that is all text and tables: the same document as in the terminal.

use askama::Template;

use super::forest::{Forest, Scale};
use super::frame::Frame;
use crate::document::{
    Block, Document, DocumentSection, DocumentTable, TableEntry, TableForest, Tone,
};

#[derive(Template)]
#[template(path = "document.html", whitespace = "minimize")]
pub(crate) struct DocumentPage<'a> {
    frame: Frame<'a>,
    document: &'a Document,
}

/// A row as the page has it. In a table with pictures the name, which is the last entry elsewhere,
/// comes first: a narrow window shows a picture and what it is of.
struct DocumentRow<'a> {
    name: Option<&'a TableEntry>,
    picture: Option<Forest>,
    figures: &'a [TableEntry],
}

impl<'a> DocumentPage<'a> {
    pub(crate) fn html(document: &'a Document, tool_version: &'a str) -> String {
        let sections = document.sections.iter().enumerate();
        let sections = sections.map(|(index, section)| (anchor(index), section.heading.clone()));
        let first = [("verdict".to_owned(), "Answer".to_owned())];
        let frame = Frame {
            name: &document.title,
            title: document.title.clone(),
            tool_version,
            sections: first.into_iter().chain(sections).collect(),
            ..Frame::default()
        };
        let page = Self { frame, document };
        page.render().expect(
            "templates are checked when they are compiled, and a String takes all that is written",
        )
    }

    fn anchored_sections(&self) -> impl Iterator<Item = (String, &'a DocumentSection)> {
        self.document.sections.iter().enumerate().map(|(index, section)| (anchor(index), section))
    }
}

/// The anchor of the section with this index.
fn anchor(index: usize) -> String {
    format!("part-{}", index + 1)
}

impl DocumentTable {
    /// What the ends of the pictures' scale are; `None`: the table has no pictures.
    fn forest_ends(&self) -> Option<(String, String)> {
        self.forest.as_ref().map(|forest| forest.scale().ends())
    }

    /// Classes of `report.css`.
    fn class(&self) -> &'static str {
        match (&self.forest, self.words_last) {
            (Some(_), _) => "figures named",
            (None, true) => "words-last",
            (None, false) => "figures",
        }
    }

    /// The head of the names, in a table with pictures.
    fn row_head(&self) -> &str {
        self.header.last().map_or("", String::as_str)
    }

    /// The heads of all other columns.
    fn figure_heads(&self) -> &[String] {
        match (&self.forest, self.header.split_last()) {
            (Some(_), Some((_, figures))) => figures,
            _ => &self.header,
        }
    }

    fn pictured_rows(&self) -> impl Iterator<Item = DocumentRow<'_>> {
        let scale = self.forest.as_ref().map(TableForest::scale);
        self.rows.iter().enumerate().map(move |(index, row)| {
            let ratio = self.forest.as_ref().and_then(|forest| forest.ratios.get(index)?.as_ref());
            let picture = ratio.zip(scale).map(|(ratio, scale)| scale.picture(ratio));
            match row.split_last().filter(|_| scale.is_some()) {
                Some((name, figures)) => DocumentRow { name: Some(name), picture, figures },
                None => DocumentRow { name: None, picture: None, figures: row },
            }
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
