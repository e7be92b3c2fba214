//! How far the figures may be trusted, in short: the reasons of the full report, the gravest first.

use std::time::Duration;

use truetps_analysis::Verdict;

use super::layout::ScreenPart;
use crate::disturbances::disturbed;
use crate::{
    ReportInput, external, format, generator, meaning, names, parts, remarks, run_document, stalls,
};

/// Where only larger differences than this get a verdict, at all loads, the figures say little.
const NOISE_HIGH: f64 = 0.3;

/// How grave a reason is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// The figures say little.
    Grave,
    /// Some figures say less than they seem to.
    Some,
    /// To be known, but no reason for doubt.
    Note,
}

pub(super) fn part(input: &ReportInput<'_>) -> Option<ScreenPart> {
    let mut reasons = [evidence(input), conditions(input)].concat();
    reasons.sort_by_key(|(doubt, _)| *doubt);
    let word = match reasons.first() {
        Some((Doubt::Grave, _)) => "low",
        Some((Doubt::Some, _)) => "fair",
        Some((Doubt::Note, _)) | None => "good",
    };
    let mut items: Vec<_> = reasons.into_iter().map(|(_, text)| text).collect();
    match items.first_mut() {
        Some(first) => *first = format!("{word}: {first}"),
        None => items.push(format!("{word}: nothing was found that distorts the figures")),
    }
    // Without any trial there is nothing to trust.
    ScreenPart::facts("Trust", items).filter(|_| input.analysis.trials_valid > 0)
}

/// Number and scatter of the trials.
fn evidence(input: &ReportInput<'_>) -> Vec<(Doubt, String)> {
    let analysis = input.analysis;
    let mut said = Vec::new();
    if let Some(sentence) = meaning::noise_sentence(analysis) {
        let alarm = analysis.twins.as_ref().is_some_and(|twins| twins.alarm);
        let is_noisy = !analysis.contrasts.is_empty()
            && analysis.noise.iter().all(|noise| noise.smallest_detectable_effect > NOISE_HIGH);
        said.push(match (alarm, is_noisy) {
            (true, _) => {
                (Doubt::Grave, format!("A/A alarm, small differences are no evidence: {sentence}"))
            }
            (false, true) => (Doubt::Grave, sentence),
            (false, false) => (Doubt::Note, sentence),
        });
    }
    said.extend(meaning::incomplete(analysis).map(|text| (Doubt::Grave, plain(&text))));
    if analysis.max_rate.is_none() && analysis.cells.iter().all(|cell| cell.trials.len() <= 1) {
        let what = if analysis.cells.len() == 1 {
            "one trial shows"
        } else {
            "one trial of each configuration shows"
        };
        said.push((Doubt::Grave, format!("{what} no scatter: repeat it before you rely on it")));
    }
    let mut verdicts = analysis.contrasts.iter().map(|one| one.verdict);
    let all_open = verdicts.all(|one| matches!(one, Verdict::NotEnoughData { .. }));
    let doubt = if all_open { Doubt::Grave } else { Doubt::Some };
    said.extend(meaning::undecided(analysis).map(|text| (doubt, plain(&text))));
    let limited = analysis.cells.iter().filter(|cell| generator::is_limited(cell)).count();
    if limited > 0 {
        let of = match analysis.cells.len() {
            1 => String::new(),
            all => format!(" in {limited} of {all} configurations"),
        };
        let sign = generator::SIGN;
        said.push((
            Doubt::Some,
            format!("{sign} {}{of}: {}", generator::LIMITED, generator::consequence(analysis)),
        ));
    }
    if input.run.experiment.quick {
        said.push((Doubt::Some, "short trials: trust the trends, not the figures".to_owned()));
    }
    said.extend(run_document::extended(&input.run.experiment).map(|text| (Doubt::Some, text)));
    said
}

