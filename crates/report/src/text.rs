//! A report for a terminal.

use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::printable;
use textwrap::WordSeparator;
use textwrap::core::{Word, display_width};
use textwrap::wrap_algorithms::wrap_first_fit;
use truetps_record::is_obeyed;

/// Paragraphs are not wider than this: longer lines are hard to read.
const TEXT_WIDTH: usize = 100;
/// Where no terminal has a width, a wider table is drawn in parts.
const TABLE_WIDTH: usize = 132;
/// Below this, words that are longer than a line are broken.
const NARROW: usize = 80;
/// A narrower terminal breaks lines by itself.
const WIDTH_MIN: usize = 40;
pub(crate) const FACT_WIDTH: usize = 10;
/// The gap between two columns of a table.
const GAP: &str = "  ";
/// A last column of words is not broken into narrower lines than this.
const WORDS_WIDTH_MIN: usize = 20;

/// What the text is shown on.
#[derive(Debug, Clone, Copy)]
pub struct TextScreen {
    /// Adds emphasis to words that are there without it.
    colour: bool,
    text_width: usize,
    table_width: usize,
    /// The answer stands in the last lines, which a terminal shows when the command has ended.
    answer_last: bool,
}

impl TextScreen {
    /// No terminal: a file, or a program that reads.
    pub const PLAIN: Self = Self {
        colour: false,
        text_width: TEXT_WIDTH,
        table_width: TABLE_WIDTH,
        answer_last: false,
    };

    /// Where no terminal has a width.
    pub const WIDTH_WITHOUT_TERMINAL: usize = TEXT_WIDTH;

    /// `width`: columns, where a terminal has a number of them.
    pub fn new(colour: bool, width: Option<usize>) -> Self {
        let Some(width) = width.map(|width| width.max(WIDTH_MIN)) else {
            return Self { colour, ..Self::PLAIN };
        };
        Self { colour, text_width: width.min(TEXT_WIDTH), table_width: width, answer_last: false }
    }

    /// For a terminal: what comes last is still seen when the command has ended.
    #[must_use]
    pub fn answer_last(self) -> Self {
        Self { answer_last: true, ..self }
    }

    /// A word and what it means, as the line of a list or as several.
    pub fn listed(self, word: &str, word_width: usize, text: &str) -> String {
        let mut out = String::new();
        push_wrapped(
            &mut out,
            text,
            &format!("{word:<word_width$} "),
            &" ".repeat(word_width + 1),
            self.text_width,
        );
        out
    }

    /// A line that ends with `…` where it is too long.
    pub fn cut(self, line: &str) -> String {
        if display_width(line) <= self.text_width {
            return line.to_owned();
        }
        let kept =
            Word::from(line).break_apart(self.text_width - 1).next().map_or("", |part| part.word);
        format!("{}…", kept.trim_end())
    }

    pub(crate) fn has_answer_last(self) -> bool {
        self.answer_last
    }

    pub(crate) fn text_width(self) -> usize {
        self.text_width
    }

    /// For a table of one screen, which is not drawn in parts if it can be narrower.
    pub(crate) fn fits(self, table: &DocumentTable) -> bool {
        let widths = column_widths(table);
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1) <= self.text_width
    }
}

pub(crate) fn draw(document: Document, screen: TextScreen) -> String {
    let Document { title, facts, sections } = document;
    let width = screen.text_width;
    let mut out = String::new();
    push_wrapped(&mut out, &title, "", "", width);
    out.push('\n');
    for (word, fact) in facts {
        let first = format!("{word:<FACT_WIDTH$}");
        push_wrapped(&mut out, &fact, &first, &" ".repeat(FACT_WIDTH), width);
    }
    for DocumentSection { heading, blocks } in sections {
        out.push('\n');
        let mut lines = String::new();
        push_wrapped(&mut lines, &heading, "", "", width);
        lines.lines().for_each(|line| out.push_str(&(screen.bold(line) + "\n")));
        for block in &blocks {
            out.push('\n');
            push_block(&mut out, block, screen);
        }
    }
    out
}

fn push_block(out: &mut String, block: &Block, screen: TextScreen) {
    match block {
        Block::Table(table) => push_table(out, table, screen),
        Block::Paragraph(text) => push_wrapped(out, text, "", "", screen.text_width),
        Block::List(items) => {
            for item in items {
                push_wrapped(out, item, "- ", "  ", screen.text_width);
            }
        }
        Block::Code(lines) => push_code(out, lines),
        // Its table has the same figures.
        Block::Picture(_) => {}
        Block::Lines(lines) => {
            for line in lines {
                let tone = match line.as_bytes().first() {
                    Some(b'-') => Tone::Bad,
                    Some(b'+') => Tone::Good,
                    _ => Tone::Plain,
                };
                out.push_str(
                    format!("  {}", screen.tone(&line.replace('\t', "    "), tone)).trim_end(),
                );
                out.push('\n');
            }
        }
    }
}

