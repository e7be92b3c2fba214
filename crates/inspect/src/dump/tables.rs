//! Results as clients print them: `mysql`, `mariadb` and `psql`, in each of their forms.

use std::borrow::Cow;

use super::boxes::{aligned, boxed};
use super::row::{DumpRow, POSTGRES_VALUES, checked, has_column};
use super::separated::separated;

const MYSQL: &str = "SHOW VARIABLES";
const POSTGRES: &str = "pg_settings";
/// The kind of the results, and their rows.
pub(super) fn records(text: &str) -> Option<(&'static str, Vec<DumpRow>)> {
    let readers = [vertical, xml, boxed, expanded, aligned, separated];
    let text = in_ascii(text);
    readers.into_iter().find_map(|read| read(&text)).map(|records| {
        let is_of_postgres =
            has_column(&records[0], &POSTGRES_VALUES) && has_column(&records[0], &["name"]);
        (if is_of_postgres { POSTGRES } else { MYSQL }, records)
    })
}

/// The lines of `psql` with `linestyle=unicode`, as the ones of `ascii`.
fn in_ascii(text: &str) -> Cow<'_, str> {
    if !text.contains('─') {
        return Cow::Borrowed(text);
    }
    let plain = text.chars().map(|c| match c {
        '─' => '-',
        '│' => '|',
        '┌' | '┬' | '┐' | '├' | '┼' | '┤' | '└' | '┴' | '┘' | '↵' => '+',
        '…' => '.',
        c => c,
    });
    Cow::Owned(plain.collect())
}

/// `*** 1. row ***`, then `Variable_name: x` and `Value: y`.
fn vertical(text: &str) -> Option<Vec<DumpRow>> {
    let mut records: Vec<DumpRow> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        is_open &= !is_end(line);
        let is_head =
            line.starts_with("***") && line.trim_end().ends_with("***") && line.contains(". row ");
        match (is_head, records.last_mut().filter(|_| is_open)) {
            (true, _) => {
                records.push(DumpRow::new());
                is_open = true;
            }
            (false, Some(record)) => match line.split_once(':') {
                Some((column, value))
                    if column.trim().chars().all(|c| c.is_ascii_alphabetic() || c == '_') =>
                {
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

/// `2 rows in set (0.00 sec)`
fn is_end(line: &str) -> bool {
    let rows = line.split_once(' ').filter(|(number, _)| number.parse::<u64>().is_ok());
    rows.is_some_and(|(_, rest)| rest.starts_with("row in set") || rest.starts_with("rows in set"))
}

/// `<row><field name="Variable_name">x</field><field name="Value">y</field></row>`
fn xml(text: &str) -> Option<Vec<DumpRow>> {
    if !text.contains("<resultset") {
        return None;
    }
    let rows = text.split("<row>").skip(1);
    let rows = rows.map(|row| row.split("<field name=\"").skip(1).filter_map(xml_field).collect());
    checked(rows.collect())
}

fn xml_field(field: &str) -> Option<(String, String)> {
    let (column, rest) = field.split_once('"')?;
    let value = rest.split_once('>')?.1.split("</field>").next()?;
    Some((column.to_lowercase(), without_entities(value)))
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
        } else if let (Some(record), Some((column, value))) =
            (records.last_mut(), line.split_once('|'))
        {
            record.push((column.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    checked(records)
}

#[cfg(test)]
mod tests {
    use truetps_random::RandomStream;

    use super::*;

    fn cells(text: &str) -> Vec<Vec<String>> {
        let (_, records) = records(text).unwrap_or_else(|| unreachable!("{text}"));
        records
            .into_iter()
            .map(|record| record.into_iter().map(|(_, cell)| cell).collect())
            .collect()
    }

    /// What results are made of.
    const PARTS: [&str; 26] = [
        "|",
        "|",
        "+",
        "+",
        "-",
        "---",
        "\n",
        "\n",
        "\n",
        " ",
        " ",
        "name",
        "setting",
        "Variable_name",
        "Value",
        "a",
        ".",
        "\t",
        ",",
        ";",
        "\"",
        ":",
        "*** 1. row ***",
        "-[ RECORD 1 ]-",
        "1 row in set (0.00 sec)",
        "\u{3000}",
    ];

    /// Whatever it is, it is read to its end.
    #[test]
    fn random_texts() {
        // A column without a width.
        for text in ["name|setting\n---+\na|+\n", "|name|setting|\n+---++\n|a|+|\n"] {
            assert!(records(text).is_none_or(|(_, records)| records.len() == 1), "{text}");
        }
        let mut read = 0;
        for seed in 0..20_000 {
            let mut random = RandomStream::new(seed, 0);
            let parts =
                (0..random.below(60)).map(|_| PARTS[random.below(PARTS.len() as u64) as usize]);
            let start =
                ["", "name|setting\n----+---\n", "|name|value|\n|----|---|\n", "name,setting\n"]
                    [seed as usize % 4];
            let parts: Vec<_> = std::iter::once(start).chain(parts.collect::<Vec<_>>()).collect();
            read += u32::from(records(&parts.concat()).is_some());
        }
        assert!(read > 1_000, "{read}");
    }

    /// What the forms have difficulties with; the clients' own output is read by a test with
    /// servers.
    #[test]
    fn odd_cells() {
        let boxed = "mysql> show variables;\n+---+---+\n| Variable_name | Value |\n+---+---+\n| ft \
                     | + -><()~*:\"\"&| |\n\
                     | init | a\nb |\n| empty |  |\n+---+---+\n2 rows in set (0.00 sec)\n";
        assert_eq!(cells(boxed), [["ft", "+ -><()~*:\"\"&|"], ["init", "a\nb"], ["empty", ""]]);
        let vertical = "*** 1. row ***\nVariable_name: init\n        Value: SET a=':'\nb 2\n*** 2. \
                        row ***\nVariable_name: e\n        Value: \n";
        assert_eq!(cells(vertical), [["init", "SET a=':'\nb 2"], ["e", ""]]);
        assert_eq!(cells("Variable_name\tValue\nx\ta\\nb\\\\c\\t\n"), [["x", "a\nb\\c\t"]]);
        assert_eq!(cells("name,setting\nx,\"a,\"\"b\"\"\nc\"\n"), [["x", "a,\"b\"\nc"]]);
        let aligned = " name | setting \n------+---------\n a    | x|y\n b    | one    +\n      | \
                       two\n(2 rows)\n";
        assert_eq!(cells(aligned), [["a", "x|y"], ["b", "one\ntwo"]]);
        let xml = "<?xml?>\n<resultset statement=\"x\">\n<row>\n<field \
                   name=\"Variable_name\">a</field>\n\
                   <field name=\"Value\">&lt;&amp;amp;</field>\n</row></resultset>";
        assert_eq!(cells(xml), [["a", "<&amp;"]]);
        for other in [
            "",
            "[mysqld]\na=1\n",
            "a|b\n1|2\n",
            "+---+\n",
            "+---+\n| a |\n+---+\n| 1 |\n",
            "-[ RECORD 1 ]\n",
            "|setting|\n|---|\n|1|\n",
            "---+---\n",
        ] {
            assert!(records(other).is_none(), "{other}");
        }
    }
}
