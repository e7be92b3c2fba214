//! The main table: each configuration with its throughput, its ratio to the baseline, and its
//! response times.

use std::collections::BTreeSet;

use truetps_analysis::{Analysis, Cell, Contrast, Curve, Figure, FigurePlace, Verdict};

use super::forest::{Forest, Scale};
use super::labels::{ChartLines, RowGroup, split_range, unbroken};
use crate::generator::{self, LIMITED};
use crate::{ReportInput, format, main_effects, names, open_loop, rows};

/// Columns besides the comparison's and the figures': axis, tps, trials.
const COLUMNS_ALONE: usize = 3;
const COLUMNS_OF_COMPARISON: usize = 3;
const COSTS: [(Figure, &str); 4] = [
    (Figure::ServerCpu, "server CPU / tx"),
    (Figure::ClientCpu, "generator CPU / tx"),
    (Figure::WorkerBusy, "busiest worker"),
    (Figure::WorkerWait, "waited for a CPU"),
];

fn shown(analysis: &Analysis) -> impl Iterator<Item = Figure> {
    Figure::ALL.iter().copied().filter(move |figure| {
        let mut values = analysis.cells.iter().filter_map(|cell| cell.get(*figure));
        figure.is_shown(FigurePlace::Main)
            || (figure.is_shown(FigurePlace::MainIfAny) && values.any(|value| value > 0.0))
            || (figure.is_shown(FigurePlace::MainIfRows) && rows::are_shown(analysis))
    })
}