/// Adds lines as they are: broken ones could not be copied.
pub(crate) fn push_code(out: &mut String, lines: &[String]) {
    for line in lines {
        out.push_str("  ");
        out.push_str(line);
        out.push('\n');
    }
}

fn push_table(out: &mut String, table: &DocumentTable, screen: TextScreen) {
    let groups = column_groups(&column_widths(table), table.words_last, screen);
    push_columns(out, table, &groups, screen);
}

/// A table for one screen: cells go on in further lines rather than the table below itself, as far
/// as that has room.
pub(crate) fn push_whole_table(out: &mut String, table: &DocumentTable, screen: TextScreen) {
    let screen = TextScreen { table_width: screen.table_width.min(screen.text_width), ..screen };
    let widths = column_widths(table);
    let least: usize = widths.iter().map(|width| WORDS_WIDTH_MIN.min(*width) + GAP.len()).sum();
    let groups = if least <= screen.table_width + GAP.len() {
        vec![(0..widths.len()).collect()]
    } else {
        column_groups(&widths, table.words_last, screen)
    };
    push_columns(out, table, &groups, screen);
}

fn push_columns(
    out: &mut String,
    table: &DocumentTable,
    groups: &[Vec<usize>],
    screen: TextScreen,
) {
    if let Some(caption) = &table.caption {
        push_wrapped(out, caption, "", "", screen.table_width);
    }
    let widths = column_widths(table);
    let header: Vec<_> = table.header.iter().map(|text| TableEntry::from(text.clone())).collect();
    for (index, columns) in groups.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let has_words = table.words_last && columns.contains(&(widths.len() - 1));
        let widths: Vec<_> = columns.iter().map(|column| widths[*column]).collect();
        let widths = fitted(widths, has_words, screen.table_width);
        for row in std::iter::once(&header).chain(&table.rows) {
            let row: Vec<_> =
                columns.iter().filter_map(|column| row.get(*column).cloned()).collect();
            push_row(out, &row, &widths, has_words, screen);
        }
    }
}

/// Columns that are drawn beside each other. A table that is far too wide goes on below, with its
/// first column again; words have what is left of the last line.
fn column_groups(widths: &[usize], words_last: bool, screen: TextScreen) -> Vec<Vec<usize>> {
    let mut least: Vec<_> = widths.iter().map(|width| width + GAP.len()).collect();
    if let Some(words) = least.last_mut().filter(|_| words_last) {
        *words = WORDS_WIDTH_MIN + GAP.len();
    }
    if least.iter().sum::<usize>() <= screen.table_width + GAP.len() {
        return vec![(0..widths.len()).collect()];
    }
    let mut groups = vec![vec![0]];
    let mut used = least[0];
    for column in 1..widths.len() {
        let last = groups
            .last_mut()
            .filter(|group| group.len() == 1 || used + least[column] <= screen.text_width);
        used = if let Some(group) = last {
            group.push(column);
            used + least[column]
        } else {
            groups.push(vec![0, column]);
            least[0] + least[column]
        };
    }
    groups
}

/// Columns that are too wide even as the only one beside the first: the wider ones get what the
/// others leave, and their cells go on in further lines.
fn fitted(mut widths: Vec<usize>, words_last: bool, table_width: usize) -> Vec<usize> {
    let gaps = GAP.len() * (widths.len() - 1);
    if words_last {
        let last = widths.len() - 1;
        widths[last] = widths[last].min(WORDS_WIDTH_MIN);
    }
    // Two columns have room on any terminal.
    let least = WORDS_WIDTH_MIN.min((table_width - GAP.len()) / 2);
    while widths.iter().sum::<usize>() + gaps > table_width {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > least) else { break };
        *widest -= 1;
    }
    widths
}

/// A row of a table. Cells go on in further lines below themselves where they are too long; words
/// in the last column have what is left of the line.
fn push_row(
    out: &mut String,
    row: &[TableEntry],
    widths: &[usize],
    words_last: bool,
    screen: TextScreen,
) {
    let numbers = if words_last { row.len() - 1 } else { row.len() };
    let indent: usize = widths[..numbers].iter().map(|width| width + GAP.len()).sum();
    let left = screen.text_width.saturating_sub(indent).max(WORDS_WIDTH_MIN);
    let rooms = widths[..numbers].iter().copied().chain([left]);
    let cells: Vec<_> =
        row.iter().zip(rooms).map(|(entry, room)| cell_lines(&entry.text, room, screen)).collect();
    for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let mut parts = Vec::new();
        for (column, (lines, entry)) in cells.iter().zip(row).enumerate() {
            let text = lines.get(at).map_or("", String::as_str);
            // Numbers end at the right of their column.
            let indent = if column < numbers {
                widths[column].saturating_sub(display_width(text))
            } else {
                0
            };
            parts.push(" ".repeat(indent) + &screen.tone(text, entry.tone));
        }
        out.push_str(parts.join(GAP).trim_end());
        out.push('\n');
    }
}

