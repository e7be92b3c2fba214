//! The tables of an experiment that compares: combinations of settings side by side.

use std::collections::HashMap;

use truetps_analysis::{Analysis, Cell, Contrast, Curve, Figure, Verdict};
use truetps_knowledge::{Durability, Loss};

use super::layout::{ScreenPart, without_columns};
use super::{SUMMARY_LINES_MAX, tps_with_sign};
use crate::document::{DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};
use crate::{ReportInput, TextScreen, durability, main_effects, names, open_loop, rows};

/// The sign of a comparison without a verdict, and of one that excludes a difference of interest.
const UNDECIDED: &str = "?";
const SAME: &str = "=";
/// The sign of a loss that needs no power cut.
const ALSO_PROCESS: &str = "*";

pub(super) fn parts(input: &ReportInput<'_>, screen: TextScreen) -> Vec<ScreenPart> {
    let order = order(input);
    let columns = columns(input, &order);
    let table =
        without_columns(table(input, &order, &columns), &["p99 there", "at", "not at"], screen);
    let mut parts: Vec<_> = ScreenPart::table(main_effects::table(input))
        .map(ScreenPart::optional)
        .into_iter()
        .collect();
    parts.extend(ScreenPart::table(table));
    parts.extend(legend(input, &columns).map(ScreenPart::note));
    parts.extend(by_level(input, &order, screen));
    parts
}

/// The baseline first; of many the fastest come next, as only the first rows are shown.
fn order<'a>(input: &ReportInput<'a>) -> Vec<&'a Curve> {
    const AS_PLANNED_MAX: usize = 8;
    let analysis = input.analysis;
    let mut order: Vec<_> = analysis.curves.iter().collect();
    if order.len() > AS_PLANNED_MAX {
        let tps = |curve: &Curve| {
            analysis.best_cell(curve).and_then(|cell| analysis.cells[cell].get(Figure::Tps))
        };
        order.sort_by(|one, other| tps(other).unwrap_or(0.0).total_cmp(&tps(one).unwrap_or(0.0)));
        let baseline = analysis.baseline().map(|curve| curve.label.as_str());
        order.sort_by_key(|curve| Some(curve.label.as_str()) != baseline);
    }
    order
}

/// What is known of all of them: which columns there are.
struct Columns {
    durabilities: Vec<Option<Durability>>,
    /// The level of the axis at which ratios are taken: where the baseline is fastest.
    ratio_at: Option<f64>,
    /// Rates are the axis: the schedule decides the throughput, and the highest sustained rate is the figure.
    is_open: bool,
}

impl Columns {
    /// Where all lose the same, one sentence says it.
    fn has_losses(&self) -> bool {
        let known: Vec<_> = self.durabilities.iter().flatten().collect();
        let losses = |one: &Durability| (one.process_crash, one.power_cut);
        known.iter().any(|one| losses(one) != losses(known[0]))
    }
}

fn columns(input: &ReportInput<'_>, order: &[&Curve]) -> Columns {
    let analysis = input.analysis;
    Columns {
        durabilities: order.iter().map(|curve| durability::of_curve(input, curve)).collect(),
        ratio_at: ratio_at(analysis),
        is_open: open_loop::has_figures(analysis),
    }
}

/// The place that most comparisons have: of these, the one where the baseline is fastest.
fn ratio_at(analysis: &Analysis) -> Option<f64> {
    let level = |cell: usize| analysis.axis.level(&analysis.cells[cell].configuration);
    let mut compared: HashMap<u64, usize> = HashMap::new();
    for one in &analysis.contrasts {
        *compared.entry(level(one.cell).to_bits()).or_default() += 1;
    }
    let tps = |at: f64| {
        analysis.baseline().and_then(|curve| names::cell_at(analysis, curve, at)?.get(Figure::Tps))
    };
    let rank = |at: f64| (compared[&at.to_bits()], tps(at).unwrap_or(0.0));
    let places = analysis.contrasts.iter().map(|one| level(one.cell));
    places.max_by(|one, other| {
        rank(*one).partial_cmp(&rank(*other)).unwrap_or(std::cmp::Ordering::Equal)
    })
}

