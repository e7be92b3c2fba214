//! The tables of an experiment that compares: combinations of settings side by side.

use truetps_analysis::{Analysis, Cell, Curve, Figure, Verdict};
use truetps_knowledge::{Durability, Loss};

use super::layout::{SUMMARY_LINES_MAX, ScreenPart, without_columns};
use crate::document::{DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};
use crate::sections::tps_with_sign;
use crate::{ReportInput, TextScreen, durability, grouped, main_effects, names, open_loop, rows};

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
        order.sort_by(|one, other| best_tps(analysis, other).total_cmp(&best_tps(analysis, one)));
        let baseline = analysis.baseline().map(|curve| curve.label.as_str());
        order.sort_by_key(|curve| Some(curve.label.as_str()) != baseline);
    }
    order
}

/// The highest throughput of a curve; 0 where none was measured.
fn best_tps(analysis: &Analysis, curve: &Curve) -> f64 {
    let best = analysis.best_cell(curve).and_then(|cell| analysis.cells[cell].get(Figure::Tps));
    best.unwrap_or(0.0)
}

/// The columns of the table: what is known of all curves.
struct Columns {
    durabilities: Vec<Option<Durability>>,
    /// The level of the axis at which ratios are taken: where the baseline is fastest.
    ratio_at: Option<f64>,
    /// Rates are the axis: the schedule decides the throughput, and the highest sustained rate is
    /// the figure.
    is_open: bool,
}

impl Columns {
    /// Whether the curves lose different things. Where all lose the same, one sentence says it.
    fn has_losses(&self) -> bool {
        let known = self.durabilities.iter().flatten();
        let losses: Vec<_> = known.map(|one| (one.process_crash, one.power_cut)).collect();
        losses.iter().any(|loss| *loss != losses[0])
    }
}

fn columns(input: &ReportInput<'_>, order: &[&Curve]) -> Columns {
    let analysis = input.analysis;
    Columns {
        durabilities: order
            .iter()
            .map(|curve| durability::curve_durability(input, curve))
            .collect(),
        ratio_at: ratio_at(analysis),
        is_open: open_loop::has_figures(analysis),
    }
}

/// The level that most comparisons have: of these, the one where the baseline is fastest.
fn ratio_at(analysis: &Analysis) -> Option<f64> {
    let levels = analysis.contrasts.iter().map(|one| names::level_of(analysis, one.cell));
    let compared = grouped(levels.map(|level| (level, ())));
    let ranked = compared.into_iter().map(|(level, comparisons)| {
        let cell = analysis.baseline().and_then(|curve| names::cell_at(analysis, curve, level));
        let tps = cell.and_then(|cell| cell.get(Figure::Tps)).unwrap_or(0.0);
        (comparisons.len(), tps, level)
    });
    let first = ranked.max_by(|(many, tps, _), (other_many, other_tps, _)| {
        many.cmp(other_many).then(tps.total_cmp(other_tps))
    });
    first.map(|(.., level)| level)
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
    let factors = names::curve_factors(&input.run.plan, input.analysis);
    let rows = order.iter().zip(&columns.durabilities).map(|(curve, durability)| {
        let mut row = vec![label(input, curve).into()];
        row.extend(
            if columns.is_open { sustained(input, curve) } else { best(input, curve) }
                .map(TableEntry::from),
        );
        row.extend(has_rows.then(|| best_rows(input, curve).into()));
        row.extend(columns.ratio_at.map(|level| ratio(input, curve, level)));
        row.extend(columns.has_losses().then(|| loss(durability.as_ref())));
        row
    });
    DocumentTable::new(header, rows).with_caption(Some(format!("By {factors}"))).of_numbers()
}

fn label(input: &ReportInput<'_>, curve: &Curve) -> String {
    let level = names::level_label(input.analysis, curve);
    if curve.is_baseline { format!("baseline {level}") } else { level }
}

/// Highest throughput, its level of the axis, and the response time there.
fn best(input: &ReportInput<'_>, curve: &Curve) -> [String; 3] {
    let analysis = input.analysis;
    let Some(cell) = analysis.best_cell(curve).map(|index| &analysis.cells[index]) else {
        return [NOTHING; 3].map(str::to_owned);
    };
    let level = names::level(analysis.axis, &cell.configuration);
    [tps_with_sign(cell), level, p99(cell)]
}

/// Rows a second at the highest throughput.
fn best_rows(input: &ReportInput<'_>, curve: &Curve) -> String {
    let cell = input.analysis.best_cell(curve).map(|index| &input.analysis.cells[index]);
    let rows = cell.and_then(|cell| cell.get(Figure::RowsPerSecond));
    format::figure_or_nothing(Figure::RowsPerSecond, rows)
}

