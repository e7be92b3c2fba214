//! Servers with two configurations, and what makes their difference.

use std::collections::BTreeSet;

use truetps_adaptive::{Batch, Source};
use truetps_causes::{CauseQuestion, CauseRole, Findings, Mixture};
use truetps_random::RandomStream;

use crate::{NoiseKind, TrialNoise};

/// The second cause of [`Pattern::Small`].
const SMALL_EFFECT: f64 = 0.1;

/// Which factors make the difference, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    One,
    Two,
    /// Either of two is enough.
    Either,
    /// Two that act together only.
    Together,
    /// One, and two that cancel.
    Cancelling,
    None,
    /// One, and a second one that makes a tenth of throughput.
    Small,
}

impl Pattern {
    pub const ALL: [Self; 7] = [
        Self::One,
        Self::Two,
        Self::Either,
        Self::Together,
        Self::Cancelling,
        Self::None,
        Self::Small,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
            Self::Either => "either",
            Self::Together => "together",
            Self::Cancelling => "cancelling",
            Self::None => "none",
            Self::Small => "one and 10 %",
        }
    }
}

/// How trials scatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainNoise {
    Of(NoiseKind),
    /// Pauses that are noticed as a disturbance: the trial is measured again, as `truetps` does.
    NoticedPauses,
}

impl ExplainNoise {
    pub fn name(self) -> &'static str {
        match self {
            Self::Of(kind) => kind.name(),
            Self::NoticedPauses => "noticed pauses",
        }
    }
}

/// What is made up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplainCell {
    pub factors: usize,
    pub pattern: Pattern,
    pub noise: ExplainNoise,
    /// Standard deviation of the logarithm of throughput between trials.
    pub sd: f64,
}

/// A server that does not exist.
pub(crate) struct ExplainedServer {
    pattern: Pattern,
    /// Up to three factors, and their effects.
    causes: Vec<(usize, f64)>,
    /// Effects below any interest, of all factors.
    trifles: Vec<f64>,
    noise: TrialNoise,
    pauses: Option<NoticedPauses>,
}

/// As `truetps` measures a trial again: `docs/method/disturbances.md`.
struct NoticedPauses {
    random: RandomStream,
    trials: usize,
    paused: usize,
    repeated: usize,
}

impl NoticedPauses {
    /// What is left of the speed of the next trial.
    fn next_ln(&mut self) -> f64 {
        let first = self.attempt();
        let is_paused = first < 0.0;
        let is_unusual = self.trials >= 3 && self.paused * 4 <= self.trials;
        let is_repeated = is_paused && is_unusual && self.repeated <= self.trials / 10;
        self.trials += 1;
        self.paused += usize::from(is_paused);
        self.repeated += usize::from(is_repeated);
        if is_repeated { self.attempt() } else { first }
    }

    fn attempt(&mut self) -> f64 {
        let is_paused = self.random.below(20) == 0;
        if is_paused { (0.22 + 0.52 * self.random.open_unit()).ln() } else { 0.0 }
    }
}

