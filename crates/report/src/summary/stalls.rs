//! The longest stalls of a run on one screen.

use truetps_archive::Run;

use super::layout::{ScreenPart, Screenful};
use crate::document::{DocumentTable, TableEntry};
use crate::stalls::{StallRow, coincident_in_short, kind_entry, longest};
use crate::{TextScreen, format, stall_list};

/// `name`: the folder, as the user named it.
pub(crate) fn stalls_summary(name: &str, run: &Run, screen: TextScreen) -> String {
    const ROWS_MAX: usize = 10;
    let (rows, hidden) = longest(&run.trials, ROWS_MAX, coincident_in_short);
    let row = |(_, row): (usize, StallRow<'_>)| -> Vec<TableEntry> {
        let (kind, StallRow { trial, start, length, depth, usual, coincident, .. }) =
            (kind_entry(row.kind), row);
        let mut entries: Vec<TableEntry> = vec![trial.to_owned().into(), kind];
        entries.extend([start, length, depth, usual, coincident].map(TableEntry::from));
        entries
    };
    let header = ["trial", "", "start", "length", "missing", "usual tps", "at the same time"];
    let table = DocumentTable::new(header, rows.into_iter().map(row));
    let mut facts = stall_list::facts(run);
    let answer = vec![match facts.remove(0).1 {
        text if text.starts_with("none") => format!("No stall: {text}."),
        text => format!("Stalled: {text}."),
    }];
    let mut parts: Vec<_> =
        ScreenPart::table(table).map(|part| part.leaving_out(hidden)).into_iter().collect();
    parts.extend(grouped(facts).into_iter().map(|(word, items)| ScreenPart::facts(word, items)));
    let place = format::trials(run.trials.len());
    Screenful { title: format!("Stalls of {name}"), place, answer, parts }.draw(screen)
}

/// Facts with the same word are one list.
fn grouped(facts: Vec<(&'static str, String)>) -> Vec<(&'static str, Vec<String>)> {
    crate::grouped(facts.into_iter().filter(|(word, _)| *word != "Trials"))
}
