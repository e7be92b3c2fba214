//! The first lines of every report: one sentence for each combination of settings.

use std::collections::BTreeMap;

use truetps_analysis::{Analysis, Axis, Contrast, Curve, Figure, Judgement, Verdict};
use truetps_record::Estimate;

use crate::generator::{self, LIMITED};
use crate::{ReportInput, durability, format, names, open_loop, parts, rows};

/// Sentences of an answer with more combinations of settings than this count them.
pub(crate) const SENTENCES_MAX: usize = 4;

/// What a verdict is in a sentence, apart from its numbers. `Ord` is the order of the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum VerdictKind {
    Faster,
    Slower,
    Equivalent,
    /// Open loop: both kept up with the same schedule, which is why their throughput is equivalent.
    KeepsUp,
    NotEnoughData,
}

impl VerdictKind {
    fn of(analysis: &Analysis, contrast: &Contrast) -> Self {
        let both_kept_up = [contrast.cell, contrast.baseline_cell]
            .iter()
            .all(|cell| open_loop::is_sustained(&analysis.cells[*cell]));
        match contrast.verdict {
            Verdict::Faster => Self::Faster,
            Verdict::Slower => Self::Slower,
            Verdict::Equivalent if both_kept_up => Self::KeepsUp,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::NotEnoughData { .. } => Self::NotEnoughData,
        }
    }
}

/// One sentence for each combination of settings against the baseline; where nothing is compared,
/// where each curve stops rising.
pub fn verdicts(input: &ReportInput<'_>) -> Vec<String> {
    sentences(input, true)
}

/// The sentences without what a crash loses, which another line says.
pub(crate) fn without_risk(input: &ReportInput<'_>) -> Vec<String> {
    sentences(input, false)
}

fn sentences(input: &ReportInput<'_>, with_risk: bool) -> Vec<String> {
    incomplete(input).into_iter().chain(figure_sentences(input, with_risk)).collect()
}

/// Before the figures of a part: they are not of the load that the plan names.
pub(crate) fn incomplete(input: &ReportInput<'_>) -> Option<String> {
    parts::incomplete(&input.run.experiment).map(|text| format!("{text}."))
}

pub(crate) fn figure_sentences(input: &ReportInput<'_>, with_risk: bool) -> Vec<String> {
    let analysis = input.analysis;
    if analysis.trials_valid == 0 {
        return vec!["none: there is no valid trial yet.".to_owned()];
    }
    if let Some(found) = &analysis.max_rate {
        return vec![open_loop::max_rate_line(found)];
    }
    let mut lines = open_loop::verdicts(input);
    lines.extend(
        analysis.curves.iter().filter_map(|curve| against_baseline(input, curve, with_risk)),
    );
    if !lines.is_empty() {
        return lines;
    }
    let knees: Vec<_> = analysis
        .curves
        .iter()
        .filter_map(|curve| crate::meaning::knee_sentence(curve, &curve.label))
        .collect();
    if !knees.is_empty() {
        return knees;
    }
    let figures: Vec<_> =
        analysis.curves.iter().flat_map(|curve| figures_of(analysis, curve)).collect();
    if figures.is_empty() {
        vec!["none: there is nothing to compare yet.".to_owned()]
    } else {
        figures
    }
}

/// The baseline's throughput, before the differences from it. Without a comparison the verdict has
/// it.
pub(crate) fn answer(input: &ReportInput<'_>) -> Option<String> {
    let analysis = input.analysis;
    if analysis.contrasts.is_empty() || analysis.axis == Axis::Rate {
        return None;
    }
    let baseline = analysis.baseline()?;
    let cell = &analysis.cells[analysis.best_cell(baseline)?];
    let tps = cell.tps.as_ref()?;
    let connections = names::connections(cell.configuration.connections());
    let best = if baseline.cells.len() > 1 { ", best at" } else { " at" };
    let mark = generator::limited_note(generator::is_limited(cell));
    let (value, certainty) = (format::tps(tps.value), names::certainty(tps));
    let rows = rows::behind_tps(analysis, cell);
    Some(format!(
        "With {} (baseline): {value} tps{rows}{best} {connections} ({certainty}{mark}).",
        baseline.label
    ))
}

/// Where nothing is compared and no curve bends, the figures themselves are the answer.
fn figures_of(analysis: &Analysis, curve: &Curve) -> Vec<String> {
    let figures = curve.cells.iter().filter_map(|index| {
        let cell = &analysis.cells[*index];
        let estimate = cell.tps.as_ref()?;
        let p99 = cell
            .get(Figure::ResponseP99)
            .map_or(String::new(), |us| format!(", p99 {}", format::duration_us(us)));
        let mark = generator::limited_note(generator::is_limited(cell));
        let tps = format::tps(estimate.value);
        let connections = names::connections(cell.configuration.connections());
        let certainty = names::certainty(estimate);
        let rows = rows::behind_tps(analysis, cell);
        Some(format!(
            "{}: {tps} tps{rows} with {connections}{p99} ({certainty}{mark}).",
            names::curve_name(curve)
        ))
    });
    figures.collect()
}

