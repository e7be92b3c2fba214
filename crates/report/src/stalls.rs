//! Stalls and dips in words and tables: when, how long, how deep, and what the server did at the
//! same time.

use truetps_analysis::{
    CellDetail, Coincident, Figure, LoadedTrial, SignUnit, SignalChange, Stall, StallKind, Telling,
    Wait, WaitClass, cell_detail,
};

use crate::ReportInput;
use crate::absence::absence;
use crate::document::{Block, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};

/// Stalls of a report; the longest ones. JSON has all.
pub(crate) const ROWS_MAX: usize = 20;
/// Waits and signs named with one stall.
const WAITS_MAX: usize = 2;
const SIGNS_MAX: usize = 2;

pub(crate) const HOW_TO_READ: &str = "A stall is a period with less than 30 % of the usual \
     throughput around it, a dip one with less than 70 %; the depth is the share of transactions \
     that were missing. Starts count from the first transaction of the trial, its warm-up \
     included. \"At the same time\" lists what the server waited on more than in the rest of the \
     trial, by the server's names and with the number of waiting sessions, and other signals that \
     rose (or fell, as most do when nothing runs). None of these is necessarily the cause.";

/// `4.1 of 300 s measured (1.3 %) in 2 of 5 trials, longest 1.9 s (trial-0003, 41.2 s after its
/// first transaction; waiting for redo flush)`; `None` where there is no trial.
pub(crate) fn fact(input: &ReportInput<'_>) -> Option<String> {
    let valid = valid(input);
    let summary = cell_detail(&valid);
    if summary.trials_watched == 0 {
        return Some(format!(
            "not known: {}",
            absence(valid.first()?.detail.stalls.absent.as_ref()?)
        ));
    }
    let [stalled, all, dips] = [Figure::Stalled, Figure::Watched, Figure::Dips]
        .map(|figure| summary.get(figure).unwrap_or(0.0));
    let dips = match dips as u64 {
        0 => String::new(),
        dips => format!("; {}", format::plural(dips, "dip")),
    };
    let watched: Vec<_> = valid.iter().filter(|one| one.detail.stalls.absent.is_none()).collect();
    let longest =
        watched.iter().flat_map(|one| one.detail.stalls.stalls().map(move |stall| (one, stall)));
    let Some((of, longest)) =
        longest.max_by(|(_, one), (_, other)| one.length_ms.total_cmp(&other.length_ms))
    else {
        return Some(format!("none in {}{dips}", seconds(all)));
    };
    let with = watched.iter().filter(|one| has_stalled(one)).count();
    let trials = if watched.len() == 1 {
        String::new()
    } else {
        format!(" in {with} of {}", format::trials(watched.len()))
    };
    let trial = if watched.len() == 1 { String::new() } else { format!("{}, ", of.trial.name) };
    let while_ =
        longest.coincident.as_ref().ok().and_then(in_short).map(|text| format!("; {text}"));
    Some(format!(
        "{} of {} measured ({}){trials}, longest {} ({trial}{} after its first transaction{}){dips}",
        seconds(stalled).trim_end_matches(" s"),
        seconds(all),
        format::percent(summary.stalled_share()),
        seconds(longest.length_ms),
        seconds(longest.start_ms),
        while_.unwrap_or_default(),
    ))
}

/// Whether throughput broke down in a trial that is evidence.
pub(crate) fn any(input: &ReportInput<'_>) -> bool {
    valid(input).iter().any(|one| has_stalled(one))
}

fn has_stalled(one: &LoadedTrial) -> bool {
    one.detail.stalls.stalls().next().is_some()
}

/// Trials that are evidence.
fn valid<'a>(input: &ReportInput<'a>) -> Vec<&'a LoadedTrial> {
    input.run.trials.iter().filter(|one| one.trial.validity.is_valid()).collect()
}

/// `1.9 s`, `41.3 s`, `300 s`.
pub(crate) fn seconds(ms: f64) -> String {
    let seconds = ms / 1e3;
    if seconds >= 99.95 {
        format!("{} s", format::whole(seconds))
    } else {
        format!("{seconds:.1} s")
    }
}

