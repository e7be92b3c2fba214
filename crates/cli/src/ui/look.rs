//! Letters, lines and colours that all parts of the picture share.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const FAINT: Style = Style::new().add_modifier(Modifier::DIM);

/// Colour is never the only sign: everything coloured has a word or a mark, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) colour: bool,
}

impl Palette {
    /// `NO_COLOR` is heeded as everywhere.
    pub(crate) fn of_environment() -> Self {
        Self { colour: crate::settings::has_color(true) }
    }

    pub(crate) fn heading(self) -> Style {
        self.tinted(Color::Cyan)
    }

    pub(crate) fn bar(self) -> Style {
        if self.colour { PLAIN.fg(Color::Green) } else { PLAIN }
    }

    pub(crate) fn stall(self) -> Style {
        self.tinted(Color::Red)
    }

    pub(crate) fn warning(self) -> Style {
        self.tinted(Color::Yellow)
    }

    fn tinted(self, colour: Color) -> Style {
        if self.colour { STRONG.fg(colour) } else { STRONG }
    }
}

/// A rectangle of the picture, row by row.
pub(crate) struct Pen<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) palette: Palette,
}

impl Pen<'_> {
    /// Writes what has room, and gives the column after it.
    pub(crate) fn text(&mut self, area: Rect, x: u16, row: u16, text: &str, style: Style) -> u16 {
        if row >= area.height || x >= area.width {
            return x;
        }
        let room = usize::from(area.width - x);
        let shown = cut(text, room);
        let (end, _) = self.buffer.set_stringn(
            area.x + x,
            area.y + row,
            shown,
            room,
            Style::reset().patch(style),
        );
        end - area.x
    }

    /// Writes a text that ends at the right edge.
    pub(crate) fn right(&mut self, area: Rect, row: u16, text: &str, style: Style) {
        let length = text.chars().count() as u16;
        self.text(area, area.width.saturating_sub(length), row, text, style);
    }

    /// Texts with two columns between them; those that have no room any more are left out.
    pub(crate) fn list(&mut self, area: Rect, row: u16, parts: &[(String, Style)]) {
        let mut x = 0;
        for (text, style) in parts {
            let length = text.chars().count() as u16;
            if x > 0 && x + length > area.width {
                continue;
            }
            x = self.text(area, x, row, text, *style) + 2;
        }
    }

    /// `── waits ────`
    pub(crate) fn heading(&mut self, area: Rect, text: &str) {
        let line = "─".repeat(area.width.into());
        self.text(area, 0, 0, &line, FAINT);
        self.text(area, 2, 0, &format!(" {text} "), self.palette.heading());
    }
}

/// As much as has room, with a sign where something is missing.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    if room == 0 { String::new() } else { kept + "…" }
}

/// As much of a text's end as has room, with a sign where something is missing.
pub(crate) fn cut_front(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - room.saturating_sub(1)).collect();
    if room == 0 { String::new() } else { format!("…{kept}") }
}

/// A share of a width in eighths of a column: `██▌`.
pub(crate) fn bar(share: f64, width: u16) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * f64::from(width) * 8.0).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// All below the first row.
pub(crate) fn below(area: Rect) -> Rect {
    Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }
}
