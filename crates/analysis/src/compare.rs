//! Two groups of trials side by side: throughput, response time, gaps, and what a transaction cost.
//! `docs/method/comparisons.md` explains it.

use serde::Serialize;
use truetps_record::{Estimate, Interval, Phase, WorkloadProfile};

use crate::detail::{CellDetail, all_waits, cell_detail};
use crate::effect::{ALPHA, Effect};
use crate::evidence::{Evidence, mean};
use crate::family::{JUDGED, JudgedQuestion, Question, judge};
use crate::figure::{Figure, FigureUnit};
use crate::judge::{Judgement, Missing};
use crate::loaded::{LoadedTrial, TrialDetail};
use crate::order_stats::mean_by_block_on;
use crate::sample::exp;
use crate::waits::ComparedWaits;
use crate::{Contrast, Verdict, generator_reason};

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

    fn profile(&self) -> Option<WorkloadProfile> {
        self.trials.iter().find_map(|one| one.trial.profile)
    }
}

/// How trials of the two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Trials of one experiment: compared block by block, which removes differences between blocks.
    Blocks,
    /// Trials of two experiments: changes of the machine between them are in the difference, but in
    /// no interval.
    None,
}

/// The figure of one trial, as it is compared.
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
    /// Geometric mean over the trials of a side, the mean where a figure is zero; `None` where no
    /// trial has it, or where it is known of one only that it is under a bound.
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
    /// What the verdict on throughput lacks, where its interval excludes "no difference" and there
    /// is none.
    pub missing: Option<Missing>,
    /// Where one of the sides has a single trial, and only for throughput: b over a with an
    /// interval from how much the two trials fluctuate within themselves. It says nothing of what a
    /// repetition would show.
    pub within_trials: Option<Estimate>,
    /// The source of ratio and difference; thresholds compute other intervals from it.
    #[serde(skip)]
    pub(crate) effect: Option<Effect>,
    /// Whether that is one of logarithms: also where a throughput of nothing has no ratio that is
    /// shown.
    #[serde(skip)]
    pub(crate) is_ratio: bool,
}

impl ComparedLine {
    /// b over a, or b − a where there is no ratio, with an interval that misses the truth with the
    /// chance `alpha`.
    pub(crate) fn estimate_at(&self, alpha: f64) -> Option<Estimate> {
        let effect = self.effect?;
        Some(if self.is_ratio {
            effect.estimate_at(alpha, exp)
        } else {
            effect.estimate_at(alpha, |x| x)
        })
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

/// One comparison that is asked for: b with a.
#[derive(Debug, Clone)]
pub struct CompareQuestion<'a> {
    pub a: CompareSide<'a>,
    pub b: CompareSide<'a>,
    pub pairing: Pairing,
    /// 0.03 is 3 %.
    pub smallest_effect: f64,
    /// What the experiment of both sides says, where one of them is the other's baseline: a
    /// comparison says the same.
    pub contrast: Option<KnownContrast<'a>>,
}

/// A contrast of an experiment, as one that compares its cells sees it.
#[derive(Debug, Clone, Copy)]
pub struct KnownContrast<'a> {
    pub contrast: &'a Contrast,
    /// a is the cell, and b its baseline.
    pub is_reversed: bool,
}

impl KnownContrast<'_> {
    fn effect(&self, figure: Figure) -> Option<Effect> {
        let index = JUDGED.iter().position(|(judged, _)| *judged == figure)?;
        let effect = self.contrast.effects[index]?;
        Some(if self.is_reversed { effect.reversed() } else { effect })
    }

    fn change(&self, figure: Figure) -> Option<Judgement> {
        let change = match figure {
            Figure::Tps => match self.contrast.verdict {
                Verdict::Faster => Judgement::Higher,
                Verdict::Slower => Judgement::Lower,
                Verdict::Equivalent => Judgement::Equivalent,
                Verdict::NotEnoughData { more_blocks } => {
                    Judgement::NotEnoughData { more_trials: more_blocks }
                }
            },
            Figure::ResponseP99 => self.contrast.p99_change?,
            Figure::ServerCpu => self.contrast.server_cpu_change?,
            _ => return None,
        };
        Some(match (change, self.is_reversed) {
            (Judgement::Higher, true) => Judgement::Lower,
            (Judgement::Lower, true) => Judgement::Higher,
            (change, _) => change,
        })
    }
}

