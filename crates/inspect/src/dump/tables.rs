//! Results as clients print them: `mysql`, `mariadb` and `psql`, in each of their forms.

use super::{DumpRow, NAMES, VALUES};

const MYSQL: &str = "SHOW VARIABLES";
const POSTGRES: &str = "pg_settings";
/// Before the result stand at most so many lines: a prompt, the statement, warnings.
const LINES_BEFORE_MAX: usize = 20;

/// The kind of the result, and its rows.
pub(super) fn records(text: &str) -> Option<(&'static str, Vec<DumpRow>)> {
    let readers = [vertical, xml, boxed, expanded, aligned, separated];
    readers.into_iter().find_map(|read| read(text)).map(|records| {
        let is_of_postgres = records[0].iter().any(|(column, _)| column == "setting");
        (if is_of_postgres { POSTGRES } else { MYSQL }, records)
    })
}

/// Of columns that name a setting and its value.
fn checked(records: Vec<DumpRow>) -> Option<Vec<DumpRow>> {
    let has = |columns: &[&str]| records.first()?.iter().find(|(name, _)| columns.contains(&name.as_str()));
    has(&NAMES).and(has(&VALUES)).is_some().then_some(records)
}

fn columns_of<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<String> {
    cells.map(|cell| cell.trim().to_lowercase()).collect()
}

fn record(columns: &[String], cells: impl Iterator<Item = String>) -> DumpRow {
    columns.iter().cloned().zip(cells).collect()
}

/// `+---+` around `| name | value |`. A row that does not end in `|` goes on in the next line.
fn boxed(text: &str) -> Option<Vec<DumpRow>> {
    let mut lines = text.lines().skip_while(|line| !is_rule(line, '+'));
    lines.next()?;
    let columns = columns_of(inner(lines.next()?)?.split('|'));
    let (mut records, mut open) = (Vec::new(), String::new());
    for line in lines.skip(1).take_while(|line| !is_rule(line, '+')) {
        open += line;
        match inner(&open) {
            Some(row) => {
                records.push(record(&columns, row.splitn(columns.len(), '|').map(|cell| cell.trim().to_owned())));
                open.clear();
            }
            None => open.push('\n'),
        }
    }
    checked(records)
}

/// Of a whole row.
fn inner(row: &str) -> Option<&str> {
    row.trim_end().strip_prefix('|')?.strip_suffix('|')
}

fn is_rule(line: &str, first: char) -> bool {
    let line = line.trim_end();
    line.starts_with(first) && line.len() > 2 && line.chars().all(|c| "+-".contains(c))
}

/// `*** 1. row ***`, then `Variable_name: x` and `Value: y`.
fn vertical(text: &str) -> Option<Vec<DumpRow>> {
    let mut records: Vec<DumpRow> = Vec::new();
    for line in text.lines() {
        let is_head = line.starts_with("***") && line.trim_end().ends_with("***") && line.contains(". row ");
        match (is_head, records.last_mut()) {
            (true, _) => records.push(DumpRow::new()),
            (false, Some(record)) => match line.split_once(':') {
                Some((column, value)) if column.trim().chars().all(|c| c.is_ascii_alphabetic() || c == '_') => {
                    record.push((column.trim().to_lowercase(), value.trim_start().to_owned()));
                }
                _ => {
                    if let Some((_, value)) = record.last_mut().filter(|_| !line.is_empty()) {
                        value.extend(["\n", line]);
                    }
                }
            },
            (false, None) => {}
        }
    }
    checked(records)
}

/// `<row><field name="Variable_name">x</field><field name="Value">y</field></row>`
fn xml(text: &str) -> Option<Vec<DumpRow>> {
    if !text.contains("<resultset") {
        return None;
    }
    let field = |field: &str| {
        let (column, rest) = field.split_once('"')?;
        let value = rest.split_once('>')?.1.split("</field>").next()?;
        Some((column.to_lowercase(), without_entities(value)))
    };
    let rows = text.split("<row>").skip(1);
    let rows = rows.map(|row| row.split("<field name=\"").skip(1).filter_map(field).collect());
    checked(rows.collect())
}

