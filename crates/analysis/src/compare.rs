//! Two groups of trials side by side: throughput, response time, gaps, and what a transaction cost.

use serde::Serialize;
use truetps_record::{Estimate, Interval, Phase, WorkloadProfile};

use crate::detail::{CellDetail, TrialDetail, all_waits, cell_detail};
use crate::effect::{ALPHA, Effect};
use crate::evidence::{Evidence, mean};
use crate::figure::{Figure, FigureUnit};
use crate::holm::holm;
use crate::judge::{Judge, Judgement, Missing};
use crate::loaded::LoadedTrial;
use crate::order_stats::mean_on;
use crate::sample::exp;
use crate::waits::ComparedWaits;
use crate::{Noise, generator_reason};

/// Shorter gaps are not recorded: the longest gap of a trial without any is under this.
const GAP_LEAST_MS: f64 = truetps_record::BUCKET_MS;
/// Parts of a single trial, to estimate its fluctuation.
const BATCHES: usize = 20;
const BATCHES_MIN: usize = 5;

/// Valid trials of one configuration.
#[derive(Debug, Clone)]
pub struct CompareSide<'a> {
    pub trials: Vec<&'a LoadedTrial>,
}

impl<'a> CompareSide<'a> {
    fn evidence(&self) -> impl Iterator<Item = Evidence<'a>> {
        self.trials.iter().filter_map(|one| Evidence::of(one))
    }
}

/// How trials of the two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Trials of one experiment: compared block by block, which removes differences between blocks.
    Blocks,
    /// Trials of two experiments: changes of the machine between them are in the difference, but in no interval.
    None,
}

/// Of one trial, as it is compared.
fn of_trial(figure: Figure, one: &LoadedTrial) -> Option<f64> {
    let evidence = Evidence::of(one)?;
    let value = match figure {
        TPS => Some(evidence.tps()),
        Figure::MaxGap if one.detail.stalls.absent.is_some() => None,
        Figure::MaxGap => Some(one.detail.stalls.max_gap_ms.unwrap_or(0.0).max(GAP_LEAST_MS)),
        _ => figure.of_trial(one),
    };
    value.filter(|value| value.is_finite() && *value >= 0.0)
}

/// Whether the figure is only known to be under the value of [`of_trial`].
fn is_bound(figure: Figure, detail: &TrialDetail) -> bool {
    figure == Figure::MaxGap
        && detail.stalls.absent.is_none()
        && detail.stalls.max_gap_ms.is_none_or(|gap| gap < GAP_LEAST_MS)
}

/// Smaller differences are negligible, however large they are as a ratio.
fn least(figure: Figure) -> f64 {
    match figure.unit() {
        _ if !figure.is_cost() => 0.0,
        FigureUnit::Bytes => 1.0,
        FigureUnit::Us => 0.05,
        _ => 0.005,
    }
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedLine {
    pub figure: Figure,
    /// Geometric mean over the trials of a side, the mean where a figure is zero; `None` where no trial has it, or where it is
    /// known of one only that it is under a bound.
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// Upper bound of the mean, if only a bound is known.
    pub a_under: Option<f64>,
    pub b_under: Option<f64>,
    /// b over a, with its 95 % interval. `None` if a figure is missing, zero, or only a bound.
    pub ratio: Option<Estimate>,
    /// b − a in the figure's own unit, where a figure is zero and there is no ratio.
    pub difference: Option<Estimate>,
    #[serde(flatten)]
    pub change: Judgement,
    /// What the verdict on throughput lacks, where its interval excludes "no difference" and there is none.
    pub missing: Option<Missing>,
    /// Where one of the sides has a single trial, and only for throughput: b over a with an interval from how much the two
    /// trials fluctuate within themselves. It says nothing of what a repetition would show.
    pub within_trials: Option<Estimate>,
    /// The source of ratio and difference; thresholds compute other intervals from it.
    #[serde(skip)]
    pub(crate) effect: Option<Effect>,
    /// Whether that is one of logarithms: also where a throughput of nothing has no ratio that is shown.
    #[serde(skip)]
    pub(crate) is_ratio: bool,
}

impl ComparedLine {
    /// b over a, or b − a where there is no ratio, with an interval that misses the truth with the chance `alpha`.
    pub(crate) fn estimate_at(&self, alpha: f64) -> Option<Estimate> {
        let effect = self.effect?;
        Some(if self.is_ratio { effect.estimate_at(alpha, exp) } else { effect.estimate_at(alpha, |x| x) })
    }

    /// Lower bound of b over a, if a is only a bound.
    pub fn ratio_at_least(&self) -> Option<f64> {
        Some(self.b? / self.a_under?)
    }

    /// Upper bound of b over a, if b is only a bound.
    pub fn ratio_at_most(&self) -> Option<f64> {
        Some(self.b_under? / self.a?)
    }

    /// A side is only a bound.
    pub fn is_bound(&self) -> bool {
        self.a_under.is_some() || self.b_under.is_some()
    }
}

/// Two sides compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub pairing: Pairing,
    pub trials_a: usize,
    pub trials_b: usize,
    /// Pairs of blocks; `None` where trials are not paired.
    pub pairs: Option<usize>,
    /// Throughput first.
    pub lines: Vec<ComparedLine>,
    pub a: CellDetail,
    pub b: CellDetail,
    /// The longest waits of either side, a transaction.
    pub waits: ComparedWaits,
    /// The load of each side, in terms of keys and pages.
    pub profile_a: Option<WorkloadProfile>,
    pub profile_b: Option<WorkloadProfile>,
    /// Smallest relative difference that matters: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// The generator limited a trial: the servers may differ more, less or the other way.
    pub generator_limited: bool,
    /// Smallest relative difference in throughput that these trials could detect with 80 % power.
    pub smallest_detectable_effect: Option<f64>,
}

