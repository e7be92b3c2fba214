//! Two groups of trials side by side, in every format: differences of figures and of conditions.

mod conditions;
mod fail_if;
mod figures;
mod json;
mod line_diff;
mod own_sql;
mod profile;
mod scripts;
mod short;
#[cfg(test)]
mod tests;
mod verdict;
mod work;

use truetps_analysis::{
    Analysis, CompareQuestion, CompareSide, Comparison, KnownContrast, LoadedTrial, Pairing,
    RecordedScript, ThresholdState, compare,
};
use truetps_archive::Run;
use truetps_knowledge::{Diff, Difference, DurabilityPair, SettingsSide, Survival, diff};
use truetps_plan::WorkloadSpec;
use truetps_record::{Configuration, ServerFacts, Trial, is_setting_factor};

use crate::csv_rows::{self, CsvRows};
use crate::document::{Block, Document, DocumentSection};
use crate::{durability_of, waits};

pub use fail_if::FailIf;
pub(crate) use json::comparison_json;
pub(crate) use short::{short_view, survival_sentence, tps_row};
pub(crate) use verdict::stalls_of;
pub use verdict::threshold_word;
pub(crate) use verdict::{durability, unread};

/// One of the two.
#[derive(Debug, Clone, Copy)]
pub struct ComparedSide<'a> {
    /// As the user named it.
    pub name: &'a str,
    pub run: &'a Run,
    pub configuration: &'a Configuration,
}

impl<'a> ComparedSide<'a> {
    /// What is compared of it.
    pub fn trials(&self) -> impl Iterator<Item = &'a LoadedTrial> + use<'a> {
        self.run.comparable_of(self.configuration)
    }

    fn trial(&self) -> Option<&'a Trial> {
        self.trials().next().map(|one| &one.trial)
    }

    /// `None` where it is no run of a script.
    fn script(&self) -> Option<&'a RecordedScript> {
        self.trials().next()?.script.as_ref()
    }

    fn workload(&self) -> WorkloadSpec {
        self.run.plan.workload_of(self.configuration)
    }

    /// Of its first trial.
    fn settings(&self) -> Option<SettingsSide> {
        let first = self.trials().next()?;
        let name = self.run.path.join(&first.trial.name).display().to_string();
        Some(SettingsSide::recorded(name, self.server(), first.variables.as_ref()?))
    }

    /// The server that it was measured on.
    fn server(&self) -> Option<&'a ServerFacts> {
        self.trial().and_then(|trial| trial.server.as_ref()).or(self.run.experiment.server.as_ref())
    }
}

/// Two configurations compared, from their runs alone.
#[derive(Debug, Clone)]
pub struct RunComparison<'a> {
    pub a: ComparedSide<'a>,
    pub b: ComparedSide<'a>,
    pub comparison: Comparison,
    /// What the servers were set to; `None` where a side has not recorded it.
    pub settings: Option<Diff>,
    /// What commits survive on each side.
    pub durability: DurabilityPair,
    pub thresholds: Vec<(FailIf, ThresholdState)>,
}

impl<'a> RunComparison<'a> {
    /// All comparisons that are made at once share the chance of a false claim.
    pub fn all(pairs: &[(ComparedSide<'a>, ComparedSide<'a>)], thresholds: &[FailIf]) -> Vec<Self> {
        let analyses: Vec<_> = pairs
            .iter()
            .map(|(a, b)| (pairing(*a, *b) == Pairing::Blocks).then(|| a.run.analyse()))
            .collect();
        let questions = pairs.iter().zip(&analyses).map(|((a, b), analysis)| {
            let [of_a, of_b] = [a, b].map(|side| CompareSide { trials: side.trials().collect() });
            let smallest_effect = a.run.plan.design.smallest_effect_percent / 100.0;
            let contrast = analysis.as_ref().and_then(|analysis| known_contrast(analysis, a, b));
            CompareQuestion {
                a: of_a,
                b: of_b,
                pairing: pairing(*a, *b),
                smallest_effect,
                contrast,
            }
        });
        let comparisons = compare(&questions.collect::<Vec<_>>());
        let figures = pairs.len() * thresholds.iter().filter(|one| one.is_figure()).count();
        let made = |((a, b), comparison): (&(ComparedSide<'a>, ComparedSide<'a>), Comparison)| {
            let [of_a, of_b] =
                [a, b].map(|side| durability_of(&side.run.experiment, side.trials()));
            let durability = DurabilityPair::of(of_a, of_b);
            let judged =
                thresholds.iter().map(|one| (*one, one.state(&comparison, &durability, figures)));
            Self {
                a: *a,
                b: *b,
                thresholds: judged.collect(),
                settings: a.settings().zip(b.settings()).map(|(a, b)| diff(&a, &b)),
                comparison,
                durability,
            }
        };
        pairs.iter().zip(comparisons).map(made).collect()
    }
}

impl RunComparison<'_> {
    /// How many settings of the servers, and other factors, have another value on the other side.
    pub fn differences(&self) -> usize {
        let settings = self.settings.as_ref().map_or(0, |diff| diff.counts().0);
        let levels =
            conditions::differing_levels(self).into_iter().filter(|name| !is_setting_factor(name));
        settings + levels.count()
    }
}

