//! How wide and how coloured answers are.

use std::io::IsTerminal;

use truetps_report::TextScreen;

use crate::settings::has_color;
use crate::terminal::terminal_columns;

/// The style for stdout: coloured if it is a terminal and neither NO_COLOR nor a setting forbids
/// it. Its width is the terminal's. Where the output goes to another program, such as a pager,
/// lines still fit the terminal of stderr.
pub(crate) fn screen() -> TextScreen {
    /// The width of a terminal that does not know its size.
    const UNKNOWN: usize = 80;
    let is_terminal = std::io::stdout().is_terminal();
    let width = terminal_columns(std::io::stdout())
        .or_else(columns_of_environment)
        .or_else(columns_of_stderr);
    let screen = TextScreen::new(has_color(is_terminal), width.or(is_terminal.then_some(UNKNOWN)));
    if is_terminal { screen.answer_last() } else { screen }
}

fn columns_of_environment() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0)
}

fn columns_of_stderr() -> Option<usize> {
    terminal_columns(std::io::stderr()).map(|width| width.min(TextScreen::WIDTH_WITHOUT_TERMINAL))
}
