//! How two runs of scripts differ: in their texts, their statements, and the work of a transaction.

use serde::Serialize;
use truetps_analysis::{
    RecordedScript, ShapeDiffers, WorkDiffers, differing_shapes, differing_work,
};
use truetps_record::{ScriptRecord, ScriptText};

use super::line_diff::{LineDiff, line_diff};
use super::run_comparison::{ComparedSide, DifferingCondition, RunComparison};
use crate::document::{Block, DocumentTable};
use crate::format;

/// Number of shown shapes; JSON has all.
const SHAPES_SHOWN_MAX: usize = 20;
/// Options that are compared by the names that plans have for them, and those that only say where a
/// run is recorded.
const OPTIONS_NOT_SHOWN: [&str; 7] =
    ["threads", "time", "events", "warmup_time", "rate", "runs", "report_format"];

/// All differences between the two.
#[derive(Debug, Default, Serialize)]
pub(super) struct ScriptsDiffer {
    /// The script and its modules, if they differ.
    pub(super) texts: Vec<TextDiffers>,
    /// Statements by shape, if their number per transaction differs.
    pub(super) statements: Vec<ShapeDiffers>,
    /// Statements by their outcome, all three where one differs.
    pub(super) transaction: Vec<WorkDiffers>,
}

/// A text of one side only, or that differs between the sides.
#[derive(Debug, Serialize)]
pub(super) struct TextDiffers {
    /// `script`, or `module` and its name.
    pub(super) what: String,
    pub(super) a: Option<NamedText>,
    pub(super) b: Option<NamedText>,
    /// `None` if a side has no text.
    pub(super) diff: Option<LineDiff>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct NamedText {
    pub(super) name: String,
    pub(super) sha256: Option<String>,
}

/// `None` if a side is not a script's run.
pub(super) fn differ(input: &RunComparison<'_>) -> Option<ScriptsDiffer> {
    let (a, b) = (input.a.script()?, input.b.script()?);
    let mut differ = ScriptsDiffer { transaction: transaction(input), ..ScriptsDiffer::default() };
    if let (Some(a), Some(b)) = (&a.record, &b.record) {
        differ.texts = texts(a, b);
        if let (Some(of_a), Some(of_b)) = (&a.statements, &b.statements) {
            let [tx_a, tx_b] = [&input.a, &input.b].map(transactions);
            differ.statements = differing_shapes((&of_a.shapes, tx_a), (&of_b.shapes, tx_b));
        }
    }
    Some(differ)
}

/// A note for a side without `script.json`.
pub(super) fn note(input: &RunComparison<'_>) -> Option<String> {
    let lack = [&input.a, &input.b]
        .map(|side| side.script().is_some_and(|script| script.record.is_none()));
    let which = match lack {
        [true, true] => "A and B have",
        [true, false] => "A has",
        [false, true] => "B has",
        [false, false] => return None,
    };
    Some(format!(
        "{which} no record of the script's text and its statements (not recorded by the older \
         version): whether the scripts differ is not known."
    ))
}

/// The differences of texts and options, as rows of the table of conditions.
pub(super) fn conditions(
    input: &RunComparison<'_>,
    differ: &ScriptsDiffer,
) -> Vec<DifferingCondition> {
    let mut rows: Vec<_> = differ
        .texts
        .iter()
        .map(|one| {
            let [a, b] = [&one.a, &one.b].map(|text| match text {
                Some(text) => text.text(),
                None => "not loaded".to_owned(),
            });
            DifferingCondition { what: one.what.clone(), a, b }
        })
        .collect();
    let (Some(a), Some(b)) = (input.a.script(), input.b.script()) else { return rows };
    if a.record.is_some() != b.record.is_some() {
        let [a, b] = [a, b].map(|script| match &script.record {
            Some(record) => NamedText::of(&record.script).text(),
            None => "not recorded by the older version".to_owned(),
        });
        rows.push(DifferingCondition { what: "script".to_owned(), a, b });
    }
    rows.extend(options(a, b));
    rows
}

fn options(a: &RecordedScript, b: &RecordedScript) -> Vec<DifferingCondition> {
    let names =
        a.options.keys().chain(b.options.keys().filter(|name| !a.options.contains_key(*name)));
    let names = names.filter(|name| !OPTIONS_NOT_SHOWN.contains(&&*name.replace('-', "_")));
    let both = names.map(|name| {
        let [a, b] = [a, b].map(|script| {
            let value = script.options.get(name).filter(|text| !text.is_empty());
            value.map_or("not set", String::as_str).to_owned()
        });
        DifferingCondition { what: format!("--{name}"), a, b }
    });
    both.filter(|one| one.a != one.b).collect()
}

impl NamedText {
    fn of(text: &ScriptText) -> Self {
        Self { name: text.name.clone(), sha256: text.sha256.clone() }
    }

