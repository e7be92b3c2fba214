//! Each configuration against the baseline, and what may be claimed about it.

use std::collections::HashMap;

use indexmap::IndexMap;
use truetps_record::{Configuration, Estimate, SettingValue};

use crate::effect::Effect;
use crate::evidence::{BlockRatios, Evidence};
use crate::family::{JUDGED, JudgedQuestion, Question, judge};
use crate::figure::Figure;
use crate::judge::Judgement;
use crate::load_noise::{LoadRows, load_of, load_rows};
use crate::looks::DataLook;
use crate::{Cell, Contrast, Verdict};

pub(crate) struct ContrastQuestion<'a> {
    pub(crate) baseline: &'a IndexMap<String, SettingValue>,
    pub(crate) configurations: &'a [Configuration],
    /// Evidence for each of the configurations.
    pub(crate) by_cell: &'a [Vec<Evidence<'a>>],
    pub(crate) cells: &'a [Cell],
    pub(crate) smallest_effect: f64,
    pub(crate) looks: &'a [DataLook],
}

/// One configuration and its baseline with the effects from their pairs, one for each figure of
/// [`JUDGED`]; not yet judged.
struct PairedContrast {
    cell: usize,
    baseline_cell: usize,
    effects: [Option<Effect>; JUDGED.len()],
}

impl PairedContrast {
    fn tps(&self) -> Option<&Effect> {
        self.effects[0].as_ref()
    }
}

/// What one look says of a contrast, one answer for each figure of [`JUDGED`].
type LookAnswers = [Option<JudgedQuestion>; JUDGED.len()];

/// What earlier looks have claimed of a cell's figure of [`JUDGED`], and after how many blocks.
type Settled = HashMap<(usize, usize), SettledClaim>;
type SettledClaim = (Judgement, u32);

/// All contrasts that have at least one pair, in the plan's order of configurations.
///
/// Each look judges what the looks before it have left open, with its own part of the 5 %: a false
/// claim is then the first one at one of the looks, and their chances add up to 5 % at most. A
/// claim of an earlier look is withdrawn if the present interval includes "no difference", or, of
/// equivalence, if the present estimate is outside of the margin.
pub(crate) fn all(question: &ContrastQuestion<'_>) -> Vec<Contrast> {
    let Some((last, earlier)) = question.looks.split_last() else { return Vec::new() };
    let mut settled = Settled::new();
    for look in earlier {
        let contrasts = paired(question, look.blocks);
        for (contrast, figure, answer) in judged(question, &contrasts, look, &settled) {
            if answer.change.is_decided() {
                settled.insert((contrast.cell, figure), (answer.change, look.blocks));
            }
        }
    }
    let contrasts = paired(question, last.blocks);
    let mut answers: Vec<LookAnswers> = contrasts.iter().map(|_| Default::default()).collect();
    let indexes: HashMap<_, _> =
        contrasts.iter().enumerate().map(|(index, one)| (one.cell, index)).collect();
    for (contrast, figure, answer) in judged(question, &contrasts, last, &settled) {
        answers[indexes[&contrast.cell]][figure] = Some(answer);
    }
    let result = contrasts.iter().zip(answers).filter_map(|(one, answers)| {
        AnsweredContrast { question, one, answers, settled: &settled }.result()
    });
    result.collect()
}

/// A contrast with the answers of the last look and the claims of earlier ones.
struct AnsweredContrast<'a> {
    question: &'a ContrastQuestion<'a>,
    one: &'a PairedContrast,
    answers: LookAnswers,
    settled: &'a Settled,
}

impl AnsweredContrast<'_> {
    fn result(&self) -> Option<Contrast> {
        let Self { question, one, answers, .. } = self;
        let tps = one.tps()?;
        let (p99, server_cpu) =
            (self.ratio_and_change(Figure::ResponseP99), self.ratio_and_change(Figure::ServerCpu));
        Some(Contrast {
            cell: one.cell,
            baseline_cell: one.baseline_cell,
            tps_ratio: tps.ratio(),
            p99_ratio: p99.map(|(ratio, _)| ratio),
            p99_change: p99.map(|(_, change)| change),
            server_cpu_ratio: server_cpu.map(|(ratio, _)| ratio),
            server_cpu_change: server_cpu.map(|(_, change)| change),
            smallest_detectable_effect: answers[0]
                .as_ref()
                .and_then(|answer| tps.detectable_share(answer.level)),
            generator_limited: [one.cell, one.baseline_cell]
                .iter()
                .any(|cell| question.cells[*cell].generator_limited.is_some()),
            verdict: verdict(self.change(0)),
            decided_after_blocks: self.earlier(0).map(|claim| claim.1),
            effects: one.effects,
        })
    }

    /// What an earlier look has claimed of a figure, where it still holds.
    fn earlier(&self, figure: usize) -> Option<SettledClaim> {
        let claim = *self.settled.get(&(self.one.cell, figure))?;
        let effect = self.one.effects[figure]?;
        still_holds(claim.0, &effect, self.question.smallest_effect.ln_1p()).then_some(claim)
    }

    fn change(&self, figure: usize) -> Judgement {
        self.earlier(figure)
            .map(|claim| claim.0)
            .or_else(|| Some(self.answers[figure].as_ref()?.change))
            .unwrap_or(Judgement::NotEnoughData { more_trials: None })
    }

    fn ratio_and_change(&self, wanted: Figure) -> Option<(Estimate, Judgement)> {
        let index = JUDGED.iter().position(|(figure, _)| *figure == wanted)?;
        Some((self.one.effects[index]?.ratio(), self.change(index)))
    }
}

