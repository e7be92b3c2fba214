//! Does the analysis find what is there, and nothing where nothing is?

use truetps_plan::Plan;
use truetps_record::{Configuration, Counts, ErrorCount, NoEvidence, Reason, Trial, Validity};

use crate::figure::Figure;
use crate::synthetic::{Random, flush_and_connections, plan, run};
use crate::{Analysis, LoadedTrial, Verdict, analyse};

const REPEATS: u64 = 1000;

/// Analyses a made-up run of the plan.
fn analysis_of(plan: &Plan, tps: impl FnMut(u32, &Configuration) -> f64) -> Analysis {
    let (experiment, trials) = run(plan, tps);
    analyse(plan, &experiment, &trials)
}

/// Like [`analysis_of`] after a change to the trials.
fn analysis_after(plan: &Plan, change: impl FnOnce(&mut Vec<LoadedTrial>)) -> Analysis {
    let (experiment, mut trials) = run(plan, |_, _| 1000.0);
    change(&mut trials);
    analyse(plan, &experiment, &trials)
}

fn is_claim(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn inside(estimate: truetps_record::Estimate, truth: f64) -> bool {
    estimate.low.unwrap() <= truth && truth <= estimate.high.unwrap()
}

/// Noise of 5 % a trial over a drift that both of a pair share. The binomial error of 1,000 repeats
/// at 5 % is 0.7 points; the bounds leave three of them.
fn noisy(random: &mut Random, drift: f64, tps: f64) -> f64 {
    tps * (drift + 0.05 * random.normal()).exp()
}

#[test]
fn nothing_is_found_where_nothing_is() {
    let plan = plan("[1, 2, 0]", "[1, 8]", 5);
    let (mut families, mut misses, mut contrasts, mut alarms) = (0, 0, 0, 0);
    for seed in 0..REPEATS {
        let mut random = Random(seed);
        let analysis =
            analysis_of(&plan, |block, _| noisy(&mut random, f64::from(block) * 0.1, 1000.0));
        families += u32::from(analysis.contrasts.iter().any(|contrast| is_claim(contrast.verdict)));
        misses +=
            analysis.contrasts.iter().filter(|contrast| !inside(contrast.tps_ratio, 1.0)).count();
        contrasts += analysis.contrasts.len();
        alarms += u32::from(analysis.twins.unwrap().alarm);
    }
    assert_eq!(contrasts, 4 * REPEATS as usize);
    assert!(
        families <= 50,
        "{families} of {REPEATS} experiments claim a difference that is not there"
    );
    let rate = misses as f64 / contrasts as f64;
    assert!((0.03..=0.07).contains(&rate), "intervals miss the truth in {rate} of the comparisons");
    assert!((29..=71).contains(&alarms), "{alarms} alarms of {REPEATS}");
}

#[test]
fn intervals_cover_the_truth() {
    for blocks in [2, 3, 5, 12] {
        let plan = plan("[1]", "[1, 8]", blocks);
        let mut covered = 0;
        for seed in 0..REPEATS {
            let mut random = Random(seed ^ 0xABCD);
            let analysis = analysis_of(&plan, |_, _| noisy(&mut random, 0.0, 1000.0));
            covered += u32::from(inside(analysis.cells[0].tps.unwrap(), 1000.0));
        }
        assert!(
            (930..=970).contains(&covered),
            "{blocks} blocks: {covered} of {REPEATS} cover the truth"
        );
    }
}

#[test]
fn a_difference_is_found_and_its_size_is_true() {
    let plan = plan("[1, 2]", "[1, 8]", 5);
    let (mut found, mut covered) = (0, 0);
    for seed in 0..REPEATS {
        let mut random = Random(seed ^ 0x1234);
        let analysis = analysis_of(&plan, |block, configuration| {
            let (flush, _) = flush_and_connections(configuration);
            noisy(&mut random, f64::from(block) * 0.1, if flush == 1 { 1000.0 } else { 1500.0 })
        });
        found += u32::from(analysis.contrasts[0].verdict == Verdict::Faster);
        covered += u32::from(inside(analysis.contrasts[0].tps_ratio, 1.5));
    }
    assert!(found >= 980, "{found} of {REPEATS}");
    assert!((930..=970).contains(&covered), "{covered} of {REPEATS} cover the truth");
}

/// What `more_blocks` promises: after that many, most experiments decide. The truth is set so that
/// three blocks do not.
#[test]
fn the_promised_blocks_are_enough() {
    let few = plan("[1, 2]", "[8]", 3);
    let contrast_with_seed = |seed: u64, plan: &Plan| {
        let mut random = Random(seed ^ 0x77);
        analysis_of(plan, |_, configuration| {
            let (flush, _) = flush_and_connections(configuration);
            noisy(&mut random, 0.0, if flush == 1 { 1000.0 } else { 1200.0 })
        })
    };
    let mut promises: Vec<u32> = (0..200)
        .filter_map(|seed| match contrast_with_seed(seed, &few).contrasts[0].verdict {
            Verdict::NotEnoughData { more_blocks } => more_blocks,
            _ => None,
        })
        .collect();
    promises.sort_unstable();
    let promised = promises[promises.len() / 2];
    let many = plan("[1, 2]", "[8]", 3 + promised);
    let decided = (1000..1200)
        .filter(|seed| is_claim(contrast_with_seed(*seed, &many).contrasts[0].verdict))
        .count();
    assert!((2..30).contains(&promised), "{promised}");
    assert!(decided >= 120, "{decided} of 200 decide after {promised} more blocks");
}

#[test]
fn sigma_is_found() {
    let plan = plan("[1]", "[1, 8]", 200);
    let mut random = Random(5);
    let analysis = analysis_of(&plan, |_, configuration| {
        let quiet = if configuration.connections() == 8 { 0.0 } else { 1.0 };
        1000.0 * (quiet * 0.05 * random.normal()).exp()
    });
    let twins = analysis.twins.unwrap();
    assert!((twins.sigma - 0.05).abs() < 0.01, "{}", twins.sigma);
    assert_eq!(twins.pairs.len(), 200);
    let [one, eight] = &analysis.noise[..] else { panic!("{:?}", analysis.noise) };
    assert_eq!(
        (one.load.to_string(), eight.load.to_string()),
        ("connections=1".to_owned(), "connections=8".to_owned())
    );
    assert!((one.sigma - 0.05).abs() < 0.01 && eight.sigma < 1e-9, "{:?}", analysis.noise);
    // One row and its twin: 199 degrees of freedom. Without a twin, what changes between blocks is
    // in it.
    assert_eq!(
        (one.degrees_of_freedom, one.within_blocks, eight.within_blocks),
        (199, true, false)
    );
    // One comparison would have 3.5 % · 0.8: t(0.986, 200) + t(0.8, 200) = 2.213 + 0.843, · 0.05 ·
    // √(2/200) = 0.0153.
    assert!(
        (one.smallest_detectable_effect - 0.0154).abs() < 0.003,
        "{}",
        one.smallest_detectable_effect
    );
}

/// Throughput at 1, 2, 4, 8, 16 connections → where the knee is, where the best, whether the best
/// is the last.
#[test]
fn knees() {
    let check = |curve: [f64; 5], blocks: u32, expect: (u32, u32, bool)| {
        let plan = plan("[1]", "[1, 2, 4, 8, 16]", blocks);
        let analysis = analysis_of(&plan, |block, configuration| {
            let step = configuration.connections().ilog2() as usize;
            curve[step] * (1.0 + f64::from(block) * 0.1)
        });
        let knee = analysis.curves[0].knee.clone().unwrap();
        assert_eq!(
            (knee.connections, knee.best_connections, knee.best_is_last),
            expect,
            "{curve:?}, {blocks}"
        );
        assert_eq!(knee.last_ratio.is_none(), knee.best_is_last);
    };
    for blocks in [1, 2, 5] {
        check([100.0, 200.0, 300.0, 280.0, 200.0], blocks, (4, 4, false));
        check([100.0, 200.0, 300.0, 310.0, 200.0], blocks, (4, 8, false));
        check([100.0, 200.0, 400.0, 800.0, 1600.0], blocks, (16, 16, true));
        check([100.0, 100.0, 100.0, 100.0, 100.0], blocks, (1, 1, false));
    }
}

/// Two trials with an interval from far below to far above 1 must not make one connection "as good
/// as the best".
#[test]
fn a_wide_interval_is_no_knee() {
    let plan = plan("[1]", "[1, 8, 50]", 2);
    let analysis =
        analysis_of(&plan, |block, configuration| match (configuration.connections(), block) {
            (1, 0) => 300.0,
            (1, _) => 900.0,
            (8, _) => 990.0,
            _ => 1000.0,
        });
    let knee = analysis.curves[0].knee.clone().unwrap();
    assert_eq!((knee.connections, knee.best_connections), (8, 50));
}

#[test]
fn contrasts_are_with_the_baseline_at_the_same_connections() {
    let plan = plan("[1, 2, 0]", "[1, 8]", 3);
    let analysis = analysis_of(&plan, |_, _| 1000.0);
    let pairs: Vec<_> = analysis
        .contrasts
        .iter()
        .map(|contrast| {
            let of = |cell: usize| flush_and_connections(&analysis.cells[cell].configuration);
            (of(contrast.cell), of(contrast.baseline_cell))
        })
        .collect();
    assert_eq!(pairs, [((2, 1), (1, 1)), ((2, 8), (1, 8)), ((0, 1), (1, 1)), ((0, 8), (1, 8))]);
    assert_eq!(analysis.baseline_label.as_deref(), Some("innodb_flush_log_at_trx_commit=1"));
    let labels: Vec<_> =
        analysis.curves.iter().map(|curve| (curve.label.as_str(), curve.is_baseline)).collect();
    assert_eq!(
        labels,
        [
            ("innodb_flush_log_at_trx_commit=1", true),
            ("innodb_flush_log_at_trx_commit=2", false),
            ("innodb_flush_log_at_trx_commit=0", false),
        ]
    );
    assert_eq!(analysis.rule_connections, Some(9));
    assert!(analysis.complete() && analysis.decided());
}

#[test]
fn a_socket_is_on_this_host_in_all_forms_of_an_address() {
    let plan = plan("[1]", "[1]", 1);
    let (experiment, _) = run(&plan, |_, _| 1000.0);
    let check = |address: &str, expect| {
        let (sandbox_dir, server_address) = (None, Some(address.to_owned()));
        let given =
            truetps_record::Experiment { sandbox_dir, server_address, ..experiment.clone() };
        assert_eq!(analyse(&plan, &given, &[]).rule_connections.is_some(), expect, "{address}");
    };
    check("mysql://me@/db?socket=/run/s.sock&tls=required", true);
    check("mysql://me@db:3306/socket=", false);
    // Of scripts, from older versions.
    check("/run/s.sock", true);
    check("db:3306", false);
}

#[test]
fn curves_rise_by_connections_whatever_the_plan_says() {
    let plan = plan("[1]", "[50, 1, 8]", 1);
    let analysis = analysis_of(&plan, |_, _| 1000.0);
    let order: Vec<_> = analysis.curves[0]
        .cells
        .iter()
        .map(|cell| analysis.cells[*cell].configuration.connections())
        .collect();
    assert_eq!(order, [1, 8, 50]);
}

#[test]
fn no_trials_at_all() {
    let plan = plan("[1, 2]", "[1, 8]", 3);
    let analysis = analysis_after(&plan, Vec::clear);
    assert_eq!(
        (analysis.trials_planned, analysis.trials_valid, analysis.blocks_planned),
        (15, 0, 3)
    );
    assert!(
        analysis
            .cells
            .iter()
            .all(|cell| cell.tps.is_none() && cell.get(Figure::ResponseP50).is_none())
    );
    assert!(
        analysis.contrasts.is_empty()
            && analysis.twins.is_none()
            && analysis.curves[0].knee.is_none()
    );
    assert!(!analysis.complete());
}

#[test]
fn one_block_shows_and_claims_nothing() {
    let plan = plan("[1, 2]", "[1, 8]", 1);
    let analysis =
        analysis_of(&plan, |_, configuration| f64::from(configuration.connections()) * 100.0);
    let tps = analysis.cells[0].tps.unwrap();
    assert_eq!((tps.low, tps.high, tps.n), (None, None, 1));
    assert_eq!(analysis.contrasts[0].verdict, Verdict::NotEnoughData { more_blocks: None });
    assert_eq!(analysis.contrasts[0].smallest_detectable_effect, None);
    let twins = analysis.twins.clone().unwrap();
    assert_eq!((twins.pairs.len(), twins.alarm, twins.ratio.low), (1, false, None));
    assert!(analysis.complete() && !analysis.decided());
}

#[test]
fn two_blocks_have_wide_intervals() {
    let mut plan = plan("[1, 2]", "[8]", 2);
    // With a twin, and with a third level, the noise is known better.
    plan.design.aa_pair = false;
    let analysis = analysis_of(&plan, |block, configuration| {
        let (flush, _) = flush_and_connections(configuration);
        if flush == 1 { 1000.0 } else { 1500.0 + f64::from(block) * 30.0 }
    });
    let contrast = &analysis.contrasts[0];
    // ln 1.5 and ln 1.53: mean 0.41537, s/√2 = 0.0099013, half width 12.706 · 0.0099013 = 0.12581.
    let ratio = contrast.tps_ratio;
    assert!((ratio.low.unwrap() - 0.289_56_f64.exp()).abs() < 1e-3, "{ratio:?}");
    assert!((ratio.high.unwrap() - 0.541_18_f64.exp()).abs() < 1e-3, "{ratio:?}");
    // p = 0.0152 passes 3.5 % of which p99 has an eighth: its own ratio is the same.
    assert_eq!(contrast.verdict, Verdict::Faster);
}

#[test]
fn a_missing_baseline_takes_its_pair_away() {
    let plan = plan("[1, 2]", "[8]", 3);
    let without = |trial: &Trial, blocks: u32| {
        trial.block < blocks && flush_and_connections(&trial.configuration).0 == 1
    };
    let analysis = analysis_after(&plan, |trials| trials.retain(|trial| !without(&trial.trial, 1)));
    assert_eq!(analysis.contrasts[0].tps_ratio.n, 2);
    assert_eq!(analysis.twins.as_ref().unwrap().pairs.len(), 2);
    let analysis = analysis_after(&plan, |trials| trials.retain(|trial| !without(&trial.trial, 3)));
    assert!(analysis.contrasts.is_empty() && !analysis.complete());
    // The twin is as good as the trial that it repeats.
    let is_first = |trial: &Trial| {
        flush_and_connections(&trial.configuration).0 == 1 && crate::evidence::is_cell(trial)
    };
    let analysis = analysis_after(&plan, |trials| trials.retain(|trial| !is_first(&trial.trial)));
    assert_eq!((analysis.contrasts[0].tps_ratio.n, analysis.twins.is_none()), (3, true));
}

#[test]
fn invalid_trials_are_named_and_not_used() {
    let plan = plan("[1]", "[1, 8]", 2);
    let analysis = analysis_after(&plan, |trials| {
        trials[0].trial.validity = Validity::Invalid(Reason::Text("the server died".to_owned()));
        trials[1].trial.validity = Validity::partial(NoEvidence::Interrupted);
        trials[1].trial.measured = None;
        trials[3].trial.measured.as_mut().unwrap().tps = f64::NAN;
        trials.swap(0, 4);
        let mut stranger = trials[2].clone();
        stranger.trial.name = "trial-9999".to_owned();
        trials.push(stranger);
    });
    let invalid: Vec<_> = analysis
        .invalid
        .iter()
        .map(|one| (one.name.as_str(), one.partial, one.reason.to_string()))
        .collect();
    assert_eq!(
        invalid,
        [
            ("trial-0001", false, "the server died".to_owned()),
            ("trial-0002", true, "interrupted".to_owned()),
            ("trial-0004", false, "its tps is not a throughput: NaN".to_owned()),
        ]
    );
    assert_eq!((analysis.trials_planned, analysis.trials_valid), (6, 3));
    assert_eq!(analysis.cells[0].invalid_trials, 2);
    assert_eq!(analysis.cells[0].trials, ["trial-0003", "trial-0006"]);
    assert_eq!(analysis.cells[1].trials, ["trial-0005"]);
}

#[test]
fn zero_throughput_is_evidence_with_a_finite_logarithm() {
    let plan = plan("[1, 2]", "[8]", 3);
    let analysis = analysis_of(&plan, |block, configuration| {
        let (flush, _) = flush_and_connections(configuration);
        if flush == 2 && block == 0 { 0.0 } else { 1000.0 }
    });
    let tps = analysis.cells[1].tps.unwrap();
    // (0.05 · 1000 · 1000)^(1/3)
    assert!((tps.value - 36.84).abs() < 0.01, "{tps:?}");
    // 0.05 and 1,000 are too far apart for an interval that says anything.
    assert_eq!((tps.low, tps.high), (None, None));
    assert!(!is_claim(analysis.contrasts[0].verdict));
    assert_eq!(analysis.contrasts[0].p99_ratio.unwrap().n, 2);

    let nothing = analysis_of(&plan, |_, _| 0.0);
    assert!(nothing.cells[0].tps.unwrap().value.abs() < f64::EPSILON);
    assert!(
        nothing.contrasts.is_empty() && nothing.twins.is_none() && nothing.curves[0].knee.is_none()
    );
    let text = format!("{analysis:?} {nothing:?}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

/// 17 against 18 transactions, three times: equal counts are no proof that nothing varies.
#[test]
fn small_counts_do_not_look_exact() {
    let plan = plan("[1, 2]", "[8]", 3);
    let slow = |_: u32, configuration: &Configuration| {
        if flush_and_connections(configuration).0 == 1 { 1.7 } else { 1.8 }
    };
    let analysis = analysis_of(&plan, slow);
    assert!(!is_claim(analysis.contrasts[0].verdict), "{:?}", analysis.contrasts[0]);
    assert!(analysis.twins.unwrap().sigma > 0.0);
}

#[test]
fn errors_add_up_by_number() {
    let plan = plan("[1]", "[8]", 2);
    let error = |count, message: &str| ErrorCount {
        class: truetps_record::ErrorClass::Deadlock,
        code: 1213,
        count,
        retried: 0,
        first_message: message.to_owned(),
    };
    let analysis = analysis_after(&plan, |trials| {
        for (at, count, message) in [(0, 2, "first"), (2, 3, "later"), (1, 100, "in between")] {
            let measured = trials[at].trial.measured.as_mut().unwrap();
            measured.counts = Counts {
                failed: count,
                started: measured.counts.started + count,
                ..measured.counts
            };
            measured.errors = vec![error(count, message)];
        }
    });
    assert_eq!(analysis.cells[0].errors, [error(105, "first")]);
    assert_eq!(analysis.cells[0].get(Figure::Failed), Some(105.0));
}
