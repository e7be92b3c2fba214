//! Where throughput broke down, and what the server waited on at the same time, in every format.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_analysis::{Figure, LoadedTrial, Stall, TrialDetail, WaitSource};
use truetps_archive::Run;
use truetps_record::{Configuration, Trial, TrialRole, Validity};

use crate::absence::absence;
use crate::csv_rows::CsvRows;
use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry};
use crate::format;
use crate::json::{DOCUMENT_VERSION, StallsPart, json_text};
use crate::stalls::{OUTAGE, coincident_or_absence, kind, kind_entry, seconds};

/// One line a stall or dip.
pub(crate) fn stalls_csv(run: &Run) -> String {
    let header =
        ["trial", "kind", "start_ms", "length_ms", "depth", "baseline_tps", "waited_on", "rose"];
    let mut rows = CsvRows::new(header);
    for LoadedTrial { trial, detail, .. } in &run.trials {
        for stall in &detail.stalls.list {
            let (mut waits, mut signs) = (Vec::new(), Vec::new());
            if let Ok(beside) = &stall.coincident {
                waits.extend(beside.waits.iter().map(|wait| wait.name.as_str()));
                signs.extend(beside.outage.map(|_| OUTAGE));
                signs.extend(beside.risen_and_fallen().0.into_iter().map(|sign| sign.name));
            }
            rows.push([
                trial.name.clone(),
                kind(stall.kind).to_owned(),
                stall.start_ms.round().to_string(),
                stall.length_ms.round().to_string(),
                ((stall.depth * 1e3).round() / 1e3).to_string(),
                stall.baseline_tps.round().to_string(),
                waits.join("; "),
                signs.join("; "),
            ]);
        }
    }
    rows.into_text()
}

#[derive(Serialize)]
struct JsonDocument<'a> {
    schema_version: u32,
    trials: Vec<JsonTrial<'a>>,
    /// Files that could not be read, and why.
    unread: Vec<&'a str>,
}

#[derive(Serialize)]
struct JsonTrial<'a> {
    name: &'a str,
    configuration: &'a Configuration,
    stalls: StallsPart<'a>,
}

/// An indented JSON document that ends with a line feed.
pub(crate) fn stalls_json(run: &Run) -> String {
    let trials = run.trials.iter().map(|one| JsonTrial {
        name: &one.trial.name,
        configuration: &one.trial.configuration,
        stalls: StallsPart::of(one),
    });
    let unread = run.all_unread().map(|unread| unread.what.as_str()).collect();
    json_text(&JsonDocument { schema_version: DOCUMENT_VERSION, trials: trials.collect(), unread })
}

/// `name`: the folder, as the user named it.
pub(crate) fn document(name: &str, run: &Run) -> Document {
    let stalled = run.trials.iter().filter(|one| !one.detail.stalls.list.is_empty());
    let sections = stalled.map(|LoadedTrial { trial, detail, .. }| DocumentSection {
        heading: format!("{}  {}{}", trial.name, trial.configuration, mark(trial)),
        blocks: blocks(detail),
    });
    Document { title: format!("Stalls of {name}"), facts: facts(run), sections: sections.collect() }
}

/// A trial that is no evidence, or stands for none.
fn mark(trial: &Trial) -> String {
    match (&trial.validity, trial.role) {
        (Validity::Invalid(reason), _) => format!(" (invalid: {reason})"),
        (Validity::Partial(reason), _) => format!(" (partial: {reason})"),
        (Validity::Valid, TrialRole::AaTwin) => " (A/A twin)".to_owned(),
        (Validity::Valid, TrialRole::Cell | TrialRole::Pilot) => String::new(),
    }
}

pub(crate) fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let trials = &run.trials;
    let known: Vec<_> = trials.iter().filter(|one| one.detail.stalls.absent.is_none()).collect();
    let summary = truetps_analysis::cell_detail(&known);
    let mut facts = vec![("Stalls", crate::comparison::verdict::stalls_of(&summary))];
    let dips = summary.get(Figure::Dips).unwrap_or(0.0);
    if dips > 0.0 {
        facts.push(("Dips", format::plural(dips as u64, "dip")));
    }
    let no_evidence = trials.iter().filter(|one| !one.trial.validity.is_valid()).count();
    let no_evidence = if no_evidence == 0 {
        String::new()
    } else {
        format!(", {no_evidence} of them invalid or partial")
    };
    facts.push(("Trials", format::trials(trials.len()) + &no_evidence));
    // A trial with a stall has the note in its heading.
    let without = trials
        .iter()
        .filter(|one| !one.trial.validity.is_valid() && one.detail.stalls.list.is_empty());
    facts.extend(without.map(|one| ("Note", format!("{}{}", one.trial.name, mark(&one.trial)))));
    let mut unknown = BTreeMap::<_, usize>::new();
    for why in trials.iter().filter_map(|one| one.detail.stalls.absent.as_ref()) {
        *unknown.entry(absence(why)).or_default() += 1;
    }
    let notes = unknown.into_iter().map(|(why, number)| {
        ("Note", format!("stalls of {} are not known: {why}", format::trials(number)))
    });
    facts.extend(notes);
    if trials.iter().any(|one| !one.detail.stalls.list.is_empty()) {
        facts.push((
            "Starts",
            "count from the first transaction of a trial, its warm-up included".to_owned(),
        ));
    }
    facts.extend(run.all_unread().map(|unread| ("Not read", unread.what.clone())));
    facts
}