impl Comparison {
    pub fn line(&self, figure: Figure) -> Option<&ComparedLine> {
        self.lines.iter().find(|line| line.figure == figure)
    }
}

/// How two sides are compared.
#[derive(Debug, Clone, Copy)]
pub struct CompareOptions<'a> {
    pub pairing: Pairing,
    /// 0.03 is 3 %.
    pub smallest_effect: f64,
    /// Number of simultaneous comparisons, which share the chance of a false claim (Bonferroni).
    pub of: usize,
    /// What the twins of the experiment differ by, where both sides are of one that has any: it bounds claims on throughput.
    pub noise: Option<&'a Noise>,
}

/// Compares b with a.
pub fn compare(a: &CompareSide<'_>, b: &CompareSide<'_>, options: &CompareOptions<'_>) -> Comparison {
    let CompareOptions { pairing, smallest_effect, .. } = *options;
    let alpha = ALPHA / options.of.max(1) as f64;
    let compared: Vec<_> = Figure::compared().map(|figure| ComparedFigure::of(figure, a, b, pairing)).collect();
    let others: Vec<_> = compared.iter().skip(1).filter_map(|one| one.effect).collect();
    let shared = alpha / others.len().max(1) as f64;
    let others: Vec<_> = others.iter().map(|effect| effect.p_value(shared)).collect();
    let family = holm(&others, alpha);
    let mut rejected = family.rejected.into_iter();
    let lines = compared.iter().enumerate().map(|(index, one)| {
        let (passes, alpha) = match (index, one.effect) {
            (_, None) => (false, alpha),
            (0, Some(effect)) => (effect.p_value(alpha) <= alpha, alpha),
            (_, Some(_)) => (rejected.next().unwrap_or(false), family.next_alpha),
        };
        let noise = options.noise.filter(|_| one.figure == TPS);
        one.line(&Judge { passes, alpha, margin: one.margin(smallest_effect), noise })
    });
    let mut lines: Vec<_> = lines.collect();
    lines[0].within_trials = within_trials(a, b);
    let profile = |side: &CompareSide<'_>| side.trials.iter().find_map(|one| one.trial.profile);
    let throughput = compared[0].effect;
    Comparison {
        pairing,
        trials_a: a.trials.len(),
        trials_b: b.trials.len(),
        pairs: (pairing == Pairing::Blocks).then(|| throughput.map_or(0, |effect| effect.n)),
        lines,
        a: cell_detail(&a.trials),
        b: cell_detail(&b.trials),
        waits: ComparedWaits::of(all_waits(&a.trials).as_ref(), all_waits(&b.trials).as_ref()),
        profile_a: profile(a),
        profile_b: profile(b),
        smallest_effect,
        generator_limited: a.evidence().chain(b.evidence()).any(|one| generator_reason(one.measured).is_some()),
        smallest_detectable_effect: throughput.and_then(|effect| effect.detectable_share()),
    }
}

