//! Which of the differences between two configurations makes their results differ: the answer of `truetps explain`.

mod common;
mod counters;
mod nothing;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;
use truetps_analysis::LoadedTrial;
use truetps_archive::ExplainedRun;
use truetps_causes::{Cause, Findings, LogInterval, Mixture, Screened};
use truetps_knowledge::people_value;
use truetps_record::{Estimate, ExplainedFactor, ExplainedSide, Explanation, FactorLevel, LeftOut};

use crate::disks::disks;
use crate::document::{
    Block, Document, DocumentSection, DocumentTable, TableEntry, TableForest, Tone,
};
use crate::json::json_text;
use crate::{format, names};

use common::common_settings;
pub(crate) use common::common_text;
pub use nothing::NOTHING_DIFFERS;
pub(crate) use nothing::{nothing_differs, nothing_differs_json};
pub(crate) use words::{answer, left_out_text, others_text, remedies, trust, version_text};

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

/// Everything as an indented JSON document that ends with a line feed. Differences are natural logarithms of ratios of
/// throughput.
pub(crate) fn explanation_json(run: &ExplainedRun) -> String {
    let factors = &run.explanation.factors;
    let trial = |(mixture, loaded): &'_ (Mixture, LoadedTrial)| ExplainedTrial {
        name: run
            .experiment
            .schedule
            .iter()
            .find(|one| one.name == loaded.trial.name)
            .map_or("", |one| &one.name),
        mixture: *mixture,
        with: mixture
            .factors()
            .filter_map(|index| Some(factors.get(index)?.name.as_str()))
            .collect(),
        tps: loaded
            .trial
            .measured
            .as_ref()
            .filter(|_| loaded.trial.validity.is_valid())
            .map(|measured| measured.tps),
        problem: loaded.trial.validity.reason().map(ToString::to_string),
    };
    let trials = run.trials.iter().map(trial).collect();
    json_text(&explanation_document(&run.experiment.name, &run.explanation, &run.findings, trials))
}

#[derive(Serialize)]
struct ExplanationDocument<'a> {
    schema_version: u32,
    experiment: &'a str,
    seed: u64,
    smallest_percent: f64,
    a: &'a ExplainedSide,
    b: &'a ExplainedSide,
    factors: &'a [ExplainedFactor],
    suspects: &'a [usize],
    left_out: &'a [LeftOut],
    findings: &'a Findings,
    trials: Vec<ExplainedTrial<'a>>,
}

#[derive(Serialize)]
struct ExplainedTrial<'a> {
    name: &'a str,
    mixture: Mixture,
    /// Factors with B's level.
    with: Vec<&'a str>,
    tps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

fn explanation_document<'a>(
    experiment: &'a str,
    explanation: &'a Explanation,
    findings: &'a Findings,
    trials: Vec<ExplainedTrial<'a>>,
) -> ExplanationDocument<'a> {
    let Explanation { seed, smallest_percent, a, b, factors, suspects, left_out, .. } = explanation;
    ExplanationDocument {
        schema_version: SCHEMA_VERSION,
        experiment,
        seed: *seed,
        smallest_percent: *smallest_percent,
        a,
        b,
        factors,
        suspects,
        left_out,
        findings,
        trials,
    }
}