/// What the experiment of both sides says of them, where one is the other's baseline.
fn known_contrast<'a>(
    analysis: &'a Analysis,
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
) -> Option<KnownContrast<'a>> {
    let cell = |index: usize| &analysis.cells[index].configuration;
    analysis.contrasts.iter().find_map(|contrast| {
        let (above, below) = (cell(contrast.cell), cell(contrast.baseline_cell));
        let is_reversed = (above, below) == (a.configuration, b.configuration);
        let is_it = is_reversed || (above, below) == (b.configuration, a.configuration);
        is_it.then_some(KnownContrast { contrast, is_reversed })
    })
}

/// Two trials of a block are a pair whatever else was run: they were measured one soon after the other.
fn pairing(a: ComparedSide<'_>, b: ComparedSide<'_>) -> Pairing {
    let is_in_b = |one: &LoadedTrial| b.trials().any(|other| other.trial.block == one.trial.block);
    if a.run.path == b.run.path && a.trials().any(is_in_b) {
        Pairing::Blocks
    } else {
        Pairing::None
    }
}

/// How what the two ran differs. A difference of long texts takes its time: it is made once for a comparison.
struct InputsDiffer {
    /// `None` where a side is no run of a script.
    scripts: Option<scripts::ScriptsDiffer>,
    sql: Vec<own_sql::SqlDiffers>,
}

impl InputsDiffer {
    fn of(input: &RunComparison<'_>) -> Self {
        Self { scripts: scripts::differ(input), sql: own_sql::differ(input) }
    }
}

/// One line a figure: RFC 4180, in the units that the names end with.
pub(crate) fn comparison_csv(inputs: &[RunComparison<'_>]) -> String {
    let header =
        ["a", "b", "figure", "value_a", "value_b", "ratio", "ratio_low", "ratio_high", "verdict"];
    let mut rows = CsvRows::new(header);
    for input in inputs {
        let names = [&input.a, &input.b].map(|side| verdict::side_name(side, input));
        for line in &input.comparison.lines {
            let values = [line.a, line.b].map(csv_rows::number);
            let fields = names.iter().cloned().chain([line.figure.key().to_owned()]).chain(values);
            rows.push(
                fields
                    .chain(csv_rows::estimate(line.ratio))
                    .chain([verdict::word(line).to_owned()]),
            );
        }
        let none = std::iter::repeat_n(String::new(), 5);
        let verdict = survival_word(input.durability.b_survives).to_owned();
        rows.push(names.into_iter().chain(["durability".to_owned()]).chain(none).chain([verdict]));
    }
    rows.into_text()
}

/// Commits on B, compared with commits on A.
fn survival_word(survival: Survival) -> &'static str {
    match survival {
        Survival::Same => "same",
        Survival::Less => "less",
        Survival::More => "more",
        Survival::Mixed => "mixed",
        Survival::Unknown => "not known",
    }
}

/// Who is compared, and the answer as lines of `word: sentence`.
pub(crate) fn answer(input: &RunComparison<'_>) -> (String, String) {
    let facts = verdict::facts(input, &InputsDiffer::of(input));
    let lines: Vec<_> = facts.into_iter().map(|(word, fact)| format!("{word}: {fact}")).collect();
    (title(input), lines.join("\n"))
}

fn title(input: &RunComparison<'_>) -> String {
    format!(
        "{} compared with {}",
        verdict::side_name(&input.b, input),
        verdict::side_name(&input.a, input)
    )
}

pub(crate) fn document(input: &RunComparison<'_>) -> Document {
    let inputs = InputsDiffer::of(input);
    let sections = [
        Some(figures::own(input)),
        figures::ledger(input),
        waits(input),
        profile::section(input),
        conditions::section(input, &inputs),
        settings(input),
        // How the figures were made, where that limits what they say.
        DocumentSection::of("How far this goes", [Block::list(verdict::notes(input, &inputs))]),
    ];
    Document {
        title: title(input),
        facts: verdict::facts(input, &inputs),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn waits(input: &RunComparison<'_>) -> Option<DocumentSection> {
    let Comparison { waits, a, b, .. } = &input.comparison;
    waits::compared(waits, (a.waits.is_some(), b.waits.is_some()))
}

/// The settings that differ, most likely to matter first.
fn settings(input: &RunComparison<'_>) -> Option<DocumentSection> {
    let item = |difference: &Difference| {
        let meaning =
            difference.meaning.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        format!("{}{meaning}", both_values(difference))
    };
    DocumentSection::of("Settings that differ", [Block::list(settings_items(input, 12, item))])
}

/// So many of them, and how many more there are: the rest is a command away.
fn settings_items(
    input: &RunComparison<'_>,
    most: usize,
    item: impl Fn(&Difference) -> String,
) -> Vec<String> {
    let Some(diff) = &input.settings else { return Vec::new() };
    let shown = diff.shown().filter(|difference| difference.same_but_for.is_none());
    let mut items: Vec<_> = shown.take(most).map(item).collect();
    let (differing, _) = diff.counts();
    if !items.is_empty() && differing > items.len() {
        items.push(format!("… and {} more: `truetps diff` lists all", differing - items.len()));
    }
    items
}

/// `sync_binlog  A 1, B 0`.
fn both_values(difference: &Difference) -> String {
    let quoted = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
    format!(
        "{}  A {}, B {}",
        difference.name,
        quoted(&difference.a.value),
        quoted(&difference.b.value)
    )
}