/// Makes all comparisons that are asked for at once. The figures of `JUDGED` are one family, in
/// which the chance of a false claim is 5 %; all other figures are another one.
pub fn compare(questions: &[CompareQuestion<'_>]) -> Vec<Comparison> {
    let compared: Vec<Vec<_>> = questions.iter().map(compared_figures).collect();
    let mut answers: Vec<Vec<Option<JudgedQuestion>>> =
        compared.iter().map(|list| list.iter().map(|_| None).collect()).collect();
    for is_main in [true, false] {
        let (mut indexes, mut family) = (Vec::new(), Vec::new());
        for (question, of) in questions.iter().enumerate() {
            for (line, one) in compared[question].iter().enumerate() {
                if is_judged(one.figure) == is_main
                    && let Some(asked) = one.question(of)
                {
                    indexes.push((question, line));
                    family.push(asked);
                }
            }
        }
        for ((question, line), answer) in indexes.into_iter().zip(judge(&family, ALPHA, ALPHA)) {
            answers[question][line] = Some(answer);
        }
    }
    questions
        .iter()
        .zip(&compared)
        .zip(answers)
        .map(|((of, figures), answers)| comparison(of, figures, answers))
        .collect()
}

fn is_judged(figure: Figure) -> bool {
    JUDGED.iter().any(|(judged, _)| *judged == figure)
}

/// Throughput first.
fn compared_figures(question: &CompareQuestion<'_>) -> Vec<ComparedFigure> {
    let CompareQuestion { a, b, pairing, contrast, .. } = question;
    Figure::compared()
        .filter(|figure| *figure != Figure::RowsPerSecond || has_several_rows(&a.trials, &b.trials))
        .map(|figure| {
            let one = ComparedFigure::of(figure, a, b, *pairing);
            let known =
                contrast.and_then(|known| known.effect(figure)).filter(|_| one.effect.is_some());
            ComparedFigure { effect: known.or(one.effect), ..one }
        })
        .collect()
}

/// Whether transactions of either side change another number of rows than one: then tps is not all
/// that is of interest.
fn has_several_rows(a: &[&LoadedTrial], b: &[&LoadedTrial]) -> bool {
    const DEVIATION: f64 = 0.005;
    let counts = a.iter().chain(b).filter_map(|one| Some(one.trial.measured.as_ref()?.counts));
    counts
        .filter(|counts| counts.ok > 0 && counts.rows_changed > 0)
        .any(|counts| (counts.rows_changed as f64 / counts.ok as f64 - 1.0).abs() > DEVIATION)
}

fn comparison(
    of: &CompareQuestion<'_>,
    figures: &[ComparedFigure],
    answers: Vec<Option<JudgedQuestion>>,
) -> Comparison {
    let CompareQuestion { a, b, pairing, smallest_effect, contrast } = of;
    let level = answers[0].as_ref().map(|answer| answer.level);
    let mut lines: Vec<_> = figures
        .iter()
        .zip(answers)
        .map(|(one, answer)| one.line(contrast.and_then(|known| known.change(one.figure)), answer))
        .collect();
    lines[0].within_trials = within_trials(a, b);
    let throughput = figures[0].effect;
    Comparison {
        pairing: *pairing,
        trials_a: a.trials.len(),
        trials_b: b.trials.len(),
        pairs: (*pairing == Pairing::Blocks).then(|| throughput.map_or(0, |effect| effect.n)),
        lines,
        a: cell_detail(&a.trials),
        b: cell_detail(&b.trials),
        waits: ComparedWaits::of(all_waits(&a.trials).as_ref(), all_waits(&b.trials).as_ref()),
        profile_a: a.profile(),
        profile_b: b.profile(),
        smallest_effect: *smallest_effect,
        generator_limited: a
            .evidence()
            .chain(b.evidence())
            .any(|one| generator_reason(one.measured).is_some()),
        smallest_detectable_effect: throughput.and_then(|effect| match contrast {
            Some(known) => known.contrast.smallest_detectable_effect,
            None => effect.detectable_share(level?),
        }),
    }
}

const TPS: Figure = Figure::Tps;

/// One figure of one side.
struct SideFigure<'a> {
    figure: Figure,
    side: CompareSide<'a>,
    /// The block and the value of each trial that has the figure.
    values: Vec<(u32, f64)>,
}

impl<'a> SideFigure<'a> {
    fn new(figure: Figure, side: &CompareSide<'a>) -> Self {
        let values =
            side.trials.iter().filter_map(|one| Some((one.trial.block, of_trial(figure, one)?)));
        Self { figure, side: side.clone(), values: values.collect() }
    }

