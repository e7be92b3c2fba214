//! A report for a terminal.

use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry, Tone, document};
use crate::{ReportInput, printable};
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
/// Between the columns of a table.
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
    pub const PLAIN: Self =
        Self { colour: false, text_width: TEXT_WIDTH, table_width: TABLE_WIDTH, answer_last: false };

    /// Where no terminal has a width.
    pub const WIDTH_WITHOUT_TERMINAL: usize = TEXT_WIDTH;

    /// `width`: columns, where a terminal has a number of them.
    pub fn new(colour: bool, width: Option<usize>) -> Self {
        let Some(width) = width.map(|width| width.max(WIDTH_MIN)) else { return Self { colour, ..Self::PLAIN } };
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
        push_wrapped(&mut out, text, &format!("{word:<word_width$} "), &" ".repeat(word_width + 1), self.text_width);
        out
    }

    /// A line that ends with `…` where it is too long.
    pub fn cut(self, line: &str) -> String {
        if display_width(line) <= self.text_width {
            return line.to_owned();
        }
        let kept = Word::from(line).break_apart(self.text_width - 1).next().map_or("", |part| part.word);
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

/// The report as lines of text.
pub fn text(input: &ReportInput<'_>, screen: TextScreen) -> String {
    draw(document(input), screen)
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
        Block::List(items) => items.iter().for_each(|item| push_wrapped(out, item, "- ", "  ", screen.text_width)),
        Block::Code(lines) => push_code(out, lines),
        Block::Picture(_) => {}
        Block::Lines(lines) => {
            for line in lines {
                let tone = match line.as_bytes().first() {
                    Some(b'-') => Tone::Bad,
                    Some(b'+') => Tone::Good,
                    _ => Tone::Plain,
                };
                out.push_str(format!("  {}", screen.tone(&line.replace('\t', "    "), tone)).trim_end());
                out.push('\n');
            }
        }
    }
}

/// As it is: lines that are broken could not be copied.
pub(crate) fn push_code(out: &mut String, lines: &[String]) {
    lines.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
}

fn push_table(out: &mut String, table: &DocumentTable, screen: TextScreen) {
    let groups = column_groups(&column_widths(table), table.words_last, screen);
    push_columns(out, table, &groups, screen);
}

/// The same for one screen: cells go on in further lines rather than the table below itself, as far as that has room.
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

fn push_columns(out: &mut String, table: &DocumentTable, groups: &[Vec<usize>], screen: TextScreen) {
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
            let row: Vec<_> = columns.iter().filter_map(|column| row.get(*column).cloned()).collect();
            push_row(out, &row, &widths, has_words, screen);
        }
    }
}

/// Columns that are drawn beside each other. A table that is far too wide goes on below, with its first column again; words
/// have what is left of the last line.
fn column_groups(widths: &[usize], words_last: bool, screen: TextScreen) -> Vec<Vec<usize>> {
    let words = usize::from(words_last);
    let width =
        |column: usize| if column + words == widths.len() { WORDS_WIDTH_MIN } else { widths[column] } + GAP.len();
    let all: Vec<_> = (0..widths.len()).collect();
    if all.iter().map(|column| width(*column)).sum::<usize>() <= screen.table_width + GAP.len() {
        return vec![all];
    }
    let mut groups = vec![vec![0]];
    let mut used = width(0);
    for column in 1..widths.len() {
        let last = groups.last_mut().filter(|group| group.len() == 1 || used + width(column) <= screen.text_width);
        used = if let Some(group) = last {
            group.push(column);
            used + width(column)
        } else {
            groups.push(vec![0, column]);
            width(0) + width(column)
        };
    }
    groups
}

/// Columns that are too wide even as the only one beside the first: the wider ones get what the others leave, and their cells go
/// on in further lines.
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

