//! Does a comparison find what is there, and nothing where nothing is?

use truetps_record::{Counts, Interval, Phase};

use crate::compare::{CompareQuestion, CompareSide, Comparison, Pairing, compare};
use crate::evidence::is_cell;
use crate::family::JUDGED;
use crate::figure::Figure;
use crate::judge::Judgement;
use crate::ledger::{Ledger, LedgerFigure, LedgerLine};
use crate::loaded::LoadedTrial;
use crate::loaded::TrialDetail;
use crate::stalls::Stalls;
use crate::synthetic::{Random, plan, run};
use crate::threshold::{Threshold, ThresholdState};

const REPEATS: u64 = 1000;
/// Standard deviation of ln(tps) of a trial.
const NOISE: f64 = 0.05;
const TPS: Figure = Figure::Tps;
const P99: Figure = Figure::ResponseP99;

/// A side whose trials have these throughputs; a trial's response times follow from it.
struct Made {
    trials: Vec<LoadedTrial>,
}

impl Made {
    fn of(tps: &[f64]) -> Self {
        let plan = plan("[1]", "[8]", tps.len().max(1) as u32);
        let (_, mut trials) =
            run(&plan, |block, _| tps.get(block as usize).copied().unwrap_or_default());
        trials.retain(|one| (one.trial.block as usize) < tps.len() && is_cell(&one.trial));
        for one in &mut trials {
            one.detail = TrialDetail::of(one);
        }
        Self { trials }
    }

    /// What a transaction costs, by all lines of the ledger: each scatters for itself.
    fn with_costs(mut self, random: &mut Random, noise: f64) -> Self {
        for one in &mut self.trials {
            let mut line = |key: Figure| {
                let per_tx = 100.0 * (noise * random.normal()).exp();
                LedgerLine { key, figure: Ok(LedgerFigure { per_tx, source: String::new() }) }
            };
            one.detail.ledger = Some(Ledger { lines: Figure::costs().map(&mut line).collect() });
        }
        self
    }

    fn side(&self) -> CompareSide<'_> {
        CompareSide { trials: self.trials.iter().collect() }
    }
}

fn compared(a: &[f64], b: &[f64], pairing: Pairing) -> Comparison {
    compared_sides(&Made::of(a), &Made::of(b), pairing)
}

fn question<'a>(a: &'a Made, b: &'a Made, pairing: Pairing) -> CompareQuestion<'a> {
    CompareQuestion { a: a.side(), b: b.side(), pairing, smallest_effect: 0.03, contrast: None }
}

fn compared_sides(a: &Made, b: &Made, pairing: Pairing) -> Comparison {
    compare(&[question(a, b, pairing)]).remove(0)
}

fn change_of(comparison: &Comparison, figure: Figure) -> Judgement {
    comparison.line(figure).unwrap().change
}

fn is_claim(change: Judgement) -> bool {
    matches!(change, Judgement::Higher | Judgement::Lower)
}

/// `n` trials with noise of 5 % over a drift that both sides of a block share.
fn trials(random: &mut Random, tps: f64, drifts: &[f64]) -> Vec<f64> {
    noisy_trials(random, tps, drifts, NOISE)
}

fn noisy_trials(random: &mut Random, tps: f64, drifts: &[f64], noise: f64) -> Vec<f64> {
    drifts.iter().map(|drift| tps * (drift + noise * random.normal()).exp()).collect()
}

