//! `truetps prealloc status`, `pause` and `resume`.

use std::fmt::Write as _;

use truetps_binlog::state::{PreallocCondition, StatePage, StatusWord};
use truetps_preload::{StateFile, why_not_live};
use truetps_report::{escaped_text, format, printable};

use super::binlogs::basename;
use super::state::{OBEYS_WITHIN, state_failure};
use crate::args::BinlogArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::terminal::print_out;

pub(super) fn show(args: &BinlogArgs) -> Result<Exit, CommandFailure> {
    let basename = basename(args)?;
    let state = StateFile::of(&basename);
    let page = state.read().map_err(|error| state_failure(&error))?;
    let has_server = state.has_server().map_err(|error| state_failure(&error))?;
    let shown = escaped_text(&basename.to_string_lossy());
    let Some(page) = page else {
        return Ok(print_out(&format!("off: no server has written {shown}.* with the library\n")));
    };
    let printed = print_out(&text(&shown, &page, has_server));
    Ok(printed)
}

/// Turns it on or off in a running server.
pub(super) fn switch(args: &BinlogArgs, is_on: bool) -> Result<Exit, CommandFailure> {
    let basename = basename(args)?;
    let page = StateFile::of(&basename)
        .want(is_on, OBEYS_WITHIN)
        .map_err(|error| state_failure(&error))?;
    let shown = escaped_text(&basename.to_string_lossy());
    let said = match (is_on, page.reason()) {
        (true, Some(reason)) => {
            return Err(CommandFailure::failed(format!(
                "{shown}: the library refuses: {}",
                reason.text()
            )));
        }
        (true, None) => format!("{shown}: preallocates again\n"),
        (false, _) => format!(
            "{shown}: paused; each binlog ends with its last event, and may be copied. To go on: \
             truetps prealloc resume\n"
        ),
    };
    Ok(print_out(&said))
}

fn text(basename: &str, page: &StatePage, has_server: bool) -> String {
    let mut lines = vec![
        ("Preallocation", condition(page, has_server)),
        ("Binlogs", format!("{basename}.*, server {}", printable(&page.server_version))),
        ("Mode", mode_text(page)),
    ];
    if has_server {
        lines.push(("Active", active_text(basename, page)));
    } else if let Some(first) = page.marker() {
        let text = format!("binlogs from number {first:06} on may have zeros behind their content");
        lines.push(("Crash", text));
    }
    lines.push(("Writes", writes_text(page)));
    let zeros = format::bytes(page.word(StatusWord::zero_bytes));
    let fillings = format::count(page.word(StatusWord::chunks));
    lines.push(("Zeros", format!("{zeros} in {fillings} fillings")));
    let (ready, not_ready) =
        (page.word(StatusWord::rotations_ready), page.word(StatusWord::rotations_not_ready));
    if page.word(StatusWord::mode) == 2 && ready + not_ready > 0 {
        lines.push(("New files", format!("{ready} were prepared, {not_ready} were not")));
    }
    let counts = [
        (StatusWord::trims, "cut to their content after a crash"),
        (StatusWord::untrimmed, "could not be cut after a crash, and were left"),
        (StatusWord::floor_stops, "fillings ended because free space is short"),
        (StatusWord::errors, "errors: see the server's error log"),
    ];
    for (counted, what) in counts.into_iter().filter(|(counted, _)| page.word(*counted) > 0) {
        lines.push(("Also", format!("{} {what}", format::count(page.word(counted)))));
    }
    let mut out = String::new();
    for (name, text) in lines {
        let _ = writeln!(out, "{name:<13} {text}");
    }
    out
}

fn mode_text(page: &StatePage) -> String {
    match page.word(StatusWord::mode) {
        1 => "zeros ahead of the writes".to_owned(),
        2 => format!("prepared files; {} ready", page.word(StatusWord::pool_ready)),
        _ => "not known yet".to_owned(),
    }
}

fn active_text(basename: &str, page: &StatePage) -> String {
    let written = page.word(StatusWord::logical_end);
    let ahead = page.word(StatusWord::filled_end).saturating_sub(written);
    format!(
        "{basename}.{:06}: {} written, {} of zeros ahead",
        page.word(StatusWord::active_file),
        format::bytes(written),
        format::bytes(ahead)
    )
}

fn writes_text(page: &StatePage) -> String {
    let (inside, beyond) =
        (page.word(StatusWord::writes_inside), page.word(StatusWord::writes_beyond));
    let of_all = inside + beyond;
    let share = if of_all == 0 { String::new() } else { format!(" of {}", format::count(of_all)) };
    let inside = format::count(inside);
    format!("{inside} preallocated{share}; the others had to grow their file")
}

fn condition(page: &StatePage, has_server: bool) -> String {
    let pid = page.word(StatusWord::pid);
    if !has_server {
        let last = match page.condition() {
            Some(PreallocCondition::EndedCleanly) => "the last one with it ended cleanly",
            _ => "the last one with it crashed, or was killed",
        };
        return format!("off: no running server has the library; {last}");
    }
    match why_not_live(page) {
        None => format!("live in process {pid}"),
        Some(why) => format!("off in process {pid}: {why}"),
    }
}
