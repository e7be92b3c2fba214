//! Whole investigations of made-up differences whose truth is known.
//!
//! `TRUETPS_SIMULATIONS=1000 cargo test -p truetps-causes simulated --
//! --nocapture` prints the tables of  `docs/method/explanation-error-rates.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_random::RandomStream;

use crate::{CauseQuestion, Findings, Mixture, Outcome};

/// Investigations of each pattern and noise, unless the environment says otherwise.
const REPEATS: u64 = 100;

fn repeats() -> u64 {
    std::env::var("TRUETPS_SIMULATIONS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(REPEATS)
}

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

const PATTERNS: [Pattern; 6] = [
    Pattern::One,
    Pattern::Two,
    Pattern::Either,
    Pattern::Together,
    Pattern::Cancelling,
    Pattern::None,
];

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
    /// Effects below any interest, of all factors.
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
        random.shuffle(&mut places);
        // Between x0.5 and x0.78, or the other way.
        let mut effect =
            || (0.25 + 0.45 * random.open_unit()) * if random.below(2) == 0 { -1.0 } else { 1.0 };
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
        let there: Vec<_> = self
            .causes
            .iter()
            .filter(|(factor, _)| mixture.has(*factor))
            .map(|(_, e)| *e)
            .collect();
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

impl Source<CauseQuestion> for Truth {
    fn run(&mut self, batch: &Batch<CauseQuestion>, _: &Findings) -> Option<Vec<Option<f64>>> {
        let run = |mixture: &Mixture| Some(self.value(*mixture) + self.scatter());
        Some(batch.points.iter().map(run).collect())
    }
}

/// How often an investigation was right.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    /// The causes are exactly the true ones.
    exact: usize,
    /// A factor without effect is called a cause.
    false_cause: usize,
    trials: Vec<usize>,
}