/// What a stall was, where that is clear: the first thing that a reader hunts.
fn in_short(coincident: &Coincident) -> Option<String> {
    Some(match coincident.telling()? {
        Telling::Outage(outage) => {
            format!(
                "the server did not answer the probe for at least {}",
                seconds(outage.length_ms())
            )
        }
        // A wait without a class is named by the server's own text.
        Telling::Wait(wait) if wait.class == WaitClass::Other => format!("\"{}\"", wait.name),
        Telling::Wait(wait) => format!("waiting for {}", wait.class.name()),
    })
}

/// One row of the table of stalls.
pub(crate) struct StallRow<'a> {
    pub(crate) trial: &'a str,
    pub(crate) kind: StallKind,
    pub(crate) start: String,
    pub(crate) length: String,
    pub(crate) depth: String,
    pub(crate) usual: String,
    pub(crate) coincident: String,
}

/// The longest stalls and dips of all trials in the order of their trials, and how many more there
/// are.
pub(crate) fn rows<'a>(input: &ReportInput<'a>) -> (Vec<StallRow<'a>>, usize) {
    let (mut rows, left_out) = longest(&input.run.trials, ROWS_MAX, |stall| {
        coincident_or_absence(stall, WAITS_MAX, SIGNS_MAX)
    });
    rows.sort_by_key(|(at, _)| *at);
    (rows.into_iter().map(|(_, row)| row).collect(), left_out)
}

/// The first thing that a reader hunts, or why it is not known.
pub(crate) fn coincident_in_short(stall: &Stall) -> String {
    let coincident = match &stall.coincident {
        Ok(coincident) => coincident,
        Err(absent) => return format!("not known: {}", absence(absent)),
    };
    if let Some(short) = in_short(coincident) {
        return short;
    }
    let wait = coincident.more_waits().next().map(|wait| match wait.class {
        WaitClass::Other => wait.name.clone(),
        class => class.name().to_owned(),
    });
    let sign = coincident.risen_and_fallen().0.first().map(|sign| format!("more {}", sign.name));
    format::text_or_nothing(format::joined(wait.into_iter().chain(sign), ", "))
}

/// The longest first, stalls before dips, each with its index in the order of their trials.
pub(crate) fn longest(
    trials: &[LoadedTrial],
    most: usize,
    beside: impl Fn(&Stall) -> String,
) -> (Vec<(usize, StallRow<'_>)>, usize) {
    let all =
        trials.iter().flat_map(|one| one.detail.stalls.list.iter().map(move |stall| (one, stall)));
    let mut all: Vec<_> = all.enumerate().collect();
    all.sort_by(|(_, (_, one)), (_, (_, other))| {
        let [one_is_dip, other_is_dip] = [one, other].map(|stall| stall.kind == StallKind::Dip);
        one_is_dip.cmp(&other_is_dip).then(other.length_ms.total_cmp(&one.length_ms))
    });
    let left_out = all.len().saturating_sub(most);
    all.truncate(most);
    (
        all.into_iter().map(|(at, (one, stall))| (at, row(one, stall, beside(stall)))).collect(),
        left_out,
    )
}

fn row<'a>(loaded: &'a LoadedTrial, stall: &Stall, coincident: String) -> StallRow<'a> {
    StallRow {
        trial: &loaded.trial.name,
        kind: stall.kind,
        start: seconds(stall.start_ms),
        length: seconds(stall.length_ms),
        depth: format::percent(stall.depth),
        usual: format::or_nothing(Some(stall.baseline_tps).filter(|tps| *tps > 0.0), format::tps),
        coincident,
    }
}

/// The name of an outage among signs.
pub(crate) const OUTAGE: &str = "time without an answer to the probe";

/// What the server did during a stall, or why that is not known.
pub(crate) fn coincident_or_absence(stall: &Stall, waits_max: usize, signs_max: usize) -> String {
    match &stall.coincident {
        Ok(coincident) => coincident_text(coincident, waits_max, signs_max),
        Err(absent) => format!("not known: {}", absence(absent)),
    }
}