fn table(input: &ReportInput<'_>, order: &[&Curve], columns: &Columns) -> DocumentTable {
    let mut header = vec![String::new()];
    header.extend(
        if columns.is_open {
            ["sustained at", "p99 there", "not at"]
        } else {
            ["best tps", "at", "p99 there"]
        }
        .map(str::to_owned),
    );
    let has_rows = !columns.is_open && rows::are_shown(input.analysis);
    header.extend(has_rows.then(|| Figure::RowsPerSecond.name().to_owned()));
    header.extend(columns.ratio_at.map(|level| format!("ratio at {}", format::rate(level))));
    header.extend(columns.has_losses().then(|| "power cut loses".to_owned()));
    let row = |(curve, durability): (&&Curve, &Option<Durability>)| {
        let mut row = vec![label(input, curve).into()];
        row.extend(
            if columns.is_open { sustained(input, curve) } else { best(input, curve) }
                .map(TableEntry::from),
        );
        row.extend(has_rows.then(|| best_rows(input, curve).into()));
        row.extend(columns.ratio_at.map(|level| ratio(input, curve, level)));
        row.extend(columns.has_losses().then(|| loss(durability.as_ref())));
        row
    };
    let factors = names::curve_factors(&input.run.plan, input.analysis);
    let rows = order.iter().zip(&columns.durabilities).map(row);
    DocumentTable {
        caption: Some(format!("By {factors}")),
        words_last: false,
        ..DocumentTable::new(header, rows)
    }
}

fn label(input: &ReportInput<'_>, curve: &Curve) -> String {
    let level = names::level_label(input.analysis, curve);
    if curve.is_baseline { format!("baseline {level}") } else { level }
}

/// Highest throughput, its place, and the response time there.
fn best(input: &ReportInput<'_>, curve: &Curve) -> [String; 3] {
    let analysis = input.analysis;
    let Some(cell) = analysis.best_cell(curve).map(|index| &analysis.cells[index]) else {
        return [NOTHING; 3].map(str::to_owned);
    };
    let place = names::level(analysis.axis, &cell.configuration);
    [tps_with_sign(cell), place, p99(cell)]
}

/// Rows a second there.
fn best_rows(input: &ReportInput<'_>, curve: &Curve) -> String {
    let cell = input.analysis.best_cell(curve).map(|index| &input.analysis.cells[index]);
    let rows = cell.and_then(|cell| cell.get(Figure::RowsPerSecond));
    format::figure_or_nothing(Figure::RowsPerSecond, rows)
}

/// The highest rate that was sustained, the response time there, and the lowest that was not.
fn sustained(input: &ReportInput<'_>, curve: &Curve) -> [String; 3] {
    let cell = |index: Option<usize>| index.map(|index| &input.analysis.cells[index]);
    let (highest, not) = if let Some(range) = curve.sustained {
        (cell(range.highest), cell(range.first_not))
    } else {
        let cells = names::cells(input.analysis, curve);
        let is_all =
            |cell: &&&Cell| cell.open_loop.as_ref().is_some_and(|open| open.sustained.is_all());
        (cells.iter().rfind(is_all).copied(), cells.iter().find(|cell| !is_all(cell)).copied())
    };
    let rate = |cell: &Cell| open_loop::rate_text(&input.run.plan, cell);
    [
        format::or_nothing(highest, rate),
        format::or_nothing(highest, p99),
        format::or_nothing(not, rate),
    ]
}

fn p99(cell: &Cell) -> String {
    format::figure_or_nothing(Figure::ResponseP99, cell.get(Figure::ResponseP99))
}