    fn has_block(&self, block: u32) -> bool {
        self.values.iter().any(|(other, _)| *other == block)
    }

    fn keep_blocks(&mut self, blocks: &[u32]) {
        self.side.trials.retain(|one| blocks.contains(&one.trial.block));
        self.values.retain(|(block, _)| blocks.contains(block));
    }

    /// One value for each block, in order of appearance: the mean of its trials.
    fn means_by_block(&self, is_ratio: bool) -> Vec<(u32, f64)> {
        let mut blocks: Vec<(u32, Vec<f64>)> = Vec::new();
        for (block, value) in &self.values {
            let scaled = if is_ratio { value.ln() } else { *value };
            match blocks.iter_mut().find(|(other, _)| other == block) {
                Some((_, values)) => values.push(scaled),
                None => blocks.push((*block, vec![scaled])),
            }
        }
        blocks.into_iter().map(|(block, values)| (block, mean(&values))).collect()
    }

    /// The mean whose ratio is the one that is shown. For a logarithm, and only there, zero counts
    /// as half a transaction.
    fn shown(&self, is_ratio: bool) -> Option<f64> {
        let is_nothing = self.figure == TPS
            && !self.values.is_empty()
            && self.side.evidence().all(|evidence| evidence.is_zero());
        if is_nothing { Some(0.0) } else { mean_by_block_on(&self.values, is_ratio) }
    }

    /// Whether a trial has a bound only, which then stands for its figure.
    fn is_bound(&self) -> bool {
        self.side.trials.iter().any(|one| is_bound(self.figure, &one.detail))
    }

    /// No transaction was finished in a trial of the block.
    fn has_nothing(&self, block: u32) -> bool {
        self.figure == TPS
            && self
                .side
                .evidence()
                .any(|evidence| evidence.trial.block == block && evidence.is_zero())
    }

    /// Variance that counting in whole transactions leaves to ln(tps) of a trial.
    fn resolution(&self) -> f64 {
        if self.figure != TPS {
            return 0.0;
        }
        mean(&self.side.evidence().map(|one| one.resolution()).collect::<Vec<_>>())
    }
}

/// A figure of both sides, not yet judged.
struct ComparedFigure {
    figure: Figure,
    a: Option<f64>,
    b: Option<f64>,
    /// Whether a trial of the side has a bound for its figure only, which then stands for it.
    a_is_bound: bool,
    b_is_bound: bool,
    /// In logarithms; in the figures themselves where one is zero.
    effect: Option<Effect>,
    is_ratio: bool,
}

impl ComparedFigure {
    fn of(figure: Figure, a: &CompareSide<'_>, b: &CompareSide<'_>, pairing: Pairing) -> Self {
        let (mut a, mut b) = (SideFigure::new(figure, a), SideFigure::new(figure, b));
        if pairing == Pairing::Blocks {
            keep_common_blocks(&mut a, &mut b);
        }
        let is_ratio = a.values.iter().chain(&b.values).all(|(_, value)| *value > 0.0);
        let (means_a, means_b) = (a.means_by_block(is_ratio), b.means_by_block(is_ratio));
        let effect = match pairing {
            Pairing::Blocks => {
                let pairs = means_b.iter().filter_map(|(block, of_b)| {
                    let (_, of_a) = means_a.iter().find(|(other, _)| other == block)?;
                    // Neither has finished a transaction: their ratio is unknown.
                    let is_void = a.has_nothing(*block) && b.has_nothing(*block);
                    (!is_void).then_some(of_b - of_a)
                });
                Effect::paired(&pairs.collect::<Vec<_>>())
            }
            Pairing::None => {
                let [of_a, of_b] = [means_a, means_b]
                    .map(|means| means.into_iter().map(|(_, mean)| mean).collect::<Vec<_>>());
                Effect::groups(&of_a, &of_b)
            }
        };
        // Two bounds have no ratio.
        let effect = effect.filter(|_| !(a.is_bound() && b.is_bound()));
        Self {
            figure,
            a: a.shown(is_ratio),
            b: b.shown(is_ratio),
            a_is_bound: a.is_bound(),
            b_is_bound: b.is_bound(),
            effect: effect.map(|effect| effect.with_resolution(a.resolution() + b.resolution())),
            is_ratio,
        }
    }

