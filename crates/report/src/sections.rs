//! The sections of a report in the text formats, apart from the tables of single configurations.

use std::collections::BTreeMap;

use truetps_analysis::{Cell, Contrast, Curve, Judgement};
use truetps_archive::Run;
use truetps_record::Estimate;

use crate::disturbances::disturbed;
use crate::document::{Block, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};
use crate::generator::{self, LIMITED, SIGN};
use crate::{ReportInput, errors, external, meaning, names, parts, remarks};

/// Combinations of settings that fit beside each other in one table.
pub(crate) const COLUMNS_MAX: usize = 4;
/// More sentences than this are not read as one paragraph.
const PARAGRAPH_SENTENCES_MAX: usize = 6;

/// Throughput alone, one column for each combination of settings, where they fit beside each other.
pub(crate) fn throughput(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    if !(2..=COLUMNS_MAX).contains(&analysis.curves.len()) {
        return None;
    }
    let labels = analysis.curves.iter().map(|curve| names::level_label(analysis, curve));
    let header = std::iter::once(analysis.axis.factor().to_owned()).chain(labels);
    let rows = names::levels(analysis).into_iter().map(|level| {
        let cells = analysis
            .curves
            .iter()
            .map(move |curve| tps_entry(names::cell_at(analysis, curve, level)));
        std::iter::once(format::rate(level)).chain(cells)
    });
    let table = DocumentTable::new(header, rows).of_numbers();
    let heading = format!(
        "Throughput (tps, 95 % interval) by {}",
        names::curve_factors(&input.run.plan, analysis)
    );
    DocumentSection::of(
        heading,
        [table.block(), generator::sign_explained(analysis).map(Block::Paragraph)],
    )
}

/// Throughput with its interval, and with the sign of a limited generator.
pub(crate) fn tps_entry(cell: Option<&Cell>) -> String {
    let Some((cell, tps)) = cell.and_then(|cell| Some((cell, cell.tps.as_ref()?))) else {
        return NOTHING.to_owned();
    };
    let sign = if generator::is_limited(cell) { format!(" {SIGN}") } else { String::new() };
    format!("{}{sign}", format::tps_estimate(tps))
}

/// The tps of a cell as a number with the sign of a limited generator.
pub(crate) fn tps_with_sign(cell: &Cell) -> String {
    let sign = if generator::is_limited(cell) { SIGN } else { "" };
    format!("{}{sign}", format::or_nothing(cell.tps.as_ref(), |tps| format::tps(tps.value)))
}

pub(crate) fn comparisons(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    let baseline = analysis.baseline_label.as_ref().filter(|_| !analysis.contrasts.is_empty())?;
    let tables = analysis.curves.iter().flat_map(|curve| {
        [comparison_table(input, curve).block(), beside_table(input, curve).block()]
    });
    let test = match analysis.contrasts.len() {
        1 => "a t test".to_owned(),
        all => format!("a t test with Holm's correction over all {all} comparisons"),
    };
    let least = format::percent(analysis.smallest_effect);
    let explained = format!(
        "Ratios are paired by block, with their 95 % interval. faster and slower: the difference \
         passes {test}, and is at least {least}. equivalent: it is shown to be within {least}. \
         \"detectable\": the smallest effect that would get a verdict here four times out of five."
    );
    DocumentSection::of(
        format!("Against {baseline}"),
        tables.chain([Some(Block::Paragraph(explained))]),
    )
}

fn comparison_table(input: &ReportInput<'_>, curve: &Curve) -> DocumentTable {
    let analysis = input.analysis;
    let header = [analysis.axis.factor(), "tps ratio", "detectable", "verdict"];
    let rows = names::contrasts(analysis, curve).into_iter().map(|contrast| {
        [
            names::level(analysis.axis, &analysis.cells[contrast.cell].configuration).into(),
            format::ratio_estimate(&contrast.tps_ratio).into(),
            format::or_nothing(contrast.smallest_detectable_effect, format::detectable).into(),
            verdict(contrast),
        ]
    });
    let caption = (!curve.label.is_empty()).then(|| curve.label.clone());
    DocumentTable::new(header, rows).with_caption(caption)
}

/// What throughput is explained by, with the same chance of a false claim.
fn beside_table(input: &ReportInput<'_>, curve: &Curve) -> DocumentTable {
    let analysis = input.analysis;
    let header = [analysis.axis.factor(), "p99 ratio", "ratio of server CPU a transaction"];
    let rows = names::contrasts(analysis, curve).into_iter().map(|contrast| {
        [
            names::level(analysis.axis, &analysis.cells[contrast.cell].configuration).into(),
            judged(contrast.p99_ratio, contrast.p99_change),
            judged(contrast.server_cpu_ratio, contrast.server_cpu_change),
        ]
    });
    DocumentTable::new(header, rows).of_numbers()
}

/// A ratio of a figure beside throughput, with what may be claimed of it; nothing where nothing
/// may.
fn judged(ratio: Option<Estimate>, change: Option<Judgement>) -> TableEntry {
    let text = format::or_nothing(ratio.as_ref(), format::ratio_estimate);
    let word = change.filter(|change| change.is_decided()).map(format::change_word);
    word.map_or_else(|| text.clone(), |word| format!("{text} {word}")).into()
}