fn against_baseline(input: &ReportInput<'_>, curve: &Curve, with_risk: bool) -> Option<String> {
    let analysis = input.analysis;
    let baseline = names::short(&input.run.plan, analysis.baseline_label.as_ref()?);
    let mut by_kind: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for contrast in names::contrasts(analysis, curve) {
        by_kind.entry(VerdictKind::of(analysis, contrast)).or_default().push(contrast);
    }
    if by_kind.is_empty() {
        return None;
    }
    let parts = by_kind.iter().map(|(kind, contrasts)| part(analysis, *kind, contrasts, baseline));
    let open = by_kind.get(&VerdictKind::NotEnoughData).map_or(&[][..], Vec::as_slice);
    let rows = rows::note(analysis, &names::contrasts(analysis, curve));
    let parts: Vec<_> = parts.chain(rows).chain(cpu(analysis, open)).collect();
    let risk = durability::risk(input, curve)
        .filter(|_| with_risk)
        .map_or(String::new(), |risk| format!("; {risk}"));
    // Where another line has the risk, it has named the setting, too.
    let name = if with_risk {
        names::curve_name(curve)
    } else {
        names::short(&input.run.plan, names::curve_name(curve))
    };
    Some(format!("{name}: {}{risk}.", parts.join("; ")))
}

/// One sentence for many combinations of settings: how many comparisons have which verdict, and the
/// extreme ones.
pub(crate) fn counted(analysis: &Analysis) -> Vec<String> {
    let mut by_kind: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for contrast in &analysis.contrasts {
        by_kind.entry(VerdictKind::of(analysis, contrast)).or_default().push(contrast);
    }
    let parts: Vec<_> = by_kind
        .iter()
        .map(|(kind, contrasts)| {
            let n = format::count(contrasts.len() as u64);
            match kind {
                VerdictKind::Faster => format!("{n} faster ({})", ratios(contrasts)),
                VerdictKind::Slower => format!("{n} slower ({})", ratios(contrasts)),
                VerdictKind::Equivalent => {
                    format!("{n} equivalent (within {})", format::percent(analysis.smallest_effect))
                }
                VerdictKind::KeepsUp => format!("{n} that keep up as the baseline does"),
                VerdictKind::NotEnoughData => format!("{n} without enough data"),
            }
        })
        .collect();
    let all = format::plural(analysis.contrasts.len() as u64, "comparison");
    vec![format!("Of {all} with the baseline: {}.", format::list(&parts))]
}

/// All comparisons of a kind.
fn part(analysis: &Analysis, kind: VerdictKind, contrasts: &[&Contrast], baseline: &str) -> String {
    let at = at_levels(analysis, contrasts);
    let limited: Vec<_> = contrasts.iter().copied().filter(|one| one.generator_limited).collect();
    let mark = match limited.len() {
        0 => String::new(),
        n if n == contrasts.len() => LIMITED.to_owned(),
        _ => format!("{LIMITED} at {}", at_levels(analysis, &limited)),
    };
    let (words, detail) = match kind {
        VerdictKind::Faster => (format!("faster than {baseline} at {at}"), ratios(contrasts)),
        VerdictKind::Slower => (format!("slower than {baseline} at {at}"), ratios(contrasts)),
        VerdictKind::Equivalent => {
            let within = format!("within {}", format::percent(analysis.smallest_effect));
            (format!("equivalent to {baseline} at {at}"), within)
        }
        VerdictKind::KeepsUp => (
            format!("keeps up as {baseline} does at {at}"),
            "compare response times there".to_owned(),
        ),
        VerdictKind::NotEnoughData => (format!("not enough data at {at}"), String::new()),
    };
    let notes: Vec<_> = [detail, mark].into_iter().filter(|note| !note.is_empty()).collect();
    if notes.is_empty() { words } else { format!("{words} ({})", notes.join("; ")) }
}

/// What is known of comparisons whose throughput is open: the server's CPU time of a transaction.
fn cpu(analysis: &Analysis, open: &[&Contrast]) -> Vec<String> {
    let kinds = [(Judgement::Higher, "more"), (Judgement::Lower, "less")].into_iter();
    let parts = kinds.filter_map(|(wanted, word)| {
        let of_kind: Vec<_> =
            open.iter().copied().filter(|one| one.server_cpu_change == Some(wanted)).collect();
        let at = at_levels(analysis, &of_kind);
        let ratios = range(of_kind.iter().filter_map(|one| one.server_cpu_ratio))?;
        Some(format!("a transaction takes {word} CPU time of the server at {at} ({ratios})"))
    });
    parts.collect()
}