impl ExplainedServer {
    pub(crate) fn new(cell: &ExplainCell, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, 7);
        let mut places: Vec<usize> = (0..cell.factors).collect();
        random.shuffle(&mut places);
        let (one, other) = (large_effect(&mut random), large_effect(&mut random));
        let same = other.abs().copysign(one);
        let small = SMALL_EFFECT.ln_1p().copysign(other);
        let effects = match cell.pattern {
            Pattern::One => vec![one],
            Pattern::Two | Pattern::Either | Pattern::Together => vec![one, same],
            Pattern::Cancelling => vec![one, same, -same],
            Pattern::None => Vec::new(),
            Pattern::Small => vec![one, small],
        };
        let causes = places.iter().copied().zip(effects).collect();
        let trifles = (0..cell.factors).map(|_| 0.004 * (random.open_unit() - 0.5)).collect();
        let kind = match cell.noise {
            ExplainNoise::Of(kind) => kind,
            ExplainNoise::NoticedPauses => NoiseKind::Normal,
        };
        let pauses = (cell.noise == ExplainNoise::NoticedPauses).then(|| NoticedPauses {
            random: random.split(),
            trials: 0,
            paused: 0,
            repeated: 0,
        });
        let noise = TrialNoise::new(kind, cell.sd, random.split());
        Self { pattern: cell.pattern, causes, trifles, noise, pauses }
    }

    fn value(&self, mixture: Mixture) -> f64 {
        let there = self.causes.iter().filter(|(factor, _)| mixture.has(*factor));
        let there: Vec<_> = there.map(|(_, effect)| *effect).collect();
        let of_causes = match self.pattern {
            Pattern::Either if !there.is_empty() => self.causes[0].1,
            Pattern::Together if there.len() == 2 => self.causes[0].1,
            Pattern::Either | Pattern::Together => 0.0,
            _ => there.iter().sum(),
        };
        of_causes + mixture.factors().map(|factor| self.trifles[factor]).sum::<f64>()
    }

    /// The effects of a factor on all mixtures of these others, with all further ones as in A.
    fn effects(&self, factor: usize, others: &[usize]) -> Vec<(usize, f64)> {
        let others = others.iter().filter(|other| **other != factor);
        let mut bases = vec![Mixture::A];
        for other in others {
            bases.extend(bases.clone().iter().map(|base| base.with(Mixture::only(*other))));
        }
        bases
            .into_iter()
            .map(|base| {
                let effect = self.value(base.with(Mixture::only(factor))) - self.value(base);
                (base.factors().count(), effect)
            })
            .collect()
    }

    pub(crate) fn real(&self) -> Vec<usize> {
        self.causes.iter().map(|(factor, _)| *factor).collect()
    }

    /// The mean effect of a factor over all mixtures.
    pub(crate) fn mean_effect(&self, factor: usize) -> f64 {
        let effects = self.effects(factor, &self.real());
        effects.iter().map(|(_, effect)| effect).sum::<f64>() / effects.len() as f64
    }

    /// The effects of a factor on all mixtures.
    pub(crate) fn all_effects(&self, factor: usize) -> Vec<f64> {
        self.effects(factor, &self.real()).into_iter().map(|(_, effect)| effect).collect()
    }

    /// Shapley's share of a factor among these.
    pub(crate) fn share(&self, factor: usize, among: &[usize]) -> f64 {
        let effects = self.effects(factor, among);
        let others = among.iter().filter(|other| **other != factor).count();
        let weighted = effects.iter().map(|(before, effect)| {
            orders(*before) * orders(others - before) / orders(others + 1) * effect
        });
        weighted.sum()
    }

    /// The role of a real cause, if these were reported.
    pub(crate) fn role(&self, factor: usize, reported: &BTreeSet<usize>) -> Option<CauseRole> {
        let is_whole = self.real().iter().all(|real| reported.contains(real));
        let whole: f64 = self.value(self.real().into_iter().collect());
        let effect = self.causes.iter().find(|(cause, _)| *cause == factor)?.1;
        Some(match self.pattern {
            Pattern::One => CauseRole::Sufficient,
            Pattern::Either if is_whole => CauseRole::EitherAlone,
            Pattern::Together if is_whole => CauseRole::OnlyTogether,
            Pattern::Small if factor == self.causes[0].0 && reported.len() == 1 => return None,
            _ if whole * effect < 0.0 => CauseRole::Opposite,
            _ => CauseRole::Part,
        })
    }
}

impl Source<CauseQuestion> for ExplainedServer {
    fn run(&mut self, batch: &Batch<CauseQuestion>, _: &Findings) -> Option<Vec<Option<f64>>> {
        let mut results = Vec::new();
        for mixture in &batch.points {
            let pause = self.pauses.as_mut().map_or(0.0, NoticedPauses::next_ln);
            results.push(Some(self.value(*mixture) + self.noise.next_ln() + pause));
        }
        Some(results)
    }
}

/// Between x0.50 and x0.78, or the other way.
fn large_effect(random: &mut RandomStream) -> f64 {
    let size = 0.25 + 0.45 * random.open_unit();
    if random.below(2) == 0 { -size } else { size }
}

/// In how many orders so many can be added.
fn orders(n: usize) -> f64 {
    (1..=n).product::<usize>() as f64
}
