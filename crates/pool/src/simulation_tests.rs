//! The advice on servers whose curve is known, with noise as it was measured on shared machines.

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_random::RandomStream;

use crate::{
    PoolAgainst, PoolFindings, PoolOutcome, PoolQuestion, PoolResult, PoolStage, SHARE_OF_BEST,
};

/// Throughput by connections.
type Curve = fn(f64) -> f64;

/// Each commit waits for two flushes, and all that wait share one; CPU is the limit above.
fn flushes(latency_s: f64, cpu_tps: f64, connections: f64) -> f64 {
    let slow = connections / (2.04 * latency_s + 0.000_15);
    // A soft minimum: near the limit both count.
    (slow.powi(-4) + cpu_tps.powi(-4)).powf(-0.25) / (1.0 + connections / 4_000.0)
}

const CURVES: [(&str, Curve); 6] = [
    ("flush of 0.1 ms", |n| flushes(0.000_1, 11_000.0, n)),
    ("flush of 2 ms", |n| flushes(0.002, 11_000.0, n)),
    ("flush of 10 ms", |n| flushes(0.010, 11_000.0, n)),
    ("flush of 60 ms", |n| flushes(0.060, 11_000.0, n)),
    ("one hot row", |n| 3_000.0 / (1.0 + n / 90.0)),
    ("a peak at 12", |n| 900.0 * n / (1.0 + 0.02 * (n - 1.0) + 0.006 * n * (n - 1.0))),
];

struct Simulated {
    curve: Curve,
    noise: f64,
    random: RandomStream,
    trials: Vec<(u32, Option<PoolResult>)>,
}

impl Simulated {
    fn new(curve: Curve, noise: f64, seed: u64) -> Self {
        Self { curve, noise, random: RandomStream::new(seed, 7), trials: Vec::new() }
    }

    /// The sum of twelve uniform values has a variance of 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.open_unit()).sum::<f64>() - 6.0
    }
}

impl Source<PoolQuestion> for Simulated {
    fn run(
        &mut self,
        batch: &Batch<PoolQuestion>,
        _: &PoolFindings,
    ) -> Option<Vec<Option<PoolResult>>> {
        // Half of the noise is the machine's, and common to a block.
        let of_block = self.normal() * self.noise;
        let results: Vec<_> = batch
            .points
            .iter()
            .map(|number| {
                let tps = (self.curve)(f64::from(*number))
                    * (of_block + self.normal() * self.noise).exp();
                let mean_us = f64::from(*number) / tps * 1e6;
                Some(PoolResult {
                    tps,
                    response_us_p99: Some(2.0 * mean_us),
                    response_us_mean: Some(mean_us),
                })
            })
            .collect();
        self.trials.extend(batch.points.iter().copied().zip(results.iter().copied()));
        Some(results)
    }
}

fn question(seed: u64, blocks: u32, check_blocks: u32) -> PoolQuestion {
    let current = Some(10);
    PoolQuestion {
        seed,
        most: 512,
        p99_limit_us: None,
        current,
        rules: vec![5],
        blocks,
        check_blocks,
    }
}

/// The best throughput, and the smallest number that has 95 % of it.
fn truth(curve: Curve, most: u32) -> (f64, u32) {
    let tps = |number: u32| curve(f64::from(number));
    let best = (1..=most).map(tps).fold(0.0, f64::max);
    (best, (1..=most).find(|number| tps(*number) >= SHARE_OF_BEST * best).unwrap())
}

/// Per curve and design: the part of advices that have 93 % of the best throughput and are at most
/// 1.5 times the smallest number, and the median number of trials.
#[test]
#[expect(clippy::print_stdout, reason = "the table of docs/method/pool-size.md, with --nocapture")]
fn the_advice_is_right_and_no_larger_than_it_has_to_be() {
    const SEEDS: u64 = 60;
    println!("{:<16} {:>7} {:>6} {:>6} {:>7}", "curve", "design", "noise", "right", "trials");
    for (blocks, check_blocks, noise, least) in
        [(5, 8, 0.03, 0.9), (5, 8, 0.06, 0.75), (3, 5, 0.06, 0.7)]
    {
        for (name, curve) in CURVES {
            let (best, smallest) = truth(curve, 512);
            let (mut right, mut trials) = (0, Vec::new());
            for seed in 0..SEEDS {
                let mut server = Simulated::new(curve, noise, seed);
                let findings = question(seed, blocks, check_blocks).investigate(&mut server);
                let advice = findings.advice.unwrap();
                let share = curve(f64::from(advice)) / best;
                // "A peak" and "hot row" have their best at small numbers, where one connection
                // more is a large step.
                let is_small =
                    f64::from(advice) <= (1.5 * f64::from(smallest)).max(f64::from(smallest) + 1.0);
                right += u64::from(
                    share >= 0.93 && is_small && findings.outcome == PoolOutcome::Advised,
                );
                trials.push(server.trials.len());
            }
            trials.sort_unstable();
            let (part, median) = (right as f64 / SEEDS as f64, trials[trials.len() / 2]);
            println!("{name:<16} {blocks:>4}+{check_blocks:<2} {noise:>6} {part:>6} {median:>7}");
            assert!(part >= least, "{name}: {part} of the advices are right");
        }
    }
}

