//! How many connections a pool needs, on one screen.

use truetps_archive::PoolRun;

use super::layout::{ScreenPart, Screenful, without_columns};
use crate::document::{DocumentTable, TableEntry};
use crate::pool::{
    PoolLibrary, answer, configurations, curve_table, durability_text, parameters_text, rate_text,
    rule_text, title, trials_fact, trust,
};
use crate::{TextScreen, names, own_settings};

/// Columns that a narrow screen has no room for, the least important first.
const DROPPABLE: [&str; 3] = ["mean", "curve", "trials"];

/// `libraries`: those whose configuration is wanted.
pub(crate) fn pool_summary(run: &PoolRun, libraries: &[PoolLibrary], screen: TextScreen) -> String {
    let (shown, hidden) = told_rows(run);
    let table = DocumentTable { rows: shown, ..curve_table(run) };
    let table = ScreenPart::table(without_columns(table, &DROPPABLE, screen));
    let mut parts: Vec<_> =
        table.map(|table| table.whole().leaving_out(hidden)).into_iter().collect();
    parts.extend(rate_text(run).map(|text| ScreenPart::fact("Rate", text)));
    parts.extend(rule_text(run).map(|text| ScreenPart::fact("Rule", text)));
    parts.extend(parameters_text(run).map(|text| ScreenPart::fact("Pool", text)));
    let wanted = configurations(run).into_iter().filter(|(library, _)| libraries.contains(library));
    let lines =
        wanted.flat_map(|(library, lines)| [vec![format!("{}:", library.name())], lines].concat());
    parts.extend(ScreenPart::code(lines.collect()));
    parts.extend(durability_text(run).map(|text| ScreenPart::fact("Commits", text)));
    parts.extend(ScreenPart::facts("Trust", trust(run)));
    let own = own_settings::short_text(&run.plan, &run.experiment);
    parts.extend(own.map(|text| ScreenPart::fact("Settings", text)));
    parts.push(ScreenPart::fact("Trials", trials_fact(run)));
    Screenful { title: title(run), source: source(run), answer: answer(run), parts }.draw(screen)
}

/// The rows that the answer is about, with their neighbours and the ends, and the number of the
/// others.
fn told_rows(run: &PoolRun) -> (Vec<Vec<TableEntry>>, usize) {
    let curve = &run.findings.curve;
    let rule = run.pool.rule.map(|rule| rule.connections);
    let smallest = run.rate.and_then(|rate| rate.smallest);
    let numbers = [run.findings.advice, run.findings.best, run.pool.current, rule, smallest];
    let told: Vec<_> = numbers
        .into_iter()
        .flatten()
        .filter_map(|number| curve.iter().position(|one| one.connections == number))
        .collect();
    let advice = told.first().copied();
    let rows = curve_table(run).rows.into_iter().enumerate().filter(|(index, _)| {
        let is_beside = advice.is_some_and(|advice| index.abs_diff(advice) <= 1);
        told.contains(index) || is_beside || *index == 0 || index + 1 == curve.len()
    });
    let shown: Vec<_> = rows.map(|(_, row)| row).collect();
    let hidden = curve.len() - shown.len();
    (shown, hidden)
}

fn source(run: &PoolRun) -> String {
    let settings = run
        .plan
        .server
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={}", value.option_text()));
    names::measured_on(&run.experiment).into_iter().chain(settings).collect::<Vec<_>>().join(", ")
}