/// Host, server and course of the experiment.
fn conditions(input: &ReportInput<'_>) -> Vec<(Doubt, String)> {
    let mut said = Vec::new();
    said.extend(parts::incomplete(&input.run.experiment).map(|text| (Doubt::Grave, text)));
    said.extend(meaning::memory_disk(input).map(|text| (Doubt::Grave, plain(&text))));
    let failed: u64 =
        input.trials().filter_map(|trial| Some(trial.measured.as_ref()?.counts.failed)).sum();
    said.extend(
        (failed > 0)
            .then(|| (Doubt::Some, format!("{} failed", format::plural(failed, "transaction")))),
    );
    let clients: u32 =
        input.trials().filter_map(|trial| Some(trial.engine.as_ref()?.clients_failed)).sum();
    said.extend(
        (clients > 0)
            .then(|| (Doubt::Some, format!("{} failed", format::plural(clients.into(), "client")))),
    );
    let is_several = input.analysis.curves.len() > 1 || input.analysis.max_rate.is_some();
    let stalled = stalls::fact(input).filter(|_| is_several && stalls::any(input));
    said.extend(stalled.map(|text| (Doubt::Some, format!("stalls: {text}"))));
    said.extend(
        disturbed(input.trials())
            .into_iter()
            .map(|one| (if one.is_grave { Doubt::Grave } else { Doubt::Some }, one.text)),
    );
    said.extend(notes(input));
    said.extend(meaning::couplings(input).into_iter().map(|text| (Doubt::Note, plain(&text))));
    said.extend(meaning::cheap_flush(input).map(|text| (Doubt::Note, plain(&text))));
    // With a bound it is a part of its own.
    let shared_cores =
        meaning::shared_cores(input).filter(|_| generator::bound(input.analysis).is_none());
    said.extend(shared_cores.map(|text| (Doubt::Note, plain(&text))));
    said.extend(external::idle_factors(input).into_iter().map(|text| (Doubt::Some, text)));
    said.extend(external::notes(input).into_iter().map(|text| (Doubt::Note, text)));
    said.extend(parts::short(input).into_iter().map(|text| (Doubt::Note, text)));
    said
}

/// Remarks on trials: one with the number of its trials.
fn notes(input: &ReportInput<'_>) -> Vec<(Doubt, String)> {
    let remarks =
        input.trials().flat_map(|trial| remarks(trial).into_iter().map(move |text| (text, trial)));
    let grouped = crate::grouped(remarks);
    let lines = grouped.into_iter().map(|(text, trials)| match &trials[..] {
        [one] => (Doubt::Some, format!("{}: {text}", one.name)),
        several => (Doubt::Some, format!("{}: {text}", format::trials(several.len()))),
    });
    lines.collect()
}

/// A sentence within a list.
fn plain(sentence: &str) -> String {
    sentence.trim_end_matches('.').to_owned()
}

/// `29 of 30 valid, 1 invalid (trial-0002: the server died); 3 blocks, 5 min 30 s of trials`.
pub(super) fn trials(input: &ReportInput<'_>) -> String {
    let analysis = input.analysis;
    let blocks = (analysis.blocks_planned > 1)
        .then(|| format::plural(analysis.blocks_planned.into(), "block"));
    let time = time_of_trials(input).map(|time| format!("{} of trials", format::duration(time)));
    let invalid = analysis.invalid.first().map(|first| format!("{}: {}", first.name, first.reason));
    let is_rate = analysis.axis == truetps_analysis::Axis::Rate || analysis.max_rate.is_some();
    let connections = is_rate.then(|| names::connections(input.run.plan.connections_max()));
    let parts = [Some(run_document::trials_counted(input)), blocks, time, invalid, connections];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The lengths of all trials together. An experiment may have been interrupted between them.
fn time_of_trials(input: &ReportInput<'_>) -> Option<Duration> {
    let lengths: Vec<_> = input
        .trials()
        .filter_map(|trial| {
            let ended = humantime::parse_rfc3339(trial.ended_at.as_ref()?).ok()?;
            ended.duration_since(humantime::parse_rfc3339(&trial.started_at).ok()?).ok()
        })
        .collect();
    (!lengths.is_empty()).then(|| lengths.iter().sum())
}
