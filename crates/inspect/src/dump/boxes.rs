//! Results in columns of a fixed width: boxes of `mysql`, aligned ones of `psql`, and tables of
//! Markdown.

use super::row::{DumpRow, checked, columns_of, record};

/// Rows between `|`, below a header and a rule: `+---+` of `mysql -t` and of `psql` with
/// `border=2`, `|---|` of Markdown.
pub(super) fn boxed(text: &str) -> Option<Vec<DumpRow>> {
    let lines: Vec<_> = text.lines().map(unquoted).collect();
    let (mut records, mut at) = (Vec::new(), 0);
    while at + 1 < lines.len() {
        let header = inner(lines[at]).filter(|header| !is_rule(header));
        let Some((header, rule)) = header.zip(framed_rule(lines[at + 1])) else {
            at += 1;
            continue;
        };
        at += 2;
        let Some(mut result) = ColumnRows::new(header, rule) else { continue };
        let mut open = String::new();
        while let Some(line) =
            lines.get(at).filter(|line| !open.is_empty() || line.starts_with('|'))
        {
            open += line;
            // A row that does not end in `|` goes on in the next line.
            if line.trim_end().ends_with('|') {
                result.add(inner(&open).unwrap_or(&open));
                open.clear();
            } else {
                open.push('\n');
            }
            at += 1;
        }
        records.extend(checked(result.records).unwrap_or_default());
    }
    checked(records)
}

/// A header, `---+---`, and cells in columns of that width, of `psql`.
pub(super) fn aligned(text: &str) -> Option<Vec<DumpRow>> {
    let lines: Vec<_> = text.lines().collect();
    let mut records = Vec::new();
    for (at, rule) in
        lines.iter().enumerate().skip(1).filter(|(_, line)| is_rule(line) && line.contains('+'))
    {
        let Some(mut result) = ColumnRows::new(lines[at - 1], rule.trim_end()) else { continue };
        for line in &lines[at + 1..] {
            if line.starts_with('(') || line.trim().is_empty() || is_rule(line) {
                break;
            }
            result.add(line);
        }
        records.extend(checked(result.records).unwrap_or_default());
    }
    checked(records)
}

/// Without what a mail or a page sets before each line of a table.
fn unquoted(line: &str) -> &str {
    let table = line.trim_start_matches([' ', '\t', '>']);
    if table.starts_with(['|', '+']) { table } else { line }
}

/// What a whole row has between its outer `|`.
pub(super) fn inner(row: &str) -> Option<&str> {
    row.trim_end().strip_prefix('|')?.strip_suffix('|')
}

fn is_rule(text: &str) -> bool {
    text.contains('-') && text.trim_end().chars().all(|c| "+-|: ".contains(c))
}

fn framed_rule(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let inside = line.strip_prefix(['+', '|'])?.strip_suffix(['+', '|'])?;
    is_rule(inside).then_some(inside)
}

/// The rows of a result.
struct ColumnRows {
    columns: Vec<String>,
    /// Where a column ends, and the width of the line, in characters.
    ends: Vec<usize>,
    width: usize,
    records: Vec<DumpRow>,
    /// What joins the next line to each cell of the last row, where it was not whole.
    joins: Vec<Option<&'static str>>,
}

impl ColumnRows {
    fn new(header: &str, rule: &str) -> Option<Self> {
        let columns = columns_of(header.split('|'));
        let ends: Vec<_> =
            rule.chars().enumerate().filter(|(_, c)| "+|".contains(*c)).map(|(at, _)| at).collect();
        let is_of_columns = columns.len() == ends.len() + 1;
        let width = rule.chars().count();
        is_of_columns.then_some(Self {
            columns,
            ends,
            width,
            records: Vec::new(),
            joins: Vec::new(),
        })
    }

    fn add(&mut self, row: &str) {
        let Some(cells) = self.cells(row) else {
            // Wider letters move the ends; a value may have a `|`.
            let cells = row.splitn(self.columns.len(), '|').map(|cell| cell.trim().to_owned());
            self.records.push(record(&self.columns, cells));
            self.joins.clear();
            return;
        };
        let parts: Vec<_> =
            cells.iter().enumerate().map(|(column, cell)| self.part(column, cell)).collect();
        match self.records.last_mut().filter(|_| self.joins.iter().any(Option::is_some)) {
            Some(last) => {
                for (((_, value), (more, _)), join) in last.iter_mut().zip(&parts).zip(&self.joins)
                {
                    value.extend(join.iter().copied().chain(join.map(|_| more.as_str())));
                }
            }
            None => {
                self.records
                    .push(record(&self.columns, parts.iter().map(|(part, _)| part.clone())));
            }
        }
        self.joins = parts.into_iter().map(|(_, join)| join).collect();
        if self.joins.iter().all(Option::is_none)
            && let Some(last) = self.records.last_mut()
        {
            for (_, value) in last.iter_mut() {
                *value = value.trim().to_owned();
            }
        }
    }

    /// With the blanks around them. `None`: the ends are elsewhere.
    fn cells(&self, row: &str) -> Option<Vec<String>> {
        let row: Vec<_> = row.chars().collect();
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end + 1));
        let stops = self.ends.iter().copied().chain([row.len()]);
        let is_regular = self.ends.iter().all(|end| row.get(*end) == Some(&'|'));
        let cells =
            starts.zip(stops).map(|(start, stop)| Some(row.get(start..stop)?.iter().collect()));
        is_regular.then(|| cells.collect())?
    }

    /// A cell's text, and what joins the next line to it: `psql` marks the end of a line in a value
    /// by `+`, and a value that is too wide for the terminal by `.`.
    fn part(&self, column: usize, cell: &str) -> (String, Option<&'static str>) {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        let width = self.ends.get(column).copied().unwrap_or(self.width) - start;
        let last = width.saturating_sub(1);
        let (until, join) = match cell.chars().nth(last).filter(|_| last > 0) {
            Some('+') => (last, Some("\n")),
            Some('.') => (last, Some("")),
            _ => (usize::MAX, None),
        };
        let text: String = cell.chars().take(until).skip(1).collect();
        (if join == Some("") { text } else { text.trim_end().to_owned() }, join)
    }
}