/// A row of a table. Cells go on in further lines below themselves where they are too long; words in the last column have what
/// is left of the line.
fn push_row(out: &mut String, row: &[TableEntry], widths: &[usize], words_last: bool, screen: TextScreen) {
    let numbers = if words_last { row.len() - 1 } else { row.len() };
    let indent: usize = widths[..numbers].iter().map(|width| width + GAP.len()).sum();
    let lines_of = |(column, entry): (usize, &TableEntry)| {
        let left = screen.text_width.saturating_sub(indent).max(WORDS_WIDTH_MIN);
        let width = if column < numbers { widths[column] } else { left };
        if display_width(&entry.text) <= width {
            return vec![entry.text.clone()];
        }
        let mut lines = String::new();
        push_wrapped(&mut lines, &entry.text, "", "", width);
        let is_narrow = screen.table_width < TABLE_WIDTH;
        lines.lines().flat_map(|line| if is_narrow { pieces(line, width) } else { vec![line.to_owned()] }).collect()
    };
    let cells: Vec<Vec<String>> = row.iter().enumerate().map(lines_of).collect();
    for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let part = |column: usize| {
            let text = cells[column].get(at).cloned().unwrap_or_default();
            let entry = TableEntry { text, tone: row[column].tone };
            if column < numbers { screen.right(&entry, widths[column]) } else { screen.tone(&entry.text, entry.tone) }
        };
        let line: Vec<_> = (0..cells.len()).map(part).collect();
        out.push_str(line.join(GAP).trim_end());
        out.push('\n');
    }
}

