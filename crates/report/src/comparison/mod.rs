//! Two groups of trials side by side, in every format: differences of figures and of conditions.

pub(crate) mod conditions;
mod fail_if;
pub(crate) mod figures;
mod inputs;
mod json;
mod line_diff;
mod own_sql;
mod profile;
mod run_comparison;
mod scripts;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
pub(crate) mod verdict;
pub(crate) mod work;

use truetps_analysis::Comparison;
use truetps_knowledge::Survival;

use crate::csv_rows::{self, CsvRows};
use crate::document::{Block, Document, DocumentSection};
use crate::{TextScreen, markdown, text, waits};

use settings::{both_values, settings_items};

pub use fail_if::FailIf;
pub(crate) use inputs::InputsDiffer;
pub use json::comparison_json;
pub use run_comparison::{ComparedSide, RunComparison};
pub use verdict::threshold_word;

pub fn comparison_text(inputs: &[RunComparison<'_>], screen: TextScreen) -> String {
    let drawn: Vec<_> = inputs.iter().map(|input| text::draw(document(input), screen)).collect();
    drawn.join("\n")
}

pub fn comparison_markdown(inputs: &[RunComparison<'_>]) -> String {
    let drawn: Vec<_> = inputs.iter().map(|input| markdown::draw(document(input))).collect();
    drawn.join("\n")
}

/// One line a figure: RFC 4180, in the units that the names end with.
pub fn comparison_csv(inputs: &[RunComparison<'_>]) -> String {
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
                    .chain([figures::word(line).to_owned()]),
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

pub(crate) fn title(input: &RunComparison<'_>) -> String {
    format!(
        "{} compared with {}",
        verdict::side_name(&input.b, input),
        verdict::side_name(&input.a, input)
    )
}

fn document(input: &RunComparison<'_>) -> Document {
    let inputs = InputsDiffer::of(input);
    let sections = [
        Some(figures::own(input)),
        figures::ledger(input),
        waits(input),
        profile::section(input),
        conditions::section(input, &inputs),
        settings_section(input),
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
fn settings_section(input: &RunComparison<'_>) -> Option<DocumentSection> {
    const SHOWN_MAX: usize = 12;
    let items = settings_items(input, SHOWN_MAX, |difference| {
        let meaning =
            difference.meaning.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        format!("{}{meaning}", both_values(difference))
    });
    DocumentSection::of("Settings that differ", [Block::list(items)])
}