const TPS: Figure = Figure::Tps;

/// A figure of both sides, not yet judged.
struct ComparedFigure {
    figure: Figure,
    a: Option<f64>,
    b: Option<f64>,
    /// Whether a trial of the side has a bound for its figure only, which then stands for it.
    a_is_bound: bool,
    b_is_bound: bool,
    /// Of logarithms; of the figures themselves where one is zero.
    effect: Option<Effect>,
    is_ratio: bool,
}

impl ComparedFigure {
    fn of(figure: Figure, a: &CompareSide<'_>, b: &CompareSide<'_>, pairing: Pairing) -> Self {
        let figures = |side: &CompareSide<'_>| {
            let of = |one: &&LoadedTrial| Some((one.trial.block, of_trial(figure, one)?));
            side.trials.iter().filter_map(of).collect::<Vec<(u32, f64)>>()
        };
        let (a, b) = &match pairing {
            Pairing::Blocks => in_both(a, b, |side| figures(side).into_iter().map(|(block, _)| block).collect()),
            Pairing::None => (a.clone(), b.clone()),
        };
        let (of_a, of_b) = (figures(a), figures(b));
        let is_ratio = of_a.iter().chain(&of_b).all(|(_, figure)| *figure > 0.0);
        let scale = |figure: f64| if is_ratio { figure.ln() } else { figure };
        let effect = match pairing {
            Pairing::Blocks => {
                let partner = |block: u32| of_a.iter().find(|(other, _)| *other == block);
                // Neither has finished a transaction: their ratio is unknown.
                let is_void = |block: u32| figure == TPS && has_nothing(a, block) && has_nothing(b, block);
                let both = of_b.iter().filter(|(block, _)| !is_void(*block));
                let pairs = both.filter_map(|(block, b)| Some(scale(*b) - scale(partner(*block)?.1)));
                Effect::paired(&pairs.collect::<Vec<_>>())
            }
            Pairing::None => {
                let scaled = |list: &[(u32, f64)]| list.iter().map(|(_, figure)| scale(*figure)).collect::<Vec<_>>();
                Effect::groups(&scaled(&of_a), &scaled(&of_b))
            }
        };
        let effect =
            effect.map(|effect| effect.with_variance_at_least(if figure == TPS { resolution(a, b) } else { 0.0 }));
        // The mean whose ratio is the one that is shown.
        let middle = |list: &[(u32, f64)]| {
            let figures: Vec<_> = list.iter().map(|(_, figure)| *figure).collect();
            mean_on(&figures, is_ratio)
        };
        // For a logarithm, and only there, zero counts as half a transaction.
        let shown = |side: &CompareSide<'_>, list: &[(u32, f64)]| {
            let is_nothing = figure == TPS && !list.is_empty() && side.evidence().all(|evidence| evidence.is_zero());
            if is_nothing { Some(0.0) } else { middle(list) }
        };
        let is_bound = |side: &CompareSide<'_>| side.trials.iter().any(|one| is_bound(figure, &one.detail));
        Self {
            figure,
            a: shown(a, &of_a),
            b: shown(b, &of_b),
            a_is_bound: is_bound(a),
            b_is_bound: is_bound(b),
            // Two bounds have no ratio.
            effect: effect.filter(|_| !(is_bound(a) && is_bound(b))),
            is_ratio,
        }
    }

    fn larger(&self) -> f64 {
        self.a.unwrap_or(0.0).max(self.b.unwrap_or(0.0))
    }

    /// The smallest effect of interest (0.03 is 3 %) in the unit of the effect.
    fn margin(&self, smallest_effect: f64) -> f64 {
        if self.is_ratio { smallest_effect.ln_1p() } else { smallest_effect * self.larger() }
    }

    fn line(&self, judge: &Judge<'_>) -> ComparedLine {
        let larger = self.larger();
        let apart = (self.a.unwrap_or(0.0) - self.b.unwrap_or(0.0)).abs();
        let change = match self.effect {
            // Too small to be of interest, however large the ratio is.
            Some(effect) if effect.n >= 2 && larger > 0.0 && apart < least(self.figure) => Judgement::Equivalent,
            Some(effect) if effect.n >= 2 && larger == 0.0 => Judgement::Equivalent,
            Some(effect) => judge.change(&effect),
            None => Judgement::NotEnoughData { more_trials: None },
        };
        // With the bound in place of what is below it, the difference is larger in truth, never smaller.
        let is_sure = match change {
            Judgement::Higher => !self.b_is_bound,
            Judgement::Lower => !self.a_is_bound,
            _ => !self.a_is_bound && !self.b_is_bound,
        };
        let bound = |figure: Option<f64>, is_bound: bool| figure.filter(|_| is_bound).map(without_rounding);
        let is_whole = !self.a_is_bound && !self.b_is_bound;
        let effect = self.effect.filter(|_| is_whole);
        ComparedLine {
            figure: self.figure,
            a: self.a.filter(|_| !self.a_is_bound),
            b: self.b.filter(|_| !self.b_is_bound),
            a_under: bound(self.a, self.a_is_bound),
            b_under: bound(self.b, self.b_is_bound),
            ratio: effect
                .filter(|_| self.is_ratio && self.a != Some(0.0) && self.b != Some(0.0))
                .map(|effect| effect.ratio()),
            difference: effect.filter(|_| !self.is_ratio).map(|effect| effect.estimate(|x| x)),
            missing: match (change, self.effect) {
                (Judgement::NotEnoughData { .. }, Some(effect)) if self.figure == TPS => judge.missing(&effect),
                _ => None,
            },
            change: if is_sure { change } else { Judgement::NotEnoughData { more_trials: None } },
            within_trials: None,
            effect: self.effect,
            is_ratio: self.is_ratio,
        }
    }
}

