//! What each factor does by itself, over all levels of the others.
//! `docs/method/verdicts.md` explains it.

use std::collections::HashMap;

use truetps_record::{Configuration, SettingValue, is_load_factor};

use crate::contrast::{ContrastQuestion, verdict};
use crate::effect::Effect;
use crate::evidence::{mean, tps_differences};
use crate::family::{Question, judge};
use crate::looks::DataLook;
use crate::{MainEffect, Verdict};

/// A main effect, in experiments with two or more factors beside the load: a level of a single one
/// is compared by contrasts.
///
/// A pair is a configuration and the one that differs from it in this factor alone, in one block.
/// Every trial of the factor's level is in one pair, so that pairs have no trial in common.
pub(crate) fn all(question: &ContrastQuestion<'_>) -> Vec<MainEffect> {
    let Some(first) = question.configurations.first() else { return Vec::new() };
    let levels = first
        .levels
        .keys()
        .filter(|name| !is_load_factor(name))
        .map(|name| FactorLevels::of(question, name));
    let factors: Vec<_> = levels.filter(|factor| !factor.others.is_empty()).collect();
    if factors.len() < 2 {
        return Vec::new();
    }
    let indexes =
        question.configurations.iter().enumerate().map(|(index, one)| (one.key(), index)).collect();
    let each =
        factors.iter().flat_map(|factor| factor.others.iter().map(move |level| (factor, *level)));
    let known = each.filter_map(|(factor, level)| {
        Some((factor, level, effect(question, &indexes, factor, level)?))
    });
    judged(question, &known.collect::<Vec<_>>())
}

/// The levels of one factor.
struct FactorLevels<'a> {
    name: &'a String,
    /// The level of the plan's baseline; of a factor that the baseline does not name, the first
    /// one.
    baseline: &'a SettingValue,
    others: Vec<&'a SettingValue>,
}

impl<'a> FactorLevels<'a> {
    fn of(question: &ContrastQuestion<'a>, name: &'a String) -> Self {
        let mut levels = Vec::new();
        for level in question.configurations.iter().filter_map(|one| one.levels.get(name)) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        let baseline = question.baseline.get(name).unwrap_or(levels[0]);
        levels.retain(|level| *level != baseline);
        Self { name, baseline, others: levels }
    }
}

/// `None` where no block has a pair.
fn effect(
    question: &ContrastQuestion<'_>,
    indexes: &HashMap<String, usize>,
    factor: &FactorLevels<'_>,
    level: &SettingValue,
) -> Option<Effect> {
    let mut differences = Vec::new();
    for (cell, configuration) in question.configurations.iter().enumerate() {
        if configuration.levels.get(factor.name) != Some(level) {
            continue;
        }
        let mut levels = configuration.levels.clone();
        levels.insert(factor.name.clone(), factor.baseline.clone());
        if let Some(partner) = indexes.get(&Configuration { levels }.key()) {
            let (own, other) = (&question.by_cell[cell], &question.by_cell[*partner]);
            differences.extend(tps_differences(own, other));
        }
    }
    let (logs, resolution): (Vec<_>, Vec<_>) = differences.into_iter().unzip();
    Some(Effect::paired(&logs)?.with_resolution(mean(&resolution)))
}

