//! Whether every acknowledged row is in the table, once and unchanged: the answer of
//! `truetps verify`.

use serde::Serialize;
use truetps_archive::VerifiedRun;
use truetps_record::{
    Measured, RowComparison, RowExample, RowFault, ServerKill, Trial, Verification,
};

use crate::disturbances::disturbed;
use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::format;
use crate::json::json_text;
use crate::names;

/// Everything as an indented JSON document that ends with a line feed.
pub(crate) fn verification_json(input: &VerifiedRun) -> String {
    #[derive(Serialize)]
    struct VerificationDocument<'a> {
        experiment: &'a str,
        /// `None`: nothing was compared.
        all_acknowledged_rows_kept: Option<bool>,
        #[serde(flatten)]
        verification: &'a Verification,
        validity: Option<String>,
        measured: Option<&'a Measured>,
    }
    let trial = input.trial.as_ref();
    json_text(&VerificationDocument {
        experiment: &input.experiment.name,
        all_acknowledged_rows_kept: input
            .verification
            .comparison
            .as_ref()
            .map(|found| !found.rows.has_fault()),
        verification: &input.verification,
        validity: trial.and_then(|trial| trial.validity.reason()).map(ToString::to_string),
        measured: trial.and_then(|trial| trial.measured.as_ref()),
    })
}

pub(crate) fn document(input: &VerifiedRun) -> Document {
    let comparison = input.verification.comparison.as_ref();
    let sections = [
        comparison.and_then(|found| {
            DocumentSection::of(
                "Rows",
                [rows_table(found).block(), Some(Block::paragraph(HOW_TO_READ))],
            )
        }),
        comparison.and_then(|found| {
            DocumentSection::of("Faults", [examples_table(&found.examples).block()])
        }),
        DocumentSection::of(
            "Kills of the server",
            [kills_table(&input.verification.kills).block()],
        ),
        input.trial.as_ref().and_then(errors),
    ];
    Document::new(title(input), facts(input), sections)
}

const HOW_TO_READ: &str = "lost: acknowledged and not there. doubled: copies beyond the first. \
    changed: there with another payload. refused but there: the answer said no. never sent: there, \
    and no client has sent it. unknown: there was no answer, or one that leaves both open (429, \
    5xx, a broken connection): it may be there or not.";

pub(crate) fn title(input: &VerifiedRun) -> String {
    let load = &input.verification.load;
    let clients = format::plural(load.clients.into(), "client");
    let rate = match load.rate_per_client {
        Some(rate) => format!("{} rows/s each", format::rate(rate)),
        None => "each sends the next row after the answer".to_owned(),
    };
    let to = match &load.service {
        Some(service) => format!("to {service}"),
        None => "as SQL".to_owned(),
    };
    format!("verify: {clients}, {rate}, for {} s, {to}", load.length_s)
}

/// The table and its server.
pub(crate) fn table_fact(input: &VerifiedRun) -> String {
    let table = &input.verification.table;
    let servers: Vec<_> = names::servers(&input.experiment).iter().map(names::server).collect();
    let at = if input.verification.is_private {
        "private".to_owned()
    } else {
        format!("at {}", table.server)
    };
    format!("table {}, {}, {at}", table.name(), format::list(&servers))
}

fn facts(input: &VerifiedRun) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Answer", answer(input))];
    facts.push(("Table", table_fact(input)));
    facts.extend(trust(input).map(|text| ("Trust", text)));
    facts.extend(response(input).map(|text| ("Response", text)));
    facts.extend(generator(input).map(|text| ("Generator", text)));
    facts.extend(comparison_fact(input).map(|text| ("Compared", text)));
    facts.push(("Seed", input.verification.seed.to_string()));
    facts
}

/// The answer in one sentence.
pub(crate) fn answer(input: &VerifiedRun) -> String {
    let Some(found) = &input.verification.comparison else {
        return format!("not compared: {}", why_not(input));
    };
    let rows = &found.rows;
    if rows.has_fault() {
        let faults = RowFault::ALL.into_iter().filter(|fault| rows.count(*fault) > 0);
        let texts: Vec<_> = faults.map(|fault| fault_text(fault, rows.count(fault))).collect();
        return format!(
            "{} of {} acknowledged rows",
            format::list(&texts),
            format::count(rows.acknowledged)
        );
    }
    match rows.acknowledged {
        0 => "no row was acknowledged: nothing is shown".to_owned(),
        1 => "the only acknowledged row is there, unchanged".to_owned(),
        n => format!("all {} acknowledged rows are there, once and unchanged", format::count(n)),
    }
}