pub(super) struct MainTable {
    pub(super) how_to_read: String,
    pub(super) factor: &'static str,
    pub(super) has_baseline: bool,
    pub(super) columns: usize,
    /// The effect of each factor by itself: level, level of the baseline, ratio, its interval,
    /// pairs, verdict.
    pub(super) main_effects: Vec<MainEffectRow>,
    pub(super) main_effects_explained: &'static str,
    pub(super) forest_ends: (String, String),
    pub(super) heads: Vec<&'static str>,
    pub(super) groups: Vec<RowGroup<FigureRow>>,
    pub(super) cost_heads: [&'static str; COSTS.len()],
    pub(super) costs: Vec<Cost>,
    /// Whether any figure was limited by the generator.
    pub(super) limited: bool,
}

pub(super) struct MainEffectRow {
    pub(super) texts: Vec<String>,
    pub(super) verdict: String,
    pub(super) forest: Forest,
}

pub(super) struct FigureRow {
    pub(super) level: String,
    /// The reason, where no trial is evidence.
    pub(super) no_evidence: Option<String>,
    pub(super) best: bool,
    pub(super) tps: String,
    pub(super) range: Option<String>,
    pub(super) marks: Vec<&'static str>,
    pub(super) contrast: Option<ContrastCells>,
    pub(super) no_contrast: &'static str,
    /// Below [`MainTable::heads`].
    pub(super) figures: Vec<String>,
    /// Valid of planned: `4/5`.
    pub(super) trials: String,
}

pub(super) struct ContrastCells {
    pub(super) ratio: String,
    pub(super) range: Option<String>,
    pub(super) forest: Forest,
    pub(super) symbol: &'static str,
    pub(super) verdict: &'static str,
    pub(super) more: Option<String>,
    /// Whether the generator limited the figures.
    pub(super) limited: bool,
}

pub(super) struct Cost {
    pub(super) label: String,
    pub(super) level: String,
    pub(super) figures: [String; COSTS.len()],
    /// Why the generator limited the figures; empty where it did not.
    pub(super) limited: String,
}

impl MainTable {
    pub(super) fn of(input: &ReportInput, lines: &ChartLines) -> Self {
        let analysis = input.analysis;
        let curves = analysis.curves.iter().enumerate();
        let scale = Scale::of(
            analysis.contrasts.iter().map(|contrast| &contrast.tps_ratio),
            analysis.smallest_effect,
        );
        let has_baseline = !analysis.contrasts.is_empty();
        let figures: Vec<_> = shown(analysis).collect();
        Self {
            how_to_read: unbroken(&how_to_read(analysis)),
            factor: analysis.axis.factor(),
            has_baseline,
            columns: COLUMNS_ALONE
                + figures.len()
                + if has_baseline { COLUMNS_OF_COMPARISON } else { 0 },
            main_effects: main_effect_rows(input, &scale),
            main_effects_explained: main_effects::EXPLAINED,
            forest_ends: scale.ends(),
            heads: figures.iter().copied().map(format::main_head).collect(),
            cost_heads: COSTS.map(|(_, head)| head),
            groups: curves
                .map(|(index, curve)| {
                    group(analysis, curve, lines.full(index, curve), &scale, &figures)
                })
                .collect(),
            costs: analysis.cells.iter().map(|cell| cost(analysis, cell)).collect(),
            limited: analysis.cells.iter().any(generator::is_limited),
        }
    }
}

fn main_effect_rows(input: &ReportInput<'_>, scale: &Scale) -> Vec<MainEffectRow> {
    let rows = main_effects::table(input).rows.into_iter().zip(&input.analysis.main_effects);
    rows.map(|(entries, effect)| {
        let mut texts: Vec<_> = entries.iter().map(|entry| unbroken(&entry.text)).collect();
        let verdict = texts.pop().unwrap_or_default();
        MainEffectRow { texts, verdict, forest: scale.picture(&effect.tps_ratio) }
    })
    .collect()
}

fn how_to_read(analysis: &Analysis) -> String {
    let times =
        "Response times are geometric means over trials, max is the slowest transaction of all.";
    let is_open = open_loop::has_figures(analysis);
    let best = if is_open {
        ""
    } else {
        "The bar at the left marks the highest throughput of each setting. "
    };
    let bound =
        generator::bound_explained(analysis).map(|bound| format!(" {bound}")).unwrap_or_default();
    match &analysis.baseline_label {
        Some(label) if !analysis.contrasts.is_empty() => format!(
            "Ratios are to {label} at the same other levels, paired by block, with a 95 % \
             interval; the picture shows them on a log scale: the upright line is 1 (no \
             difference), the grey zone shows differences too small to matter by the plan ({}). \
             {best}{times}{bound}",
            format::percent(analysis.smallest_effect),
        ),
        _ => format!("{best}{times}{bound}"),
    }
}

fn group(
    analysis: &Analysis,
    curve: &Curve,
    label: String,
    scale: &Scale,
    figures: &[Figure],
) -> RowGroup<FigureRow> {
    let has_best = curve.cells.len() > 1 && !open_loop::has_figures(analysis);
    let best = analysis.best_cell(curve).filter(|_| has_best);
    let rows = curve.cells.iter().map(|&index| {
        let cell = &analysis.cells[index];
        let contrast = names::contrast_of(analysis, index);
        let (tps, range) =
            split_range(&format::or_nothing(cell.tps.as_ref(), format::tps_estimate));
        FigureRow {
            level: names::level(analysis.axis, &cell.configuration),
            no_evidence: cell.tps.is_none().then(|| why_no_evidence(analysis, cell)),
            best: best == Some(index),
            tps,
            range,
            marks: marks(cell),
            contrast: contrast.map(|contrast| contrast_cells(contrast, scale)),
            no_contrast: if curve.is_baseline { "baseline" } else { "no block has both" },
            figures: figures
                .iter()
                .map(|figure| format::figure_or_nothing(*figure, cell.get(*figure)))
                .collect(),
            trials: format!("{}/{}", cell.trials.len(), analysis.blocks_planned),
        }
    });
    RowGroup { label, rows: rows.collect() }
}

/// The caveats of a cell's figures.
pub(super) fn marks(cell: &Cell) -> Vec<&'static str> {
    let open =
        cell.open_loop.as_ref().filter(|open| open.sustained.of > 0 && !open.sustained.is_all());
    let limited = generator::is_limited(cell).then_some(LIMITED);
    open.map(|_| "not sustained").into_iter().chain(limited).collect()
}

fn why_no_evidence(analysis: &Analysis, cell: &Cell) -> String {
    let of_cell = analysis.invalid.iter().filter(|trial| trial.configuration == cell.configuration);
    let reasons: BTreeSet<_> = of_cell.map(|trial| trial.reason.to_string()).collect();
    if reasons.is_empty() { "not run".to_owned() } else { Vec::from_iter(reasons).join("; ") }
}

fn contrast_cells(contrast: &Contrast, scale: &Scale) -> ContrastCells {
    let (ratio, range) = split_range(&format::ratio_estimate(&contrast.tps_ratio));
    ContrastCells {
        ratio,
        range,
        forest: scale.picture(&contrast.tps_ratio),
        symbol: match contrast.verdict {
            Verdict::Faster => "▲",
            Verdict::Slower => "▼",
            Verdict::Equivalent => "=",
            Verdict::NotEnoughData { .. } => "?",
        },
        verdict: format::verdict_word(contrast.verdict),
        more: contrast.verdict.more_blocks().map(format::more_blocks),
        limited: contrast.generator_limited,
    }
}

fn cost(analysis: &Analysis, cell: &Cell) -> Cost {
    Cost {
        label: cell.configuration.settings_label(),
        level: names::level(analysis.axis, &cell.configuration),
        figures: COSTS.map(|(figure, _)| format::figure_or_nothing(figure, cell.get(figure))),
        limited: generator::reason(cell).unwrap_or_default(),
    }
}
