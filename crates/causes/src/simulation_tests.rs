//! Whole investigations of made-up differences whose truth is known. How often they are right is
//! tested in `truetps-synthetic`.

use std::collections::BTreeSet;

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_random::RandomStream;

use crate::{CauseQuestion, Findings, Mixture, Outcome};

/// Which factors make the difference, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    One,
    Two,
    /// Two that act together only.
    Together,
}

/// A server that does not exist.
struct Truth {
    pattern: Pattern,
    /// Up to two factors, and their effects.
    causes: Vec<(usize, f64)>,
    sd: f64,
    random: RandomStream,
}

impl Truth {
    fn new(pattern: Pattern, factors: usize, sd: f64, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, 7);
        let mut places: Vec<usize> = (0..factors).collect();
        random.shuffle(&mut places);
        // Between x0.5 and x0.78, or the other way.
        let mut effect =
            || (0.25 + 0.45 * random.open_unit()) * if random.below(2) == 0 { -1.0 } else { 1.0 };
        let (one, other) = (effect(), effect());
        // Two that add up, in the same direction.
        let same = other.abs().copysign(one);
        let effects = if pattern == Pattern::One { vec![one] } else { vec![one, same] };
        let causes = places.iter().copied().zip(effects).collect();
        Self { pattern, causes, sd, random }
    }

    fn value(&self, mixture: Mixture) -> f64 {
        let there = self.causes.iter().filter(|(factor, _)| mixture.has(*factor));
        let there: Vec<_> = there.map(|(_, effect)| *effect).collect();
        match self.pattern {
            Pattern::Together if there.len() == 2 => self.causes[0].1,
            Pattern::Together => 0.0,
            _ => there.iter().sum(),
        }
    }
}

/// Box and Muller.
fn normal(random: &mut RandomStream) -> f64 {
    (-2.0 * random.open_unit().ln()).sqrt() * (std::f64::consts::TAU * random.open_unit()).cos()
}

impl Source<CauseQuestion> for Truth {
    fn run(&mut self, batch: &Batch<CauseQuestion>, _: &Findings) -> Option<Vec<Option<f64>>> {
        let run =
            |mixture: &Mixture| Some(self.value(*mixture) + self.sd * normal(&mut self.random));
        Some(batch.points.iter().map(run).collect())
    }
}

#[test]
fn closures_of_few_factors_are_of_the_causes() {
    let mut truth = Truth::new(Pattern::One, 3, 0.05, 1);
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
    const SEEDS: u64 = 100;
    let mut explained = 0;
    for seed in 0..SEEDS {
        let truth = Truth::new(Pattern::Two, 10, 0.05, seed);
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
        explained += u64::from(found.outcome == Outcome::Explained);
    }
    // A small third cause may be suspected, and not confirmed.
    assert!(explained >= SEEDS - 1, "{explained} of {SEEDS} are explained");
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
    let mut live = Recorder(Truth::new(Pattern::Together, 12, 0.06, 5), Vec::new());
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

/// A cause of a tenth beside a large one.
#[test]
fn the_share_of_a_small_cause_is_of_fresh_trials() {
    let (large, small) = (3, 7);
    let mut truth = Truth::new(Pattern::Two, 12, 0.03, 2);
    truth.causes = vec![(large, -0.6), (small, -0.1)];
    let question = CauseQuestion { factors: 12, suspects: Vec::new(), seed: 2, smallest: 0.03 };
    let found = question.investigate(&mut truth);
    let [first, second] = &found.causes[..] else { panic!("{found:?}") };
    assert_eq!((first.factor, second.factor), (large, small));
    assert!(second.is_of_fresh_trials && !first.is_of_fresh_trials, "{found:?}");
    // Small ones are a seventh of the difference.
    let part = second.part.unwrap();
    assert!(part.low < 1.0 / 7.0 && part.high > 1.0 / 7.0 && part.high < 0.4, "{part:?}");
    let mut truth = Truth::new(Pattern::Two, 12, 0.03, 2);
    truth.causes = vec![(large, -0.6), (small, -0.1)];
    let stopped = question.investigate(&mut Limited { truth, most: found.trials - 1 });
    assert_eq!(found.outcome, Outcome::Explained);
    assert_eq!(stopped.outcome, Outcome::Unfinished, "the fresh trials are the last ones");
}

/// Ends after so many trials.
struct Limited {
    truth: Truth,
    most: usize,
}

impl Source<CauseQuestion> for Limited {
    fn run(&mut self, batch: &Batch<CauseQuestion>, so_far: &Findings) -> Option<Vec<Option<f64>>> {
        self.most = self.most.checked_sub(batch.points.len())?;
        self.truth.run(batch, so_far)
    }
}
