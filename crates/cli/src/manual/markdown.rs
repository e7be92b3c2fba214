//! A page of Markdown as text for a terminal.

mod table;
mod wrapping;

use std::collections::BTreeSet;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use textwrap::core::display_width;

use self::table::TextTable;
use self::wrapping::whole_words;
use super::ManualPage;

/// How wide a page may be, and whether it may have colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkdownScreen {
    pub(super) columns: usize,
    pub(super) has_color: bool,
}

/// Longer lines of running text are hard to read.
const PROSE_COLUMNS_MAX: usize = 100;
const COLUMNS_MIN: usize = 20;
const CODE_INDENT: &str = "    ";

const BOLD: &str = "\x1b[1m";
const ITALIC: &str = "\x1b[3m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// The page `name` as text. It ends with the other pages that it names.
pub(super) fn rendered(markdown: &str, name: &str, screen: MarkdownScreen) -> String {
    let mut renderer = Renderer::new(name, screen);
    Parser::new_ext(markdown, Options::ENABLE_TABLES).for_each(|event| renderer.take(event));
    renderer.finished()
}

struct Renderer<'a> {
    /// The page, to which links are relative.
    name: &'a str,
    screen: MarkdownScreen,
    out: String,
    /// The text of the paragraph, heading, item or table entry that is being read.
    inline: String,
    /// Numbers of the next items of the open lists; `None`: a list without numbers.
    lists: Vec<Option<u64>>,
    /// What stands before the next line, if it is the first of an item.
    bullet: Option<String>,
    table: Option<TextTable>,
    named: BTreeSet<&'static str>,
}

impl<'a> Renderer<'a> {
    fn new(name: &'a str, screen: MarkdownScreen) -> Self {
        let columns = screen.columns.max(COLUMNS_MIN);
        Self {
            name,
            screen: MarkdownScreen { columns, ..screen },
            out: String::new(),
            inline: String::new(),
            lists: Vec::new(),
            bullet: None,
            table: None,
            named: BTreeSet::new(),
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.inline.push_str(&text),
            Event::Code(text) => self.code(&text),
            Event::SoftBreak => self.inline.push(' '),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => self.block("* * *"),
            // Comments, and what the pages do not have.
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            // The text of the item above it.
            Tag::CodeBlock(_) => self.flush(),
            Tag::List(first) => {
                // The text of the item above it.
                self.flush();
                if self.lists.is_empty() && !self.out.is_empty() {
                    self.out.push('\n');
                }
                self.lists.push(first);
            }
            Tag::Item => self.bullet = Some(self.next_bullet()),
            Tag::Emphasis => self.mark(ITALIC),
            Tag::Strong => self.mark(BOLD),
            Tag::Link { dest_url, .. } => self.note_page(&dest_url),
            Tag::Table(_) => self.table = Some(TextTable::default()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::Paragraph => self.flush(),
            TagEnd::Item => {
                self.flush();
                self.bullet = None;
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Emphasis | TagEnd::Strong => self.mark(PLAIN),
            TagEnd::TableCell => {
                let text = std::mem::take(&mut self.inline);
                self.table.iter_mut().for_each(|table| table.add_entry(&text));
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                self.table.iter_mut().for_each(TextTable::end_row);
            }
            TagEnd::Table => {
                let text = self
                    .table
                    .take()
                    .map(|table| table.text(self.screen.columns))
                    .unwrap_or_default();
                self.block(&text);
            }
            _ => {}
        }
    }

    fn mark(&mut self, code: &str) {
        if self.screen.has_color {
            self.inline.push_str(code);
        }
    }

    fn code(&mut self, text: &str) {
        if self.screen.has_color {
            self.inline.extend([CYAN, text, PLAIN]);
        } else {
            self.inline.extend(["`", text, "`"]);
        }
    }

    fn next_bullet(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        }
    }

    /// Two columns for each list that is open.
    fn indent(&self) -> String {
        let widths = self.lists.iter().map(|number| if number.is_some() { 3 } else { 2 });
        " ".repeat(widths.sum())
    }

    /// Writes what was read of a paragraph or an item.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.inline);
        if text.trim().is_empty() {
            return;
        }
        let indent = self.indent();
        let first = self.bullet.take();
        let is_item = first.is_some();
        let first = match first {
            Some(bullet) => {
                format!("{}{bullet}", &indent[..indent.len().saturating_sub(bullet.len())])
            }
            None => indent.clone(),
        };
        let columns = self.screen.columns.min(PROSE_COLUMNS_MAX);
        let options = whole_words(columns).initial_indent(&first).subsequent_indent(&indent);
        let text = textwrap::fill(text.trim(), options.break_words(false));
        if is_item { self.line(&text) } else { self.block(&text) }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        let text = std::mem::take(&mut self.inline);
        if self.screen.has_color {
            // What a code in it has ended begins again.
            self.block(&format!("{BOLD}{}{PLAIN}", text.replace(PLAIN, &format!("{PLAIN}{BOLD}"))));
            return;
        }
        let under = match level {
            HeadingLevel::H1 => "=",
            HeadingLevel::H2 => "-",
            _ => "",
        };
        self.block(&format!("{text}\n{}", under.repeat(display_width(&text))));
    }