fn why_not(input: &VerifiedRun) -> String {
    let reason =
        input.trial.as_ref().and_then(|trial| trial.validity.reason()).map(ToString::to_string);
    reason.unwrap_or_else(|| {
        "the load has not ended; `truetps verify --resume` compares what was sent".to_owned()
    })
}

fn fault_text(fault: RowFault, rows: u64) -> String {
    let (count, many) = (format::count(rows), format::plural(rows, "row"));
    match fault {
        RowFault::Lost => format!("LOST {count}"),
        RowFault::Doubled => format!("DOUBLED {count}"),
        RowFault::Changed => format!("CHANGED {count}"),
        RowFault::RefusedPresent => format!("{many} there that were refused"),
        RowFault::Unexpected => format!("{many} there that no client has sent"),
    }
}

fn fault_name(fault: RowFault) -> &'static str {
    match fault {
        RowFault::Lost => "lost",
        RowFault::Doubled => "doubled",
        RowFault::Changed => "changed",
        RowFault::RefusedPresent => "refused but there",
        RowFault::Unexpected => "never sent",
    }
}

/// What limits the answer.
pub(crate) fn trust(input: &VerifiedRun) -> Option<String> {
    let found = input.verification.comparison.as_ref()?;
    let mut limits: Vec<_> = load_problem(input).into_iter().collect();
    if !found.log.is_complete {
        let torn = if found.log.torn_bytes > 0 { "; its last record was cut off" } else { "" };
        limits.push(format!(
            "the load did not end: rows that were sent and are not in the log of answers count as \
             unknown{torn}"
        ));
    }
    if found.log.damaged > 0 {
        let records = format::plural(found.log.damaged, "record");
        limits.push(format!(
            "{records} of the log of answers cannot be read: their rows count as unknown"
        ));
    }
    limits.extend(disturbed(&input.trial).into_iter().map(|one| one.text));
    if input.verification.table.key_is_unique {
        limits.push(
            "the key of the table is unique: a second copy of a row is impossible".to_owned(),
        );
    }
    format::joined(limits, "; ")
}

/// Why the figures of the load are no evidence; the rows are compared all the same.
fn load_problem(input: &VerifiedRun) -> Option<String> {
    let reason = input.trial.as_ref()?.validity.reason()?;
    Some(format!("the figures of the load are not valid: {reason}"))
}

pub(crate) fn rows_fact(found: &RowComparison) -> String {
    let rows = &found.rows;
    let resent = (rows.resent > 0).then(|| format!(", {} sent again", format::count(rows.resent)));
    format!(
        "{} sent{}: {} acknowledged, {} refused, {} unknown ({} there, {} not)",
        format::count(rows.attempted),
        resent.unwrap_or_default(),
        format::count(rows.acknowledged),
        format::count(rows.refused),
        format::count(rows.unknown),
        format::count(rows.unknown_present),
        format::count(rows.unknown_absent),
    )
}

pub(crate) fn faults_fact(found: &RowComparison) -> String {
    let texts = RowFault::ALL
        .map(|fault| format!("{} {}", format::count(found.rows.count(fault)), fault_name(fault)));
    let when = found.lost_ms.map(|(first, last)| {
        let window = found
            .loss_window_ms
            .map(|ms| format!(", at most {} before a kill", format::duration_us(ms as f64 * 1e3)));
        let window = window.unwrap_or_default();
        format!(
            "; the lost ones were acknowledged from {} to {}{window}",
            seconds(first),
            seconds(last),
        )
    });
    format!("{}{}", texts.join(", "), when.unwrap_or_default())
}

/// A time on the clock of the load: `4.5 s`.
fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1e3)
}

fn time_us(us: Option<f64>) -> String {
    format::or_nothing(us, format::duration_us)
}

/// Response times, from the scheduled start.
pub(crate) fn response(input: &VerifiedRun) -> Option<String> {
    let measured = input.trial.as_ref()?.measured.as_ref()?;
    let figures = &measured.response;
    let from = if measured.open_loop.is_some() { ", from the scheduled start" } else { "" };
    Some(format!(
        "p50 {}, p99 {}, p99.9 {}, max {}{from}; {} rows/s",
        time_us(figures.response_us_p50),
        time_us(figures.response_us_p99),
        time_us(figures.response_us_p999),
        time_us(figures.response_us_max),
        format::tps(measured.tps),
    ))
}

