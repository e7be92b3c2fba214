//! Which of the differences between two configurations makes their results differ: the answer of
//! `truetps explain`.

mod common;
mod counters;
mod factors;
mod json;
mod nothing;
mod tables;
#[cfg(test)]
mod tests;
mod words;

use truetps_archive::ExplainedRun;

use crate::disks::disks;
use crate::document::{Block, Document, DocumentSection};
use crate::json::json_text;
use crate::{format, names};

use common::common_settings;
pub(crate) use common::common_text;
pub(crate) use factors::title;
use factors::{corners, side_name, with_names};
use json::{ExplainedTrial, explanation_document};
pub use nothing::NOTHING_DIFFERS;
pub(crate) use nothing::{nothing_differs, nothing_differs_json};
pub(crate) use tables::causes_table;
use tables::{closures_table, left_out_table, others_table, trials_table};
pub(crate) use words::{answer, left_out_text, others_text, remedies, trust, version_text};

/// Everything as an indented JSON document that ends with a line feed. Differences are natural
/// logarithms of ratios of throughput.
pub(crate) fn explanation_json(run: &ExplainedRun) -> String {
    let factors = &run.explanation.factors;
    let trials = run
        .trials
        .iter()
        .map(|(mixture, loaded)| ExplainedTrial {
            name: run
                .experiment
                .schedule
                .iter()
                .find(|one| one.name == loaded.trial.name)
                .map_or("", |one| &one.name),
            mixture: *mixture,
            with: with_names(factors, *mixture),
            tps: loaded
                .trial
                .measured
                .as_ref()
                .filter(|_| loaded.trial.validity.is_valid())
                .map(|measured| measured.tps),
            disturbances: loaded.trial.disturbances(),
            repeated_after: loaded.trial.repeated_after.as_deref(),
            problem: loaded.trial.validity.reason().map(ToString::to_string),
        })
        .collect();
    json_text(&explanation_document(&run.experiment.name, &run.explanation, &run.findings, trials))
}

pub(crate) fn document(run: &ExplainedRun) -> Document {
    let sections = [
        DocumentSection::of(
            "Causes",
            [causes_table(run).block(), Some(Block::paragraph(HOW_TO_READ))],
        ),
        counters_section(run),
        DocumentSection::of("To have A's result in B", [Block::list(remedies(run))]),
        DocumentSection::of(
            "Everything else that differs",
            [others_table(run).block(), Some(Block::paragraph(OTHERS))],
        )
        .filter(|_| !run.findings.others.is_empty()),
        DocumentSection::of(
            "Are these all?",
            [closures_table(run).block(), Some(Block::paragraph(CLOSURES))],
        )
        .filter(|_| run.findings.closures.sufficiency.is_some()),
        DocumentSection::of("Mixtures without a result", [Block::list(words::not_started(run))]),
        DocumentSection::of("Not measured", [left_out_table(&run.explanation.left_out).block()]),
        DocumentSection::of("The trials", [trials_table(run).block()]),
    ];
    Document::new(title(&run.explanation), facts(run), sections)
}

fn counters_section(run: &ExplainedRun) -> Option<DocumentSection> {
    let table = counters::table(run).block()?;
    DocumentSection::of("What moved with them", [Some(table), Some(Block::paragraph(COUNTERS))])
}

const HOW_TO_READ: &str = "alone: A with this level of B, against A. last: A with all causes, \
    against A with all but this one. share: its part of the difference, the mean over all orders \
    in which the causes can be added (Shapley); the shares multiply to A with all of them against \
    A, unless one was measured again. of it: the share against the difference, on logarithms; what \
    the causes leave of it makes 100 %. The intervals of all shares together have the truth in \
    95 %, and so have the intervals of all parts.";
const COUNTERS: &str = "Of A, and of A with the cause: what the server did for a transaction. It \
    supports an explanation, and proves none.";
const OTHERS: &str = "effect: the mean ratio over mixtures of all other factors, with its 95 % \
    interval; of 20 such intervals one leaves out 1 by chance. A factor that is not a cause may \
    have an effect within this interval. at most: its end that is farther from 1.";
const CLOSURES: &str = "If the causes are all, A with them is as fast as B, and B without them is \
                        as fast as A: both ratios are 1.";

fn facts(run: &ExplainedRun) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = answer(run).into_iter().map(|text| ("Answer", text)).collect();
    facts.extend(trust(run).into_iter().map(|text| ("Trust", text)));
    facts.extend(version_text(run).map(|text| ("Version", text)));
    facts.push(("Trials", trials_fact(run)));
    facts.push(("A", side_fact(run, true)));
    facts.push(("B", side_fact(run, false)));
    facts.extend(common_settings(&run.explanation).map(|text| ("Both have", text)));
    facts.push(("Load", load_fact(run)));
    facts.push(("Host", names::measured_on(&run.experiment).join(", ")));
    facts.extend(disks(&run.experiment).into_iter().map(|disk| ("Disk", disk)));
    facts.push(("Seed", run.explanation.seed.to_string()));
    facts
}

fn side_fact(run: &ExplainedRun, is_a: bool) -> String {
    let side = if is_a { &run.explanation.a } else { &run.explanation.b };
    let server = side.server.as_ref().map(names::server);
    let tps = corners(run).map(|[a, b]| if is_a { a } else { b });
    let tps = tps.map(|(tps, n)| format!("{} tps ({})", format::tps(tps), format::trials(n)));
    let parts = [Some(side_name(side)), server, tps].into_iter().flatten();
    parts.chain(side.notes.iter().cloned()).collect::<Vec<_>>().join(", ")
}

fn load_fact(run: &ExplainedRun) -> String {
    let (workload, load) = (run.plan.workload.kind.name(), &run.plan.load);
    let connections = run.explanation.a.configuration.connections();
    format!(
        "{workload}, {}, {} s of warm-up and {} s measured in each trial",
        names::connections(connections),
        load.warm_up_s,
        load.measure_s
    )
}

pub(crate) fn trials_fact(run: &ExplainedRun) -> String {
    let failed = run.findings.not_started.len();
    let failed = if failed > 0 { format!("; {failed} without a result") } else { String::new() };
    let noise = run
        .findings
        .noise
        .map_or(String::new(), |noise| format!("; one trial varies by {}", format::scatter(noise)));
    let screened = match run.findings.screenings {
        0 => String::new(),
        1 => "; all differences screened once".to_owned(),
        n => format!("; all differences screened {n} times"),
    };
    format!("{}{failed}{screened}{noise}", run.trials.len())
}