pub(crate) fn document(run: &ExplainedRun) -> Document {
    let sections = [
        DocumentSection::of("Causes", [causes_table(run).block(), Some(paragraph(HOW_TO_READ))]),
        counters_section(run),
        DocumentSection::of("To have A's result in B", [Block::list(remedies(run))]),
        DocumentSection::of(
            "Everything else that differs",
            [others_table(run).block(), Some(paragraph(OTHERS))],
        )
        .filter(|_| !run.findings.others.is_empty()),
        DocumentSection::of(
            "Are these all?",
            [closures_table(run).block(), Some(paragraph(CLOSURES))],
        )
        .filter(|_| run.findings.closures.sufficiency.is_some()),
        DocumentSection::of("Mixtures without a result", [Block::list(words::not_started(run))]),
        DocumentSection::of("Not measured", [left_out_table(&run.explanation.left_out).block()]),
        DocumentSection::of("The trials", [trials_table(run).block()]),
    ];
    Document {
        title: title(&run.explanation),
        facts: facts(run),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn counters_section(run: &ExplainedRun) -> Option<DocumentSection> {
    let table = counters::table(run).block()?;
    DocumentSection::of("What moved with them", [Some(table), Some(paragraph(COUNTERS))])
}

const HOW_TO_READ: &str = "alone: A with this level of B, against A. last: A with all causes, against A with all but this one. \
    share: its part of the difference, the mean over all orders in which the causes can be added (Shapley); the shares of all \
    causes multiply to A with all of them against A. All are ratios of throughput with 95 % intervals.";
const COUNTERS: &str = "Of A, and of A with the cause: what the server did for a transaction. It supports an explanation, and \
    proves none.";
const OTHERS: &str = "effect: the mean ratio over mixtures of all other factors. A factor that is not a cause may have an effect \
    within this interval.";
const CLOSURES: &str = "If the causes are all, A with them is as fast as B, and B without them is as fast as A: both ratios are 1.";

fn paragraph(text: &str) -> Block {
    Block::Paragraph(text.to_owned())
}

pub(crate) fn title(explanation: &Explanation) -> String {
    let (a, b) = (side_name(&explanation.a), side_name(&explanation.b));
    format!("{b} against {a}: what makes the difference?")
}

/// A list of settings may be long.
fn side_name(side: &ExplainedSide) -> String {
    const CHARS_MAX: usize = 32;
    let shown: String = side.name.chars().take(CHARS_MAX).collect();
    if shown.len() < side.name.len() { format!("{shown}…") } else { shown }
}

fn facts(run: &ExplainedRun) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = answer(run).into_iter().map(|text| ("Answer", text)).collect();
    facts.extend(trust(run).into_iter().map(|text| ("Trust", text)));
    facts.extend(version_text(run).map(|text| ("Version", text)));
    facts.push(("Trials", trials_fact(run)));
    facts.push(("A", side_fact(run, true)));
    facts.push(("B", side_fact(run, false)));
    facts.extend(common_settings(&run.explanation).map(|text| ("Both have", text)));
    facts.push(("Load", load_fact(run)));
    facts.push(("Host", names::place(&run.experiment).join(", ")));
    facts.extend(disks(&run.experiment).into_iter().map(|disk| ("Disk", disk)));
    facts.push(("Seed", run.explanation.seed.to_string()));
    facts
}

fn side_fact(run: &ExplainedRun, is_a: bool) -> String {
    let side = if is_a { &run.explanation.a } else { &run.explanation.b };
    let server = side.server.as_ref().map(names::server);
    let tps = corner(run, is_a)
        .map(|(tps, n)| format!("{} tps ({})", format::tps(tps), format::trials(n)));
    let parts = [Some(side_name(side)), server, tps].into_iter().flatten();
    parts.chain(side.notes.iter().cloned()).collect::<Vec<_>>().join(", ")
}

/// The geometric mean of the trials of A or of B, and their number.
pub(crate) fn corner(run: &ExplainedRun, is_a: bool) -> Option<(f64, usize)> {
    let wanted = if is_a { Mixture::A } else { Mixture::b(run.explanation.factors.len()) };
    let logs: Vec<_> = run
        .trials
        .iter()
        .filter(|(mixture, _)| *mixture == wanted)
        .filter_map(|(_, loaded)| loaded.trial.log_tps())
        .collect();
    (!logs.is_empty()).then(|| ((logs.iter().sum::<f64>() / logs.len() as f64).exp(), logs.len()))
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
    let noise = run.findings.noise.map_or(String::new(), |noise| {
        format!("; one trial varies by ±{}", format::percent(noise.exp_m1()))
    });
    let screened = match run.findings.screenings {
        0 => String::new(),
        1 => "; all differences screened once".to_owned(),
        n => format!("; all differences screened {n} times"),
    };
    format!("{}{failed}{screened}{noise}", run.findings.trials)
}

/// A ratio of throughput.
pub(crate) fn ratio_of(interval: &LogInterval) -> Estimate {
    Estimate {
        value: interval.value.exp(),
        low: Some(interval.low.exp()),
        high: Some(interval.high.exp()),
        n: 2,
    }
}

pub(crate) fn ratio_text(interval: &LogInterval) -> String {
    format::ratio_estimate(&ratio_of(interval))
}

/// `sync_binlog`, or `log_bin with gtid_mode` where the two do not work apart.
pub(crate) fn factor_name(run: &ExplainedRun, index: usize) -> String {
    let Some(factor) = run.explanation.factors.get(index) else { return String::new() };
    let merged = run.findings.merged.iter().find(|group| group.has(index));
    let also = merged.map(|group| {
        let names: Vec<_> = group
            .factors()
            .filter(|other| *other != index)
            .map(|other| run.explanation.factors[other].name.clone())
            .collect();
        format!(" with {}", format::list(&names))
    });
    format!("{}{}", factor.name, also.unwrap_or_default())
}

/// `OFF`, or `OFF, …` of several.
fn level_text(factor: &ExplainedFactor, is_a: bool) -> String {
    let of = |level: &FactorLevel| {
        let value = if is_a { &level.a } else { &level.b };
        people_value(&level.name, &value.option_text())
    };
    let first = factor.levels.first().map(of).unwrap_or_default();
    let shown: String = first.chars().take(LEVEL_CHARS_MAX).collect();
    let cut = if shown.len() < first.len() || factor.levels.len() > 1 { "…" } else { "" };
    format!("{shown}{cut}")
}

const LEVEL_CHARS_MAX: usize = 20;

pub(crate) fn causes_table(run: &ExplainedRun) -> DocumentTable {
    let header = ["A", "B", "alone", "last", "share", "of it", "role", "cause"];
    let causes = &run.findings.causes;
    let table = DocumentTable::new(header, causes.iter().map(|cause| cause_row(run, cause)));
    with_forest(table, run, causes.iter().map(|cause| Some(cause.share)))
}

fn cause_row(run: &ExplainedRun, cause: &Cause) -> Vec<TableEntry> {
    let factor = &run.explanation.factors[cause.factor];
    let ratio = |interval: Option<LogInterval>| {
        format::or_nothing(interval, |interval| format::ratio(interval.value.exp()))
    };
    let gap = run.findings.gap.map_or(0.0, |gap| gap.value);
    let part =
        if gap == 0.0 { format::NOTHING.to_owned() } else { part_of(cause.share.value / gap) };
    let texts = [
        level_text(factor, true),
        level_text(factor, false),
        ratio(cause.alone),
        ratio(cause.last),
        ratio_text(&cause.share),
        part,
        words::role(cause.role).to_owned(),
        factor_name(run, cause.factor),
    ];
    texts.into_iter().map(TableEntry::from).collect()
}

/// With a picture of each ratio.
fn with_forest(
    table: DocumentTable,
    run: &ExplainedRun,
    ratios: impl Iterator<Item = Option<LogInterval>>,
) -> DocumentTable {
    let ratios = ratios.map(|ratio| ratio.as_ref().map(ratio_of)).collect();
    DocumentTable {
        forest: Some(TableForest { ratios, smallest_effect: run.findings.smallest.exp_m1() }),
        ..table
    }
}

/// A share of the difference: `94 %`.
pub(crate) fn part_of(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn others_table(run: &ExplainedRun) -> DocumentTable {
    let row = |one: &Screened| {
        let factor = &run.explanation.factors[one.factor];
        let effect = format::or_nothing(one.effect, |effect| ratio_text(&effect));
        let under = one.effect.map_or(format::NOTHING.to_owned(), |effect| {
            format::percent(effect.size_max().exp_m1())
        });
        [
            level_text(factor, true),
            level_text(factor, false),
            effect,
            under,
            factor_name(run, one.factor),
        ]
    };
    let others = &run.findings.others;
    let table =
        DocumentTable::new(["A", "B", "effect", "at most", "factor"], others.iter().map(row));
    with_forest(table, run, others.iter().map(|one| one.effect))
}

fn closures_table(run: &ExplainedRun) -> DocumentTable {
    let closures = &run.findings.closures;
    let row = |what: &str, interval: &Option<LogInterval>| {
        interval.map(|interval| {
            let tone = if interval.is_decided() { Tone::Unsure } else { Tone::Good };
            [TableEntry { text: ratio_text(&interval), tone }, what.to_owned().into()]
        })
    };
    let rows = [
        row("A with all causes, against B", &closures.sufficiency),
        row("B without any cause, against A", &closures.exclusivity),
    ];
    let table = DocumentTable::new(["ratio", "what"], rows.into_iter().flatten());
    with_forest(
        table,
        run,
        [closures.sufficiency, closures.exclusivity].into_iter().flatten().map(Some),
    )
}

fn left_out_table(left_out: &[LeftOut]) -> DocumentTable {
    let groups = crate::grouped(left_out.iter().map(|one| (one.reason.clone(), one.name.clone())));
    let row = |(reason, names): (String, Vec<String>)| {
        [names.len().to_string(), format!("{reason}: {}", names.join(", "))]
    };
    DocumentTable::new(["settings", "why"], groups.into_iter().map(row))
}

fn trials_table(run: &ExplainedRun) -> DocumentTable {
    let factors = &run.explanation.factors;
    let b = Mixture::b(factors.len());
    let row = |(mixture, loaded): &(Mixture, LoadedTrial)| {
        let with: Vec<_> =
            mixture.factors().filter_map(|index| Some(factors.get(index)?.name.clone())).collect();
        let what = match *mixture {
            Mixture::A => "A".to_owned(),
            whole if whole == b => "B".to_owned(),
            _ if with.len() * 2 > factors.len() => {
                let without: Vec<_> = (0..factors.len())
                    .filter(|index| !mixture.has(*index))
                    .map(|index| factors[index].name.clone())
                    .collect();
                format!("B without {}", without.join(", "))
            }
            _ => format!("A with {}", with.join(", ")),
        };
        let tps = format::or_nothing(loaded.trial.log_tps(), |log| format::tps(log.exp()));
        let problem =
            loaded.trial.validity.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
        [loaded.trial.name.clone(), tps, format!("{what}{problem}")]
    };
    DocumentTable::new(["trial", "tps", "mixture"], run.trials.iter().map(row))
}
