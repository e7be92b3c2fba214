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

/// The throughput of A and of B, and the numbers of their trials. The two are as far apart as the
/// difference, which is free of what whole blocks have in common.
pub(super) fn corners(run: &ExplainedRun) -> Option<[(f64, usize); 2]> {
    let ends = [Mixture::A, Mixture::b(run.explanation.factors.len())];
    let [Some((of_a, trials_of_a)), Some((of_b, trials_of_b))] = ends.map(|end| mean_log(run, end))
    else {
        return None;
    };
    let middle = f64::midpoint(of_a, of_b);
    let half = run.findings.gap.map_or(of_b - of_a, |gap| gap.value) / 2.0;
    Some([((middle - half).exp(), trials_of_a), ((middle + half).exp(), trials_of_b)])
}

/// The mean logarithm of the trials of a mixture, and their number.
fn mean_log(run: &ExplainedRun, wanted: Mixture) -> Option<(f64, usize)> {
    let logs: Vec<_> = run
        .trials
        .iter()
        .filter(|(mixture, _)| *mixture == wanted)
        .filter_map(|(_, loaded)| loaded.trial.log_tps())
        .collect();
    Some((format::mean(&logs)?, logs.len()))
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

/// A part of the difference: `94 % [81, 107]`.
pub(super) fn part_text(part: &LogInterval) -> String {
    let [value, low, high] = [part.value, part.low, part.high].map(|share| {
        // Not `-0`.
        (share * 100.0).round() + 0.0
    });
    format!("{value:.0} % [{low:.0}, {high:.0}]")
}

/// Both ends of an effect, as percent of throughput: `-14 % and +9.0 %`.
pub(super) fn ends_text(bound: &LogInterval) -> String {
    let [low, high] = [bound.low, bound.high].map(|end| format::difference(end.exp()));
    format!("{low} and {high}")
}

/// The names of the factors that have B's level in a mixture.
pub(super) fn with_names(factors: &[ExplainedFactor], mixture: Mixture) -> Vec<&str> {
    mixture.factors().filter_map(|index| Some(factors.get(index)?.name.as_str())).collect()
}