/// What was waited on and what else rose, the most telling first; what fell comes last, as most
/// things do where nothing runs.
pub(crate) fn coincident_text(
    coincident: &Coincident,
    waits_max: usize,
    signs_max: usize,
) -> String {
    let outage =
        coincident.outage.map(|outage| format!("{OUTAGE}: {}", seconds(outage.length_ms())));
    let (risen, fallen) = coincident.risen_and_fallen();
    let waits = coincident.more_waits().take(waits_max).map(wait);
    let risen = risen.into_iter().take(signs_max).map(sign);
    let has_none = coincident.readings == 0 && outage.is_none();
    let unread = has_none.then(|| "too short for a server sample".to_owned());
    let mut parts: Vec<_> = outage.into_iter().chain(waits).chain(risen).chain(unread).collect();
    if !fallen.is_empty() {
        let fallen: Vec<_> = fallen.into_iter().take(signs_max).map(sign).collect();
        parts.push(format!("lower than usual: {}", fallen.join(", ")));
    }
    if parts.is_empty() { "no signal stands out".to_owned() } else { parts.join("; ") }
}

/// `redo flush (wait/io/file/innodb/innodb_log_file): 12.3 sessions, usually 0.40`.
pub(crate) fn wait(wait: &Wait) -> String {
    let usual =
        wait.usual_sessions.map_or(String::new(), |usual| format!(", usually {}", sessions(usual)));
    format!("{} ({}): {} sessions{usual}", wait.class.name(), wait.name, sessions(wait.sessions))
}

pub(crate) fn sessions(number: f64) -> String {
    if number >= 9.95 { format::whole(number) } else { format!("{number:.1}") }
}

pub(crate) fn sign(sign: &SignalChange) -> String {
    let usual = sign
        .usual
        .map_or(String::new(), |usual| format!(", usually {}", sign_value(sign.unit, usual)));
    format!("{}: {}{usual}", sign.name, sign_value(sign.unit, sign.value))
}

fn sign_value(unit: SignUnit, value: f64) -> String {
    match unit {
        SignUnit::Share => format::percent(value),
        SignUnit::PerSecond => format!("{}/s", format::tps(value)),
        SignUnit::BytesPerSecond => format!("{}/s", format::bytes(value.max(0.0) as u64)),
        SignUnit::Cores => format!("{value:.2} cores"),
    }
}

pub(crate) fn kind(kind: StallKind) -> &'static str {
    match kind {
        StallKind::Stall => "stall",
        StallKind::Dip => "dip",
    }
}

pub(crate) fn kind_entry(stall_kind: StallKind) -> TableEntry {
    let tone = if stall_kind == StallKind::Stall { Tone::Bad } else { Tone::Unsure };
    TableEntry::new(kind(stall_kind), tone)
}

/// `None` where there was neither a stall nor a dip.
pub(crate) fn section(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let (rows, left_out) = rows(input);
    let several = input.run.trials.len() > 1;
    let names = ["trial", "", "start", "length", "depth", "usual tps", "at the same time"];
    let header = names.into_iter().filter(|name| several || *name != "trial");
    let rows = rows.into_iter().map(|row| {
        let trial = several.then(|| row.trial.into());
        let texts =
            [row.start, row.length, row.depth, row.usual, row.coincident].map(TableEntry::from);
        trial.into_iter().chain([kind_entry(row.kind)]).chain(texts)
    });
    let table = DocumentTable::new(header, rows).block()?;
    let cells = (input.analysis.cells.len() > 1).then(|| Block::Table(cells_table(input)));
    let more = if left_out == 0 {
        String::new()
    } else {
        format!(" {left_out} shorter ones are left out: JSON has all.")
    };
    let how_to_read = Block::paragraph(format!("{HOW_TO_READ}{more}"));
    DocumentSection::of("Stalls and dips", [cells, Some(table), Some(how_to_read)])
}

