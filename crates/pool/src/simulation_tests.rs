//! Searches on servers whose curve is known. How often they are right is simulated in
//! `truetps-synthetic`.

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_random::RandomStream;

use crate::{PoolAgainst, PoolFindings, PoolOutcome, PoolQuestion, PoolResult, PoolStage};

/// Throughput by connections.
type Curve = fn(f64) -> f64;

/// Each commit waits for two flushes, and all that wait share one; CPU is the limit above.
fn flushes(latency_s: f64, cpu_tps: f64, connections: f64) -> f64 {
    let slow = connections / (2.04 * latency_s + 0.000_15);
    // A soft minimum: near the limit both count.
    (slow.powi(-4) + cpu_tps.powi(-4)).powf(-0.25) / (1.0 + connections / 4_000.0)
}

/// Flushes of 2, 10 and 60 ms.
const OF_2_MS: Curve = |n| flushes(0.002, 11_000.0, n);
const OF_10_MS: Curve = |n| flushes(0.010, 11_000.0, n);
const OF_60_MS: Curve = |n| flushes(0.060, 11_000.0, n);

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

/// No number is larger than the advice: the check shows what fewer would cost.
#[test]
fn an_advice_at_the_limit_is_checked_against_a_smaller_number() {
    let few = PoolQuestion { most: 4, rules: Vec::new(), current: None, ..question(1, 3, 8) };
    let findings = few.investigate(&mut Simulated::new(OF_10_MS, 0.03, 1));
    assert_eq!((findings.advice, findings.is_growing), (Some(4), true));
    let [smaller] = &findings.comparisons[..] else { panic!("{findings:?}") };
    assert_eq!(smaller.against, PoolAgainst::Smaller);
    assert!(smaller.connections < 4 && smaller.ratio_low.unwrap() > 1.0, "{smaller:?}");
}

#[test]
fn a_limit_that_nothing_keeps_gives_no_advice() {
    let strict = PoolQuestion { p99_limit_us: Some(10.0), ..question(1, 3, 3) };
    let findings = strict.investigate(&mut Simulated::new(OF_10_MS, 0.03, 1));
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
    let findings = limited.investigate(&mut Worse(Simulated::new(OF_10_MS, 0.03, 1)));
    assert_eq!((findings.outcome, findings.advice), (PoolOutcome::NothingMeetsLimit, None));
    assert!(findings.comparisons.is_empty(), "{findings:?}");
}

/// A p99 of twice the mean, 45 ms, is at about 150 connections.
#[test]
fn a_limit_makes_the_advice_smaller() {
    let limited = PoolQuestion { p99_limit_us: Some(45_000.0), ..question(2, 5, 5) };
    let findings = limited.investigate(&mut Simulated::new(OF_10_MS, 0.03, 2));
    let advice = findings.advice.unwrap();
    assert!((110..=165).contains(&advice), "{advice}");
    assert!(findings.point(advice).unwrap().meets_limit);
}

/// A question and its results always make the same batches and findings, whole or cut off anywhere.
#[test]
fn a_record_gives_the_same_findings() {
    let mut server = Simulated::new(OF_2_MS, 0.06, 3);
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
    let server = Simulated::new(OF_60_MS, 0.03, 1);
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