/// How punctual the load was, and what it cost.
pub(crate) fn generator(input: &VerifiedRun) -> Option<String> {
    let measured = input.trial.as_ref()?.measured.as_ref()?;
    let mut parts = Vec::new();
    if let Some(open) = &measured.open_loop {
        parts.push(format!(
            "late by p50 {}, p99 {}",
            time_us(open.late_us_p50),
            time_us(open.late_us_p99)
        ));
        if open.starts.queued > 0 {
            parts.push(format!("{} due rows were not sent", format::count(open.starts.queued)));
        }
    }
    parts.extend(
        measured
            .resources
            .client_cpu_us_per_tx
            .map(|us| format!("CPU {} a row", format::duration_us(us))),
    );
    parts.extend(measured.generator_limited.as_ref().map(|reason| format!("LIMITED: {reason}")));
    format::joined(parts, "; ")
}

pub(crate) fn kills_fact(kills: &[ServerKill]) -> Option<String> {
    let longest = kills.iter().map(|kill| kill.recovery_ms).max()?;
    let times = format::plural(kills.len() as u64, "time");
    Some(format!(
        "the server was killed {times}; it accepted sessions again after {} at most",
        format::duration_us(longest as f64 * 1e3)
    ))
}

pub(crate) fn comparison_fact(input: &VerifiedRun) -> Option<String> {
    let found = input.verification.comparison.as_ref()?;
    let log = format::bytes(found.log.bytes);
    let (rows, took) =
        (format::plural(found.rows.in_table, "row"), format::duration_us(found.took_s * 1e6));
    Some(format!("{rows} of the table with {log} of answers, in {took}"))
}

/// Errors of the load, the most frequent first. A connection that broke without a row in flight is
/// tried again, too: where no row was, the words say so.
pub(crate) fn error_texts(trial: &Trial) -> Vec<String> {
    let Some(measured) = &trial.measured else { return Vec::new() };
    let what = match measured.counts.retried {
        0 => "reconnects without a row",
        _ => "rows sent again or reconnects",
    };
    let texts = measured.errors.iter().map(|error| {
        let again = (error.retried > 0).then(|| format!("{} {what}", format::count(error.retried)));
        let counts: Vec<_> = (error.count > 0)
            .then(|| format::count(error.count))
            .into_iter()
            .chain(again)
            .collect();
        format!("{} × {}: {}", counts.join(", "), error.class, error.first_message)
    });
    texts.collect()
}

fn errors(trial: &Trial) -> Option<DocumentSection> {
    DocumentSection::of("Errors", [Block::list(error_texts(trial))])
}

fn rows_table(found: &RowComparison) -> DocumentTable {
    let rows = &found.rows;
    let counts = [
        (rows.attempted, "sent"),
        (rows.resent, "of these sent more than once"),
        (rows.acknowledged, "acknowledged"),
        (rows.refused, "refused"),
        (rows.unknown_present, "unknown, and there"),
        (rows.unknown_absent, "unknown, and not there"),
        (rows.in_table, "in the table"),
    ];
    let counts = counts.map(|(number, what)| (number, what, Tone::Plain));
    let faults = RowFault::ALL.map(|fault| {
        let tone = if rows.count(fault) > 0 { Tone::Bad } else { Tone::Good };
        (rows.count(fault), fault_name(fault), tone)
    });
    let rows = counts
        .into_iter()
        .chain(faults)
        .map(|(number, what, tone)| [TableEntry::new(format::count(number), tone), what.into()]);
    DocumentTable::new(["rows", ""], rows)
}

fn examples_table(examples: &[RowExample]) -> DocumentTable {
    let rows = examples.iter().map(|example| {
        [
            TableEntry::new(fault_name(example.fault), Tone::Bad),
            example.copies.to_string().into(),
            example.attempts.to_string().into(),
            format::or_nothing(example.answer, |answer| answer.to_string()).into(),
            format::or_nothing(example.answered_at_ms, exact_seconds).into(),
            example.key.clone().into(),
        ]
    });
    let header = ["fault", "copies", "sent", "answer", "answered at", "row"];
    DocumentTable::new(header, rows).with_caption(Some("The first of each fault".to_owned()))
}

fn exact_seconds(ms: u64) -> String {
    format!("{:.3} s", ms as f64 / 1e3)
}

pub(crate) fn example_texts(found: &RowComparison) -> Vec<String> {
    let texts = found.examples.iter().map(|example| {
        let copies =
            if example.copies > 1 { format!(", {} copies", example.copies) } else { String::new() };
        let at = example.answered_at_ms.map(|ms| format!(", answered at {}", exact_seconds(ms)));
        format!("{}: {}{copies}{}", fault_name(example.fault), example.key, at.unwrap_or_default())
    });
    texts.collect()
}

fn kills_table(kills: &[ServerKill]) -> DocumentTable {
    let rows = kills
        .iter()
        .map(|kill| [seconds(kill.at_ms), format::duration_us(kill.recovery_ms as f64 * 1e3)]);
    DocumentTable::new(["killed at", "without a server for"], rows).of_numbers()
}