    /// Code is never wrapped: it may be copied.
    fn end_code(&mut self) {
        let text = std::mem::take(&mut self.inline);
        let indent = format!("{}{CODE_INDENT}", self.indent());
        self.block(&textwrap::indent(text.trim_end(), &indent));
    }

    /// Pages of this documentation; other addresses are in the text, or cannot be shown.
    fn note_page(&mut self, address: &str) {
        let address = address.split('#').next().unwrap_or_default();
        let Some(address) = address.strip_suffix(".md") else { return };
        let mut parts: Vec<_> = self.name.split('/').collect();
        parts.pop();
        for part in address.split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." => {}
                part => parts.push(part),
            }
        }
        if let [page] = &ManualPage::named(&parts.join("/"))[..]
            && page.name != self.name
        {
            self.named.insert(page.shortest_name());
        }
    }

    /// With an empty line before it.
    fn block(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.line(text);
    }

    /// An item of a list follows the one before it.
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end_matches('\n'));
        self.out.push('\n');
    }

    fn finished(mut self) -> String {
        self.flush();
        if !self.named.is_empty() {
            self.inline =
                format!("See also: truetps help {}", Vec::from_iter(self.named.clone()).join(", "));
            self.flush();
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manual::pages;

    fn check(markdown: &str, expect: &str) {
        assert_eq!(
            rendered(markdown, "guides/x", MarkdownScreen { columns: 30, has_color: false }),
            expect
        );
    }

    #[test]
    fn blocks_of_a_page() {
        check(
            "# A *page*\nwords `code` and\nmore of them here\n",
            "A page\n======\n\nwords `code` and more of them\nhere\n",
        );
        check(
            "a\n\n```\nlong code is never wrapped, as it is copied\n```\n",
            "a\n\n    long code is never wrapped, as it is copied\n",
        );
        check(
            "a:\n\n- one that is longer than a line has\n- two\n  - inner\n- three\n\nb\n",
            "a:\n\n- one that is longer than a\n  line has\n- two\n  - inner\n- three\n\nb\n",
        );
        check("1. one\n2. two\n", "1. one\n2. two\n");
        check(
            "See [plans](../reference/plan.md#x) and [this](x.md).\n",
            "See plans and this.\n\nSee also: truetps help\nreference/plan\n",
        );
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let colored =
            rendered("## `a` **b**\n", "x", MarkdownScreen { columns: 80, has_color: true });
        assert_eq!(colored, format!("{BOLD}{CYAN}a{PLAIN}{BOLD} {BOLD}b{PLAIN}{BOLD}{PLAIN}\n"));
    }

    #[test]
    fn no_page_is_wider_than_the_terminal_but_for_code() {
        for page in pages() {
            let text =
                rendered(page.text, page.name, MarkdownScreen { columns: 80, has_color: false });
            assert!(!text.contains('\x1b') && text.lines().count() > 5, "{}", page.name);
            let is_code = |line: &&str| line.starts_with(CODE_INDENT);
            let wide: Vec<_> =
                text.lines().filter(|line| !is_code(line) && display_width(line) > 80).collect();
            // A word that cannot be broken.
            assert!(
                wide.iter().all(|line| !line.trim().contains("  ")),
                "{}: {wide:#?}",
                page.name
            );
        }
    }
}