/// Where the cells of some comparisons stand on the axis.
fn at_levels(analysis: &Analysis, contrasts: &[&Contrast]) -> String {
    let levels: Vec<_> = contrasts.iter().map(|one| names::level_of(analysis, one.cell)).collect();
    names::at_levels(analysis.axis, &levels)
}

fn ratios(contrasts: &[&Contrast]) -> String {
    range(contrasts.iter().map(|one| one.tps_ratio)).unwrap_or_default()
}

fn range(ratios: impl Iterator<Item = Estimate>) -> Option<String> {
    format::ratio_range(&ratios.collect::<Vec<_>>())
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
                "innodb_flush_log_at_trx_commit=2: faster than =1 at 1, 8 and 50 connections \
                 (×2.26 to ×28.8).",
                "innodb_flush_log_at_trx_commit=0: faster than =1 at 1, 8 and 50 connections \
                 (×2.28 to ×28.5).",
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
                "innodb_flush_log_at_trx_commit=2: faster than =1 at 50 connections (×2.26 [2.16, \
             2.37]); equivalent to =1 at 1 connection (within 3.0 %); not enough data at 8 \
             connections.",
                "innodb_flush_log_at_trx_commit=0: faster than =1 at 50 connections (×2.28 [2.17, \
             2.39]); equivalent to =1 at 1 connection (within 3.0 %); not enough data at 8 \
             connections.",
            ],
        );
    }

    /// MySQL 5.7 against 8.0: throughput stays open while a transaction takes 1.7 times the CPU
    /// time.
    #[test]
    fn a_decided_cpu_time_is_shown_where_throughput_is_open() {
        let fixture = Fixture::durability().with(|trials| {
            for trial in trials.iter_mut() {
                let is_baseline = trial.configuration.settings_label().ends_with("=1");
                let (block, measured) = (f64::from(trial.block), trial.measured.as_mut().unwrap());
                measured.tps =
                    1000.0 + 400.0 * (block % 2.0) * if is_baseline { 1.0 } else { -1.0 };
                let us = if is_baseline { 95.0 } else { 163.0 } + block / 10.0;
                measured.resources.server_cpu_us_per_tx = Some(us);
            }
        });
        assert_eq!(
            verdicts(&fixture.input())[0],
            "innodb_flush_log_at_trx_commit=2: not enough data at 1, 8 and 50 connections; a \
             transaction takes more CPU time of the server at 1, 8 and 50 connections (×1.715 to \
             ×1.715)."
        );
    }

    #[test]
    fn without_a_setting_the_knee_is_the_verdict() {
        check(
            &Fixture::connections_only(),
            &["Throughput is highest at 8 connections (819.5 tps); these are the most \
             connections tried, and it may rise further."],
        );
    }

    #[test]
    fn rates_that_both_keep_up_with_are_no_tie() {
        let lines = verdicts(&Fixture::rates().input());
        let expect = "innodb_flush_log_at_trx_commit=2: faster than =1 at a target rate of 4 000 \
                      tps (×1.031 [1.031, 1.031]; generator-limited); keeps up as =1 does at \
                      target rates of 1 000 and 2 000 tps (compare response times there).";
        assert_eq!(lines.last().map(String::as_str), Some(expect));
    }

    #[test]
    fn no_verdict_on_a_limited_figure_goes_without_its_mark() {
        let limited = |trials: &mut Vec<truetps_record::Trial>| {
            for trial in trials {
                trial.measured.as_mut().unwrap().generator_limited =
                    Some(truetps_record::Reason::Text("slow".to_owned()));
            }
        };
        for fixture in [
            Fixture::durability(),
            Fixture::connections_only(),
            Fixture::rates(),
            Fixture::open_run(1000),
        ] {
            let fixture = fixture.with(limited);
            for line in verdicts(&fixture.input()) {
                assert!(line.contains("generator-limited"), "{line}");
            }
        }
        let single = Fixture::connections_only().with(limited).with(|trials| trials.truncate(1));
        assert!(verdicts(&single.input())[0].ends_with("without an interval; generator-limited)."));
    }

    #[test]
    fn without_trials_there_is_none() {
        let fixture = Fixture::durability().with(Vec::clear);
        check(&fixture, &["none: there is no valid trial yet."]);
        let fixture = Fixture::durability().with(|trials| trials.truncate(1));
        check(
            &fixture,
            &["innodb_flush_log_at_trx_commit=1: 205.8 tps with 1 connection, p99 14.6 ms (one \
               trial, so without an interval)."],
        );
    }
}
