//! An error of PostgreSQL in the format of its client library: with the line of the statement that
//! it is about.

use std::fmt::Write;

use truetps_driver::ServerError;

/// Columns shown of a long line, and how many of them follow the marked position.
const COLUMNS: usize = 60;
const COLUMNS_BEHIND: usize = 10;

/// `ERROR:  …`, the line with a mark below it, detail and hint: each a line of its own, with its
/// end.
pub(super) fn words(error: &ServerError, statement: &[u8]) -> String {
    let (rest, hint) = split(&error.message, "; hint: ");
    let (message, detail) = split(rest, "; detail: ");
    let mut text = format!("ERROR:  {message}\n");
    let marked =
        (error.position as usize).checked_sub(1).and_then(|index| marked_line(statement, index));
    text.push_str(&marked.unwrap_or_default());
    for (label, part) in [("DETAIL", detail), ("HINT", hint)] {
        if let Some(part) = part {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{label}:  {part}");
        }
    }
    text
}

fn split<'a>(message: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    message.split_once(mark).map_or((message, None), |(before, after)| (before, Some(after)))
}

/// The line with character number `index`, and a second one that points to it. `None`: there is no
/// such character.
fn marked_line(statement: &[u8], index: usize) -> Option<String> {
    let chars: Vec<char> = String::from_utf8_lossy(statement).chars().collect();
    let (before, behind) = chars.split_at_checked(index)?;
    let mut start = before.iter().rposition(|c| is_line_end(*c)).map_or(0, |end| end + 1);
    let mut end = index + behind.iter().position(|c| is_line_end(*c)).unwrap_or(behind.len());
    let number = String::from_iter(before).replace("\r\n", "\n").matches(['\n', '\r']).count() + 1;
    let (line_start, line_end) = (start, end);
    if columns(&chars[start..end]) > COLUMNS {
        if columns(&chars[start..index]) + COLUMNS_BEHIND <= COLUMNS {
            end = start + fitting(chars[start..end].iter(), COLUMNS);
        } else {
            end = index + fitting(chars[index..end].iter(), COLUMNS_BEHIND);
            start = end - fitting(chars[start..end].iter().rev(), COLUMNS);
        }
    }
    let head = format!("LINE {number}: {}", if start > line_start { "..." } else { "" });
    let tail = if end < line_end { "..." } else { "" };
    let shown: String =
        chars[start..end].iter().map(|c| if *c == '\t' { ' ' } else { *c }).collect();
    let mark = " ".repeat(head.len() + columns(&chars[start..index]));
    Some(format!("{head}{shown}{tail}\n{mark}^\n"))
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

/// How many of these characters fit.
fn fitting<'a>(chars: impl Iterator<Item = &'a char>, room: usize) -> usize {
    let used = chars.scan(0, |used, c| {
        *used += width(*c);
        Some(*used)
    });
    used.take_while(|used| *used <= room).count()
}

fn columns(chars: &[char]) -> usize {
    chars.iter().map(|c| width(*c)).sum()
}

/// Columns in a terminal: East Asian characters take two each.
fn width(c: char) -> usize {
    let is_wide = matches!(c as u32,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60
        | 0xffe0..=0xffe6 | 0x2_0000..=0x3_fffd);
    if is_wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(statement: &str, about: &str) -> String {
        let place = statement.find(about).map_or(0, |byte| statement[..byte].chars().count());
        marked_line(statement.as_bytes(), place).unwrap()
    }

    #[test]
    fn detail_and_hint_follow_the_line() {
        let message = "no such function; detail: none; hint: add casts".to_owned();
        let error = ServerError { code: 0, sqlstate: "42883".to_owned(), message, position: 8 };
        let expected = "ERROR:  no such function\nLINE 1: SELECT foo(1)\n               \
                        ^\nDETAIL:  none\nHINT:  add casts\n";
        assert_eq!(words(&error, b"SELECT foo(1)"), expected);
        assert_eq!(
            words(&ServerError { position: 0, ..error.clone() }, b"SELECT foo(1)").lines().count(),
            3
        );
        assert_eq!(
            words(&ServerError { position: 99, ..error }, b"SELECT foo(1)").lines().count(),
            3
        );
    }

    #[test]
    fn the_line_is_the_one_of_the_place() {
        assert_eq!(
            shown("SELECT 1\r\nFROM\tabsent\nWHERE 1", "absent"),
            "LINE 2: FROM absent\n             ^\n"
        );
        assert_eq!(
            shown("SELECT '漢ä' FROM absent", "absent"),
            format!("LINE 1: SELECT '漢ä' FROM absent\n{}^\n", " ".repeat(26))
        );
        assert_eq!(marked_line(b"SELECT (", 8).unwrap(), "LINE 1: SELECT (\n                ^\n");
    }

    #[test]
    fn long_lines_are_cut() {
        let (x, y) = ("x".repeat(70), "y".repeat(70));
        let text = shown(&format!("SELECT '{x}' FROM absent"), "absent");
        assert_eq!(
            text,
            format!("LINE 1: ...{}' FROM absent\n{}^\n", "x".repeat(47), " ".repeat(65))
        );
        let text = shown(&format!("SELECT '{x}' FROM absent WHERE a = '{y}'"), "absent");
        assert_eq!(
            text,
            format!("LINE 1: ...{}' FROM absent WHE...\n{}^\n", "x".repeat(43), " ".repeat(61))
        );
        let text = shown(&format!("SELECT 1 FROM absent WHERE a = '{y}'"), "absent");
        assert_eq!(
            text,
            format!(
                "LINE 1: SELECT 1 FROM absent WHERE a = '{}...\n{}^\n",
                "y".repeat(28),
                " ".repeat(22)
            )
        );
    }
}
