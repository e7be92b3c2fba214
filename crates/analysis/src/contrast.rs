//! Each configuration against the baseline, and what may be claimed about it.

use indexmap::IndexMap;
use truetps_record::{Configuration, SettingValue};

use crate::effect::Effect;
use crate::evidence::{Evidence, p99_ratio_sample, tps_ratio_sample};
use crate::holm::holm;
use crate::judge::{Judge, Judgement};
use crate::sample::LogSample;
use crate::{Cell, Contrast, Noise, Verdict};

/// The chance of even one false "faster" or "slower" in a whole experiment in which nothing differs.
const FAMILY_ALPHA: f64 = 0.05;

pub(crate) struct ContrastQuestion<'a> {
    pub(crate) baseline: &'a IndexMap<String, SettingValue>,
    pub(crate) configurations: &'a [Configuration],
    /// Evidence for each of the configurations.
    pub(crate) by_cell: &'a [Vec<Evidence<'a>>],
    pub(crate) cells: &'a [Cell],
    pub(crate) smallest_effect: f64,
    pub(crate) noise: Option<&'a Noise>,
}

/// One configuration and its baseline with the effect from their pairs, not yet judged.
struct PairedContrast {
    cell: usize,
    baseline_cell: usize,
    tps: Effect,
    p99: Option<LogSample>,
}

/// All contrasts that have at least one pair, in the plan's order of configurations.
pub(crate) fn all(question: &ContrastQuestion<'_>) -> Vec<Contrast> {
    let compared: Vec<_> = (0..question.configurations.len()).filter_map(|cell| compare(question, cell)).collect();
    let p_values: Vec<_> = compared.iter().map(|one| one.tps.p_value(FAMILY_ALPHA)).collect();
    let family = holm(&p_values, FAMILY_ALPHA);
    let is_limited = |cell: usize| question.cells[cell].generator_limited.is_some();
    let judged = compared.iter().zip(&family.rejected).map(|(one, rejected)| {
        let judge = Judge {
            passes: *rejected,
            alpha: family.next_alpha,
            margin: question.smallest_effect.ln_1p(),
            noise: question.noise,
        };
        Contrast {
            cell: one.cell,
            baseline_cell: one.baseline_cell,
            tps_ratio: one.tps.ratio(),
            p99_ratio: one.p99.map(|sample| sample.estimate()),
            smallest_detectable_effect: one.tps.detectable_share(),
            generator_limited: is_limited(one.cell) || is_limited(one.baseline_cell),
            verdict: verdict(judge.change(&one.tps)),
        }
    });
    judged.collect()
}

/// `None` where the cell is its own baseline, and where no block has both.
fn compare(question: &ContrastQuestion<'_>, cell: usize) -> Option<PairedContrast> {
    let mut levels = question.configurations[cell].levels.clone();
    levels.extend(question.baseline.clone());
    let wanted = Configuration { levels };
    let baseline_cell = question.configurations.iter().position(|configuration| *configuration == wanted)?;
    if baseline_cell == cell {
        return None;
    }
    let (above, below) = (&question.by_cell[cell], &question.by_cell[baseline_cell]);
    let tps = Effect::of_pairs(tps_ratio_sample(above, below)?);
    Some(PairedContrast { cell, baseline_cell, tps, p99: p99_ratio_sample(above, below) })
}

/// A change of throughput, in the words of an experiment: its trials of each are its blocks.
fn verdict(change: Judgement) -> Verdict {
    match change {
        Judgement::Higher => Verdict::Faster,
        Judgement::Lower => Verdict::Slower,
        Judgement::Equivalent => Verdict::Equivalent,
        Judgement::NotEnoughData { more_trials } => Verdict::NotEnoughData { more_blocks: more_trials },
    }
}
