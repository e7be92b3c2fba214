//! A page of Markdown as its parts: sections with their code, tables, links and texts.

use std::collections::BTreeSet;
use std::mem;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Stands for a code span in a text: what it says is in [`PageSection::spans`].
pub(super) const CODE_SPAN: char = '`';
/// Stands between the cells of the rule below the head of a table.
const TABLE_RULE: &str = "---|";

/// In the order of the page. The first section is what precedes the first heading.
pub(super) struct MarkdownPage {
    pub(super) sections: Vec<PageSection>,
}

#[derive(Default)]
pub(super) struct PageSection {
    /// Level of its heading, from 1; 0 before the first heading.
    pub(super) level: usize,
    /// Its words, with the words of code spans.
    pub(super) heading: String,
    pub(super) line: usize,
    pub(super) code: Vec<PageCode>,
    pub(super) tables: Vec<PageTable>,
    pub(super) links: Vec<PageLink>,
    pub(super) spans: BTreeSet<String>,
    /// What a reader sees of paragraphs, list items and headings.
    pub(super) texts: Vec<PageText>,
}

/// A block of code.
pub(super) struct PageCode {
    pub(super) line: usize,
    pub(super) language: String,
    pub(super) text: String,
}

pub(super) struct PageTable {
    /// The first one is the head.
    pub(super) rows: Vec<PageRow>,
}

pub(super) struct PageRow {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

pub(super) struct PageLink {
    pub(super) line: usize,
    pub(super) target: String,
}

pub(super) struct PageText {
    pub(super) line: usize,
    pub(super) text: String,
}

impl MarkdownPage {
    pub(super) fn parse(text: &str) -> Self {
        let mut reader = PageReader {
            sections: vec![PageSection::default()],
            text: String::new(),
            line: 0,
            in_heading: false,
        };
        let line_starts: Vec<_> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = 1 + line_starts.partition_point(|start| *start <= range.start);
            reader.take(event, line);
        }
        reader.finish_text();
        Self { sections: reader.sections }
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &PageLink> {
        self.sections.iter().flat_map(|section| &section.links)
    }

    /// Lines of paragraphs that contain the rule below the head of a table: a reader sees its
    /// rows as one text.
    pub(super) fn broken_tables(&self) -> impl Iterator<Item = usize> {
        let texts = self.sections.iter().flat_map(|section| &section.texts);
        texts.filter(|text| text.text.contains(TABLE_RULE)).map(|text| text.line)
    }

    /// The texts, and the cells of the tables.
    pub(super) fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.sections.iter().flat_map(|section| {
            let rows = section.tables.iter().flat_map(|table| &table.rows);
            let cells = rows.flat_map(|row| row.cells.iter().map(|cell| (row.line, cell.as_str())));
            section.texts.iter().map(|text| (text.line, text.text.as_str())).chain(cells)
        })
    }
}

struct PageReader {
    sections: Vec<PageSection>,
    /// What was read since the last part was complete.
    text: String,
    /// The line that this text begins at.
    line: usize,
    in_heading: bool,
}

impl PageReader {
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Start(tag) => self.start(tag, line),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => {
                self.push_heading(&text);
                self.push(&text, line);
            }
            Event::Code(span) => {
                self.push_heading(&span);
                self.push(&CODE_SPAN.to_string(), line);
                self.section().spans.insert(span.into_string());
            }
            Event::SoftBreak | Event::HardBreak => self.push("\n", line),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, line: usize) {
        match tag {
            Tag::Heading { level, .. } => {
                self.finish_text();
                self.in_heading = true;
                self.sections.push(PageSection {
                    level: level as usize,
                    line,
                    ..PageSection::default()
                });
            }
            Tag::CodeBlock(kind) => {
                self.finish_text();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.section().code.push(PageCode { line, language, text: String::new() });
            }
            Tag::Table(_) => {
                self.finish_text();
                self.section().tables.push(PageTable { rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                let table = self.section().tables.last_mut().expect("a row is in a table");
                table.rows.push(PageRow { line, cells: Vec::new() });
            }
            Tag::Link { dest_url, .. } => {
                self.section().links.push(PageLink { line, target: dest_url.into_string() });
            }
            Tag::Paragraph | Tag::Item => self.finish_text(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.in_heading = false;
                self.finish_text();
            }
            TagEnd::CodeBlock => {
                let text = mem::take(&mut self.text);
                self.section().code.last_mut().expect("a block that ends has begun").text = text;
            }
            TagEnd::TableCell => {
                let text = mem::take(&mut self.text);
                let row = self.section().tables.last_mut().and_then(|table| table.rows.last_mut());
                row.expect("a cell is in a row").cells.push(text);
            }
            TagEnd::Paragraph | TagEnd::Item => self.finish_text(),
            _ => {}
        }
    }

    fn push(&mut self, text: &str, line: usize) {
        if self.text.is_empty() {
            self.line = line;
        }
        self.text.push_str(text);
    }

    fn push_heading(&mut self, text: &str) {
        if self.in_heading {
            self.section().heading.push_str(text);
        }
    }

    fn finish_text(&mut self) {
        if !self.text.is_empty() {
            let text = PageText { line: self.line, text: mem::take(&mut self.text) };
            self.section().texts.push(text);
        }
    }

    fn section(&mut self) -> &mut PageSection {
        self.sections.last_mut().expect("a page begins with a section")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_in_a_paragraph_is_found() {
        let whole = "One.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        assert_eq!(MarkdownPage::parse(whole).broken_tables().count(), 0);
        let wrapped = "# Head\n\nOne. | a | b | |---|---|\n| 1 | 2 |\n";
        assert_eq!(MarkdownPage::parse(wrapped).broken_tables().collect::<Vec<_>>(), [3]);
    }
}
