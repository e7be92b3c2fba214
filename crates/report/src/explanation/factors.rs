//! The sides of an explanation, its factors and its ratios as text.

use truetps_archive::ExplainedRun;
use truetps_causes::{LogInterval, Mixture};
use truetps_knowledge::people_value;
use truetps_record::{Estimate, ExplainedFactor, ExplainedSide, Explanation};

use crate::format;

const LEVEL_CHARS_MAX: usize = 20;

pub(crate) fn title(explanation: &Explanation) -> String {
    let (a, b) = (side_name(&explanation.a), side_name(&explanation.b));
    format!("{b} against {a}: what makes the difference?")
}

/// A list of settings may be long.
pub(super) fn side_name(side: &ExplainedSide) -> String {
    const CHARS_MAX: usize = 32;
    let shown: String = side.name.chars().take(CHARS_MAX).collect();
    if shown.len() < side.name.len() { format!("{shown}…") } else { shown }
}

/// The geometric mean of the trials of A or of B, and their number.
pub(super) fn corner(run: &ExplainedRun, is_a: bool) -> Option<(f64, usize)> {
    let wanted = if is_a { Mixture::A } else { Mixture::b(run.explanation.factors.len()) };
    let logs: Vec<_> = run
        .trials
        .iter()
        .filter(|(mixture, _)| *mixture == wanted)
        .filter_map(|(_, loaded)| loaded.trial.log_tps())
        .collect();
    Some((format::mean(&logs)?.exp(), logs.len()))
}

/// A ratio of throughput.
pub(super) fn ratio_of(interval: &LogInterval) -> Estimate {
    Estimate {
        value: interval.value.exp(),
        low: Some(interval.low.exp()),
        high: Some(interval.high.exp()),
        n: 2,
    }
}

pub(super) fn ratio_text(interval: &LogInterval) -> String {
    format::ratio_estimate(&ratio_of(interval))
}

/// `sync_binlog`, or `log_bin with gtid_mode` where the two do not work apart.
pub(super) fn factor_name(run: &ExplainedRun, index: usize) -> String {
    let Some(factor) = run.explanation.factors.get(index) else { return String::new() };
    let merged = run.findings.merged.iter().find(|group| group.has(index));
    let also = merged.map(|group| {
        let names: Vec<_> = group
            .factors()
            .filter(|other| *other != index)
            .map(|other| run.explanation.factors[other].name.clone())
            .collect();
        format!(" with {}", format::list(&names))
    });
    format!("{}{}", factor.name, also.unwrap_or_default())
}

/// `OFF`, or `OFF, …` of several.
pub(super) fn level_text(factor: &ExplainedFactor, is_a: bool) -> String {
    let first = factor.levels.first().map_or_else(String::new, |level| {
        let value = if is_a { &level.a } else { &level.b };
        people_value(&level.name, &value.option_text())
    });
    let shown: String = first.chars().take(LEVEL_CHARS_MAX).collect();
    let cut = if shown.len() < first.len() || factor.levels.len() > 1 { "…" } else { "" };
    format!("{shown}{cut}")
}

/// A share of the difference: `94 %`.
pub(super) fn part_of(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The names of the factors that have B's level in a mixture.
pub(super) fn with_names(factors: &[ExplainedFactor], mixture: Mixture) -> Vec<&str> {
    mixture.factors().filter_map(|index| Some(factors.get(index)?.name.as_str())).collect()
}