/// A family of their own, in which the chance of a false claim is what the last look may spend.
fn judged(
    question: &ContrastQuestion<'_>,
    effects: &[(&FactorLevels<'_>, &SettingValue, Effect)],
) -> Vec<MainEffect> {
    let Some(DataLook { alpha, alpha_next, .. }) = question.looks.last() else { return Vec::new() };
    let margin = question.smallest_effect.ln_1p();
    let questions =
        effects.iter().map(|(.., effect)| Question { effect: *effect, weight: 1.0, margin });
    let answers = judge(&questions.collect::<Vec<_>>(), *alpha, *alpha_next);
    let both = effects.iter().zip(answers);
    both.map(|((factor, level, effect), answer)| MainEffect {
        factor: factor.name.clone(),
        level: (*level).clone(),
        baseline: factor.baseline.clone(),
        tps_ratio: effect.ratio(),
        verdict: match verdict(answer.change) {
            // Pairs are no blocks.
            Verdict::NotEnoughData { .. } => Verdict::NotEnoughData { more_blocks: None },
            decided => decided,
        },
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use truetps_plan::Plan;

    use super::*;
    use crate::synthetic::{Random, run};
    use crate::{Analysis, analyse};

    fn plan(blocks: u32) -> Plan {
        Plan::parse(&format!(
            "name = 'p'\nabout = 'a'\n[workload]\nname = 'insert'\n[design]\nblocks = \
             {blocks}\naa_pair = false\n\
             [design.baseline]\ninnodb_doublewrite = true\n\
             innodb_flush_method = 'fsync'\ninnodb_log_file_size = '96M'\n\
             [factors]\ninnodb_doublewrite = [true, false]\ninnodb_flush_method = ['fsync', \
             'O_DIRECT', 'O_DSYNC']\n\
             innodb_log_file_size = ['96M', '512M']\nconnections = [8]\n"
        ))
        .unwrap()
    }

    fn level(configuration: &Configuration, name: &str) -> String {
        configuration.levels[name].to_string()
    }

    /// Throughput by the truth, times noise of `sd` on the logarithm.
    fn analysed(
        blocks: u32,
        seed: u64,
        sd: f64,
        truth: impl Fn(&Configuration) -> f64,
    ) -> Analysis {
        let plan = plan(blocks);
        let mut random = Random(seed);
        let (experiment, trials) =
            run(&plan, |_, one| 1e4 * truth(one) * (sd * random.normal()).exp());
        analyse(&plan, &experiment, &trials)
    }

    /// By hand: doublewrite OFF gives ×1.2 with fsync and ×1.5 with the other two: the geometric
    /// mean of the three.
    #[test]
    fn the_effect_of_a_factor_is_the_mean_over_the_others() {
        let truth = |one: &Configuration| match (
            level(one, "innodb_doublewrite").as_str(),
            level(one, "innodb_flush_method").as_str(),
        ) {
            ("OFF" | "false", "fsync") => 1.2,
            ("OFF" | "false", _) => 1.5,
            _ => 1.0,
        };
        let found = analysed(3, 1, 0.0, truth).main_effects;
        let names: Vec<_> =
            found.iter().map(|one| (one.factor.as_str(), one.level.to_string())).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        let first = &found[0];
        assert!(
            (first.tps_ratio.value - (1.2 * 1.5 * 1.5_f64).powf(1.0 / 3.0)).abs() < 1e-9,
            "{first:?}"
        );
        assert_eq!(
            (first.factor.as_str(), first.tps_ratio.n),
            ("innodb_doublewrite", 18),
            "6 combinations × 3 blocks"
        );
        assert_eq!((found[1].tps_ratio.n, found[3].tps_ratio.n), (12, 18));
        // The other factors do something only together with this one: (1.5/1.2)^½ on average.
        assert!((found[1].tps_ratio.value - 1.25_f64.sqrt()).abs() < 1e-9, "{:?}", found[1]);
    }

    #[test]
    fn one_factor_has_contrasts_alone() {
        let plan = crate::synthetic::plan("[1, 2]", "[8, 50]", 3);
        let (experiment, trials) = run(&plan, |_, _| 1e4);
        assert!(analyse(&plan, &experiment, &trials).main_effects.is_empty());
    }

    /// 300 experiments of three blocks, noise of 10 %, of which each pair of a contrast would have
    /// three: intervals hold the truth about 95 times out of 100, one of 20 at most claims a
    /// difference that is not there, and ×1.2 is nearly always found.
    #[test]
    fn main_effects_hold_the_truth_and_are_found() {
        const REPEATS: u64 = 300;
        let truth = |one: &Configuration| {
            if level(one, "innodb_log_file_size") == "512M" { 1.2 } else { 1.0 }
        };
        let (mut held, mut intervals, mut false_claims, mut found, mut by_contrast) =
            (0, 0, 0, 0, 0);
        for seed in 0..REPEATS {
            let analysis = analysed(3, 7 + 1_000 * seed, 0.1, truth);
            let mut is_false = false;
            for one in &analysis.main_effects {
                let is_real = one.factor == "innodb_log_file_size";
                let true_ratio = if is_real { 1.2 } else { 1.0 };
                let (low, high) = (one.tps_ratio.low.unwrap(), one.tps_ratio.high.unwrap());
                held += u32::from((low..=high).contains(&true_ratio));
                intervals += 1;
                let claims = matches!(one.verdict, Verdict::Faster | Verdict::Slower);
                is_false |= claims && !is_real;
                found += u32::from(is_real && one.verdict == Verdict::Faster);
            }
            false_claims += u32::from(is_false);
            let alone = |one: &&crate::Contrast| {
                let levels = &analysis.cells[one.cell].configuration.levels;
                let others = levels.iter().filter(|(name, level)| {
                    analysis.cells[one.baseline_cell].configuration.levels[*name] != **level
                });
                others.map(|(name, _)| name.as_str()).eq(["innodb_log_file_size"])
            };
            let contrast = analysis.contrasts.iter().find(alone).unwrap();
            by_contrast += u32::from(contrast.verdict == Verdict::Faster);
        }
        let coverage = f64::from(held) / f64::from(intervals);
        assert!((0.93..=0.97).contains(&coverage), "{coverage}");
        assert!(false_claims <= 15, "{false_claims} of {REPEATS} experiments");
        assert!(
            found > 270 && found > 2 * by_contrast,
            "{found} found, {by_contrast} by its own contrast"
        );
    }
}