/// 1,000 pairs of equal sides: no more than 5 % may claim a difference in throughput, no more than
/// 5 % one in any other figure (p99 and all lines of the ledger), no more than 5 % may cross any
/// threshold, and no more than 5 % (and three binomial errors of 0.7 points) of the intervals may
/// miss the truth. With different spreads and numbers of trials, too.
#[test]
fn nothing_is_found_where_nothing_is() {
    let mut thresholds = vec!["tps<-1%".to_owned(), "p99>1%".to_owned()];
    thresholds.extend(Figure::costs().take(6).map(|key| format!("{}>1%", key.key())));
    let thresholds: Vec<Threshold> = thresholds.iter().map(|text| text.parse().unwrap()).collect();
    let noisier = 3.0 * NOISE;
    for (seed, n_a, n_b, noise_a, pairing) in [
        (1, 5, 5, NOISE, Pairing::None),
        (2, 3, 8, NOISE, Pairing::None),
        (3, 2, 2, NOISE, Pairing::None),
        (4, 5, 5, NOISE, Pairing::Blocks),
        (5, 3, 8, noisier, Pairing::None),
        (6, 8, 3, noisier, Pairing::None),
        (7, 5, 5, noisier, Pairing::None),
    ] {
        let mut random = Random(seed);
        let (mut claims, mut misses, mut mains, mut others, mut crossed) = (0, 0, 0, 0, 0);
        for _ in 0..REPEATS {
            let drifts: Vec<_> = (0..n_a.max(n_b)).map(|_| 0.1 * random.normal()).collect();
            let drifts = if pairing == Pairing::None { vec![0.0; drifts.len()] } else { drifts };
            let a = noisy_trials(&mut random, 1000.0, &drifts[..n_a], noise_a);
            let b = noisy_trials(&mut random, 1000.0, &drifts[..n_b], NOISE);
            let (a, b) = (
                Made::of(&a).with_costs(&mut random, noise_a),
                Made::of(&b).with_costs(&mut random, NOISE),
            );
            let comparison = compared_sides(&a, &b, pairing);
            claims += u64::from(is_claim(change_of(&comparison, TPS)));
            let is_main = |figure: Figure| JUDGED.iter().any(|(judged, _)| *judged == figure);
            let any = |wanted: bool| {
                comparison
                    .lines
                    .iter()
                    .any(|line| is_main(line.figure) == wanted && is_claim(line.change))
            };
            mains += u64::from(any(true));
            others += u64::from(any(false));
            let is_crossed = |one: &Threshold| {
                one.state(&comparison, thresholds.len()) == ThresholdState::Crossed
            };
            crossed += u64::from(thresholds.iter().any(is_crossed));
            let ratio = comparison.line(TPS).unwrap().ratio.unwrap();
            misses += u64::from(!(ratio.low.unwrap() <= 1.0 && 1.0 <= ratio.high.unwrap()));
        }
        let bound = REPEATS / 20;
        // With as many independent lines Holm's correction has just these 5 %: three binomial
        // errors more.
        assert!(
            mains <= bound && others <= bound + 21,
            "{n_a}, {n_b}: {claims}, {mains} and {others} false claims"
        );
        assert!(crossed <= bound, "{n_a}, {n_b}: a threshold was crossed {crossed} times");
        assert!(misses <= bound + 21, "{n_a}, {n_b}: {misses} intervals missed the truth");
    }
}

/// A difference of 20 % with 5 trials each is found nearly always, and its interval holds it 95
/// times out of 100.
#[test]
fn what_is_there_is_found() {
    let mut random = Random(7);
    let (mut found, mut misses) = (0, 0);
    for _ in 0..REPEATS {
        let a = trials(&mut random, 1000.0, &[0.0; 5]);
        let b = trials(&mut random, 1200.0, &[0.0; 5]);
        let comparison = compared(&a, &b, Pairing::None);
        found += u64::from(change_of(&comparison, TPS) == Judgement::Higher);
        let ratio = comparison.line(TPS).unwrap().ratio.unwrap();
        misses += u64::from(!(ratio.low.unwrap() <= 1.2 && 1.2 <= ratio.high.unwrap()));
        assert_ne!(change_of(&comparison, TPS), Judgement::Lower);
    }
    assert!(found > 900, "{found}");
    assert!((30..=71).contains(&misses), "{misses}");
}

/// What changes from block to block hides a difference of 10 % from two experiments, and not from
/// one.
#[test]
fn blocks_take_out_what_changes_between_them() {
    let mut random = Random(8);
    let drifts: Vec<_> = (0..6).map(|_| 0.5 * random.normal()).collect();
    let exact = |tps: f64, random: &mut Random| -> Vec<f64> {
        drifts.iter().map(|drift| tps * (drift + 0.01 * random.normal()).exp()).collect()
    };
    let (a, b) = (exact(1000.0, &mut random), exact(900.0, &mut random));
    assert_eq!(change_of(&compared(&a, &b, Pairing::Blocks), TPS), Judgement::Lower);
    assert_eq!(change_of(&compared(&a, &b, Pairing::Blocks), P99), Judgement::Higher);
    assert!(matches!(
        change_of(&compared(&a, &b, Pairing::None), TPS),
        Judgement::NotEnoughData { .. }
    ));
}

