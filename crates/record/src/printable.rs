//! Text from elsewhere (a plan, a folder of somebody else, a server's message) that must not move the cursor of a terminal, or
//! turn the text around it.

/// Whether a terminal would obey this character, or read what follows from the right.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line, with a space for each character that is not text.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect()
}

/// The same, line by line: a message of several lines, which ends with the one that the text ends with.
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if is_obeyed(c) && c != '\n' { ' ' } else { c }).collect()
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
    }
}