impl Tally {
    fn of(pattern: Pattern, factors: usize, noise: NoiseKind, sd: f64) -> Self {
        let mut tally = Self::default();
        for seed in 0..repeats() {
            let mut truth = Truth::new(pattern, factors, noise, sd, seed);
            let question = CauseQuestion { factors, suspects: vec![0, 1, 2], seed, smallest: 0.03 };
            let found = question.investigate(&mut truth);
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

#[expect(clippy::print_stdout, reason = "the table of the documents")]
fn table(factors: usize, check: impl Fn(NoiseKind, f64, Pattern, &Tally)) {
    let mut text = String::new();
    for noise in NOISES {
        for sd in [0.06, 0.1, 0.2] {
            let _ = write!(text, "{factors} {noise:?} {:.0} %", sd * 100.0);
            for pattern in PATTERNS {
                let tally = Tally::of(pattern, factors, noise, sd);
                let (exact, wrong) = (tally.exact_share() * 100.0, tally.false_share() * 100.0);
                let _ = write!(
                    text,
                    " | {pattern:?} {exact:.1} ({wrong:.1}) {}",
                    tally.trials_median()
                );
                check(noise, sd, pattern, &tally);
            }
            text.push('\n');
        }
    }
    println!("exact % (false causes %) median trials\n{text}");
}

/// What holds for each noise: false causes, and no cause where there is no difference. A machine
/// may be called too noisy.
fn check_always(tally: &Tally, what: &str) {
    assert!(tally.false_share() <= 0.01, "{what}: {tally:?}");
}

#[test]
fn simulated_causes_of_twelve_factors() {
    table(12, |noise, sd, pattern, tally| {
        check_always(tally, &format!("{noise:?} {sd} {pattern:?}"));
        if sd < 0.07 {
            assert!(tally.exact_share() >= 0.99, "{noise:?} {pattern:?}: {}", tally.exact_share());
            assert!(tally.trials_median() <= 61, "{pattern:?}: {}", tally.trials_median());
        }
    });
}

#[test]
fn simulated_causes_of_twenty_four_factors() {
    table(24, |noise, sd, pattern, tally| {
        check_always(tally, &format!("{noise:?} {sd} {pattern:?}"));
        if sd < 0.07 {
            assert!(tally.exact_share() >= 0.95, "{noise:?} {pattern:?}: {}", tally.exact_share());
        }
    });
}

/// All mixtures are measured, and nothing is screened.
#[test]
fn simulated_causes_of_four_factors() {
    table(4, |noise, sd, pattern, tally| {
        check_always(tally, &format!("{noise:?} {sd} {pattern:?}"));
        if sd < 0.07 {
            assert!(tally.exact_share() >= 0.99, "{noise:?} {pattern:?}: {}", tally.exact_share());
            assert!(tally.trials_median() <= 61, "{pattern:?}: {}", tally.trials_median());
        }
    });
}

#[test]
fn closures_of_few_factors_are_of_the_causes() {
    let mut truth = Truth::new(Pattern::One, 3, NoiseKind::Normal, 0.05, 1);
    let question = CauseQuestion { factors: 3, suspects: Vec::new(), seed: 1, smallest: 0.03 };
    let found = question.investigate(&mut truth);
    let rest = found.closures.sufficiency.unwrap();
    assert!(
        rest.low < rest.high && found.causes.len() == 1,
        "A with the cause is not B itself: {found:?}"
    );
    assert!(found.others.iter().all(|other| other.effect.is_some()), "{:?}", found.others);
}

/// Levels that do not work together: the server starts only where both are as in A, or both as in
/// B.
struct Stubborn {
    pair: [usize; 2],
    truth: Truth,
}

impl Source<CauseQuestion> for Stubborn {
    fn run(&mut self, batch: &Batch<CauseQuestion>, so_far: &Findings) -> Option<Vec<Option<f64>>> {
        let [one, other] = self.pair;
        let works = |mixture: &Mixture| !mixture.has(one) || mixture.has(other);
        let results = self.truth.run(batch, so_far)?;
        Some(
            batch
                .points
                .iter()
                .zip(results)
                .map(|(mixture, result)| result.filter(|_| works(mixture)))
                .collect(),
        )
    }
}

#[test]
fn levels_that_do_not_work_apart_become_one_factor() {
    for seed in 0..20 {
        let truth = Truth::new(Pattern::Two, 10, NoiseKind::Normal, 0.05, seed);
        let causes: BTreeSet<_> = truth.causes.iter().map(|(factor, _)| *factor).collect();
        let innocent = (0..10).find(|factor| !causes.contains(factor)).unwrap();
        let guilty = truth.causes[0].0;
        let mut source = Stubborn { pair: [guilty, innocent], truth };
        let question =
            CauseQuestion { factors: 10, suspects: vec![innocent], seed, smallest: 0.03 };
        let found = question.investigate(&mut source);
        let pair: Mixture = [guilty, innocent].into_iter().collect();
        assert_eq!(found.merged, [pair], "seed {seed}");
        let named: Vec<_> = found.causes.iter().map(|cause| cause.factor).collect();
        assert_eq!(named.len(), 2, "seed {seed}: {named:?}");
        assert!(named.contains(&guilty.min(innocent)), "seed {seed}: {named:?}");
        assert_eq!(found.outcome, Outcome::Explained, "seed {seed}");
    }
}

#[test]
fn a_record_leads_to_the_same_findings() {
    struct Recorder(Truth, Vec<(Mixture, Option<f64>)>);
    impl Source<CauseQuestion> for Recorder {
        fn run(
            &mut self,
            batch: &Batch<CauseQuestion>,
            so_far: &Findings,
        ) -> Option<Vec<Option<f64>>> {
            let results = self.0.run(batch, so_far)?;
            self.1.extend(batch.points.iter().copied().zip(results.iter().copied()));
            Some(results)
        }
    }
    let question = CauseQuestion { factors: 12, suspects: vec![0], seed: 5, smallest: 0.03 };
    let mut live =
        Recorder(Truth::new(Pattern::Together, 12, NoiseKind::Normal, 0.06, 5), Vec::new());
    let findings = question.investigate(&mut live);
    let replayed = question.replay(live.1.clone());
    assert!(replayed.findings == findings && !replayed.is_foreign);
    // A part of it is what was known then.
    let part = question.replay(live.1[..20].to_vec());
    let known = part.findings;
    assert_eq!((known.outcome, known.causes.len()), (Outcome::Unfinished, 0));
    assert!(known.gap.is_some() && !part.is_foreign);
    let mut edited = live.1;
    edited[3].0 = Mixture::only(7);
    assert!(question.replay(edited).is_foreign);
}