#[test]
fn one_trial_each_is_no_evidence() {
    let comparison = compared(&[1000.0], &[5000.0], Pairing::None);
    let line = comparison.line(TPS).unwrap();
    assert_eq!(line.change, Judgement::NotEnoughData { more_trials: None });
    assert_eq!(line.ratio.unwrap().low, None);
    assert!(
        (line.a.unwrap() - 1000.0).abs() < 1e-6 && (line.b.unwrap() - 5000.0).abs() < 1e-6,
        "{line:?}"
    );
    // A side without any valid trial.
    let nothing = compared(&[], &[1000.0, 1000.0], Pairing::None);
    assert_eq!((nothing.line(TPS).unwrap().ratio, nothing.line(TPS).unwrap().a), (None, None));
}

/// Two of ten seconds without a transaction are a fifth less, whatever their logarithms would say.
#[test]
fn two_single_trials_are_held_against_their_own_ups_and_downs() {
    let seconds = |tps: &dyn Fn(u32) -> u64| -> Vec<Interval> {
        let counts = |second| Counts { ok: tps(second), ..Counts::default() };
        let of = |second: u32| {
            Interval::of_counts(Phase::Measure, f64::from(second) * 1e3, 1e3, counts(second))
        };
        (0..10).map(of).collect()
    };
    let (mut a, mut b) = (Made::of(&[1000.0]), Made::of(&[800.0]));
    a.trials[0].intervals = seconds(&|second| 990 + u64::from(second % 3) * 10);
    b.trials[0].intervals = seconds(&|second| if (4..6).contains(&second) { 0 } else { 1000 });
    let comparison = compared_sides(&a, &b, Pairing::None);
    let within = comparison.line(TPS).unwrap().within_trials.unwrap();
    assert!((within.value - 0.8).abs() < 0.01, "{within:?}");
    assert!(within.low.unwrap() > 0.4 && within.high.unwrap() > 1.0, "{within:?}");
}

/// Trials of a few transactions each are no measurement without error, equal as they may be.
#[test]
fn whole_transactions_are_coarse() {
    // 0.7 tps for 10 s are seven transactions.
    let comparison = compared(&[0.7, 0.7], &[0.8, 0.8], Pairing::None);
    assert!(
        matches!(change_of(&comparison, TPS), Judgement::NotEnoughData { .. }),
        "{:?}",
        comparison.line(TPS)
    );
}

/// One side has lost a trial: only the blocks that both sides have are compared.
#[test]
fn a_block_that_one_side_lacks_is_in_no_mean() {
    let comparison = compared(&[1000.0, 1000.0, 9000.0], &[2000.0, 2000.0], Pairing::Blocks);
    let line = comparison.line(TPS).unwrap();
    let (a, b, ratio) = (line.a.unwrap(), line.b.unwrap(), line.ratio.unwrap().value);
    assert!((b / a - ratio).abs() < 1e-9 && (ratio - 2.0).abs() < 1e-9, "{line:?}");
    assert_eq!((comparison.trials_a, comparison.trials_b, comparison.pairs), (3, 2, Some(2)));
}

/// Also where a side has two trials in one block and one in another.
#[test]
fn the_figures_of_a_line_have_its_ratio() {
    let mut a = Made::of(&[100.0, 800.0, 300.0]);
    let mut twin = a.trials[0].clone();
    twin.trial.measured.as_mut().unwrap().tps = 400.0;
    a.trials.insert(1, twin);
    let b = Made::of(&[200.0, 900.0, 500.0]);
    for pairing in [Pairing::Blocks, Pairing::None] {
        let comparison = compared_sides(&a, &b, pairing);
        let line = comparison.line(TPS).unwrap();
        let (of_a, of_b, ratio) = (line.a.unwrap(), line.b.unwrap(), line.ratio.unwrap().value);
        assert!(
            (of_b / of_a / ratio - 1.0).abs() < 1e-9,
            "{pairing:?}: {of_a} and {of_b} tps, ratio {ratio}"
        );
    }
}