/// Rounding makes the mean of equal logarithms differ from the logarithm.
fn without_rounding(figure: f64) -> f64 {
    (figure * 1e9).round() / 1e9
}

/// Trials of the blocks in which both sides have the figure, so that the means which are shown have the ratio which is shown. All,
/// where there is no such block.
fn in_both<'a>(
    a: &CompareSide<'a>,
    b: &CompareSide<'a>,
    blocks: impl Fn(&CompareSide<'a>) -> Vec<u32>,
) -> (CompareSide<'a>, CompareSide<'a>) {
    let (of_a, of_b) = (blocks(a), blocks(b));
    let is_shared = |block: &u32| of_a.contains(block) && of_b.contains(block);
    if !of_a.iter().any(is_shared) {
        return (a.clone(), b.clone());
    }
    let only = |side: &CompareSide<'a>| {
        let trials = side.trials.iter().filter(|one| is_shared(&one.trial.block));
        CompareSide { trials: trials.copied().collect() }
    };
    (only(a), only(b))
}

/// Variance that counting in whole transactions leaves to the difference of ln(tps) of a trial of each side.
fn resolution(a: &CompareSide<'_>, b: &CompareSide<'_>) -> f64 {
    let of_side = |side: &CompareSide<'_>| mean(&side.evidence().map(|one| one.resolution()).collect::<Vec<_>>());
    of_side(a) + of_side(b)
}

fn has_nothing(side: &CompareSide<'_>, block: u32) -> bool {
    side.evidence().any(|evidence| evidence.trial.block == block && evidence.is_zero())
}

/// Where a side has one trial: the ratio of the means of stretches within the two.
fn within_trials(a: &CompareSide<'_>, b: &CompareSide<'_>) -> Option<Estimate> {
    if a.trials.len() > 1 && b.trials.len() > 1 {
        return None;
    }
    let (of_a, of_b) = (batches(&a.trials.first()?.intervals)?, batches(&b.trials.first()?.intervals)?);
    let mean_a = mean(&of_a);
    (mean_a > 0.0).then_some(())?;
    Some(Effect::groups(&of_a, &of_b)?.estimate(|difference| (1.0 + difference / mean_a).max(0.0)))
}

/// Throughput of stretches of equal length: seconds follow each other's ups and downs, stretches less so.
fn batches(intervals: &[Interval]) -> Option<Vec<f64>> {
    let measured: Vec<_> = intervals.iter().filter(|one| one.phase == Phase::Measure).collect();
    let size = measured.len().div_ceil(BATCHES).max(1);
    let whole = measured.chunks_exact(size);
    let tps = whole.map(|chunk| {
        let ok: u64 = chunk.iter().map(|one| one.counts.ok).sum();
        let length_s = chunk.iter().map(|one| one.length_ms).sum::<f64>() / 1e3;
        ok as f64 / length_s
    });
    let tps: Vec<_> = tps.filter(|tps| tps.is_finite()).collect();
    (tps.len() >= BATCHES_MIN).then_some(tps)
}