/// A name that is longer than its column: broken behind a slash, where it has one.
fn pieces(name: &str, width: usize) -> Vec<String> {
    let mut rest = name;
    let mut pieces = Vec::new();
    while display_width(rest) > width {
        let Some(fitting) = Word::from(rest).break_apart(width).next().map(|part| part.word.len()) else { break };
        let (piece, left) = rest.split_at(rest[..fitting].rfind('/').map_or(fitting, |slash| slash + 1));
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

/// Appends `text` broken at spaces, but not between a number and its unit, and between Chinese or Japanese characters;
/// the first line begins with `first`, the others with `rest`.
pub(crate) fn push_wrapped(out: &mut String, text: &str, first: &str, rest: &str, columns: usize) {
    let room = columns.saturating_sub(display_width(rest).max(display_width(first)));
    let parts = if columns < NARROW { broken(unbreakable(text), room) } else { unbreakable(text) };
    let words: Vec<_> = parts.iter().map(|part| Word::from(part)).collect();
    let left = |indent: &str| columns.saturating_sub(display_width(indent)) as f64;
    let mut indent = first;
    for line in wrap_first_fit(&words, &[left(first), left(rest)]) {
        let line: String = line.iter().flat_map(|word| [word.word, word.whitespace]).collect();
        out.push_str(format!("{indent}{line}").trim_end());
        out.push('\n');
        indent = rest;
    }
}

/// On a narrow terminal, names that are longer than a line go on in the next one. Elsewhere a path stays whole.
fn broken(words: Vec<String>, room: usize) -> Vec<String> {
    let fits = |word: &str| display_width(word.trim_end()) <= room.max(1);
    words.into_iter().flat_map(|word| if fits(&word) { vec![word] } else { pieces(&word, room.max(1)) }).collect()
}

/// Words with the space behind them. Numbers are kept together: `200 000`, `4.2 %`, `2.10 ms`. Control characters, which
/// a server's message may have, are no words: a terminal would obey them.
fn unbreakable(text: &str) -> Vec<String> {
    const UNITS: [&str; 8] = ["µs", "ms", "s", "%", "tps", "GiB", "MiB", "KiB"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|c: char| c == ' ' || is_obeyed(c)).filter(|word| !word.is_empty()) {
        let bare = word.trim_end_matches([',', ';', '.', ')', ']', ':']);
        // `194`, and `194/s` too.
        let group = bare.split('/').next().unwrap_or(bare);
        let continues = UNITS.contains(&bare) || (group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
        let is_after_digit = |last: &&mut String| last.trim_end().ends_with(|c: char| c.is_ascii_digit());
        match words.last_mut().filter(|last| continues && is_after_digit(last)) {
            Some(last) => last.push_str(word),
            None if display_width(word) > word.chars().count() => {
                words.extend(WordSeparator::UnicodeBreakProperties.find_words(word).map(|part| part.word.to_owned()));
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
    fn right(self, entry: &TableEntry, width: usize) -> String {
        " ".repeat(width.saturating_sub(display_width(&entry.text))) + &self.tone(&entry.text, entry.tone)
    }

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
        if self.colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_far_too_wide_goes_on_below() {
        let check = |widths: &[usize], words_last, expect: &[&[usize]]| {
            assert_eq!(column_groups(widths, words_last, TextScreen::PLAIN), expect, "{widths:?}");
        };
        check(&[20, 30, 30, 30], false, &[&[0, 1, 2, 3]]);
        check(&[20, 40, 40, 40], false, &[&[0, 1], &[0, 2], &[0, 3]]);
        check(&[20, 36, 36, 36], false, &[&[0, 1, 2], &[0, 3]]);
        // Words are broken: what they want does not count.
        check(&[20, 30, 30, 200], true, &[&[0, 1, 2, 3]]);
        check(&[20, 36, 36, 36, 200], true, &[&[0, 1, 2], &[0, 3, 4]]);
        // No column is left out for being wider than a line.
        check(&[20, 150, 10], false, &[&[0, 1], &[0, 2]]);
    }
    use crate::fixture::Fixture;

    /// Every line of `expect` must be in the report, in this order.
    fn check(fixture: &Fixture, expect: &str) {
        let got = text(&fixture.input(), TextScreen::PLAIN);
        let mut lines = got.lines();
        for line in expect.lines() {
            assert!(lines.any(|found| found == line), "{got}\nshould contain, in its place:\n{line}");
        }
    }

    #[test]
    fn verdict_table_noise_knee_and_meaning_in_this_order() {
        check(
            &Fixture::durability(),
            "\
durability: What does each durability setting cost?

Verdict   innodb_flush_log_at_trx_commit=2: faster than =1 at 1, 8 and 50 connections (×2.26 to
          ×28.8).
Trials    30 of 30 valid; 3 blocks in random order, seed 42
Server    mariadb 10.11.19, log_bin=OFF, innodb_buffer_pool_size=512M
Load      insert, prepared statements; 1 table of 200 000 rows; 1 s of warm-up, 10 s measured
Host      2 cores (Made-up CPU), 4.0 GiB of memory, ext4 on vda, kvm, one flush 310 µs (p50),
          2.10 ms (p99)

Throughput (tps, 95 % interval) by innodb_flush_log_at_trx_commit

connections            =1            =2            =0
          1  210.0 ±5.1 %  6 040 ±3.9 %  5 980 ±3.9 %
          8  811.3 ±1.3 %  9 029 ±3.8 %  8 939 ±3.9 %
         50  2 652 ±3.9 %  5 999 ±5.1 %  6 040 ±3.9 %

innodb_flush_log_at_trx_commit=1 (baseline)
connections  trials      p50      p95      p99     max  failed  client CPU  server CPU
          1       3  4.29 ms  8.57 ms  14.3 ms  194 ms       0     11.5 µs     84.0 µs

Against innodb_flush_log_at_trx_commit=1

innodb_flush_log_at_trx_commit=2
connections           tps ratio        detectable  verdict
         50  ×2.26 [2.16, 2.37]   +10 % or −9.1 %  faster

connections                    p99 ratio  ratio of server CPU a transaction
         50  ×0.442 [0.422, 0.463] lower   ×1.000 [1.000, 1.000] equivalent

Noise

          load  one trial scatters by  detectable
 connections=8                  1.4 %  +11 % or −9.7 %

Identical runs differed by +0.67 % [-6.3 %, +8.2 %] (3 pairs).

Where more connections stop helping

innodb_flush_log_at_trx_commit  knee  knee to best         best at  last to best
                            =1    50   is the best  50 (2 652 tps)  is the best, may rise further
                            =2     8   is the best   8 (9 029 tps)  ×0.664 [0.619, 0.714]

What it means
",
        );
    }

    #[test]
    fn what_went_wrong_is_reported() {
        check(
            &Fixture::troubled(),
            "\
Trials    27 of 30 valid, 1 invalid, 1 partial, 1 not run; 3 blocks in random order, seed 42
connections  trials      p50      p95      p99     max  failed  client CPU  server CPU  mark
          8       4  8.87 ms  17.7 ms  29.6 ms  402 ms       0     11.5 µs     84.0 µs  1 not used
         50       3  17.0 ms  33.9 ms  56.6 ms  764 ms       6     11.5 µs     84.0 µs  †
† generator-limited: \"What it means\" has the reason.
         50  ×2.26 [2.16, 2.37]  +12 % or −10 %  faster, generator-limited
Invalid trials, errors and notes

- trial-0002 (innodb_flush_log_at_trx_commit=1 connections=8) invalid: the server died: signal 9
- trial-0005 (innodb_flush_log_at_trx_commit=2 connections=8) partial: interrupted
   error  number  failed  retried   policy  first message
deadlock    1213      18        0  retried  Deadlock found when trying to get lock; try <again> &
                                            again (at innodb_flush_log_at_trx_commit=1
- trial-0007 (innodb_flush_log_at_trx_commit=0 connections=1): 3 of 1 client failed
- note on trial-0008: the clock jumped by 2 s
",
        );
    }

    #[test]
    fn a_run_with_a_rate_reads_like_an_answer() {
        check(
            &Fixture::open_run(8000),
            "\
Verdict   Sustained: no: 2 400 of 80 000 starts were still waiting at the end (3.0 %). 7 760 tps of
          a target rate of 8 000 tps with 8 connections; response time p50 90.0 ms, p99 310 ms (one
          trial, so without an interval).
Load      insert, prepared statements; 1 table of 200 000 rows; 1 s of warm-up, 10 s measured; open
          loop: 8 000 tps, starts at equal intervals
Generator 1 worker, blocking, on cores of the server too, busiest worker: 30 % CPU; waited for a CPU
          up to 4.0 % of the time

Open loop: did the server keep up with the rate?

connections  target rate  started/s              tps  skipped  queue at end  sustained
          8    8 000 tps      7 760  7 760 (1 trial)        0         2 400  no: 2 400 of 80 000
                                                                             starts were still
                                                                             waiting at the end
                                                                             (3.0 %)

                   p50     p95      p99    p99.9      max
response time  90.0 ms  250 ms   310 ms   320 ms   330 ms
 service time   290 µs  800 µs  2.00 ms  3.00 ms  8.80 ms
          lag  89.0 ms       –   309 ms        –   329 ms
         late  11.0 µs       –  60.0 µs        –   900 µs

Response time counts from the scheduled start of a transaction, so it includes waits for a free
",
        );
    }

    #[test]
    fn rates_are_rows_and_limited_figures_are_marked() {
        check(
            &Fixture::rates(),
            "\
Throughput (tps, 95 % interval) by innodb_flush_log_at_trx_commit

 rate               =1             =2
4 000  3 880 ±0.00 % †  4 000 ±0.00 %

† generator-limited: \"What it means\" has the reason.
 rate  started/s              tps  skipped  queue at end  sustained
4 000      3 880  3 880 ±0.00 % †        0         1 200  no: 1 200 of 40 000 starts were still
                                                          waiting at the end (3.0 %)
 rate  response p50     p95      p99    p99.9      max  mark
4 000       90.0 ms  250 ms   310 ms   320 ms   330 ms  †
 rate  service p50     p95      p99      max  lag p50     p99      max  late p99  mark
4 000       290 µs  800 µs  2.00 ms  8.80 ms  89.0 ms  309 ms   329 ms   60.0 µs  †
4 000  ×1.031 [1.031, 1.031]  +0.01 % or −0.01 %  faster, generator-limited
- generator-limited: the load generator was the bottleneck; the server may be faster.
  innodb_flush_log_at_trx_commit=1 rate=4000 connections=8: (3 of 3 trials) its own starts were
  late: p99 2.5 ms. Give the generator more workers (--workers), cores of its own (--pin), or
",
        );
    }

    /// Retried attempts, what the policy makes of a class, and a message that would move the cursor.
    #[test]
    fn errors_have_their_policy_and_no_control_characters() {
        let fixture = Fixture::rates().with(|trials| {
            let error = |class: &str, code, count, retried, message: &str| truetps_record::ErrorCount {
                class: class.parse().unwrap(),
                code,
                count,
                retried,
                first_message: message.to_owned(),
            };
            let measured = trials[0].measured.as_mut().unwrap();
            measured.errors = vec![
                error("deadlock", 1213, 0, 1234, "try again\u{1b}[2J"),
                error("duplicate_key", 1062, 7, 0, "Duplicate entry"),
                error("connection_lost", 0, 1, 0, "gone"),
            ];
            (measured.counts.retried, measured.counts.ignored) = (1234, 7);
        });
        check(
            &fixture,
            "\
Failed transactions, CPU a transaction

innodb_flush_log_at_trx_commit=1 (baseline)
 rate  trials  failed  retried  client CPU  server CPU  mark
          error  number  failed  retried   policy  first message
  duplicate_key    1062       7        0  ignored  Duplicate entry (at
connection_lost       –       1        0        –  gone (at innodb_flush_log_at_trx_commit=1
       deadlock    1213       0    1 234  retried  try again [2J (at
",
        );
    }

    #[test]
    fn what_the_baseline_takes_comes_first() {
        check(
            &Fixture::durability(),
            "\
Answer    With innodb_flush_log_at_trx_commit=1 (baseline): 2 652 tps, best at 50 connections (95 %
          interval [2 553, 2 755] tps).
",
        );
        assert!(!text(&Fixture::rates().input(), TextScreen::PLAIN).contains("Answer"));
    }

    #[test]
    fn a_stall_has_its_line_and_a_transaction_its_cost() {
        check(
            &Fixture::watched(),
            "\
Stalls    1.8 of 60.0 s measured (3.0 %) in 1 of 2 trials, longest 1.8 s (trial-0002, 20.3 s after
          its first transaction; waiting for redo flush)
Ledger    a transaction: server CPU 84.0 µs → 84.0 µs, redo log syncs 1.020 → 1.085, redo log 512 B
          → 545 B
Stalls and dips
stalls  stalled  longest  dips  longest gap  configuration
     0    0.0 %        –     0     < 100 ms  innodb_flush_log_at_trx_commit=1 connections=8
     1    6.0 %    1.8 s     0       1.80 s  innodb_flush_log_at_trx_commit=2 connections=8
     trial          start  length  depth  usual tps  at the same time
trial-0002  stall  20.3 s   1.8 s  100 %      1 000  redo flush
",
        );
    }

    #[test]
    fn a_script_is_not_said_to_have_what_it_may_not_have() {
        let fixture = Fixture::script_without_server();
        check(
            &fixture,
            "\
Server    none: the script had connected to no server
Load      cpu, a script of sysbench; no warm-up; 10 000 transactions
",
        );
        let text = text(&fixture.input(), TextScreen::PLAIN);
        assert!(!text.contains("mysql") && !text.contains("prepared") && !text.contains(" of 0 rows"), "{text}");
    }

    #[test]
    fn one_block_is_called_one_trial() {
        check(
            &Fixture::connections_only(),
            "          8  819.5 (1 trial)       1  8.79 ms  17.6 ms  29.3 ms  390 ms       0     11.5 µs     84.0 µs\n",
        );
    }

    /// Six combinations of settings do not fit beside each other: one table each, with throughput.
    #[test]
    fn many_settings_have_a_table_each() {
        let fixture = Fixture::of_plan(
            "name = \"both\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[design]\nblocks = 2\n[factors]\n\
             innodb_flush_log_at_trx_commit = [1, 2, 0]\nsync_binlog = [0, 1]\nconnections = [1, 8]\n",
        );
        check(
            &fixture,
            "\
Throughput (tps, 95 % interval), response times, failed transactions, CPU a transaction
innodb_flush_log_at_trx_commit=1 sync_binlog=0 (baseline)
innodb_flush_log_at_trx_commit=2 sync_binlog=1
Against innodb_flush_log_at_trx_commit=1
innodb_flush_log_at_trx_commit=0 sync_binlog=1
innodb_flush_log_at_trx_commit / sync_binlog  knee  knee to best        best at  last to best
",
        );
    }

    #[test]
    fn colour_adds_nothing_that_the_words_do_not_say() {
        for fixture in [Fixture::durability(), Fixture::troubled()] {
            let coloured = text(&fixture.input(), TextScreen::new(true, None));
            let mut plain = String::new();
            for (index, part) in coloured.split('\u{1b}').enumerate() {
                plain.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
            }
            assert_eq!(plain, text(&fixture.input(), TextScreen::PLAIN));
            assert!(coloured.contains("\u{1b}[32mfaster\u{1b}[0m"));
        }
    }

    #[test]
    fn lines_fit_a_terminal() {
        for fixture in [
            Fixture::durability(),
            Fixture::troubled(),
            Fixture::rates(),
            Fixture::open_run(8000),
            Fixture::durability().with(Vec::clear),
        ] {
            let text = text(&fixture.input(), TextScreen::PLAIN);
            let wide: Vec<_> = text.lines().filter(|line| display_width(line) > TEXT_WIDTH).collect();
            assert!(wide.is_empty(), "{wide:?}");
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        }
    }

    #[test]
    fn a_narrow_terminal_breaks_no_number() {
        for fixture in [Fixture::durability(), Fixture::troubled(), Fixture::rates(), Fixture::watched()] {
            for width in [40, 60, 80] {
                let text = text(&fixture.input(), TextScreen::new(false, Some(width)));
                let wide: Vec<_> = text.lines().filter(|line| display_width(line) > width).collect();
                assert!(wide.is_empty(), "{width}: {wide:#?}");
            }
        }
        assert!(
            text(&Fixture::durability().input(), TextScreen::new(false, Some(20)))
                .lines()
                .any(|line| display_width(line) > 30)
        );
    }

    #[test]
    fn lists_are_as_wide_as_the_terminal() {
        let screen = TextScreen::new(false, Some(40));
        let text = "a question that is longer than forty columns are, and is asked in full";
        assert!(screen.listed("name", 8, text).lines().all(|line| display_width(line) <= 40));
        assert!(screen.listed("name", 8, text).starts_with("name     a question"));
        assert_eq!(screen.cut("short"), "short");
        assert_eq!(display_width(&screen.cut(text)), 40);
        assert!(screen.cut(text).ends_with('…'));
    }

    #[test]
    fn numbers_are_not_broken() {
        assert_eq!(
            unbreakable("of 200 000 rows, 4.2 % in 2.10 ms; 1 194/s"),
            ["of ", "200 000 ", "rows, ", "4.2 % ", "in ", "2.10 ms; ", "1 194/s "]
        );
    }

    #[test]
    fn chinese_text_takes_two_columns_a_character() {
        let entry = |text: &str| TableEntry::from(text.to_owned());
        let table = DocumentTable {
            caption: None,
            header: vec!["code".to_owned(), "first message".to_owned()],
            rows: vec![
                vec![entry("表已满"), entry(&"数据库表已满，无法写入。".repeat(8))],
                vec![entry("1062"), entry("Duplicate entry")],
            ],
            words_last: true,
            forest: None,
        };
        let mut out = String::new();
        push_table(&mut out, &table, TextScreen::new(false, Some(60)));
        let lines: Vec<_> = out.lines().filter(|line| !line.is_empty()).collect();
        assert!(lines.iter().all(|line| display_width(line) <= 60) && lines.len() > 4, "{out}");
        assert!(lines.iter().all(|line| !line.trim_start().starts_with(['，', '。'])), "{out}");
        assert_eq!(lines[0], "  code  first message");
        assert_eq!(lines.last(), Some(&"  1062  Duplicate entry"));
        assert!(lines[1].starts_with("表已满  数据库"), "{out}");
    }
}
