//! A picture as bytes for a terminal: only what differs from the one before.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// What has to be written so that a terminal that shows `before` shows `now`. Where the size
/// differs, or nothing is known of what it shows, all of it.
pub(crate) fn changes(before: Option<&Buffer>, now: &Buffer) -> Vec<u8> {
    let mut text = String::new();
    let empty = Buffer::empty(*now.area());
    let before = before.filter(|before| before.area() == now.area()).unwrap_or_else(|| {
        text.push_str("\x1b[0m\x1b[2J");
        &empty
    });
    let (mut at, mut look) = (None, Look::default());
    for (x, y, cell) in before.diff(now) {
        if at != Some((x, y)) {
            let _ = write!(text, "\x1b[{};{}H", y + 1, x + 1);
        }
        let wanted = Look::of(cell);
        if wanted != look {
            wanted.write(&mut text);
            look = wanted;
        }
        text.push_str(cell.symbol());
        // A letter of two columns moves the cursor by two: the next one says where it is.
        at = cell.symbol().is_ascii().then_some((x + 1, y));
    }
    if look != Look::default() {
        text.push_str("\x1b[0m");
    }
    text.into_bytes()
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    colour: Color,
    modifier: Modifier,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        Self { colour: cell.fg, modifier: cell.modifier }
    }

    fn write(self, text: &mut String) {
        const MODIFIERS: [(Modifier, &str); 4] = [
            (Modifier::BOLD, ";1"),
            (Modifier::DIM, ";2"),
            (Modifier::UNDERLINED, ";4"),
            (Modifier::REVERSED, ";7"),
        ];
        text.push_str("\x1b[0");
        for (modifier, code) in MODIFIERS {
            if self.modifier.contains(modifier) {
                text.push_str(code);
            }
        }
        // The colours of the palette, and the terminal's own.
        text.push_str(match self.colour {
            Color::Red => ";31",
            Color::Green => ";32",
            Color::Yellow => ";33",
            Color::Cyan => ";36",
            _ => "",
        });
        text.push('m');
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    fn text(before: Option<&Buffer>, now: &Buffer) -> String {
        String::from_utf8(changes(before, now)).unwrap()
    }

    #[test]
    fn only_what_differs_is_written() {
        let before = Buffer::with_lines(["tps 10", "p99 20"]);
        let mut now = Buffer::with_lines(["tps 12", "p99 20"]);
        assert_eq!(text(Some(&before), &now), "\x1b[1;6H2");
        assert_eq!(text(Some(&now), &now), "");
        now.set_string(4, 1, "31", Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        assert_eq!(text(Some(&before), &now), "\x1b[1;6H2\x1b[2;5H\x1b[0;1;31m31\x1b[0m");
    }

    #[test]
    fn another_size_is_written_anew() {
        let before = Buffer::with_lines(["tps 10"]);
        let now = Buffer::with_lines(["tps 10", "x"]);
        assert_eq!(text(Some(&before), &now), text(None, &now));
        assert!(
            text(None, &now).starts_with("\x1b[0m\x1b[2J\x1b[1;1Htps"),
            "{:?}",
            text(None, &now)
        );
    }
}
