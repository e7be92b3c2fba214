//! The top of the page: the question, the verdict, its meaning, and caveats.

use truetps_analysis::{Curve, Figure, Knee, SustainedRange};

use super::labels::{ChartLines, split_range, unbroken};
use crate::verdicts::SENTENCES_MAX;
use crate::{
    ReportInput, format, generator, main_effects, meaning, names, open_loop, stalls, verdicts,
};

pub(super) struct VerdictSection {
    pub(super) facts: String,
    pub(super) question: String,
    /// The sentence beside the first chart.
    pub(super) first: String,
    pub(super) rest: Vec<String>,
    /// The stalls of all trials, where there are any: no mean and no percentile shows them.
    pub(super) stalls: Option<String>,
    pub(super) meaning: Vec<String>,
    pub(super) caveats: Vec<String>,
    pub(super) tiles: Vec<Tile>,
}

/// The best of one combination of settings; of rates, the highest that was sustained.
pub(super) struct Tile {
    pub(super) label: String,
    pub(super) tps: String,
    pub(super) range: Option<String>,
    pub(super) at: String,
    pub(super) details: Vec<String>,
    /// Whether the generator limited the figures.
    pub(super) limited: bool,
}

impl VerdictSection {
    pub(super) fn of(input: &ReportInput, lines: &ChartLines) -> Self {
        let tiles = input.analysis.curves.iter().enumerate();
        let mut sentences = all_unbroken(&sentences(input));
        let first = if sentences.is_empty() {
            String::new()
        } else {
            names::capital_word(&sentences.remove(0))
        };
        Self {
            facts: facts(input),
            question: input.run.plan.about.clone(),
            first,
            rest: sentences,
            stalls: stalls::fact(input).filter(|_| stalls::any(input)).map(|fact| unbroken(&fact)),
            meaning: all_unbroken(&meaning::meaning(input)),
            caveats: all_unbroken(&meaning::caveats(input)),
            tiles: tiles
                .filter_map(|(index, curve)| tile(input, curve, lines.full(index, curve)))
                .collect(),
        }
    }
}

fn all_unbroken(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| unbroken(text)).collect()
}

/// What differs comes first: the baseline's own figures are no verdict.
fn sentences(input: &ReportInput<'_>) -> Vec<String> {
    let analysis = input.analysis;
    let is_many = analysis.curves.len() > SENTENCES_MAX + 1 && !analysis.contrasts.is_empty();
    let counted = if is_many { verdicts::counted(analysis) } else { Vec::new() };
    let first =
        verdicts::incomplete(input).into_iter().chain(main_effects::sentence(input)).chain(counted);
    first.chain(verdicts::figure_sentences(input, true)).chain(verdicts::answer(input)).collect()
}

impl VerdictSection {
    pub(super) fn has_more(&self) -> bool {
        !self.rest.is_empty() || self.stalls.is_some()
    }

    /// What stands below the first chart: `2 more verdicts below; throughput broke down`.
    pub(super) fn more(&self) -> String {
        let n = self.rest.len() as u64;
        let verdicts = (n > 0).then(|| format!("{} below", format::plural(n, "more verdict")));
        let stalls = self.stalls.is_some().then(|| "throughput broke down".to_owned());
        verdicts.into_iter().chain(stalls).collect::<Vec<_>>().join("; ")
    }
}

/// `durability, 2026-01-02, mariadb 10.11.19`.
fn facts(input: &ReportInput) -> String {
    let experiment = &input.run.experiment;
    let servers: Vec<_> = names::servers(experiment).iter().map(names::server).collect();
    let server = if servers.is_empty() { "no server".to_owned() } else { servers.join(", ") };
    let date = experiment.created_at.split('T').next().unwrap_or_default();
    let quick = if experiment.quick { " · quick run" } else { "" };
    format!("{} · {date} · {server}{quick}", experiment.name)
}

fn tile(input: &ReportInput, curve: &Curve, label: String) -> Option<Tile> {
    if let Some(range) = curve.sustained {
        return Some(rate_tile(input, range, label));
    }
    let best = &input.analysis.cells[input.analysis.best_cell(curve)?];
    let p99 =
        best.get(Figure::ResponseP99).map(|us| format!("p99 there {}", format::duration_us(us)));
    let (tps, range) = split_range(&format::tps_estimate(best.tps.as_ref()?));
    let sustained = best.open_loop.as_ref().map(|open| {
        format!(
            "target rate {}, sustained: {}",
            open_loop::rate_text(input, best),
            open_loop::sustained(open)
        )
    });
    let bound = best.get(Figure::BoundFreeGenerator);
    let bound =
        bound.map(|bound| format!("at most {} with a generator elsewhere", format::bound(bound)));
    let details = curve.knee.iter().map(knee).chain(sustained).chain(p99).chain(bound);
    Some(Tile {
        limited: generator::is_limited(best)
            || curve.knee.as_ref().is_some_and(|knee| knee.generator_limited),
        label,
        tps,
        range,
        at: format!("tps at {}", names::connections(best.configuration.connections())),
        details: details.map(|detail| unbroken(&detail)).collect(),
    })
}

fn rate_tile(input: &ReportInput, range: SustainedRange, label: String) -> Tile {
    let analysis = input.analysis;
    let [highest, not] =
        [range.highest, range.first_not].map(|cell| cell.map(|cell| &analysis.cells[cell]));
    let p99 = highest
        .and_then(|cell| cell.get(Figure::ResponseP99))
        .map(|us| format!("p99 there {}", format::duration_us(us)));
    let not = not.map(|cell| {
        let mark = generator::limited_mark(generator::is_limited(cell));
        format!("not at {} tps{mark}", names::level(analysis.axis, &cell.configuration))
    });
    let details = p99.into_iter().chain(not);
    Tile {
        label,
        tps: format::or_nothing(highest, |cell| names::level(analysis.axis, &cell.configuration)),
        range: None,
        at: if highest.is_some() {
            "tps, the highest rate sustained"
        } else {
            "no rate tried was sustained"
        }
        .to_owned(),
        details: details.map(|detail| unbroken(&detail)).collect(),
        limited: highest.is_some_and(generator::is_limited),
    }
}

fn knee(knee: &Knee) -> String {
    let at = format::count(knee.connections.into());
    match (knee.best_is_last, knee.connections == knee.best_connections) {
        (true, true) => "still rising at the most connections tried".to_owned(),
        (true, false) => format!("knee at {at}, and perhaps still rising"),
        (false, _) => format!("knee at {at}"),
    }
}
