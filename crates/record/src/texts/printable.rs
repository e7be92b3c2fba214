//! Text from outside (a plan, another user's folder, a server's message), made safe to print: it
//! cannot move the terminal's cursor or reverse the direction of the text around it.

/// Whether a terminal interprets this character, or prints what follows from right to left.
pub fn is_obeyed(c: char) -> bool {
    let is_line = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_line || turns
}

/// The text on one line, with a space for each control character.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect()
}

/// [`printable`] for a message of several lines: it keeps the ends of lines.
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) && c != '\n' { ' ' } else { c }).collect()
}

/// [`printable`] for a text that was laid out before: it keeps ends of lines and tabs.
pub fn printable_text(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

/// A JSON document in which each such character is escaped. Such characters occur only in its
/// strings.
pub fn printable_json(document: &str) -> String {
    escaped(document, |c| c == '\n', |c| format!("\\u{:04x}", u32::from(c)))
}

/// Text with `\x1b` or `\u202e` for each such character, for programs that decode backslash
/// escapes.
pub fn escaped_text(text: &str) -> String {
    escaped(
        text,
        |_| false,
        |c| match u32::from(c) {
            code @ ..=0xff => format!("\\x{code:02x}"),
            code => format!("\\u{code:04x}"),
        },
    )
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) && !is_kept(c) { out.push_str(&escape(c)) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_a_space() {
        let check = |text: &str, one: &str, lines: &str| {
            assert_eq!((printable(text).as_str(), printable_lines(text).as_str()), (one, lines));
        };
        check("10 tps — ×1.5\n", "10 tps — ×1.5 ", "10 tps — ×1.5\n");
        check("a\u{1b}[2Jb\r\tc", "a [2Jb  c", "a [2Jb  c");
        check("user\u{202e}gpj.exe", "user gpj.exe", "user gpj.exe");
        check("a\u{7}b\u{9b}31mc\u{61c}d\u{2028}e", "a b 31mc d e", "a b 31mc d e");
    }

    #[test]
    fn programs_get_them_back() {
        let hostile = "a\u{1b}[2J\r\u{7}\u{9b}\u{7f}\u{202e}b\tc\n";
        assert_eq!(printable_text(hostile), "a [2J     b\tc\n");
        assert_eq!(escaped_text(hostile), r"a\x1b[2J\x0d\x07\x9b\x7f\u202eb\x09c\x0a");
        let document = printable_json(&serde_json::to_string_pretty(&[hostile]).unwrap());
        assert!(!document.chars().any(|c| is_obeyed(c) && c != '\n'), "{document}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&document).unwrap(), [hostile]);
    }
}
