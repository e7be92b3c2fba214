//! The content and order of an answer, without its layout: text and Markdown are drawn from it.

use truetps_analysis::Verdict;
use truetps_record::Estimate;

/// An answer in sections and tables, without its form.
pub struct Document {
    pub(crate) title: String,
    /// A word and its fact, for the top of the report.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) sections: Vec<DocumentSection>,
}

pub(crate) struct DocumentSection {
    pub(crate) heading: String,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Table(DocumentTable),
    Paragraph(String),
    List(Vec<String>),
    /// A difference of two texts: lines as they are, by their first character in A alone (`-`) or
    /// in B alone (`+`).
    Lines(Vec<String>),
    /// A file, or a part of one, to be copied.
    Code(Vec<String>),
    /// An SVG, where there is room for pictures. Its table has the same figures.
    Picture(String),
}

pub(crate) struct DocumentTable {
    pub(crate) caption: Option<String>,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<TableEntry>>,
    /// The last column is words, which begin at the left; all others are numbers, which end at the
    /// right.
    pub(crate) words_last: bool,
    /// A picture of a ratio for each row, where there is room for pictures.
    pub(crate) forest: Option<TableForest>,
}

/// Ratios on one scale, beside the rows of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableForest {
    pub(crate) ratios: Vec<Option<Estimate>>,
    /// Ratios as near to 1 as this are no difference.
    pub(crate) smallest_effect: f64,
}

/// The text of a cell in a table. The tone repeats the text and adds no information.
#[derive(Debug, Clone)]
pub(crate) struct TableEntry {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Unsure,
}

impl Document {
    /// Sections without a block are left out.
    pub(crate) fn new(
        title: String,
        facts: Vec<(&'static str, String)>,
        sections: impl IntoIterator<Item = Option<DocumentSection>>,
    ) -> Self {
        Self { title, facts, sections: sections.into_iter().flatten().collect() }
    }
}

impl DocumentSection {
    /// `None` where it has no block.
    pub(crate) fn of(
        heading: impl Into<String>,
        blocks: impl IntoIterator<Item = Option<Block>>,
    ) -> Option<Self> {
        let blocks: Vec<_> = blocks.into_iter().flatten().collect();
        (!blocks.is_empty()).then(|| Self { heading: heading.into(), blocks })
    }
}

impl Block {
    pub(crate) fn paragraph(text: impl Into<String>) -> Self {
        Self::Paragraph(text.into())
    }

    /// `None` where there is no item.
    pub(crate) fn list(items: Vec<String>) -> Option<Self> {
        (!items.is_empty()).then_some(Self::List(items))
    }
}

impl DocumentTable {
    /// Without a caption, and with words in the last column.
    pub(crate) fn new(
        header: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = impl Into<TableEntry>>>,
    ) -> Self {
        let rows = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect();
        let header = header.into_iter().map(Into::into).collect();
        Self { caption: None, header, rows, words_last: true, forest: None }
    }

    /// All columns are numbers, the last one too.
    pub(crate) fn of_numbers(self) -> Self {
        Self { words_last: false, ..self }
    }

    pub(crate) fn with_caption(self, caption: Option<String>) -> Self {
        Self { caption, ..self }
    }

    /// A table with these columns and other rows.
    pub(crate) fn copy_with_rows(&self, rows: Vec<Vec<TableEntry>>) -> Self {
        let (caption, header) = (self.caption.clone(), self.header.clone());
        Self { caption, header, rows, words_last: self.words_last, forest: None }
    }

    /// `None` where it has no row.
    pub(crate) fn block(self) -> Option<Block> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }
}

impl TableEntry {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl From<String> for TableEntry {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&str> for TableEntry {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<Verdict> for Tone {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Good,
            Verdict::Slower => Self::Bad,
            Verdict::Equivalent => Self::Plain,
            Verdict::NotEnoughData { .. } => Self::Unsure,
        }
    }
}
