//! Results with a character between the cells: `mysql -B`, `psql -A`, `--csv`, and what other clients export.

use super::boxes::inner;
use super::tables::{are_columns, checked, columns_of, record};
use super::{DumpRow, is_known};

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
        let is_row = |row: &Vec<String>| {
            row.len() == columns.len() && columns_of(row.iter().map(String::as_str)) != columns
        };
        checked(
            rows.into_iter().filter(is_row).map(|row| record(&columns, row.into_iter())).collect(),
        )
    })
}

/// Whether it is a result of more than two columns whose names are missing.
pub(super) fn lacks_header(text: &str) -> bool {
    let is_wide = |rows: Vec<Vec<String>>| {
        rows[0].len() > 2 && rows.iter().all(|row| row.len() == rows[0].len())
    };
    SEPARATORS.into_iter().filter_map(|separator| bare_rows(text, separator)).any(is_wide)
}

fn is_header(line: &str, separator: char) -> bool {
    let cells = rows_of(line, separator);
    let columns = columns_of(cells.iter().flatten().map(String::as_str));
    are_columns(columns.iter().map(String::as_str))
}

/// Rows that begin with a name each, and at least one with a known one.
fn bare_rows(text: &str, separator: char) -> Option<Vec<Vec<String>>> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let are_framed = separator == '|' && lines().all(|line| inner(line).is_some());
    let text = lines().map(|line| if are_framed { inner(line).unwrap_or(line) } else { line });
    let text = text.collect::<Vec<_>>().join("\n");
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
    // Of programs that end each line with a separator.
    let ends_empty = |row: &Vec<String>| row.len() > 2 && row.last().is_some_and(String::is_empty);
    while !rows.is_empty() && rows.iter().all(ends_empty) {
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

fn rows_of(text: &str, separator: char) -> Vec<Vec<String>> {
    let plain = |line: &str| -> Vec<String> {
        line.split(separator).map(|cell| cell.trim().to_owned()).collect()
    };
    match separator {
        ',' | ';' => quoted_rows(text, separator),
        '\t' => text.lines().map(|line| line.split('\t').map(without_escapes).collect()).collect(),
        _ => text.lines().map(plain).collect(),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

/// Rows of CSV: a quoted cell may have separators, ends of lines, and quotes written twice. Clients that quote nothing
/// write quotes inside of a cell.
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
