//! The first lines of every report: one sentence for each combination of settings.

use truetps_analysis::{Analysis, Cell, Contrast, Curve, Verdict};

use crate::ReportInput;
use crate::format;
use crate::names;

/// What a verdict is in a sentence, apart from its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Faster,
    Slower,
    Equivalent,
    NotEnoughData,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Faster, Self::Slower, Self::Equivalent, Self::NotEnoughData];

    fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Faster,
            Verdict::Slower => Self::Slower,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::NotEnoughData { .. } => Self::NotEnoughData,
        }
    }
}

/// One sentence for each combination of settings against the baseline; where nothing is compared, where each curve
/// stops rising.
pub fn verdicts(input: &ReportInput<'_>) -> Vec<String> {
    let analysis = input.analysis;
    if analysis.trials_valid == 0 {
        return vec!["none: there is no valid trial yet.".to_owned()];
    }
    let lines: Vec<_> = analysis.curves.iter().filter_map(|curve| against_baseline(input, curve)).collect();
    if !lines.is_empty() {
        return lines;
    }
    let knees: Vec<_> =
        analysis.curves.iter().filter_map(|curve| crate::meaning::knee_sentence(curve, &curve.label)).collect();
    if !knees.is_empty() {
        return knees;
    }
    let figures: Vec<_> = analysis.curves.iter().flat_map(|curve| figures_of(analysis, curve)).collect();
    if figures.is_empty() { vec!["none: there is nothing to compare yet.".to_owned()] } else { figures }
}

/// Where nothing is compared and no curve bends, the figures themselves are the answer.
fn figures_of(analysis: &Analysis, curve: &Curve) -> Vec<String> {
    let figure = |cell: &&Cell| {
        let estimate = cell.tps.as_ref()?;
        let p99 = cell.response_us_p99.map_or(String::new(), |us| format!(", p99 {}", format::duration_us(us)));
        let interval = match (estimate.low, estimate.high) {
            (Some(low), Some(high)) => format!("95 % interval [{}, {}] tps", format::tps(low), format::tps(high)),
            _ => "one trial, so without an interval".to_owned(),
        };
        let (tps, place) = (format::tps(estimate.value), names::connections(cell.configuration.connections()));
        Some(format!("{}: {tps} tps with {place}{p99} ({interval}).", names::curve_name(curve)))
    };
    names::cells(analysis, curve).iter().filter_map(figure).collect()
}

fn against_baseline(input: &ReportInput<'_>, curve: &Curve) -> Option<String> {
    let analysis = input.analysis;
    let contrasts = names::contrasts(analysis, curve);
    let baseline = names::short(input.plan, analysis.baseline_label.as_ref()?);
    let parts: Vec<_> = Kind::ALL.into_iter().filter_map(|kind| part(analysis, &contrasts, kind, baseline)).collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!("{}: {}.", names::curve_name(curve), parts.join("; ")))
}

fn part(analysis: &Analysis, contrasts: &[&Contrast], kind: Kind, baseline: &str) -> Option<String> {
    let of_kind: Vec<_> = contrasts.iter().copied().filter(|one| Kind::of(one.verdict) == kind).collect();
    if of_kind.is_empty() {
        return None;
    }
    let connections: Vec<_> = of_kind.iter().map(|one| names::connections_of(analysis, one)).collect();
    let at = names::at_connections(&connections);
    Some(match kind {
        Kind::Faster => format!("faster than {baseline} at {at} ({})", ratios(&of_kind)),
        Kind::Slower => format!("slower than {baseline} at {at} ({})", ratios(&of_kind)),
        Kind::Equivalent => {
            format!("equivalent to {baseline} at {at} (within {})", format::percent(analysis.smallest_effect))
        }
        Kind::NotEnoughData => format!("not enough data at {at}"),
    })
}

fn ratios(contrasts: &[&Contrast]) -> String {
    if let [one] = contrasts {
        return format::ratio_estimate(&one.tps_ratio);
    }
    let values = || contrasts.iter().map(|one| one.tps_ratio.value);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    format!("{} to {}", format::ratio(low), format::ratio(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn check(fixture: &Fixture, expect: &[&str]) {
        assert_eq!(verdicts(&fixture.input()), expect);
    }

    #[test]
    fn one_sentence_a_setting() {
        check(
            &Fixture::durability(),
            &[
                "innodb_flush_log_at_trx_commit=2: faster than =1 at 1, 8 and 50 connections (×2.26 to ×28.8).",
                "innodb_flush_log_at_trx_commit=0: faster than =1 at 1, 8 and 50 connections (×2.28 to ×28.5).",
            ],
        );
    }

    #[test]
    fn each_kind_of_verdict_has_its_part() {
        let fixture = Fixture::durability().with(|trials| {
            for trial in trials.iter_mut() {
                let connections = trial.configuration.connections();
                let tps = &mut trial.measured.as_mut().unwrap().tps;
                match (connections, trial.block) {
                    (1, block) => *tps = 1000.0 + f64::from(block),
                    (8, block) => *tps = 1000.0 + *tps * f64::from(block % 2),
                    _ => {}
                }
            }
        });
        check(
            &fixture,
            &[
                "innodb_flush_log_at_trx_commit=2: faster than =1 at 50 connections (×2.26 [2.11, 2.43]); equivalent to =1 \
             at 1 connection (within 3.0 %); not enough data at 8 connections.",
                "innodb_flush_log_at_trx_commit=0: faster than =1 at 50 connections (×2.28 [2.12, 2.45]); equivalent to =1 \
             at 1 connection (within 3.0 %); not enough data at 8 connections.",
            ],
        );
    }

    #[test]
    fn without_a_setting_the_knee_is_the_verdict() {
        check(
            &Fixture::connections_only(),
            &["Throughput is highest at 8 connections (819.5 tps); that is the largest number tried, and it may rise \
             further."],
        );
    }

    #[test]
    fn without_trials_there_is_none() {
        let fixture = Fixture::durability().with(Vec::clear);
        check(&fixture, &["none: there is no valid trial yet."]);
        let fixture = Fixture::durability().with(|trials| trials.truncate(1));
        check(
            &fixture,
            &["innodb_flush_log_at_trx_commit=1: 205.8 tps with 1 connection, p99 14.6 ms (one trial, so without an \
               interval)."],
        );
    }
}
