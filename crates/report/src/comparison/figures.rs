//! The tables of a comparison: throughput, response time and gaps, and the cost ledger.

use truetps_analysis::{Better, ComparedLine, Figure, Judgement};
use truetps_record::Estimate;

use super::run_comparison::RunComparison;
use crate::document::{Block, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};
use crate::ledger;

/// Throughput, p99 and the longest gap.
pub(super) fn own(input: &RunComparison<'_>) -> DocumentSection {
    let lines = input.comparison.lines.iter().filter(|line| !line.figure.is_cost());
    DocumentSection { heading: "Figures".to_owned(), blocks: vec![Block::Table(table("", lines))] }
}

/// The cost of a transaction; `None` if neither side has any line.
pub(super) fn ledger(input: &RunComparison<'_>) -> Option<DocumentSection> {
    const EXPLAINED: &str = "A and B are geometric means over trials (means where a figure is \
         zero), and so is their ratio. Intervals are 95 % each. The verdicts higher and lower need \
         a test that allows for the number of figures in both tables, so an interval that does not \
         include \"no change\" can still be not enough data. Equivalent: the difference is too \
         small to matter, or the figure is next to nothing on both sides.";
    let lines = input.comparison.lines.iter().filter(|line| line.figure.is_cost());
    let known = lines.filter(|line| line.a.is_some() || line.b.is_some());
    let table = table("cost of a transaction", known).block()?;
    let both = ledger::lines(&[&input.comparison.a.ledger, &input.comparison.b.ledger]);
    let absent = ledger::absent(&both).map(Block::Paragraph);
    DocumentSection::of(
        "What a transaction cost",
        [Some(table), Some(Block::paragraph(EXPLAINED)), absent],
    )
}

fn table<'a>(first: &str, lines: impl Iterator<Item = &'a ComparedLine>) -> DocumentTable {
    DocumentTable::new([first, "A", "B", "change", "verdict"], lines.map(row))
}

fn row(line: &ComparedLine) -> [TableEntry; 5] {
    let [a, b] = [(line.a, line.a_under), (line.b, line.b_under)].map(|(value, under)| {
        let under = under.map(|under| format!("under {}", format::figure(line.figure, under)));
        let known = value.map(|value| format::figure(line.figure, value));
        format::text_or_nothing(known.or(under)).into()
    });
    let verdict = TableEntry::new(words(line), tone(line));
    [line.figure.name().into(), a, b, change(line).into(), verdict]
}

pub(super) fn change(line: &ComparedLine) -> String {
    match (&line.ratio, &line.difference) {
        (Some(ratio), _) if is_factor(ratio) => format::ratio_estimate_of(ratio, "trial"),
        (Some(ratio), _) => format::difference_estimate(ratio),
        (None, Some(difference)) if line.a.is_some() && line.b.is_some() => {
            let sign = if difference.value < 0.0 { "-" } else { "+" };
            format!("{sign}{}", format::figure(line.figure, difference.value.abs()))
        }
        _ => {
            let least =
                line.ratio_at_least().map(|ratio| format!("at least {}", format::ratio(ratio)));
            let most =
                line.ratio_at_most().map(|ratio| format!("at most {}", format::ratio(ratio)));
            format::text_or_nothing(least.or(most))
        }
    }
}

/// `×5.1` is clearer than `+410 %`.
fn is_factor(ratio: &Estimate) -> bool {
    !(0.5..=2.0).contains(&ratio.value)
}

fn words(line: &ComparedLine) -> String {
    match line.change {
        // Only for throughput, which decides: in each line of the costs it would be noise.
        Judgement::NotEnoughData { more_trials: Some(more) }
            if line.figure == Figure::Tps && line.a.is_some() =>
        {
            format!("{} (about {})", word(line), format::plural(more.into(), "more trial"))
        }
        _ => word(line).to_owned(),
    }
}

