//! Whole investigations of made-up differences whose truth is known.
//!
//! `cargo test -p truetps-causes simulated -- --nocapture` prints the tables of `docs/method.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use truetps_random::RandomStream;

use crate::{Batch, Findings, Mixture, Outcome, Question, TrialSource, investigate};

const REPEATS: u64 = 200;

/// Which factors make the difference, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    One,
    Two,
    /// Either of two is enough.
    Either,
    /// Two that act together only.
    Together,
    /// One, and two that cancel.
    Cancelling,
    None,
}

const PATTERNS: [Pattern; 6] =
    [Pattern::One, Pattern::Two, Pattern::Either, Pattern::Together, Pattern::Cancelling, Pattern::None];

#[derive(Debug, Clone, Copy, PartialEq)]
enum NoiseKind {
    Normal,
    /// Half of it is common to neighbours in time, and the machine becomes slower.
    Drift,
    /// Student's t with three degrees of freedom.
    HeavyTails,
}

const NOISES: [NoiseKind; 3] = [NoiseKind::Normal, NoiseKind::Drift, NoiseKind::HeavyTails];

/// A server that does not exist.
struct Truth {
    pattern: Pattern,
    /// Up to three factors, and their effects.
    causes: Vec<(usize, f64)>,
    /// Effects that nobody cares about, of all factors.
    trifles: Vec<f64>,
    noise: NoiseKind,
    sd: f64,
    random: RandomStream,
    common: f64,
    trials: u32,
}

impl Truth {
    fn new(pattern: Pattern, factors: usize, noise: NoiseKind, sd: f64, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, 7);
        let mut places: Vec<usize> = (0..factors).collect();
        crate::investigation::shuffle(&mut places, &mut random);
        // Between x0.5 and x0.78, or the other way.
        let mut effect = || (0.25 + 0.45 * random.open_unit()) * if random.below(2) == 0 { -1.0 } else { 1.0 };
        let (one, other) = (effect(), effect());
        // Two that add up, in the same direction.
        let same = other.abs().copysign(one);
        let effects = match pattern {
            Pattern::One => vec![one],
            Pattern::Two | Pattern::Either | Pattern::Together => vec![one, same],
            Pattern::Cancelling => vec![one, same, -same],
            Pattern::None => Vec::new(),
        };
        let causes = places.iter().copied().zip(effects).collect();
        let trifles = (0..factors).map(|_| 0.002 * normal(&mut random)).collect();
        Self { pattern, causes, trifles, noise, sd, random, common: 0.0, trials: 0 }
    }

    fn value(&self, mixture: Mixture) -> f64 {
        let there: Vec<_> = self.causes.iter().filter(|(factor, _)| mixture.has(*factor)).map(|(_, e)| *e).collect();
        let of_causes = match self.pattern {
            Pattern::Either if !there.is_empty() => self.causes[0].1,
            Pattern::Together if there.len() == 2 => self.causes[0].1,
            Pattern::Either | Pattern::Together => 0.0,
            _ => there.iter().sum(),
        };
        of_causes + mixture.factors().map(|factor| self.trifles[factor]).sum::<f64>()
    }

    fn scatter(&mut self) -> f64 {
        let own = normal(&mut self.random);
        self.trials += 1;
        self.sd
            * match self.noise {
                NoiseKind::Normal => own,
                NoiseKind::Drift => {
                    self.common = 0.8 * self.common + 0.6 * normal(&mut self.random);
                    (own + self.common) * 0.5_f64.sqrt() - f64::from(self.trials) * 0.01
                }
                NoiseKind::HeavyTails => {
                    let squares: f64 = (0..3).map(|_| normal(&mut self.random).powi(2)).sum();
                    own / (squares / 3.0).sqrt() / 3.0_f64.sqrt()
                }
            }
    }
}

/// Box and Muller.
fn normal(random: &mut RandomStream) -> f64 {
    (-2.0 * random.open_unit().ln()).sqrt() * (std::f64::consts::TAU * random.open_unit()).cos()
}

impl TrialSource for Truth {
    fn run(&mut self, batch: &Batch, _: &Findings) -> Option<Vec<Option<f64>>> {
        let run = |mixture: &Mixture| Some(self.value(*mixture) + self.scatter());
        Some(batch.mixtures.iter().map(run).collect())
    }
}

/// How often an investigation was right.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    /// The causes are exactly those of the truth.
    exact: usize,
    /// A factor without effect is called a cause.
    false_cause: usize,
    trials: Vec<usize>,
}

impl Tally {
    fn of(pattern: Pattern, factors: usize, noise: NoiseKind, sd: f64) -> Self {
        let mut tally = Self::default();
        for seed in 0..REPEATS {
            let mut truth = Truth::new(pattern, factors, noise, sd, seed);
            let question = Question { factors, suspects: vec![0, 1, 2], seed, smallest: 0.03 };
            let found = investigate(&question, &mut truth);
            let causes: BTreeSet<_> = found.causes.iter().map(|cause| cause.factor).collect();
            let real: BTreeSet<_> = truth.causes.iter().map(|(factor, _)| *factor).collect();
            let is_exact = match pattern {
                Pattern::None => found.outcome == Outcome::NotReproduced,
                _ => causes == real,
            };
            tally.runs += 1;
            tally.exact += usize::from(is_exact);
            tally.false_cause += usize::from(!causes.is_subset(&real));
            tally.trials.push(found.trials);
        }
        tally.trials.sort_unstable();
        tally
    }

    fn exact_share(&self) -> f64 {
        self.exact as f64 / self.runs as f64
    }

    fn false_share(&self) -> f64 {
        self.false_cause as f64 / self.runs as f64
    }

    fn trials_median(&self) -> usize {
        self.trials[self.trials.len() / 2]
    }
}

fn table(factors: usize, check: impl Fn(NoiseKind, f64, Pattern, &Tally)) {
    let mut text = String::new();
    for noise in NOISES {
        for sd in [0.06, 0.1, 0.2] {
            let _ = write!(text, "{factors} {noise:?} {:.0} %", sd * 100.0);
            for pattern in PATTERNS {
                let tally = Tally::of(pattern, factors, noise, sd);
                let (exact, wrong) = (tally.exact_share() * 100.0, tally.false_share() * 100.0);
                let _ = write!(text, " | {pattern:?} {exact:.1} ({wrong:.1}) {}", tally.trials_median());
                check(noise, sd, pattern, &tally);
            }
            text.push('\n');
        }
    }
    println!("exact % (false causes %) median trials\n{text}");
}

#[test]
fn simulated_causes_of_twelve_factors() {
    table(12, |_, _, _, _| {});
}

#[test]
fn simulated_causes_of_twenty_four_factors() {
    table(24, |_, _, _, _| {});
}