    /// What is asked of the figure; `None` where the experiment of both sides has answered it.
    fn question(&self, of: &CompareQuestion<'_>) -> Option<Question> {
        if of.contrast.and_then(|known| known.change(self.figure)).is_some() {
            return None;
        }
        let weight = JUDGED.iter().find(|(figure, _)| *figure == self.figure);
        Some(Question {
            effect: self.effect?,
            weight: weight.map_or(1.0, |(_, weight)| *weight),
            margin: self.margin(of.smallest_effect),
        })
    }

    fn larger(&self) -> f64 {
        self.a.unwrap_or(0.0).max(self.b.unwrap_or(0.0))
    }

    /// The smallest effect of interest (0.03 is 3 %) in the unit of the effect.
    fn margin(&self, smallest_effect: f64) -> f64 {
        if self.is_ratio { smallest_effect.ln_1p() } else { smallest_effect * self.larger() }
    }

    /// Whether the whole 95 % interval of the difference is too small to be of interest, however
    /// large it is as a ratio.
    fn is_negligible(&self) -> bool {
        let (Some(effect), Some(a)) = (self.effect, self.a) else { return false };
        let estimate = effect.estimate(|x| x);
        let Some((low, high)) = estimate.low.zip(estimate.high) else { return false };
        let [low, high] = [low, high].map(|end| if self.is_ratio { a * end.exp_m1() } else { end });
        low.abs().max(high.abs()) < least(self.figure)
    }

    /// `known` is what its experiment says.
    fn line(&self, known: Option<Judgement>, answer: Option<JudgedQuestion>) -> ComparedLine {
        let judged = answer.as_ref().map(|answer| answer.change);
        let change = match self.effect {
            Some(effect) if effect.n >= 2 && (self.larger() == 0.0 || self.is_negligible()) => {
                Judgement::Equivalent
            }
            Some(_) => known.or(judged).unwrap_or(Judgement::NotEnoughData { more_trials: None }),
            None => Judgement::NotEnoughData { more_trials: None },
        };
        // With the bound in place of what is below it, the difference is larger in truth, never
        // smaller.
        let is_sure = match change {
            Judgement::Higher => !self.b_is_bound,
            Judgement::Lower => !self.a_is_bound,
            _ => !self.a_is_bound && !self.b_is_bound,
        };
        let is_whole = !self.a_is_bound && !self.b_is_bound;
        let effect = self.effect.filter(|_| is_whole);
        ComparedLine {
            figure: self.figure,
            a: self.a.filter(|_| !self.a_is_bound),
            b: self.b.filter(|_| !self.b_is_bound),
            a_under: self.a.filter(|_| self.a_is_bound).map(without_rounding),
            b_under: self.b.filter(|_| self.b_is_bound).map(without_rounding),
            ratio: effect
                .filter(|_| self.is_ratio && self.a != Some(0.0) && self.b != Some(0.0))
                .map(|effect| effect.ratio()),
            difference: effect.filter(|_| !self.is_ratio).map(|effect| effect.estimate(|x| x)),
            missing: answer
                .filter(|_| self.figure == TPS && !change.is_decided())
                .and_then(|answer| answer.missing),
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

/// Keeps the trials of the blocks in which both sides have the figure, so that the means which are
/// shown have the ratio which is shown; all, where there is no such block.
fn keep_common_blocks(a: &mut SideFigure<'_>, b: &mut SideFigure<'_>) {
    let blocks = a.values.iter().map(|(block, _)| *block);
    let common: Vec<u32> = blocks.filter(|block| b.has_block(*block)).collect();
    if !common.is_empty() {
        a.keep_blocks(&common);
        b.keep_blocks(&common);
    }
}

/// Where a side has one trial: the ratio of the means of stretches within the two.
fn within_trials(a: &CompareSide<'_>, b: &CompareSide<'_>) -> Option<Estimate> {
    if a.trials.len() > 1 && b.trials.len() > 1 {
        return None;
    }
    let (of_a, of_b) =
        (batches(&a.trials.first()?.intervals)?, batches(&b.trials.first()?.intervals)?);
    let mean_a = mean(&of_a);
    (mean_a > 0.0).then_some(())?;
    Some(Effect::groups(&of_a, &of_b)?.estimate(|difference| (1.0 + difference / mean_a).max(0.0)))
}

/// Throughput of stretches of equal length: seconds follow each other's ups and downs, stretches
/// less so.
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
