//! A report as GitHub-flavoured Markdown.

use crate::document::{Block, Document, DocumentSection, DocumentTable};
use crate::printable;
use truetps_record::is_obeyed;

pub(crate) fn draw(document: Document) -> String {
    let Document { title, facts, sections } = document;
    let mut lines = vec![format!("# {}", escape(&title)), String::new()];
    lines.extend(facts.iter().map(|(word, fact)| format!("- **{word}**: {}", escape(fact))));
    for DocumentSection { heading, blocks } in sections {
        lines.extend([String::new(), format!("## {}", escape(&heading))]);
        for block in &blocks {
            lines.push(String::new());
            push_block(&mut lines, block);
        }
    }
    lines.join("\n") + "\n"
}

fn push_block(lines: &mut Vec<String>, block: &Block) {
    match block {
        Block::Table(table) => push_table(lines, table),
        Block::Paragraph(text) => lines.push(escape(text)),
        Block::List(items) => lines.extend(items.iter().map(|item| format!("- {}", escape(item)))),
        Block::Lines(text) => push_lines(lines, "diff", text),
        Block::Code(text) => push_lines(lines, "", text),
        Block::Picture(_) => {}
    }
}

/// A block of code whose fence is longer than any within it.
fn push_lines(lines: &mut Vec<String>, language: &str, text: &[String]) {
    let longest =
        text.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    lines.push(format!("{fence}{language}"));
    lines.extend(text.iter().map(|line| printable(line)));
    lines.push(fence);
}

fn push_table(lines: &mut Vec<String>, table: &DocumentTable) {
    if let Some(caption) = &table.caption {
        lines.extend([format!("**{}**", escape(caption)), String::new()]);
    }
    lines.push(row(table.header.iter().map(|text| escape(text))));
    let mut rulers = vec!["--:".to_owned(); table.header.len()];
    if let Some(last) = rulers.last_mut().filter(|_| table.words_last) {
        ":--".clone_into(last);
    }
    lines.push(row(rulers.into_iter()));
    for entries in &table.rows {
        lines.push(row(entries.iter().map(|entry| escape(&entry.text))));
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.collect();
    format!("| {} |", cells.join(" | "))
}

/// Escapes messages of a server, names and notes: they are text, never markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_obeyed(c) => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReportAnswer;
    use crate::fixture::Fixture;

    fn check(fixture: &Fixture, expect: &str) {
        let got = fixture.input().markdown();
        assert!(got.contains(expect), "{got}\nshould contain\n{expect}");
    }

    #[test]
    fn tables() {
        check(
            &Fixture::durability(),
            "\n## Throughput (tps, 95 % interval) by innodb\\_flush\\_log\\_at\\_trx\\_commit\n\n\
             | connections | =1 | =2 | =0 |\n\
             | --: | --: | --: | --: |\n\
             | 1 | 210.0 ±5.1 % | 6 040 ±3.9 % | 5 980 ±3.9 % |\n",
        );
        check(
            &Fixture::durability(),
            "| connections | tps ratio | detectable | verdict |\n| --: | --: | --: | :-- |\n",
        );
        check(
            &Fixture::durability(),
            "| 50 | ×2.26 \\[2.16, 2.37\\] | +10 % or −9.1 % | faster |\n",
        );
    }

    #[test]
    fn an_open_loop_is_marked_and_explained() {
        let fixture = Fixture::rates().with(|trials| {
            trials[2].measured.as_mut().unwrap().generator_limited =
                Some(truetps_record::Reason::Text("a <b> | c".to_owned()));
        });
        check(
            &fixture,
            "| 4 000 | 3 880 | 3 880 ±0.00 % † | 0 | 1 200 | no: 1 200 of 40 000 starts were still \
             waiting",
        );
        check(&fixture, "| faster, generator-limited |\n");
        check(&fixture, "(3 of 3 trials) a &lt;b> \\| c. Give the generator more workers");
        check(&fixture, "\nResponse time counts from the scheduled start");
    }

    #[test]
    fn messages_of_a_server_are_no_markup() {
        check(&Fixture::troubled(), "try &lt;again> &amp; again (at innodb");
        assert_eq!(escape("a|b\n`c`"), "a\\|b \\`c\\`");
    }
}