/// The highest rate that was sustained, the response time there, and the lowest that was not.
fn sustained(input: &ReportInput<'_>, curve: &Curve) -> [String; 3] {
    let (highest, not) = if let Some(range) = curve.sustained {
        [range.highest, range.first_not]
            .map(|cell| cell.map(|cell| &input.analysis.cells[cell]))
            .into()
    } else {
        let cells = names::cells(input.analysis, curve).into_iter();
        (
            cells.clone().rfind(|cell| open_loop::is_sustained(cell)),
            cells.into_iter().find(|cell| !open_loop::is_sustained(cell)),
        )
    };
    let [rate, rate_not] = [highest, not]
        .map(|cell| format::or_nothing(cell, |cell| open_loop::rate_text(input, cell)));
    [rate, format::or_nothing(highest, p99), rate_not]
}

fn p99(cell: &Cell) -> String {
    format::figure_or_nothing(Figure::ResponseP99, cell.get(Figure::ResponseP99))
}

/// The ratio to the baseline at a level, with the sign of its verdict.
fn ratio(input: &ReportInput<'_>, curve: &Curve, level: f64) -> TableEntry {
    let analysis = input.analysis;
    let cell = names::index_at(analysis, curve, level);
    let Some(contrast) = cell.and_then(|cell| names::contrast_of(analysis, cell)) else {
        return NOTHING.into();
    };
    let sign = match contrast.verdict {
        Verdict::Faster | Verdict::Slower => "",
        Verdict::Equivalent => SAME,
        Verdict::NotEnoughData { .. } => UNDECIDED,
    };
    let ratio = &contrast.tps_ratio;
    // Without an interval the sign says enough.
    let text = if ratio.low.is_some() {
        format::ratio_estimate(ratio)
    } else {
        format::ratio(ratio.value)
    };
    TableEntry::new(format!("{text} {sign:1}"), contrast.verdict.into())
}

fn loss(durability: Option<&Durability>) -> TableEntry {
    let Some(durability) = durability else { return "not known".into() };
    let sign = if is_lost_with_process(durability) { ALSO_PROCESS } else { "" };
    let tone = if durability.power_cut == Loss::Nothing { Tone::Plain } else { Tone::Unsure };
    TableEntry::new(format!("{} {sign:1}", durability.power_cut.in_short()), tone)
}

fn is_lost_with_process(durability: &Durability) -> bool {
    !matches!(durability.process_crash, Loss::Nothing | Loss::Unknown)
}

/// The signs that the table has.
fn legend(input: &ReportInput<'_>, columns: &Columns) -> Option<String> {
    let contrasts = input.analysis.contrasts.iter();
    let verdicts: Vec<_> = contrasts
        .filter(|one| columns.ratio_at == Some(names::level_of(input.analysis, one.cell)))
        .map(|one| one.verdict)
        .collect();
    let is_open = verdicts.iter().any(|one| matches!(one, Verdict::NotEnoughData { .. }));
    let mut said = Vec::from_iter(is_open.then(|| format!("{UNDECIDED} undecided")));
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
    format::joined(said, "; ")
}

/// Throughput (of an open loop: p99) at each level of the axis; those in the middle are left out
/// where the line is short.
fn by_level(input: &ReportInput<'_>, order: &[&Curve], screen: TextScreen) -> Option<ScreenPart> {
    let analysis = input.analysis;
    let all = names::levels(analysis);
    // The table is shown whole or not at all.
    if all.len() < 2 || order.len() > SUMMARY_LINES_MAX {
        return None;
    }
    // A column has one character at least, and a space.
    let columns_max = all.len().min(screen.text_width());
    let mut tables =
        (2..=columns_max).rev().map(|n| level_table(analysis, order, &spread(&all, n)));
    let fitting = tables.find(|table| screen.fits(table) || table.header.len() == 3);
    fitting.and_then(ScreenPart::table).map(ScreenPart::optional)
}

/// `n` of the levels, evenly, with the first and the last.
fn spread(levels: &[f64], n: usize) -> Vec<f64> {
    (0..n).map(|at| levels[at * (levels.len() - 1) / (n - 1)]).collect()
}

fn level_table(analysis: &Analysis, order: &[&Curve], levels: &[f64]) -> DocumentTable {
    let is_open = open_loop::has_figures(analysis);
    let (what, text): (_, fn(&Cell) -> String) =
        if is_open { ("p99", p99) } else { ("tps", tps_with_sign) };
    let header = std::iter::once(format!("{what} at {}", analysis.axis.factor()))
        .chain(levels.iter().map(|level| format::rate(*level)));
    let rows = order.iter().map(|curve| {
        let cells = levels.iter().map(|level| names::cell_at(analysis, curve, *level));
        std::iter::once(names::level_label(analysis, curve))
            .chain(cells.map(|cell| format::or_nothing(cell, text)))
    });
    DocumentTable::new(header, rows).of_numbers()
}