fn cell_lines(text: &str, width: usize, screen: TextScreen) -> Vec<String> {
    if display_width(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = String::new();
    push_wrapped(&mut lines, text, "", "", width);
    let lines = lines.lines();
    if screen.table_width < TABLE_WIDTH {
        lines.flat_map(|line| pieces(line, width)).collect()
    } else {
        lines.map(str::to_owned).collect()
    }
}

/// A name that is longer than its column: broken behind a slash, where it has one.
fn pieces(name: &str, width: usize) -> Vec<String> {
    let mut rest = name;
    let mut pieces = Vec::new();
    while display_width(rest) > width {
        let Some(fitting) = Word::from(rest).break_apart(width).next().map(|part| part.word.len())
        else {
            break;
        };
        let (piece, left) =
            rest.split_at(rest[..fitting].rfind('/').map_or(fitting, |slash| slash + 1));
        pieces.push(piece.to_owned());
        rest = left;
    }
    pieces.push(rest.to_owned());
    pieces
}

fn column_widths(table: &DocumentTable) -> Vec<usize> {
    let mut widths: Vec<_> = table.header.iter().map(|text| display_width(text)).collect();
    for row in &table.rows {
        for (width, entry) in widths.iter_mut().zip(row) {
            *width = display_width(&entry.text).max(*width);
        }
    }
    widths
}

/// Appends `text` broken at spaces, but not between a number and its unit, and between Chinese or
/// Japanese characters; the first line begins with `first`, the others with `rest`.
pub(crate) fn push_wrapped(out: &mut String, text: &str, first: &str, rest: &str, columns: usize) {
    let room = columns.saturating_sub(display_width(rest).max(display_width(first)));
    let parts = if columns < NARROW { broken(unbreakable(text), room) } else { unbreakable(text) };
    let words: Vec<_> = parts.iter().map(|part| Word::from(part)).collect();
    let widths = [first, rest].map(|indent| columns.saturating_sub(display_width(indent)) as f64);
    let mut indent = first;
    for line in wrap_first_fit(&words, &widths) {
        let line: String = line.iter().flat_map(|word| [word.word, word.whitespace]).collect();
        out.push_str(format!("{indent}{line}").trim_end());
        out.push('\n');
        indent = rest;
    }
}

/// On a narrow terminal, names that are longer than a line go on in the next one. Elsewhere a path
/// stays whole.
fn broken(words: Vec<String>, room: usize) -> Vec<String> {
    let room = room.max(1);
    let words = words.into_iter().flat_map(|word| {
        if display_width(word.trim_end()) <= room { vec![word] } else { pieces(&word, room) }
    });
    words.collect()
}

/// Words with the space behind them. Numbers are kept together: `200 000`, `4.2 %`, `2.10 ms`.
/// Control characters, which a server's message may have, are no words: a terminal would obey them.
fn unbreakable(text: &str) -> Vec<String> {
    const UNITS: [&str; 8] = ["µs", "ms", "s", "%", "tps", "GiB", "MiB", "KiB"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| c == ' ' || is_obeyed(c)).filter(|word| !word.is_empty()) {
        let bare = word.trim_end_matches([',', ';', '.', ')', ']', ':']);
        // `194`, and `194/s` too.
        let group = bare.split('/').next().unwrap_or(bare);
        let continues = UNITS.contains(&bare)
            || (group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
        let number = words
            .last_mut()
            .filter(|last| continues && last.trim_end().ends_with(|c: char| c.is_ascii_digit()));
        match number {
            Some(last) => last.push_str(word),
            None if display_width(word) > word.chars().count() => {
                words.extend(
                    WordSeparator::UnicodeBreakProperties
                        .find_words(word)
                        .map(|part| part.word.to_owned()),
                );
            }
            None => words.push(word.to_owned()),
        }
        if let Some(last) = words.last_mut() {
            last.push(' ');
        }
    }
    words
}

impl TextScreen {
    fn tone(self, text: &str, tone: Tone) -> String {
        // Names come from elsewhere, and a terminal would obey them.
        let text = &printable(text);
        match tone {
            Tone::Plain => text.to_owned(),
            Tone::Good => self.sgr("32", text),
            Tone::Bad => self.sgr("31", text),
            Tone::Unsure => self.sgr("33", text),
        }
    }

    fn bold(self, text: &str) -> String {
        self.sgr("1", text)
    }

    fn sgr(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
