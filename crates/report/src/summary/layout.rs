//! What one screen holds, and how it is made to fit.

use crate::document::DocumentTable;
use crate::text::{FACT_WIDTH, push_code, push_whole_table, push_wrapped};
use crate::{TextScreen, format};

/// Lines of the answer on stdout. Behind it come the folder, the next commands and the prompt: 35
/// lines in all.
pub(super) const SUMMARY_LINES_MAX: usize = 29;

/// The content of one screen.
pub(super) struct Screenful {
    /// The question, or what was looked at.
    pub(super) title: String,
    /// Where the figures come from; may be empty.
    pub(super) source: String,
    /// Sentences, the most important first. On a terminal they are the last lines, else the first.
    pub(super) answer: Vec<String>,
    pub(super) parts: Vec<ScreenPart>,
}

/// A part of a screen: a fact, a list or a table.
pub(super) struct ScreenPart {
    content: PartContent,
    /// Items that are shown however little room there is, …
    least: usize,
    /// … and those that go after all other parts are as short as this.
    wanted: usize,
    /// Items that are shown at present.
    shown: usize,
    /// Items that the command has left out itself.
    left_out: usize,
}

enum PartContent {
    /// A word and its facts: each begins a line.
    Facts {
        word: &'static str,
        items: Vec<String>,
    },
    Table(DocumentTable),
    /// Further words below a table.
    Note(String),
    /// A file to be copied: whole.
    Code(Vec<String>),
}

impl ScreenPart {
    pub(super) fn fact(word: &'static str, text: String) -> Self {
        Self::new(PartContent::Facts { word, items: vec![text] }, 1)
    }

    /// The most important first. `None` where there is none.
    pub(super) fn facts(word: &'static str, items: Vec<String>) -> Option<Self> {
        let shown = items.len();
        (shown > 0).then(|| Self::new(PartContent::Facts { word, items }, shown))
    }

    pub(super) fn note(text: String) -> Self {
        Self::new(PartContent::Note(text), 1)
    }

    /// `None` where there is no line.
    pub(super) fn code(lines: Vec<String>) -> Option<Self> {
        (!lines.is_empty()).then(|| Self::new(PartContent::Code(lines), 1))
    }

    /// One item at least is shown.
    fn new(content: PartContent, shown: usize) -> Self {
        Self { content, least: 1, wanted: 1, shown, left_out: 0 }
    }

    /// A table, its most telling rows first. `None` where it has no row.
    pub(super) fn table(table: DocumentTable) -> Option<Self> {
        const LEAST: usize = 3;
        const WANTED: usize = 10;
        let shown = table.rows.len();
        let part = Self::new(PartContent::Table(table), shown);
        (shown > 0).then_some(Self { least: LEAST, wanted: WANTED, ..part })
    }

    /// The part is shown whole or not at all.
    pub(super) fn optional(mut self) -> Self {
        self.least = 0;
        self
    }

    /// Leaves out what no screen holds, so that thousands of items are not left out one by one.
    fn fit_at_most(&mut self) {
        if self.shown > SUMMARY_LINES_MAX {
            self.shown = if self.is_optional() { 0 } else { self.least.max(SUMMARY_LINES_MAX) };
        }
    }

    fn is_optional(&self) -> bool {
        self.least == 0
    }

    /// All items are shown, however little room there is.
    pub(super) fn whole(mut self) -> Self {
        (self.least, self.wanted) = (self.shown, self.shown);
        self
    }

    /// A table that is whole goes before any of these items does.
    fn wanted_whole(mut self) -> Self {
        self.wanted = self.shown;
        self
    }

    /// Counts rows that are in the full report only.
    pub(super) fn leaving_out(mut self, rows: usize) -> Self {
        self.left_out = rows;
        self
    }

    fn items(&self) -> usize {
        match &self.content {
            PartContent::Facts { items, .. } => items.len(),
            PartContent::Table(table) => table.rows.len(),
            PartContent::Note(_) | PartContent::Code(_) => 1,
        }
    }

    /// Stands apart from what is around it.
    fn is_table(&self) -> bool {
        matches!(self.content, PartContent::Table(_) | PartContent::Code(_))
    }

    fn is_note(&self) -> bool {
        matches!(self.content, PartContent::Note(_))
    }

