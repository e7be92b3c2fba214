//! Names of curves, cells and factors in a report.

use truetps_analysis::{Analysis, Axis, Cell, Contrast, Curve};
use truetps_plan::Plan;
use truetps_record::{Configuration, Estimate, Experiment, RATE, ServerFacts, is_load_factor};

use crate::format;

/// The setting factors of a plan: `innodb_flush_log_at_trx_commit`, `log_bin / sync_binlog`; empty
/// where none is one.
pub(crate) fn setting_names(plan: &Plan) -> String {
    let names: Vec<_> =
        plan.factors.keys().map(String::as_str).filter(|name| !is_load_factor(name)).collect();
    names.join(" / ")
}

/// `mysql-8.0 (mysql 8.0.15)`; `mysql 8.0.15` where the user has given it no name.
pub(crate) fn server(server: &ServerFacts) -> String {
    let what = format!("{} {}", server.flavour, server.version);
    server.name.as_ref().map_or(what.clone(), |name| format!("{name} ({what})"))
}

/// The servers of an experiment: all, where the server is a factor.
pub(crate) fn servers(experiment: &Experiment) -> &[ServerFacts] {
    if experiment.servers.is_empty() { experiment.server.as_slice() } else { &experiment.servers }
}

/// Where an experiment was measured: servers, cores, and the disk or what one flush takes.
pub(crate) fn measured_on(experiment: &Experiment) -> Vec<String> {
    let servers: Vec<_> = servers(experiment).iter().map(server).collect();
    let kind = if experiment.external.is_some() { "" } else { ", private" };
    let host = &experiment.host;
    let disks: Vec<_> =
        experiment.disks.iter().map(|disk| format!("disk {}", disk.profile)).collect();
    let flush = host.flush.filter(|_| disks.is_empty());
    let flush = flush.map(|flush| format!("one flush {}", format::duration_us(flush.us_p50)));
    let parts =
        [format!("{}{kind}", format::list(&servers)), format::plural(host.cores.into(), "core")];
    parts.into_iter().chain(disks).chain(flush).collect()
}

/// Settings of a user's option file, and those that truetps chose for a server: the plan neither
/// sets nor varies them.
pub(crate) fn chosen_settings<'a>(
    plan: &Plan,
    server: &'a ServerFacts,
) -> impl Iterator<Item = &'a (String, String)> {
    server.chosen_settings.iter().filter(|(name, _)| !is_planned(plan, name))
}

/// Whether the plan sets a setting, or varies it.
pub(crate) fn is_planned(plan: &Plan, name: &str) -> bool {
    plan.server.settings.contains_key(name) || plan.factors.contains_key(name)
}

/// The factors that distinguish the curves: the settings, and the rate where that is varied beside
/// the connections.
pub(crate) fn curve_factors(plan: &Plan, analysis: &Analysis) -> String {
    let names =
        [setting_names(plan), if rates_beside(analysis) { RATE.to_owned() } else { String::new() }];
    let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
    names.join(" / ")
}

/// Whether each rate has curves of its own, over the connections.
fn rates_beside(analysis: &Analysis) -> bool {
    let mut rates = analysis.curves.iter().map(|curve| first_rate(analysis, curve));
    let first = rates.next();
    analysis.axis == Axis::Connections && rates.any(|rate| Some(rate) != first)
}

/// The rate of the curve's first cell.
fn first_rate(analysis: &Analysis, curve: &Curve) -> Option<f64> {
    analysis.cells[*curve.cells.first()?].configuration.rate()
}

/// The curve's levels alone, for a column whose title names their factors: `=1`, `=ON / =0`.
pub(crate) fn level_label(analysis: &Analysis, curve: &Curve) -> String {
    let Some(first) = curve.cells.first().map(|cell| &analysis.cells[*cell].configuration) else {
        return String::new();
    };
    // Where rates have curves of their own, the label ends with the rate.
    let rate = first
        .levels
        .get(RATE)
        .filter(|rate| format!(" {}", curve.label).ends_with(&format!(" {RATE}={rate}")));
    let levels: Vec<_> = first
        .conditions()
        .map(|(_, level)| level)
        .chain(rate)
        .map(|level| format!("={level}"))
        .collect();
    levels.join(" / ")
}