/// A verdict on figures that the generator limited is never shown without that.
fn verdict(contrast: &Contrast) -> TableEntry {
    let text = format::verdict(contrast.verdict);
    if contrast.generator_limited {
        TableEntry::new(format!("{text}, {LIMITED}"), Tone::Unsure)
    } else {
        TableEntry::new(text, contrast.verdict.into())
    }
}

pub(crate) fn noise(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    let header = ["load", "one trial scatters by", "detectable"].map(str::to_owned);
    let rows = analysis.noise.iter().map(|noise| {
        [
            noise.load.to_string(),
            format::percent(noise.sigma),
            format::detectable(noise.smallest_detectable_effect),
        ]
    });
    let table = DocumentTable::new(header, rows);
    let with_blocks = analysis.noise.iter().any(|noise| !noise.within_blocks);
    let drift = with_blocks.then(|| {
        Block::paragraph(
            "Where nothing ran twice in a block, what changes between blocks is in it.",
        )
    });
    let twins = input.run.plan.design.aa_pair.then(|| {
        Block::paragraph(match &analysis.twins {
            Some(twins) => format!("{}.", names::capital(&meaning::twins_sentence(twins))),
            None => "No A/A pair has two valid trials.".to_owned(),
        })
    });
    DocumentSection::of("Noise", [table.block(), drift, twins])
}

pub(crate) fn knees(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let analysis = input.analysis;
    let settings = Some(names::setting_names(&input.run.plan)).filter(|names| !names.is_empty());
    let columns = ["knee", "knee to best", "best at", "last to best"].map(str::to_owned);
    let rows = analysis.curves.iter().filter_map(|curve| {
        let knee = curve.knee.as_ref()?;
        let sign = if knee.generator_limited { format!(" {SIGN}") } else { String::new() };
        let best = format!(
            "{} ({} tps){sign}",
            format::count(knee.best_connections.into()),
            format::tps(knee.best_tps)
        );
        let last = if knee.best_is_last {
            "is the best, may rise further".to_owned()
        } else {
            format::or_nothing(knee.last_ratio.as_ref(), format::ratio_estimate)
        };
        let is_best = knee.connections == knee.best_connections;
        let knee_ratio = if is_best {
            "is the best".to_owned()
        } else {
            format::ratio_estimate(&knee.ratio_to_best)
        };
        let mut row = vec![format::count(knee.connections.into()), knee_ratio, best, last];
        if !curve.label.is_empty() {
            row.insert(0, names::level_label(analysis, curve));
        }
        Some(row)
    });
    let table = DocumentTable::new(settings.into_iter().chain(columns), rows);
    let pool_rule = analysis.rule_connections.map(|number| {
        format!(
            " The rule \"cores × 2 + spindles\" gives {} on this host.",
            format::count(number.into())
        )
    });
    let rule = format!(
        "Knee: the fewest connections that may already reach 95 % of peak throughput.{}",
        pool_rule.unwrap_or_default()
    );
    DocumentSection::of(
        "Where more connections stop helping",
        [Some(table.block()?), Some(Block::Paragraph(rule))],
    )
}

/// Trials that are not evidence, errors, clients that failed and notes, each with its reason; left
/// out where there is none.
pub(crate) fn troubles(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let others =
        [failed_clients(input), notes(input), external::lines(input), parts::lines(input)].concat();
    let errors = errors::table(input).block();
    let blocks =
        [Block::list(unread(input.run)), Block::list(invalid(input)), errors, Block::list(others)];
    DocumentSection::of("Invalid trials, errors and notes", blocks)
}

/// Files that are missing, damaged or of a newer version.
pub(crate) fn unread(run: &Run) -> Vec<String> {
    let lines = run.all_unread().map(|unread| {
        let lost = if unread.whole_trial { "; the trial is left out" } else { "" };
        format!("not read: {}{lost}", unread.what)
    });
    lines.collect()
}

fn invalid(input: &ReportInput<'_>) -> Vec<String> {
    let lines = input.analysis.invalid.iter().map(|trial| {
        let state = if trial.partial { "partial" } else { "invalid" };
        format!("{} ({}) {state}: {}", trial.name, trial.configuration, trial.reason)
    });
    lines.collect()
}

fn failed_clients(input: &ReportInput<'_>) -> Vec<String> {
    let lines = input.trials().filter_map(|trial| {
        let engine = trial.engine.as_ref().filter(|engine| engine.clients_failed > 0)?;
        let of = format::plural(engine.clients.into(), "client");
        Some(format!(
            "{} ({}): {} of {of} failed",
            trial.name, trial.configuration, engine.clients_failed
        ))
    });
    lines.collect()
}

fn notes(input: &ReportInput<'_>) -> Vec<String> {
    let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for trial in input.trials() {
        for note in remarks(trial) {
            by_text.entry(note).or_default().push(&trial.name);
        }
    }
    let notes = by_text
        .into_iter()
        .map(|(note, names)| format!("note on {}: {note}", format::list(&names)));
    disturbed(input.trials()).into_iter().map(|one| one.text).chain(notes).collect()
}

pub(crate) fn words(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let sentences = meaning::meaning(input);
    let said = match sentences.len() {
        0 => None,
        1..=PARAGRAPH_SENTENCES_MAX => Some(Block::Paragraph(sentences.join(" "))),
        _ => Some(Block::List(sentences)),
    };
    DocumentSection::of("What it means", [said, Block::list(meaning::caveats(input))])
}
