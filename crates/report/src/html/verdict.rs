//! The top of the page: the question, the verdict, what it means, and what to be careful with.

use truetps_analysis::{Curve, Knee};

use super::labels::{Lines, best_cell, split_range, unbroken};
use crate::{ReportInput, format, meaning, names, verdicts};

pub(super) struct VerdictSection {
    pub(super) facts: String,
    pub(super) question: String,
    pub(super) verdicts: Vec<String>,
    pub(super) meaning: Vec<String>,
    pub(super) caveats: Vec<String>,
    pub(super) tiles: Vec<Tile>,
}

/// The best of one combination of settings.
pub(super) struct Tile {
    pub(super) label: String,
    pub(super) tps: String,
    pub(super) range: Option<String>,
    pub(super) at: String,
    pub(super) details: Vec<String>,
}

impl VerdictSection {
    pub(super) fn of(input: &ReportInput, lines: &Lines) -> Self {
        let unbroken = |list: Vec<String>| list.iter().map(|text| unbroken(text)).collect();
        let tiles = input.analysis.curves.iter().enumerate();
        Self {
            facts: facts(input),
            question: input.plan.about.clone(),
            verdicts: unbroken(verdicts(input)),
            meaning: unbroken(meaning::meaning(input)),
            caveats: unbroken(meaning::caveats(input)),
            tiles: tiles.filter_map(|(index, curve)| tile(input, curve, lines.full(index, curve))).collect(),
        }
    }
}

/// `durability, 2026-01-02, mariadb 10.11.19`.
fn facts(input: &ReportInput) -> String {
    let (experiment, server) = (input.experiment, &input.experiment.server);
    let date = experiment.created_at.split('T').next().unwrap_or_default();
    let quick = if experiment.quick { " · quick run" } else { "" };
    format!("{} · {date} · {} {}{quick}", experiment.name, server.flavour, server.version)
}

fn tile(input: &ReportInput, curve: &Curve, label: String) -> Option<Tile> {
    let best = best_cell(input.analysis, curve)?;
    let p99 = best.response_us_p99.map(|us| format!("p99 there {}", format::duration_us(us)));
    let (tps, range) = split_range(&format::tps_estimate(best.tps.as_ref()?));
    let details = curve.knee.iter().map(knee).chain(p99);
    Some(Tile {
        label,
        tps,
        range,
        at: format!("tps at {}", names::connections(best.configuration.connections())),
        details: details.map(|detail| unbroken(&detail)).collect(),
    })
}

fn knee(knee: &Knee) -> String {
    let at = format::count(knee.connections.into());
    match (knee.best_is_last, knee.connections == knee.best_connections) {
        (true, true) => "still rising at the most connections tried".to_owned(),
        (true, false) => format!("knee at {at}, and perhaps still rising"),
        (false, _) => format!("knee at {at}"),
    }
}