/// The curve's settings; where no setting is a factor there is one curve, and it is called what it
/// shows.
pub(crate) fn curve_name(curve: &Curve) -> &str {
    if curve.label.is_empty() { "throughput" } else { &curve.label }
}

/// The curve in a sentence that has named the setting before: `=2` where one setting is a factor,
/// else all of its levels.
pub(crate) fn short<'a>(plan: &Plan, label: &'a str) -> &'a str {
    let one_setting = plan.factors.keys().filter(|name| !is_load_factor(name)).count() == 1;
    let level = label.split_once('=').map(|(name, _)| &label[name.len()..]);
    if one_setting && !label.contains(' ') { level.unwrap_or(label) } else { label }
}

/// `8 connections`, `1 connection`.
pub(crate) fn connections(number: u32) -> String {
    format::plural(number.into(), "connection")
}

/// Some levels of the axis as a list: `1, 8 and 50 connections`,
/// `target rates of 500 and 1 000 tps`.
pub(crate) fn at_levels(axis: Axis, levels: &[f64]) -> String {
    let texts: Vec<_> = levels.iter().map(|level| format::rate(*level)).collect();
    match (axis, levels) {
        (Axis::Connections, [one]) => connections(*one as u32),
        (Axis::Connections, _) => format!("{} connections", format::list(&texts)),
        (Axis::Rate, [one]) => format!("a target rate of {} tps", format::rate(*one)),
        (Axis::Rate, _) => format!("target rates of {} tps", format::list(&texts)),
    }
}

/// A level of the axis alone, for a column whose title names the factor.
pub(crate) fn level(axis: Axis, configuration: &Configuration) -> String {
    format::rate(axis.level(configuration))
}

/// The level of the axis that a cell has, by the cell's index.
pub(crate) fn level_of(analysis: &Analysis, cell: usize) -> f64 {
    analysis.axis.level(&analysis.cells[cell].configuration)
}

/// All levels of the axis, rising.
pub(crate) fn levels(analysis: &Analysis) -> Vec<f64> {
    let mut levels: Vec<_> =
        (0..analysis.cells.len()).map(|cell| level_of(analysis, cell)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// The cell of a curve at a level of the axis.
pub(crate) fn cell_at<'a>(analysis: &'a Analysis, curve: &Curve, level: f64) -> Option<&'a Cell> {
    index_at(analysis, curve, level).map(|index| &analysis.cells[index])
}

/// The index of a curve's cell at a level of the axis. The cells of a curve rise.
pub(crate) fn index_at(analysis: &Analysis, curve: &Curve, level: f64) -> Option<usize> {
    let found =
        curve.cells.binary_search_by(|cell| level_of(analysis, *cell).total_cmp(&level)).ok()?;
    Some(curve.cells[found])
}

pub(crate) fn cells<'a>(analysis: &'a Analysis, curve: &Curve) -> Vec<&'a Cell> {
    curve.cells.iter().map(|index| &analysis.cells[*index]).collect()
}

/// The comparisons of a curve's cells with the baseline, in the order of the axis.
pub(crate) fn contrasts<'a>(analysis: &'a Analysis, curve: &Curve) -> Vec<&'a Contrast> {
    curve.cells.iter().filter_map(|cell| contrast_of(analysis, *cell)).collect()
}

/// The comparison of a cell with its baseline. They are in the order of their cells.
pub(crate) fn contrast_of(analysis: &Analysis, cell: usize) -> Option<&Contrast> {
    let index = analysis.contrasts.binary_search_by_key(&cell, |contrast| contrast.cell).ok()?;
    analysis.contrasts.get(index)
}

/// The text after a figure: `95 % interval [5 030, 5 450] tps`.
pub(crate) fn certainty(tps: &Estimate) -> String {
    match (tps.low, tps.high) {
        (Some(low), Some(high)) => {
            format!("95 % interval [{}, {}] tps", format::tps(low), format::tps(high))
        }
        _ if tps.n == 1 => "one trial, so without an interval".to_owned(),
        _ => format::trials(tps.n),
    }
}

/// A sentence with a capital letter in front, unless it begins with the name of a setting.
pub(crate) fn capital_word(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    if first.contains(['=', '_']) { text.to_owned() } else { capital(text) }
}

/// The text with a capital letter in front.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