/// Whether the present data still say what an earlier look has claimed.
fn still_holds(claim: Judgement, effect: &Effect, margin: f64) -> bool {
    let excludes = effect.half_width().is_some_and(|half| effect.mean.abs() > half);
    match claim {
        Judgement::Higher => excludes && effect.mean > 0.0,
        Judgement::Lower => excludes && effect.mean < 0.0,
        Judgement::Equivalent => effect.mean.abs() < margin,
        Judgement::NotEnoughData { .. } => false,
    }
}

/// Judges the figures that are not settled yet, all in one family.
fn judged<'c>(
    question: &ContrastQuestion<'_>,
    contrasts: &'c [PairedContrast],
    look: &DataLook,
    settled: &Settled,
) -> Vec<(&'c PairedContrast, usize, JudgedQuestion)> {
    let each = contrasts.iter().flat_map(|one| (0..JUDGED.len()).map(move |figure| (one, figure)));
    let open: Vec<_> = each
        .filter(|(one, figure)| !settled.contains_key(&(one.cell, *figure)))
        .filter_map(|(one, figure)| Some((one, figure, one.effects[figure]?)))
        .collect();
    let margin = question.smallest_effect.ln_1p();
    let questions: Vec<_> = open
        .iter()
        .map(|(_, figure, effect)| Question { effect: *effect, weight: JUDGED[*figure].1, margin })
        .collect();
    let answers = judge(&questions, look.alpha, look.alpha_next);
    open.iter().zip(answers).map(|((one, figure, _), answer)| (*one, *figure, answer)).collect()
}

/// The pairs of all blocks before `blocks`.
fn paired(question: &ContrastQuestion<'_>, blocks: u32) -> Vec<PairedContrast> {
    let cells = question.by_cell.iter();
    let until = cells
        .map(|evidence| evidence.iter().filter(|one| one.trial.block < blocks).copied().collect());
    let by_cell: Vec<Vec<Evidence<'_>>> = until.collect();
    let rows = JUDGED.map(|(figure, _)| load_rows(figure, question.configurations, &by_cell));
    let indexes: HashMap<_, _> =
        question.configurations.iter().enumerate().map(|(at, one)| (one.key(), at)).collect();
    (0..question.configurations.len())
        .filter_map(|cell| {
            compare(question, &by_cell, &rows, cell, baseline_of(question, &indexes, cell)?)
        })
        .collect()
}

/// `None` where the cell is its own baseline. `indexes`: the configurations by their keys.
fn baseline_of(
    question: &ContrastQuestion<'_>,
    indexes: &HashMap<String, usize>,
    cell: usize,
) -> Option<usize> {
    let mut levels = question.configurations[cell].levels.clone();
    levels.extend(question.baseline.clone());
    let baseline_cell = indexes.get(&Configuration { levels }.key())?;
    (*baseline_cell != cell).then_some(*baseline_cell)
}

/// `None` where no block has both.
fn compare(
    question: &ContrastQuestion<'_>,
    by_cell: &[Vec<Evidence<'_>>],
    rows: &[LoadRows; JUDGED.len()],
    cell: usize,
    baseline_cell: usize,
) -> Option<PairedContrast> {
    let [load, baseline_load] =
        [cell, baseline_cell].map(|cell| load_of(&question.configurations[cell]).to_string());
    let mut effects = [None; JUDGED.len()];
    for ((effect, (figure, _)), rows) in effects.iter_mut().zip(JUDGED).zip(rows) {
        let ratios = BlockRatios::of(figure, &by_cell[cell], &by_cell[baseline_cell]);
        let pooled = rows.get(&load).and_then(Option::as_ref).filter(|_| load == baseline_load);
        *effect = ratios.map(|ratios| ratios.effect(pooled));
    }
    effects[0].is_some().then_some(PairedContrast { cell, baseline_cell, effects })
}

/// A change of throughput, in the words of an experiment: its trials of each are its blocks.
pub(crate) fn verdict(change: Judgement) -> Verdict {
    match change {
        Judgement::Higher => Verdict::Faster,
        Judgement::Lower => Verdict::Slower,
        Judgement::Equivalent => Verdict::Equivalent,
        Judgement::NotEnoughData { more_trials } => {
            Verdict::NotEnoughData { more_blocks: more_trials }
        }
    }
}
