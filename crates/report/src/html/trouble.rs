//! Problems: invalid trials, errors by name, and notes.

use std::collections::BTreeMap;

use truetps_record::{ErrorClass, ErrorCount, Trial};

use super::labels;
use crate::disturbances::disturbed;
use crate::errors::{ErrorTotal, totals};
use crate::{ReportInput, external, format, load, parts, remarks};

/// Trials named with a note or an error; the raw files name the rest.
const TRIALS_NAMED_MAX: usize = 3;

pub(super) struct Trouble<'a> {
    pub(super) summary: String,
    /// Files that could not be read.
    pub(super) unread: Vec<&'a str>,
    pub(super) invalid: Vec<InvalidRow<'a>>,
    pub(super) errors: Vec<ErrorRow<'a>>,
    pub(super) notes: Vec<String>,
}

pub(super) struct InvalidRow<'a> {
    pub(super) name: &'a str,
    pub(super) configuration: String,
    pub(super) state: &'static str,
    pub(super) reason: String,
}

pub(super) struct ErrorRow<'a> {
    pub(super) class: ErrorClass,
    /// Empty where the error is not the server's.
    pub(super) code: String,
    pub(super) failed: String,
    pub(super) retried: String,
    /// `retried`, `ignored`, `fatal`; empty where the plan says nothing of the class.
    pub(super) policy: &'static str,
    pub(super) most_in: String,
    pub(super) first_message: &'a str,
}

impl<'a> Trouble<'a> {
    pub(super) fn of(input: &ReportInput<'a>) -> Self {
        let analysis = input.analysis;
        let invalid = analysis.invalid.iter().map(|trial| InvalidRow {
            name: &trial.name,
            configuration: labels::configuration(&trial.configuration),
            state: if trial.partial { "partial" } else { "invalid" },
            reason: trial.reason.to_string(),
        });
        Self {
            summary: summary(input),
            unread: input.run.all_unread().map(|unread| unread.what.as_str()).collect(),
            invalid: invalid.collect(),
            errors: errors(input),
            notes: [notes(input), external::lines(input), parts::lines(input)].concat(),
        }
    }
}

fn summary(input: &ReportInput) -> String {
    let analysis = input.analysis;
    let unread = input.run.unread.iter().filter(|unread| unread.whole_trial).count();
    let ran = analysis.trials_valid + analysis.invalid.len();
    let used = match (ran, analysis.invalid.len()) {
        (0, _) => "No trial has run.".to_owned(),
        (_, 0) => format!("All {} that ran are valid.", format::trials(ran)),
        (_, unused) => {
            format!("{unused} of {} are invalid; no figure above uses them.", format::trials(ran))
        }
    };
    let used = match unread {
        0 => used,
        _ => format!("{used} {} could not be read.", format::trials(unread)),
    };
    match analysis.trials_planned.saturating_sub(ran + unread) {
        0 => used,
        missing => format!("{used} Of the schedule, {} did not run.", format::trials(missing)),
    }
}

/// Most frequent first.
fn errors<'a>(input: &ReportInput<'a>) -> Vec<ErrorRow<'a>> {
    let errors =
        input.trials().flat_map(|trial| errors_of(trial).iter().map(move |error| (trial, error)));
    totals(errors).iter().map(|total| error_row(input, total)).collect()
}

fn errors_of(trial: &Trial) -> &[ErrorCount] {
    trial.measured.as_ref().map_or(&[], |measured| &measured.errors)
}

fn error_row<'a>(input: &ReportInput<'a>, seen: &ErrorTotal<'a, &'a Trial>) -> ErrorRow<'a> {
    // The first one of several.
    let most_in = seen.seen_in.iter().rev().max_by_key(|(_, count)| *count);
    ErrorRow {
        class: seen.first.class,
        code: if seen.first.code == 0 { String::new() } else { seen.first.code.to_string() },
        failed: format::count(seen.failed),
        retried: format::count(seen.retried),
        policy: load::handling(&input.run.plan.load.errors, seen.first.class),
        most_in: most_in.map_or_else(String::new, |(trial, count)| {
            format!(
                "{}: {} ({})",
                trial.name,
                format::count(*count),
                labels::configuration(&trial.configuration)
            )
        }),
        first_message: &seen.first.first_message,
    }
}

/// Each note once, with the trials that it was made on.
fn notes(input: &ReportInput) -> Vec<String> {
    let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for trial in input.trials() {
        let clients = trial.engine.as_ref().filter(|engine| engine.clients_failed > 0);
        let failed = clients.map(|engine| {
            format!("{} of {} clients failed", engine.clients_failed, engine.clients)
        });
        for note in remarks(trial).into_iter().chain(failed) {
            by_text.entry(note).or_default().push(&trial.name);
        }
    }
    let notes = by_text.into_iter().map(|(note, names)| format!("{note} ({})", named(&names)));
    disturbed(input.trials()).into_iter().map(|one| one.text).chain(notes).collect()
}

fn named(names: &[&str]) -> String {
    match names.split_at_checked(TRIALS_NAMED_MAX) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => format::list(names),
    }
}