/// The interval of the check holds the truth in 95 % of cases, whatever the search has chosen
/// before.
#[test]
#[expect(clippy::print_stdout, reason = "the figure of docs/method/pool-size.md, with --nocapture")]
fn the_check_is_not_biased_by_the_search() {
    const SEEDS: u64 = 400;
    let curve = CURVES[2].1;
    let mut inside = 0;
    for seed in 0..SEEDS {
        let findings = question(seed, 5, 8).investigate(&mut Simulated::new(curve, 0.06, seed));
        let current = findings.against(PoolAgainst::Current).unwrap();
        let truth = curve(f64::from(findings.advice.unwrap())) / curve(10.0);
        inside +=
            u64::from((current.ratio_low.unwrap()..=current.ratio_high.unwrap()).contains(&truth));
    }
    let part = inside as f64 / SEEDS as f64;
    println!("intervals with the truth: {part}");
    assert!((0.92..=0.98).contains(&part), "{part} of the intervals hold the truth");
}

/// No number is larger than the advice: the check shows what fewer would cost.
#[test]
fn an_advice_at_the_limit_is_checked_against_a_smaller_number() {
    let few = PoolQuestion { most: 4, rules: Vec::new(), current: None, ..question(1, 3, 8) };
    let findings = few.investigate(&mut Simulated::new(CURVES[2].1, 0.03, 1));
    assert_eq!((findings.advice, findings.is_growing), (Some(4), true));
    let [smaller] = &findings.comparisons[..] else { panic!("{findings:?}") };
    assert_eq!(smaller.against, PoolAgainst::Smaller);
    assert!(smaller.connections < 4 && smaller.ratio_low.unwrap() > 1.0, "{smaller:?}");
}

#[test]
fn a_limit_that_nothing_keeps_gives_no_advice() {
    let strict = PoolQuestion { p99_limit_us: Some(10.0), ..question(1, 3, 3) };
    let findings = strict.investigate(&mut Simulated::new(CURVES[2].1, 0.03, 1));
    assert_eq!((findings.outcome, findings.advice), (PoolOutcome::NothingMeetsLimit, None));
    assert!(findings.curve.len() > 3 && findings.comparisons.is_empty());
}

/// The limit is kept until the check, and then by no number: two numbers, both of which are
/// checked.
#[test]
fn a_limit_that_the_check_breaks_gives_no_advice() {
    struct Worse(Simulated);
    impl Source<PoolQuestion> for Worse {
        fn run(
            &mut self,
            batch: &Batch<PoolQuestion>,
            so_far: &PoolFindings,
        ) -> Option<Vec<Option<PoolResult>>> {
            let p99_us = if batch.stage == PoolStage::Check { 1e9 } else { 1.0 };
            let with = |result: PoolResult| PoolResult { response_us_p99: Some(p99_us), ..result };
            Some(self.0.run(batch, so_far)?.into_iter().map(|result| result.map(with)).collect())
        }
    }
    let limited = PoolQuestion {
        most: 2,
        p99_limit_us: Some(100.0),
        current: Some(1),
        rules: Vec::new(),
        ..question(1, 1, 9)
    };
    let findings = limited.investigate(&mut Worse(Simulated::new(CURVES[2].1, 0.03, 1)));
    assert_eq!((findings.outcome, findings.advice), (PoolOutcome::NothingMeetsLimit, None));
    assert!(findings.comparisons.is_empty(), "{findings:?}");
}

/// A p99 of twice the mean, 45 ms, is at about 150 connections.
#[test]
fn a_limit_makes_the_advice_smaller() {
    let limited = PoolQuestion { p99_limit_us: Some(45_000.0), ..question(2, 5, 5) };
    let findings = limited.investigate(&mut Simulated::new(CURVES[2].1, 0.03, 2));
    let advice = findings.advice.unwrap();
    assert!((110..=165).contains(&advice), "{advice}");
    assert!(findings.point(advice).unwrap().meets_limit);
}

/// A question and its results always make the same batches and findings, whole or cut off anywhere.
#[test]
fn a_record_gives_the_same_findings() {
    let mut server = Simulated::new(CURVES[1].1, 0.06, 3);
    let question = question(3, 3, 4);
    let findings = question.investigate(&mut server);
    let replayed = question.replay(server.trials.clone());
    assert!(replayed.findings == findings && !replayed.is_foreign);
    let cut = question.replay(server.trials[..20].to_vec());
    assert!(cut.findings.outcome == PoolOutcome::Unfinished && !cut.is_foreign);
    let mut other = server.trials.clone();
    other[2].0 = 3;
    assert!(question.replay(other).is_foreign);
}

/// On a slow disk a short trial of few connections may end before its first commit.
struct SlowAtFirst(Simulated);

impl Source<PoolQuestion> for SlowAtFirst {
    fn run(
        &mut self,
        batch: &Batch<PoolQuestion>,
        so_far: &PoolFindings,
    ) -> Option<Vec<Option<PoolResult>>> {
        let results = self.0.run(batch, so_far)?;
        let kept = batch
            .points
            .iter()
            .zip(results)
            .map(|(number, result)| result.filter(|_| *number > 16));
        Some(kept.collect())
    }
}

#[test]
fn trials_without_a_result_do_not_end_the_climb() {
    let server = Simulated::new(CURVES[3].1, 0.03, 1);
    let findings = question(1, 3, 5).investigate(&mut SlowAtFirst(server));
    assert_eq!((findings.advice, findings.is_growing), (Some(512), true));
}

struct Dead;

impl Source<PoolQuestion> for Dead {
    fn run(
        &mut self,
        batch: &Batch<PoolQuestion>,
        _: &PoolFindings,
    ) -> Option<Vec<Option<PoolResult>>> {
        assert_eq!(batch.stage, PoolStage::Climb);
        Some(vec![None; batch.points.len()])
    }
}

#[test]
fn a_server_without_results_ends_the_search() {
    assert_eq!(question(1, 3, 3).investigate(&mut Dead).outcome, PoolOutcome::NoResult);
}