/// A table of a trial's stalls and dips, and a list of what the server did in each.
fn blocks(detail: &TrialDetail) -> Vec<Block> {
    const READINGS: &str = "Rates and shares cover the time between the readings around a stall; \
                            for a shorter stall they include time around it.";
    const SAMPLED: &str = "The server does not time its waits: sessions were counted by their \
                           state at each reading. `--waits` times them on a private server.";
    let header = ["", "start", "length", "missing", "usual"];
    let table = DocumentTable::new(header, detail.stalls.list.iter().map(row)).of_numbers();
    let mut blocks = vec![Block::Table(table)];
    let lines = detail.stalls.list.iter().map(|stall| {
        let text = coincident_or_absence(stall, usize::MAX, usize::MAX);
        format!("{} at {}: {text}", kind(stall.kind), seconds(stall.start_ms))
    });
    blocks.extend(Block::list(lines.collect()));
    let is_watched = detail.stalls.list.iter().any(|stall| stall.coincident.is_ok());
    blocks.extend(is_watched.then(|| Block::paragraph(READINGS)));
    let is_sampled = detail.waits.as_ref().is_some_and(|waits| waits.source == WaitSource::Sampled);
    blocks.extend(is_sampled.then(|| Block::paragraph(SAMPLED)));
    blocks
}

fn row(stall: &Stall) -> [TableEntry; 5] {
    let usual = Some(stall.baseline_tps).filter(|tps| *tps > 0.0);
    [
        kind_entry(stall.kind),
        seconds(stall.start_ms).into(),
        format::duration_us(stall.length_ms * 1e3).into(),
        format::percent(stall.depth).into(),
        format::or_nothing(usual, |usual| format!("{} tps", format::tps(usual))).into(),
    ]
}

#[cfg(test)]
mod tests {
    use truetps_analysis::{Absent, UnreadFile};

    use super::*;
    use crate::fixture::Fixture;
    use crate::schema_check::violations;
    use crate::{ReportAnswer, StallList, TextScreen};

    const SCHEMA: &str = include_str!("../../../docs/reference/stalls.schema.json");

    #[test]
    fn stalls_of_a_watched_trial_in_every_format() {
        let run = Fixture::watched().run;
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let document = serde_json::from_str(&stalls_json(&run)).unwrap();
        assert_eq!(violations(&schema, &document), Vec::<String>::new());
        let text = StallList { name: "runs/x", run: &run }.text(TextScreen::PLAIN);
        assert!(text.starts_with("Stalls of runs/x\n") && text.contains("- stall at "), "{text}");
        assert!(StallList { name: "runs/x", run: &run }.markdown().contains("| stall |"));
        let csv = stalls_csv(&run);
        assert!(csv.lines().count() > 1 && csv.starts_with("trial,kind,start_ms,"), "{csv}");
        let cells = csv.lines().skip(1).all(|line| line.split(',').count() == 8);
        assert!(cells && csv.contains(",wait/io/file/innodb/innodb_log_file,"), "{csv}");
    }

    #[test]
    fn a_stall_whose_reason_is_not_known_says_why() {
        let mut run = Fixture::watched().run;
        for stall in run.trials.iter_mut().flat_map(|one| &mut one.detail.stalls.list) {
            stall.coincident = Err(Absent::Damaged { file: "probe.jsonl" });
        }
        let text = StallList { name: "runs/x", run: &run }.text(TextScreen::PLAIN);
        assert!(text.contains("s: not known: probe.jsonl is missing or damaged"), "{text}");
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let document: serde_json::Value = serde_json::from_str(&stalls_json(&run)).unwrap();
        assert_eq!(violations(&schema, &document), Vec::<String>::new());
        let stalls = document["trials"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|one| one["stalls"]["list"].as_array().unwrap());
        let reasons: Vec<_> = stalls
            .map(|stall| (stall["coincident"].is_null(), &stall["coincident_absent"]["reason"]))
            .collect();
        assert!(
            !reasons.is_empty() && reasons.iter().all(|found| *found == (true, &"damaged".into())),
            "{reasons:?}"
        );
    }

    #[test]
    fn a_trial_that_is_no_evidence_says_so_without_a_stall_too() {
        let mut run = Fixture::watched().run;
        run.trials[0].trial.validity =
            Validity::Invalid(truetps_record::Reason::Text("the server died".to_owned()));
        let text = StallList { name: "runs/x", run: &run }.text(TextScreen::PLAIN);
        assert!(text.contains("Note      trial-0001 (invalid: the server died)\n"), "{text}");
    }

    #[test]
    fn unreadable_files_are_reported() {
        let mut run = Fixture::watched().run;
        let what = "trial-0001/probe.jsonl: has no complete line".to_owned();
        run.trials[0].unread =
            vec![UnreadFile { path: "probe.jsonl".into(), what, whole_trial: false }];
        let said = "Not read  trial-0001/probe.jsonl: has no complete line\n";
        let text = StallList { name: "runs/x", run: &run }.text(TextScreen::PLAIN);
        assert!(text.contains(said), "{text}");
        assert!(
            StallList { name: "runs/x", run: &run }
                .markdown()
                .contains("probe.jsonl: has no complete line")
        );
        let document: serde_json::Value = serde_json::from_str(&stalls_json(&run)).unwrap();
        assert_eq!(document["unread"][0], "trial-0001/probe.jsonl: has no complete line");
    }
}