/// Texts of a configuration: stalls, stalled share, longest, dips, longest gap.
pub(crate) fn cell_texts(cell: &CellDetail) -> [String; 5] {
    if cell.trials_watched == 0 {
        return [NOTHING; 5].map(str::to_owned);
    }
    let [stalls, dips] = [Figure::Stalls, Figure::Dips]
        .map(|figure| format::figure_or_nothing(figure, cell.get(figure)));
    [
        stalls,
        format::percent(cell.stalled_share()),
        format::or_nothing(cell.get(Figure::LongestStall), seconds),
        dips,
        cell.get(Figure::MaxGap)
            .map_or_else(|| "< 100 ms".to_owned(), |ms| format::figure(Figure::MaxGap, ms)),
    ]
}

pub(crate) const CELL_COLUMNS: [&str; 5] = ["stalls", "stalled", "longest", "dips", "longest gap"];

fn cells_table(input: &ReportInput<'_>) -> DocumentTable {
    let rows =
        input.analysis.cells.iter().map(|cell| {
            cell_texts(&cell.detail).into_iter().chain([cell.configuration.to_string()])
        });
    DocumentTable::new(CELL_COLUMNS.into_iter().chain(["configuration"]), rows)
}

#[cfg(test)]
mod tests {
    use truetps_analysis::WaitSource;
    use truetps_record::TimeSpan;

    use super::*;

    #[test]
    fn lengths_are_seconds() {
        let check = |ms, expect: &str| assert_eq!(seconds(ms), expect);
        check(1900.0, "1.9 s");
        check(41_333.0, "41.3 s");
        check(300_000.0, "300 s");
    }

    fn waited(class: WaitClass, sessions: f64, usual: Option<f64>) -> Wait {
        let (name, source) = ("Waiting for backup lock".to_owned(), WaitSource::Sampled);
        Wait { name, class, source, sessions, usual_sessions: usual }
    }

    fn read(name: &'static str, unit: SignUnit, value: f64, usual: f64) -> SignalChange {
        SignalChange { name, unit, value, usual: Some(usual) }
    }

    fn outage(seconds: f64) -> TimeSpan {
        TimeSpan { from_ms: 1000.0, to_ms: 1000.0 + seconds * 1e3 }
    }

    #[test]
    fn a_headline_is_the_class_of_a_wait_or_the_words_of_the_server() {
        let check = |class, outage, expect: &str| {
            let waits = vec![waited(class, 3.2, Some(0.0))];
            let coincident = Coincident { readings: 3, outage, waits, signs: Vec::new() };
            assert_eq!(in_short(&coincident).as_deref(), Some(expect));
        };
        check(WaitClass::Commit, None, "waiting for commit");
        check(WaitClass::Other, None, "\"Waiting for backup lock\"");
        check(
            WaitClass::Commit,
            Some(outage(12.2)),
            "the server did not answer the probe for at least 12.2 s",
        );
    }

    #[test]
    fn consequences_come_last() {
        let coincident = Coincident {
            readings: 2,
            outage: Some(outage(2.0)),
            waits: vec![waited(WaitClass::Other, 3.2, Some(0.0))],
            signs: vec![
                read("Innodb_row_lock_waits", SignUnit::PerSecond, 0.07, 1.8),
                read("disk busy", SignUnit::Share, 0.9, 0.2),
                read("server CPU", SignUnit::Cores, 0.1, 0.9),
            ],
        };
        let all = "time without an answer to the probe: 2.0 s; other (Waiting for backup lock): \
                   3.2 sessions, usually 0.0; disk busy: 90 %, usually 20 %; lower than usual: \
                   Innodb_row_lock_waits: 0.070/s, usually 1.800/s, server CPU: 0.10 cores, \
                   usually 0.90 cores";
        assert_eq!(coincident_text(&coincident, usize::MAX, usize::MAX), all);
        let waits = vec![waited(WaitClass::Commit, 2.0, Some(1.8))];
        let as_ever = Coincident { readings: 1, waits, ..Coincident::default() };
        assert_eq!(coincident_text(&as_ever, 2, 2), "no signal stands out");
        let unseen = Coincident { readings: 0, ..Coincident::default() };
        assert_eq!(coincident_text(&unseen, 2, 2), "too short for a server sample");
        assert_eq!(
            coincident_text(&Coincident { readings: 1, ..unseen }, 2, 2),
            "no signal stands out"
        );
    }
}