/// Against the baseline, with the sign of its verdict.
fn ratio(input: &ReportInput<'_>, curve: &Curve, level: f64) -> TableEntry {
    let analysis = input.analysis;
    let contrasts = names::contrasts(analysis, curve);
    let place = |one: &Contrast| analysis.axis.level(&analysis.cells[one.cell].configuration);
    let is_there = |one: &&&Contrast| place(one).total_cmp(&level).is_eq();
    let Some(contrast) = contrasts.iter().find(is_there) else { return NOTHING.to_owned().into() };
    let (sign, tone) = match contrast.verdict {
        Verdict::Faster => ("", Tone::Good),
        Verdict::Slower => ("", Tone::Bad),
        Verdict::Equivalent => (SAME, Tone::Plain),
        Verdict::NotEnoughData { .. } => (UNDECIDED, Tone::Unsure),
    };
    let ratio = &contrast.tps_ratio;
    // Without an interval the sign says enough.
    let text = if ratio.low.is_some() {
        format::ratio_estimate(ratio)
    } else {
        format::ratio(ratio.value)
    };
    TableEntry { text: format!("{text} {sign:1}"), tone }
}

fn loss(durability: Option<&Durability>) -> TableEntry {
    let Some(durability) = durability else { return "not known".to_owned().into() };
    let sign = if is_lost_with_process(durability) { ALSO_PROCESS } else { "" };
    let tone = if durability.power_cut == Loss::Nothing { Tone::Plain } else { Tone::Unsure };
    TableEntry { text: format!("{} {sign:1}", durability.power_cut.in_short()), tone }
}

fn is_lost_with_process(durability: &Durability) -> bool {
    !matches!(durability.process_crash, Loss::Nothing | Loss::Unknown)
}

/// The signs that the table has.
fn legend(input: &ReportInput<'_>, columns: &Columns) -> Option<String> {
    let shown = input.analysis.contrasts.iter().filter(|one| {
        columns.ratio_at
            == Some(input.analysis.axis.level(&input.analysis.cells[one.cell].configuration))
    });
    let verdicts: Vec<_> = shown.map(|one| one.verdict).collect();
    let mut said = Vec::new();
    let is_open = |one: &Verdict| matches!(one, Verdict::NotEnoughData { .. });
    said.extend(verdicts.iter().any(is_open).then(|| format!("{UNDECIDED} undecided")));
    let least = format::percent(input.analysis.smallest_effect);
    said.extend(
        verdicts
            .contains(&Verdict::Equivalent)
            .then(|| format!("{SAME} no difference of {least} or more")),
    );
    said.extend(columns.has_losses().then(|| "losses: if the disk honours flushes".to_owned()));
    let also =
        columns.has_losses() && columns.durabilities.iter().flatten().any(is_lost_with_process);
    said.extend(also.then(|| format!("{ALSO_PROCESS} also if the server crashes")));
    (!said.is_empty()).then(|| said.join("; "))
}

/// Throughput (of an open loop: p99) at each level of the axis; those in the middle are left out where the line is short.
fn by_level(input: &ReportInput<'_>, order: &[&Curve], screen: TextScreen) -> Option<ScreenPart> {
    let analysis = input.analysis;
    let all = names::levels(analysis);
    // The table is shown whole or not at all.
    if all.len() < 2 || order.len() > SUMMARY_LINES_MAX {
        return None;
    }
    let is_open = open_loop::has_figures(analysis);
    let text = |cell: Option<&Cell>| match cell {
        Some(cell) if is_open => p99(cell),
        Some(cell) => tps_with_sign(cell),
        None => NOTHING.to_owned(),
    };
    let what = if is_open { "p99" } else { "tps" };
    let table = |levels: &[f64]| {
        let header = std::iter::once(format!("{what} at {}", analysis.axis.factor()))
            .chain(levels.iter().map(|level| format::rate(*level)));
        let row = |curve: &&Curve| {
            let cells = levels.iter().map(|level| text(names::cell_at(analysis, curve, *level)));
            std::iter::once(names::level_label(analysis, curve)).chain(cells).collect::<Vec<_>>()
        };
        DocumentTable { words_last: false, ..DocumentTable::new(header, order.iter().map(row)) }
    };
    let spread =
        |n: usize| -> Vec<f64> { (0..n).map(|at| all[at * (all.len() - 1) / (n - 1)]).collect() };
    // A column has one character at least, and a space.
    let columns_max = all.len().min(screen.text_width());
    let fitting =
        (2..=columns_max).rev().map(|n| table(&spread(n))).find(|table| screen.fits(table));
    ScreenPart::table(fitting.unwrap_or_else(|| table(&spread(2)))).map(ScreenPart::optional)
}