    fn draw(&self, screen: TextScreen) -> String {
        let mut out = String::new();
        if self.shown == 0 {
            return out;
        }
        let hidden = self.items() - self.shown + self.left_out;
        let more = (hidden > 0)
            .then(|| format!("… {} with --full", format::count(hidden as u64) + " more"));
        match &self.content {
            PartContent::Facts { word, items } => {
                push_facts(&mut out, word, items.iter().take(self.shown).chain(&more), screen);
            }
            PartContent::Table(table) => {
                let rows = table.rows.iter().take(self.shown).cloned().collect();
                push_whole_table(&mut out, &table.copy_with_rows(rows), screen);
                if let Some(more) = &more {
                    push_wrapped(&mut out, more, "", "", screen.text_width());
                }
            }
            PartContent::Code(lines) => push_code(&mut out, lines),
            PartContent::Note(text) => push_wrapped(&mut out, text, "", "", screen.text_width()),
        }
        out
    }
}

/// The word stands before the first of them.
fn push_facts<'a>(
    out: &mut String,
    word: &str,
    items: impl Iterator<Item = &'a String>,
    screen: TextScreen,
) {
    let rest = " ".repeat(FACT_WIDTH);
    let mut first = format!("{word:<FACT_WIDTH$}");
    for item in items {
        push_wrapped(out, item, &first, &rest, screen.text_width());
        first.clone_from(&rest);
    }
}

impl Screenful {
    pub(super) fn draw(self, screen: TextScreen) -> String {
        let Self { title, source, answer, mut parts } = self;
        let answer = ScreenPart::facts("Answer", answer).map(ScreenPart::wanted_whole);
        let mut head = String::new();
        // What a plan says about itself may have several lines: they are no lines of the answer.
        for (number, line) in title.lines().enumerate() {
            let indent = if number == 0 { "" } else { "  " };
            push_wrapped(&mut head, line, indent, indent, screen.text_width());
        }
        if !source.is_empty() {
            push_wrapped(&mut head, &source, "", "", screen.text_width());
        }
        let is_last = screen.has_answer_last();
        parts.iter_mut().for_each(ScreenPart::fit_at_most);
        let at = if is_last { parts.len() } else { 0 };
        if let Some(answer) = answer {
            parts.insert(at, answer);
        }
        loop {
            let body = body(&parts, screen);
            let lines = head.lines().count() + 1 + body.lines().count();
            match longest(&mut parts, screen).filter(|_| lines > SUMMARY_LINES_MAX) {
                Some(part) if part.is_optional() => part.shown = 0,
                Some(part) => part.shown -= 1,
                None => return format!("{head}\n{body}"),
            }
        }
    }
}

/// The part that has most to spare: first what a part shows beyond what is wanted, then whole parts
/// that are optional.
fn longest(parts: &mut [ScreenPart], screen: TextScreen) -> Option<&mut ScreenPart> {
    parts.iter_mut().filter(|part| part.shown > part.least).max_by_key(|part| {
        (part.shown > part.wanted, part.is_optional(), part.draw(screen).lines().count())
    })
}

/// Tables stand apart; facts follow each other.
fn body(parts: &[ScreenPart], screen: TextScreen) -> String {
    let mut out = String::new();
    let mut before: Option<&ScreenPart> = None;
    for part in parts.iter().filter(|part| part.shown > 0) {
        let is_apart = before.is_some_and(|before| {
            (part.is_table()
                || before.is_table()
                || before.is_note()
                || is_answer(part)
                || is_answer(before))
                && !part.is_note()
        });
        if is_apart {
            out.push('\n');
        }
        out.push_str(&part.draw(screen));
        before = Some(part);
    }
    out
}

fn is_answer(part: &ScreenPart) -> bool {
    matches!(part.content, PartContent::Facts { word: "Answer", .. })
}

/// Drops these columns, one after the other, until the table fits.
pub(super) fn without_columns(
    mut table: DocumentTable,
    droppable: &[&str],
    screen: TextScreen,
) -> DocumentTable {
    for name in droppable {
        let Some(at) =
            table.header.iter().position(|head| head == name).filter(|_| !screen.fits(&table))
        else {
            continue;
        };
        // Words are drawn at the left only in the last column.
        table.words_last &= at + 1 < table.header.len();
        table.header.remove(at);
        table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }
    table
}
