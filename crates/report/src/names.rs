//! What curves, cells and factors are called in a report.

use truetps_analysis::{Analysis, Cell, Contrast, Curve};
use truetps_record::{CONNECTIONS, Configuration, Plan};

/// The setting factors of a plan: `innodb_flush_log_at_trx_commit`, `log_bin / sync_binlog`; empty where none is one.
pub(crate) fn setting_names(plan: &Plan) -> String {
    let names: Vec<_> = plan.factors.keys().map(String::as_str).filter(|name| *name != CONNECTIONS).collect();
    names.join(" / ")
}

/// The levels of a configuration's settings alone, for a column whose title names them: `=1`, `=ON / =0`.
pub(crate) fn level_label(configuration: &Configuration) -> String {
    let levels: Vec<_> = configuration.settings().map(|(_, level)| format!("={level}")).collect();
    levels.join(" / ")
}

/// The curve's settings; where no setting is a factor there is one curve, and it is called what it shows.
pub(crate) fn curve_name(curve: &Curve) -> &str {
    if curve.label.is_empty() { "throughput" } else { &curve.label }
}

/// The curve in a sentence that has named the setting before: `=2` where one setting is a factor, else all of its levels.
pub(crate) fn short<'a>(plan: &Plan, label: &'a str) -> &'a str {
    let one_setting = plan.factors.keys().filter(|name| *name != CONNECTIONS).count() == 1;
    let level = label.split_once('=').map(|(name, _)| &label[name.len()..]);
    if one_setting && !label.contains(' ') { level.unwrap_or(label) } else { label }
}

/// `8 connections`, `1 connection`.
pub(crate) fn connections(number: u32) -> String {
    crate::format::plural(number.into(), "connection")
}

/// The numbers of connections of some cells as a list: `1, 8 and 50 connections`.
pub(crate) fn at_connections(numbers: &[u32]) -> String {
    if let [one] = numbers {
        return connections(*one);
    }
    let texts: Vec<_> = numbers.iter().map(|number| crate::format::count((*number).into())).collect();
    format!("{} connections", crate::format::list(&texts))
}

pub(crate) fn cells<'a>(analysis: &'a Analysis, curve: &Curve) -> Vec<&'a Cell> {
    curve.cells.iter().map(|index| &analysis.cells[*index]).collect()
}

/// The comparisons of a curve's cells with the baseline, by rising connections.
pub(crate) fn contrasts<'a>(analysis: &'a Analysis, curve: &Curve) -> Vec<&'a Contrast> {
    let of = |index: &usize| analysis.contrasts.iter().find(|contrast| contrast.cell == *index);
    curve.cells.iter().filter_map(of).collect()
}

pub(crate) fn connections_of(analysis: &Analysis, contrast: &Contrast) -> u32 {
    analysis.cells[contrast.cell].configuration.connections()
}