fn without_entities(text: &str) -> String {
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    plain.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

/// `-[ RECORD 1 ]---`, then `name | x`.
fn expanded(text: &str) -> Option<Vec<DumpRow>> {
    let mut records: Vec<DumpRow> = Vec::new();
    for line in text.lines() {
        if line.starts_with("-[ RECORD ") {
            records.push(DumpRow::new());
        } else if let (Some(record), Some((column, value))) = (records.last_mut(), line.split_once('|')) {
            record.push((column.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    checked(records)
}

/// A header, `---+---`, and cells in columns of that width.
fn aligned(text: &str) -> Option<Vec<DumpRow>> {
    let lines: Vec<_> = text.lines().collect();
    let rule = lines.iter().position(|line| is_rule(line, '-') && line.contains('+')).filter(|at| *at > 0)?;
    let ends: Vec<_> = lines[rule].char_indices().filter(|(_, c)| *c == '+').map(|(at, _)| at).collect();
    let columns = columns_of(lines[rule - 1].split('|'));
    if columns.len() != ends.len() + 1 {
        return None;
    }
    let mut records: Vec<DumpRow> = Vec::new();
    for line in lines[rule + 1..].iter().take_while(|line| !line.starts_with('(') && !line.trim().is_empty()) {
        let cells = cells_between(line, &ends);
        match records.last_mut() {
            // A value with ends of lines, each marked by `+`.
            Some(last) if cells[0].is_empty() => {
                for ((_, value), more) in last.iter_mut().zip(&cells).filter(|(_, more)| !more.is_empty()) {
                    value.truncate(value.trim_end_matches('+').trim_end().len());
                    value.extend(["\n", more]);
                }
            }
            _ => records.push(record(&columns, cells.into_iter())),
        }
    }
    checked(records)
}

/// Trimmed; the ends are counted in characters.
fn cells_between(line: &str, ends: &[usize]) -> Vec<String> {
    let mut cells = vec![String::new()];
    for (at, c) in line.chars().enumerate() {
        if ends.contains(&at) {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(c);
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Of `mysql -B`, of `psql -A` and `--csv`.
fn separated(text: &str) -> Option<Vec<DumpRow>> {
    ['\t', '|', ','].into_iter().find_map(|separator| {
        let mut lines = text.lines().enumerate();
        let is_header = |line: &str| {
            let columns = columns_of(line.split(separator));
            let has = |wanted: &[&str]| columns.iter().any(|column| wanted.contains(&column.as_str()));
            has(&NAMES) && has(&VALUES)
        };
        let is_bare =
            separator == '\t' && text.lines().all(|line| line.split_once('\t').is_some_and(|(name, _)| is_name(name)));
        let header = match lines.by_ref().take(LINES_BEFORE_MAX).find(|(_, line)| is_header(line)) {
            Some((_, header)) => header,
            // `mysql -N`.
            None if is_bare => {
                lines = text.lines().enumerate();
                "name\tvalue"
            }
            None => return None,
        };
        let columns = columns_of(header.split(separator));
        let rest: Vec<_> = lines.map(|(_, line)| line).collect();
        let rows = match separator {
            ',' => quoted_rows(&rest.join("\n")),
            _ => rest.iter().map(|line| line.splitn(columns.len(), separator).map(str::to_owned).collect()).collect(),
        };
        let cell = |cell: String| if separator == '\t' { without_escapes(&cell) } else { cell };
        let is_whole = |row: &Vec<String>| row.len() == columns.len();
        checked(rows.into_iter().filter(is_whole).map(|row| record(&columns, row.into_iter().map(cell))).collect())
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

/// Rows of CSV: a quoted cell may have commas, ends of lines, and quotes written twice.
fn quoted_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().chain(['\n']).peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<Vec<String>> {
        let (_, records) = records(text).unwrap_or_else(|| unreachable!("{text}"));
        records.into_iter().map(|record| record.into_iter().map(|(_, cell)| cell).collect()).collect()
    }

    /// What the forms have difficulties with; the clients' own output is read by a test with servers.
    #[test]
    fn odd_cells() {
        let boxed = "mysql> show variables;\n+---+---+\n| Variable_name | Value |\n+---+---+\n| ft | + -><()~*:\"\"&| |\n\
                     | init | a\nb |\n| empty |  |\n+---+---+\n2 rows in set (0.00 sec)\n";
        assert_eq!(cells(boxed), [["ft", "+ -><()~*:\"\"&|"], ["init", "a\nb"], ["empty", ""]]);
        let vertical = "*** 1. row ***\nVariable_name: init\n        Value: SET a=':'\nb 2\n*** 2. row ***\nVariable_name: e\n        Value: \n";
        assert_eq!(cells(vertical), [["init", "SET a=':'\nb 2"], ["e", ""]]);
        assert_eq!(cells("Variable_name\tValue\nx\ta\\nb\\\\c\\t\n"), [["x", "a\nb\\c\t"]]);
        assert_eq!(cells("name,setting\nx,\"a,\"\"b\"\"\nc\"\n"), [["x", "a,\"b\"\nc"]]);
        let aligned = " name | setting \n------+---------\n a    | x|y\n b    | one    +\n      | two\n(2 rows)\n";
        assert_eq!(cells(aligned), [["a", "x|y"], ["b", "one\ntwo"]]);
        let xml = "<?xml?>\n<resultset statement=\"x\">\n<row>\n<field name=\"Variable_name\">a</field>\n\
                   <field name=\"Value\">&lt;&amp;amp;</field>\n</row></resultset>";
        assert_eq!(cells(xml), [["a", "<&amp;"]]);
        for other in [
            "",
            "[mysqld]\na=1\n",
            "a|b\n1|2\n",
            "+---+\n",
            "+---+\n| a |\n+---+\n| 1 |\n",
            "-[ RECORD 1 ]\n",
            "---+---\n",
        ] {
            assert!(records(other).is_none(), "{other}");
        }
    }
}
