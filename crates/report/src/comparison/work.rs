//! How two workloads differ, in a few lines for one screen.

use truetps_analysis::{Figure, Judgement};

use super::figures;
use super::inputs::InputsDiffer;
use super::line_diff::{LineDiff, cut_around_difference};
use super::run_comparison::RunComparison;
use super::scripts::{ScriptsDiffer, TextDiffers};
use crate::format;

/// Texts, statements, and characters of each that are shown.
const TEXTS_MAX: usize = 2;
const STATEMENTS_MAX: usize = 3;
const CHARS_MAX: usize = 60;

/// The first line that differs in each text, then the statements of a transaction that differ.
pub(crate) fn in_short(inputs: &InputsDiffer) -> Vec<String> {
    let mut items: Vec<_> = inputs
        .sql
        .iter()
        .filter_map(|one| first_line(one.key, &one.diff))
        .take(TEXTS_MAX)
        .collect();
    if let Some(scripts) = &inputs.scripts {
        items.extend(scripts.texts.iter().take(TEXTS_MAX).map(text));
        items.extend(statements(scripts));
    }
    items
}

/// `script: A "…", B "…", and 3 more lines`.
fn first_line(what: &str, diff: &LineDiff) -> Option<String> {
    let [a, b] = ['-', '+']
        .map(|sign| diff.lines.iter().find_map(|line| line.strip_prefix(sign)).map(str::trim));
    let signed = diff.lines.iter().filter(|line| line.starts_with(['-', '+'])).count();
    let shown = usize::from(a.is_some()) + usize::from(b.is_some());
    let more = signed - shown;
    let more = if more > 0 {
        format!(", and {} more", format::plural(more as u64, "line"))
    } else {
        String::new()
    };
    let both = match (a, b) {
        (None, None) => return None,
        (Some(a), None) => format!("only A has \"{}\"", cut(a)),
        (None, Some(b)) => format!("only B has \"{}\"", cut(b)),
        (Some(a), Some(b)) => {
            let (a, b) = cut_around_difference(a.to_owned(), b.to_owned(), CHARS_MAX);
            format!("A \"{a}\", B \"{b}\"")
        }
    };
    Some(format!("{what}: {both}{more}"))
}

fn text(one: &TextDiffers) -> String {
    let said = match (&one.a, &one.b) {
        (None, _) => Some("only B loads it"),
        (_, None) => Some("only A loads it"),
        _ => None,
    };
    let line =
        one.diff.as_ref().filter(|_| said.is_none()).and_then(|diff| first_line(&one.what, diff));
    line.unwrap_or_else(|| {
        format!("{}: {}", one.what, said.unwrap_or("another text, which is not recorded as text"))
    })
}

/// `INSERT INTO t VALUES (?): A 1.00, B 10.0 a transaction`.
fn statements(scripts: &ScriptsDiffer) -> Vec<String> {
    if scripts.statements.is_empty() {
        let outcomes = scripts.transaction.iter().take(STATEMENTS_MAX);
        return outcomes.map(|one| both_per_tx(one.what, one.a_per_tx, one.b_per_tx)).collect();
    }
    let shapes = scripts.statements.iter().take(STATEMENTS_MAX);
    let more = scripts.statements.len().saturating_sub(STATEMENTS_MAX) as u64;
    let more =
        (more > 0).then(|| format!("{} more with --full", format::plural(more, "statement")));
    shapes.map(|one| both_per_tx(&one.sql, one.a_per_tx, one.b_per_tx)).chain(more).collect()
}

fn both_per_tx(what: &str, a: f64, b: f64) -> String {
    let [a, b] = [a, b].map(|value| match value {
        0.0 => "none".to_owned(),
        value => format::per_tx(value),
    });
    format!("{}: A {a}, B {b} a transaction", cut(what))
}

fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let begin: String = chars.by_ref().take(CHARS_MAX).collect();
    if chars.next().is_some() { format!("{begin}…") } else { begin }
}

/// Rows a second, where the two change different numbers of rows in a transaction: tps compares
/// other work.
pub(crate) fn rows(input: &RunComparison<'_>) -> Option<String> {
    let [tps, rows] =
        [Figure::Tps, Figure::RowsPerSecond].map(|figure| input.comparison.line(figure));
    let (tps, rows) = (tps?, rows?);
    let (per_tx_a, per_tx_b) = (rows.a? / tps.a?, rows.b? / tps.b?);
    if (per_tx_a / per_tx_b).ln().abs() < input.comparison.smallest_effect.ln_1p() {
        return None;
    }
    let verdict = match rows.change {
        Judgement::Higher => "B is faster",
        Judgement::Lower => "B is slower",
        Judgement::Equivalent => "there is no difference",
        Judgement::NotEnoughData { .. } => "there is not enough data",
    };
    let [a, b] = [rows.a?, rows.b?].map(format::tps);
    let [of_a, of_b] = [per_tx_a, per_tx_b].map(format::per_tx);
    let change = figures::change(rows);
    Some(format!(
        "in rows {verdict}: {change} ({a} -> {b} rows/s); a transaction changed {of_a} rows on A \
         and {of_b} on B"
    ))
}
