//! The statements of a text, as MySQL's client finds them: a line `DELIMITER //` says what ends
//! them from there on, so that routines can have a `;` inside.

use truetps_files::{SqlScriptError, split_sql};
use truetps_record::SqlDialect;

const USUAL: &str = ";";

/// A statement, and the line of its text that it begins in; `None` where the text has one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SplitStatement {
    pub(crate) text: String,
    pub(crate) line: Option<usize>,
}

/// A part of a text that has one delimiter.
struct DelimitedText<'a> {
    from: usize,
    text: &'a str,
    delimiter: &'a str,
}

pub(crate) fn split(
    text: &str,
    dialect: SqlDialect,
) -> Result<Vec<SplitStatement>, SqlScriptError> {
    let has_lines = text.trim_end().contains('\n');
    let mut statements = Vec::new();
    // Lines are counted once, from statement to statement.
    let (mut line, mut counted) = (1, 0);
    for section in sections(text, dialect) {
        let mut at = section.from;
        for statement in split_sql(section.text, section.delimiter, dialect)? {
            // They are parts of the text, in its order.
            at += text[at..].find(&statement).unwrap_or(0);
            line += text[counted..at].matches('\n').count();
            counted = at;
            at += statement.len();
            statements.push(SplitStatement { text: statement, line: has_lines.then_some(line) });
        }
    }
    Ok(statements)
}

fn sections(text: &str, dialect: SqlDialect) -> Vec<DelimitedText<'_>> {
    let mut sections = Vec::new();
    let (mut delimiter, mut from, mut at) = (USUAL, 0, 0);
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let Some(next) = delimiter_of(line) else { continue };
        let before = &text[from..begin];
        // Inside a statement, a comment or quotes it is a part of that.
        if is_complete(before, delimiter, dialect) {
            sections.push(DelimitedText { from, text: before, delimiter });
            (delimiter, from) = (next, at);
        }
    }
    sections.push(DelimitedText { from, text: &text[from..], delimiter });
    sections
}

/// What a line `DELIMITER WORD` says.
fn delimiter_of(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("delimiter"))?;
    words.next()
}

/// Whether a statement that comes next would be one of its own.
fn is_complete(text: &str, delimiter: &str, dialect: SqlDialect) -> bool {
    let (without, with) =
        (split_sql(text, delimiter, dialect), split_sql(&format!("{text}\nx"), delimiter, dialect));
    matches!((without, with), (Ok(without), Ok(with)) if with.len() == without.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_ends_statements() {
        let found = |text: &str| {
            let statements = split(text, SqlDialect::Mysql).unwrap();
            statements.into_iter().map(|one| (one.line.unwrap_or(0), one.text)).collect::<Vec<_>>()
        };
        let check = |text: &str, expect: &[(usize, &str)]| {
            let expect: Vec<_> =
                expect.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
            assert_eq!(found(text), expect, "{text}");
        };
        check("SELECT 1; SELECT 2", &[(0, "SELECT 1"), (0, "SELECT 2")]);
        check("SELECT 1;\n\nSELECT\n2;\n", &[(1, "SELECT 1"), (3, "SELECT\n2")]);
        let routine = "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END";
        let text =
            format!("USE x;\nDELIMITER //\n{routine} //\ndelimiter ;\nCALL p();\nSELECT ';'");
        check(&text, &[(1, "USE x"), (3, routine), (5, "CALL p()"), (6, "SELECT ';'")]);
        check(&format!("DELIMITER $$\r\n{routine}$$\r\n"), &[(2, routine)]);
        // Windows' ends of lines, a comment before it, and a delimiter that nothing follows.
        check("-- one;\nDELIMITER //\nSELECT 1", &[(3, "SELECT 1")]);
        // A part of a statement, of quotes, of a comment.
        check("SELECT\ndelimiter x\nFROM t", &[(1, "SELECT\ndelimiter x\nFROM t")]);
        check(
            "SELECT '\ndelimiter //\n'; SELECT 1",
            &[(1, "SELECT '\ndelimiter //\n'"), (3, "SELECT 1")],
        );
        check(
            "/*\ndelimiter //\n*/ SELECT 1; SELECT 2",
            &[(1, "/*\ndelimiter //\n*/ SELECT 1"), (3, "SELECT 2")],
        );
        assert!(split("DELIMITER //\nSELECT 'x", SqlDialect::Mysql).is_err());
    }
}
