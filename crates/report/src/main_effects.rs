//! What each factor of an experiment with several does by itself, over all levels of the others.

use truetps_analysis::{Analysis, Figure, MainEffect, Verdict};
use truetps_record::is_setting_factor;

use crate::document::{Block, DocumentSection, DocumentTable, TableEntry};
use crate::{ReportInput, format, rows};

pub(crate) const EXPLAINED: &str = "Each level against the baseline's level of the same factor, at \
    all levels of all other factors: the geometric mean of the ratios of all pairs of trials of a \
    block that differ in this factor alone, with its 95 % interval. Where factors work together \
    the effect at one combination may be another one: the comparisons with the baseline have them. \
    The verdicts are a family of their own, with Holm's correction. To find which of several \
    settings make the difference between two configurations: `truetps explain A B`.";

/// Effects that the sentence names of each kind of verdict, the largest first; others are counted.
const DECIDED_MAX: usize = 4;
const OTHERS_MAX: usize = 2;

/// The effects in one sentence, those that are shown to differ first; `None` where there are none.
pub(crate) fn sentence(input: &ReportInput<'_>) -> Option<String> {
    let all = &input.analysis.main_effects;
    let (mut differing, mut equal, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for one in all {
        match one.verdict {
            Verdict::Faster | Verdict::Slower => differing.push(one),
            Verdict::Equivalent => equal.push(one),
            Verdict::NotEnoughData { .. } => open.push(one),
        }
    }
    differing.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    let mut parts: Vec<_> =
        differing.iter().take(DECIDED_MAX).map(|one| effect_text(input.analysis, one)).collect();
    let left_out = differing.len().saturating_sub(DECIDED_MAX) as u64;
    parts.extend((left_out > 0).then(|| format!("{} more that differ", format::count(left_out))));
    let least = format::percent(input.analysis.smallest_effect);
    parts.extend(named_or_counted(&equal, &format!("equivalent (within {least})")));
    parts.extend(named_or_counted(&open, "undecided"));
    let parts = format::joined(parts, "; ")?;
    Some(format!("Each setting over all levels of the others: {parts}."))
}

/// How far the ratio is from 1, in either direction.
fn distance(one: &MainEffect) -> f64 {
    one.tps_ratio.value.ln().abs()
}

/// `log_bin=ON slower than =OFF (×0.81 [0.79, 0.83])`.
fn effect_text(analysis: &Analysis, one: &MainEffect) -> String {
    let rows = rows::main_effect_ratio(analysis, one)
        .map(|rows| format!("; in rows a second {}", format::ratio_estimate(&rows)))
        .unwrap_or_default();
    format!(
        "{} {} than ={} ({}{rows})",
        label(one),
        format::verdict_word(one.verdict),
        one.baseline,
        format::ratio_estimate(&one.tps_ratio)
    )
}

fn named_or_counted(effects: &[&MainEffect], word: &str) -> Option<String> {
    let names: Vec<_> = effects.iter().map(|one| label(one)).collect();
    match names.len() {
        0 => None,
        few if few <= OTHERS_MAX => Some(format!("{} {word}", format::list(&names))),
        many => Some(format!("{} {word}", format::count(many as u64))),
    }
}

pub(crate) fn table(input: &ReportInput<'_>) -> DocumentTable {
    let rows = input.analysis.main_effects.iter().map(|one| {
        [
            label(one).into(),
            format!("={}", one.baseline).into(),
            format::ratio_estimate(&one.tps_ratio).into(),
            format::count(one.tps_ratio.n as u64).into(),
            TableEntry::new(format::verdict_word(one.verdict), one.verdict.into()),
        ]
    });
    DocumentTable::new(["main effect of", "against", "tps ratio", "pairs", "verdict"], rows)
}

pub(crate) fn section(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let table = table(input).block()?;
    DocumentSection::of("Main effects", [Some(table), Some(Block::paragraph(EXPLAINED))])
}

/// The settings that differ between the baseline and the fastest combination, as `truetps explain`
/// takes them; `None` where fewer than two differ.
pub fn base_and_best(input: &ReportInput<'_>) -> Option<(String, String)> {
    let analysis = input.analysis;
    let base = &analysis.cells[analysis.best_cell(analysis.baseline()?)?];
    let best_cells = analysis.curves.iter().filter_map(|curve| analysis.best_cell(curve));
    let with_tps = best_cells.map(|index| {
        let cell = &analysis.cells[index];
        (cell.get(Figure::Tps).unwrap_or(0.0), cell)
    });
    let (_, best) = with_tps.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let (of_base, of_best) = (&base.configuration.levels, &best.configuration.levels);
    let names: Vec<_> = of_base
        .keys()
        .filter(|name| is_setting_factor(name) && of_base.get(*name) != of_best.get(*name))
        .collect();
    let [of_base, of_best] = [of_base, of_best].map(|levels| {
        let settings: Vec<_> =
            names.iter().map(|name| format!("{name}={}", levels[*name])).collect();
        settings.join(",")
    });
    (names.len() > 1).then_some((of_base, of_best))
}

fn label(one: &MainEffect) -> String {
    format!("{}={}", one.factor, one.level)
}