    fn text(&self) -> String {
        let name = if self.name.is_empty() { "a text" } else { &self.name };
        match &self.sha256 {
            Some(hash) => format!("{name}, sha256 {}", format::short_hash(hash)),
            None => format!("{name}, which could not be read"),
        }
    }
}

fn texts(a: &ScriptRecord, b: &ScriptRecord) -> Vec<TextDiffers> {
    let mut found = Vec::new();
    if a.script.sha256 != b.script.sha256 {
        found.push(TextDiffers::of("script".to_owned(), Some(&a.script), Some(&b.script)));
    }
    let mut left: Vec<&ScriptText> = b.modules.iter().collect();
    for module in &a.modules {
        let same = left.iter().position(|other| is_same_text(module, other));
        let partner =
            same.or_else(|| left.iter().position(|other| file_name(other) == file_name(module)));
        let partner = partner.map(|at| left.remove(at));
        if partner.is_none_or(|partner| !is_same_text(module, partner)) {
            found.push(TextDiffers::of(
                format!("module {}", file_name(module)),
                Some(module),
                partner,
            ));
        }
    }
    found.extend(
        left.into_iter()
            .map(|one| TextDiffers::of(format!("module {}", file_name(one)), None, Some(one))),
    );
    found
}

/// The text counts; without one, the name.
fn is_same_text(a: &ScriptText, b: &ScriptText) -> bool {
    file_name(a) == file_name(b) && a.sha256 == b.sha256
}

/// `oltp_common`, without its folder.
fn file_name(text: &ScriptText) -> &str {
    text.name.rsplit('/').next().unwrap_or_default()
}

impl TextDiffers {
    fn of(what: String, a: Option<&ScriptText>, b: Option<&ScriptText>) -> Self {
        let both = a.and_then(|a| a.text.as_deref()).zip(b.and_then(|b| b.text.as_deref()));
        let diff = both.map(|(a, b)| line_diff(a, b));
        Self { what, a: a.map(NamedText::of), b: b.map(NamedText::of), diff }
    }
}

fn transactions(side: &ComparedSide<'_>) -> u64 {
    side.trial().and_then(|trial| trial.measured.as_ref()).map_or(0, |measured| measured.counts.ok)
}

fn transaction(input: &RunComparison<'_>) -> Vec<WorkDiffers> {
    let [a, b] =
        [&input.a, &input.b].map(|side| Some((side.trial()?.script.as_ref()?, transactions(side))));
    a.zip(b).map(|(a, b)| differing_work(a, b)).unwrap_or_default()
}

/// The first part of the differences.
pub(super) fn blocks(input: &RunComparison<'_>, differ: &ScriptsDiffer) -> Vec<Block> {
    let mut blocks: Vec<_> = differ.texts.iter().flat_map(text_blocks).collect();
    if !differ.statements.is_empty() {
        blocks.extend(statement_blocks(input, differ));
    }
    let rows = differ.transaction.iter().map(|one| row(one.what, one.a_per_tx, one.b_per_tx));
    blocks.extend(table("statements of a transaction, by what they did", rows).block());
    blocks
}

fn text_blocks(text: &TextDiffers) -> Vec<Block> {
    let what = &text.what;
    let said = match (&text.a, &text.b, &text.diff) {
        (None, ..) => format!("{what}: only B loads it."),
        (_, None, _) => format!("{what}: only A loads it."),
        (.., None) => format!(
            "{what}: a side has no text (byte code, a library, or a file that could not be read)."
        ),
        (.., Some(diff)) if diff.lines.is_empty() => {
            format!("{what}: the texts differ beyond the recorded part, or in non-text bytes.")
        }
        (Some(a), Some(b), Some(_)) => format!("{what}: - {} (A), + {} (B)", a.text(), b.text()),
    };
    let mut blocks = vec![Block::Paragraph(said)];
    blocks.extend(text.diff.as_ref().and_then(LineDiff::block));
    blocks
}

fn statement_blocks(input: &RunComparison<'_>, differ: &ScriptsDiffer) -> Vec<Block> {
    let shown = differ.statements.iter().take(SHAPES_SHOWN_MAX);
    let rows = shown.map(|one| row(&one.sql, one.a_per_tx, one.b_per_tx));
    let mut blocks = vec![Block::Table(table("statements of a transaction (values as ?)", rows))];
    let more = differ.statements.len().saturating_sub(SHAPES_SHOWN_MAX);
    if more > 0 {
        blocks.push(Block::Paragraph(format!("… and {more} more: `--format json` has all.")));
    }
    for (letter, side) in [("A", &input.a), ("B", &input.b)] {
        let record = side.script().and_then(|script| script.record.as_ref());
        let left_out = record.and_then(|record| record.statements.as_ref()?.left_out.as_ref());
        blocks.extend(left_out.map(|left_out| {
            let count = format::plural(left_out.count, "statement");
            Block::Paragraph(format!(
                "{letter} sent {count} of further shapes, which are not distinguished."
            ))
        }));
    }
    blocks
}

fn table(last: &str, rows: impl Iterator<Item = [String; 3]>) -> DocumentTable {
    DocumentTable::new(["A", "B", last], rows)
}

fn row(what: &str, a: f64, b: f64) -> [String; 3] {
    const SHOWN_MIN: f64 = 0.0005;
    let [a, b] = [a, b].map(|value| match value {
        0.0 => "none".to_owned(),
        value if value < SHOWN_MIN => "under 0.001".to_owned(),
        value => format::per_tx(value),
    });
    [a, b, what.to_owned()]
}
