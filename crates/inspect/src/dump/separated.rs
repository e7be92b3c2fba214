//! Results with a character between the cells: `mysql -B`, `psql -A`, `--csv`, and what other
//! clients export.

use super::boxes::inner;
use super::row::{DumpRow, are_columns, checked, columns_of, is_known, is_name, record};

/// Before the result stand at most so many lines: a prompt, the statement, warnings.
const LINES_BEFORE_MAX: usize = 20;
const SEPARATORS: [char; 4] = ['\t', '|', ',', ';'];

pub(super) fn separated(text: &str) -> Option<Vec<DumpRow>> {
    SEPARATORS.into_iter().find_map(|separator| {
        let header =
            text.lines().take(LINES_BEFORE_MAX).position(|line| is_header(line, separator));
        let (columns, rows) = if let Some(at) = header {
            let rest: Vec<_> = text.lines().skip(at).collect();
            let mut rows = rows_of(&rest.join("\n"), separator);
            (columns_of(rows.remove(0).iter().map(String::as_str)), rows)
        } else {
            // Without the names of its columns: of `mysql -N` and `psql -t`.
            let rows =
                bare_rows(text, separator).filter(|rows| rows.iter().all(|row| row.len() == 2))?;
            let is_of_postgres = rows.iter().any(|row| row[0] == "shared_buffers");
            let value = if is_of_postgres { "setting" } else { "value" };
            (columns_of(["name", value].into_iter()), rows)
        };
        // A client may print the header again.
        let rows = rows.into_iter().filter(|row| {
            row.len() == columns.len() && columns_of(row.iter().map(String::as_str)) != columns
        });
        checked(rows.map(|row| record(&columns, row.into_iter())).collect())
    })
}

/// Whether it is a result of more than two columns whose names are missing.
pub(super) fn lacks_header(text: &str) -> bool {
    SEPARATORS
        .into_iter()
        .filter_map(|separator| bare_rows(text, separator))
        .any(|rows| rows[0].len() > 2 && rows.iter().all(|row| row.len() == rows[0].len()))
}

fn is_header(line: &str, separator: char) -> bool {
    let cells = rows_of(line, separator);
    let columns = columns_of(cells.iter().flatten().map(String::as_str));
    are_columns(columns.iter().map(String::as_str))
}

/// Rows that begin with a name each, and at least one with a known one.
fn bare_rows(text: &str, separator: char) -> Option<Vec<Vec<String>>> {
    let mut lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if separator == '|'
        && let Some(framed) = lines.iter().map(|line| inner(line)).collect()
    {
        lines = framed;
    }
    let text = lines.join("\n");
    // The first line shows it, for most other texts.
    let (first, _) = text.lines().next()?.split_once(separator)?;
    is_name(first.trim().trim_matches('"')).then_some(())?;
    let mut rows = rows_of(&text, separator);
    // A value may have the separator, which is not quoted.
    if separator == '|' && rows.iter().any(|row| row.len() == 2) {
        rows.iter_mut()
            .filter(|row| row.len() > 2)
            .for_each(|row| *row = vec![row[0].clone(), row[1..].join("|")]);
    }
    // Some programs end each line with a separator.
    while !rows.is_empty() && rows.iter().all(|row| ends_empty(row)) {
        for row in &mut rows {
            row.pop();
        }
    }
    rows.iter_mut()
        .filter_map(|row| row.first_mut())
        .for_each(|name| *name = name.trim().to_owned());
    let are_names = rows.iter().all(|row| row.len() > 1 && is_name(&row[0]));
    (are_names && rows.iter().any(|row| is_known(&row[0].to_lowercase()))).then_some(rows)
}

fn ends_empty(row: &[String]) -> bool {
    row.len() > 2 && row.last().is_some_and(String::is_empty)
}

fn rows_of(text: &str, separator: char) -> Vec<Vec<String>> {
    match separator {
        ',' | ';' => quoted_rows(text, separator),
        '\t' => text.lines().map(|line| line.split('\t').map(without_escapes).collect()).collect(),
        _ => text
            .lines()
            .map(|line| line.split(separator).map(|cell| cell.trim().to_owned()).collect())
            .collect(),
    }
}

/// Rows of CSV: a quoted cell may have separators, ends of lines, and quotes written twice. Clients
/// that quote nothing write quotes inside of a cell.
fn quoted_rows(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) =
        (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().filter(|c| *c != '\r').chain(['\n']).peekable();
    let mut is_start = true;
    while let Some(c) = chars.next() {
        let starts = std::mem::take(&mut is_start);
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' if is_quoted => {
                is_quoted = false;
                if chars.peek().is_some_and(|next| *next != separator && *next != '\n') {
                    cell = format!("\"{cell}\"");
                }
            }
            '"' if starts => is_quoted = true,
            c if !is_quoted && (c == separator || c == '\n') => {
                row.push(std::mem::take(&mut cell));
                is_start = true;
                if c == '\n' {
                    rows.push(std::mem::take(&mut row));
                }
            }
            c => cell.push(c),
        }
    }
    rows
}

/// `mysql -B` writes tabs and ends of lines as `\t` and `\n`.
fn without_escapes(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('0') => out.push('\0'),
                other => out.extend(other),
            },
            c => out.push(c),
        }
    }
    out
}
