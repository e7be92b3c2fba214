//! The longest stalls of a run on one screen.

use truetps_archive::Run;

use super::layout::{ScreenPart, Screenful};
use crate::document::{DocumentTable, TableEntry};
use crate::stalls::{StallRow, coincident_in_short, kind_entry, longest};
use crate::{TextScreen, format, grouped, stall_list};

/// `name`: the folder, as the user named it.
pub fn stalls_summary(name: &str, run: &Run, screen: TextScreen) -> String {
    const ROWS_MAX: usize = 10;
    let (rows, hidden) = longest(&run.trials, ROWS_MAX, coincident_in_short);
    let header = ["trial", "", "start", "length", "missing", "usual tps", "at the same time"];
    let rows = rows.into_iter().map(|(_, row)| {
        let StallRow { trial, kind, start, length, depth, usual, coincident } = row;
        let texts = [start, length, depth, usual, coincident].map(TableEntry::from);
        [trial.into(), kind_entry(kind)].into_iter().chain(texts)
    });
    let table = DocumentTable::new(header, rows);
    let mut facts = stall_list::facts(run);
    let answer = vec![match facts.remove(0).1 {
        text if text.starts_with("none") => format!("No stall: {text}."),
        text => format!("Stalled: {text}."),
    }];
    let mut parts: Vec<_> =
        ScreenPart::table(table).map(|part| part.leaving_out(hidden)).into_iter().collect();
    let facts = grouped(facts.into_iter().filter(|(word, _)| *word != "Trials"));
    parts.extend(facts.into_iter().filter_map(|(word, items)| ScreenPart::facts(word, items)));
    let source = format::trials(run.trials.len());
    Screenful { title: format!("Stalls of {name}"), source, answer, parts }.draw(screen)
}