#[test]
fn a_trial_without_a_transaction_has_its_say() {
    let comparison = compared(&[1000.0, 1010.0, 990.0], &[0.0, 0.0, 0.0], Pairing::None);
    assert_eq!(change_of(&comparison, TPS), Judgement::Lower);
    // It decides, and is no throughput of half a transaction: there is no ratio to nothing.
    let line = comparison.line(TPS).unwrap();
    assert_eq!((line.b, line.ratio), (Some(0.0), None));
    // And a script that asks whether it has become slower hears so.
    let state = |text: &str| text.parse::<Threshold>().unwrap().state(&comparison, 1);
    assert_eq!(
        (state("tps<-5%"), state("tps>5%")),
        (ThresholdState::Crossed, ThresholdState::Kept)
    );
}

/// Gaps under 100 ms are not recorded: of such a side a bound is known, and no figure.
#[test]
fn a_gap_that_is_not_recorded_is_no_figure() {
    const GAP: Figure = Figure::MaxGap;
    let side = |gaps: &[Option<f64>]| {
        let mut made = Made::of(&vec![1000.0; gaps.len()]);
        for (one, gap) in made.trials.iter_mut().zip(gaps) {
            one.detail.stalls = Stalls { max_gap_ms: *gap, watched_ms: 1e4, ..Stalls::default() };
        }
        made
    };
    let of =
        |a: &[Option<f64>], b: &[Option<f64>]| compared_sides(&side(a), &side(b), Pairing::None);
    let state = |comparison: &Comparison, text: &str| {
        text.parse::<Threshold>().unwrap().state(comparison, 1)
    };
    let (short, long) = ([None; 3], [Some(1900.0), Some(2000.0), Some(2100.0)]);
    let unsure = Judgement::NotEnoughData { more_trials: None };

    let neither = of(&short, &short);
    let line = neither.line(GAP).unwrap();
    assert_eq!(
        (line.a, line.b, line.ratio, line.difference, line.change),
        (None, None, None, None, unsure)
    );
    assert_eq!((line.a_under, line.b_under), (Some(100.0), Some(100.0)));
    assert_eq!(state(&neither, "max_gap>0%"), ThresholdState::Bound);
    assert_eq!(state(&neither, "max_gap<-5%"), ThresholdState::Bound);

    let worse = of(&short, &long);
    let line = worse.line(GAP).unwrap();
    assert_eq!((line.a, line.ratio, line.change), (None, None, Judgement::Higher));
    assert!((line.ratio_at_least().unwrap() - 19.98).abs() < 0.01, "{line:?}");
    assert_eq!(state(&worse, "max_gap>50%"), ThresholdState::Crossed);
    assert_eq!(state(&worse, "max_gap>5000%"), ThresholdState::Unsure);
    assert_eq!(state(&worse, "max_gap<-5%"), ThresholdState::Kept);

    let better = of(&long, &short);
    let line = better.line(GAP).unwrap();
    assert_eq!((line.b, line.ratio, line.change), (None, None, Judgement::Lower));
    assert!((line.ratio_at_most().unwrap() - 0.05).abs() < 0.01, "{line:?}");
    assert_eq!(state(&better, "max_gap>0%"), ThresholdState::Kept);

    // One short gap among the others: the mean is below the mean of the others and 100 ms, by an
    // unknown amount.
    let mixed = of(&[Some(110.0), None, Some(120.0)], &[Some(100.0), Some(101.0), Some(102.0)]);
    let line = mixed.line(GAP).unwrap();
    assert_eq!((line.a, line.ratio, line.change), (None, None, unsure));
    assert!((line.a_under.unwrap() - 109.7).abs() < 0.1 && line.b.is_some(), "{line:?}");
    let both = of(&long, &long);
    assert_eq!(
        (both.line(GAP).unwrap().a_under, both.line(GAP).unwrap().ratio.is_some()),
        (None, true)
    );
}