/// One word for a line: `higher`, `lower`, `equivalent`, `not enough data`, `not known`.
pub(super) fn word(line: &ComparedLine) -> &'static str {
    match line.change {
        _ if line.a_under.is_some() && line.b_under.is_some() => "not known",
        _ if has_neither(line.a, line.a_under) && has_neither(line.b, line.b_under) => "absent",
        _ if has_neither(line.a, line.a_under) || has_neither(line.b, line.b_under) => {
            "absent on one side"
        }
        Judgement::Higher => "higher",
        Judgement::Lower => "lower",
        Judgement::Equivalent => "equivalent",
        Judgement::NotEnoughData { .. } => "not enough data",
    }
}

fn has_neither(figure: Option<f64>, bound: Option<f64>) -> bool {
    figure.is_none() && bound.is_none()
}

/// A rising cost may be the reason for the higher speed.
fn tone(line: &ComparedLine) -> Tone {
    match (line.change, line.figure.better()) {
        (_, Better::Neither) | (Judgement::Equivalent, _) => Tone::Plain,
        (Judgement::Higher, Better::Higher) | (Judgement::Lower, Better::Lower) => Tone::Good,
        (Judgement::Higher, Better::Lower) | (Judgement::Lower, Better::Higher) => Tone::Bad,
        (Judgement::NotEnoughData { .. }, _) => Tone::Unsure,
    }
}

/// Throughput, p99 and gap, and the costs that changed most.
pub(crate) fn most_telling(input: &RunComparison<'_>) -> DocumentTable {
    const COSTS_MAX: usize = 6;
    let own = input.comparison.lines.iter().filter(|line| !line.figure.is_cost());
    let lines = own.chain(changed_lines(input).into_iter().take(COSTS_MAX));
    let rows = lines.map(|line| {
        let [name, a, b, change, verdict] = row(line);
        [name, a, b, change, TableEntry::new(in_short(line), verdict.tone)]
    });
    DocumentTable::new(["", "A", "B", "change", ""], rows)
}

/// The sign of a figure without a verdict.
const UNDECIDED: &str = "?";

/// The verdict on a line in a narrow column.
fn in_short(line: &ComparedLine) -> &'static str {
    match word(line) {
        "equivalent" => "same",
        "not enough data" => UNDECIDED,
        "not known" | "absent" => NOTHING,
        "absent on one side" => "one side",
        word => word,
    }
}

/// Throughput of A and of B, the change, and the verdict.
pub(crate) fn tps_row(input: &RunComparison<'_>) -> [TableEntry; 4] {
    let Some(line) = input.comparison.line(Figure::Tps) else {
        return [NOTHING; 4].map(TableEntry::from);
    };
    let [_, a, b, change, _] = row(line);
    let word = match in_short(line) {
        "higher" => "faster",
        "lower" => "slower",
        word => word,
    };
    [a, b, change, TableEntry::new(word, tone(line))]
}

/// Lines of the ledger that are shown to differ, the largest factor first:
/// `redo log syncs 1.00 -> 0.03`.
pub(super) fn changed(input: &RunComparison<'_>) -> Vec<String> {
    let said = changed_lines(input).into_iter().filter_map(|line| {
        let [a, b] = [line.a?, line.b?].map(|value| format::figure(line.figure, value));
        Some(format!("{} {a} -> {b}", line.figure.name()))
    });
    said.collect()
}

fn changed_lines<'a>(input: &'a RunComparison<'_>) -> Vec<&'a ComparedLine> {
    let lines = input.comparison.lines.iter().filter(|line| {
        line.figure.is_cost() && matches!(line.change, Judgement::Higher | Judgement::Lower)
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    lines
}

/// How far a figure differs, in either direction. From nothing to something is the largest factor
/// of all.
fn distance(line: &ComparedLine) -> f64 {
    line.ratio.map_or(f64::MAX, |ratio| ratio.value.ln().abs())
}
