//! The words of answers that a small made-up search leads to.

use truetps_archive::PoolRun;
use truetps_pool::{
    CurvePoint, PoolAgainst, PoolComparison, PoolFindings, PoolLimits, PoolOutcome, PoolParameters,
    RateAnswer, SEARCH_VERSION, SHARE_OF_BEST,
};
use truetps_record::{
    NoEvidence, OtherPrograms, PoolRecord, PoolRule, ProgramUse, SCHEMA_VERSION, SqlDialect,
    TrialSurroundings, Validity,
};

use super::{PoolLibrary, words};
use crate::fixture::Fixture;

fn point(connections: u32, tps: f64, p99_ms: f64) -> CurvePoint {
    CurvePoint {
        connections,
        trials: 3,
        tps,
        tps_smoothed: tps,
        response_us_p99: Some(p99_ms * 1e3),
        response_us_p99_low: Some(p99_ms * 0.9e3),
        response_us_p99_high: Some(p99_ms * 1.1e3),
        response_us_mean: Some(f64::from(connections) / tps * 1e6),
        meets_limit: true,
        is_near_limit: false,
    }
}

fn comparison(
    against: PoolAgainst,
    connections: u32,
    [low, ratio, high]: [f64; 3],
) -> PoolComparison {
    PoolComparison {
        against,
        connections,
        ratio,
        ratio_low: Some(low),
        ratio_high: Some(high),
        pairs: 8,
    }
}

/// 16 connections have 95 % of the throughput of 64; now there are 4.
fn advised() -> PoolRun {
    let run = Fixture::connections_only().run;
    let pool = PoolRecord {
        schema_version: SCHEMA_VERSION,
        search: SEARCH_VERSION,
        seed: 42,
        connections_most: 64,
        blocks: 3,
        check_blocks: 8,
        p99_limit_us: None,
        rate: None,
        current: Some(4),
        rule: Some(PoolRule::of(2)),
        instances: 1,
        asked: None,
    };
    let findings = PoolFindings {
        outcome: PoolOutcome::Advised,
        curve: vec![
            point(1, 100.0, 12.0),
            point(4, 400.0, 14.0),
            point(5, 500.0, 14.0),
            point(16, 960.0, 20.0),
            point(64, 1_000.0, 80.0),
        ],
        advice: Some(16),
        best: Some(64),
        too_few: Some(5),
        enough: Some(16),
        trial_sd: Some(1.06_f64.ln()),
        comparisons: vec![
            comparison(PoolAgainst::Best, 64, [0.94, 0.96, 0.98]),
            comparison(PoolAgainst::Current, 4, [2.1, 2.4, 2.7]),
        ],
        ..PoolFindings::default()
    };
    let limits = PoolLimits { instances: 1, p99_limit_us: None, wait_timeout_s: Some(28_800) };
    PoolRun {
        path: run.path,
        plan: run.plan,
        experiment: run.experiment,
        pool,
        trials: run.trials,
        findings,
        rate: None,
        parameters: Some(PoolParameters::new(16, Some(20_000.0), &limits)),
        is_foreign: false,
    }
}

fn with(change: impl FnOnce(&mut PoolRun)) -> PoolRun {
    let mut run = advised();
    change(&mut run);
    run
}

/// This pool, asked about a rate.
fn asked(rate: f64, current: Option<u32>) -> PoolRun {
    with(|run| {
        (run.pool.rate, run.pool.current) = (Some(rate), current);
        run.rate = Some(RateAnswer::new(&run.findings, rate, current));
        run.parameters = PoolRun::parameters_of(&run.findings, run.rate, &PoolLimits::default());
    })
}

/// The text without the space that cannot be broken.
fn plain(text: impl AsRef<[String]>) -> String {
    text.as_ref().join(" ").replace('\u{a0}', " ")
}

#[test]
fn an_answer_names_the_advice_the_best_and_the_current_number() {
    let said = plain(words::answer(&advised()));
    assert!(
        said.starts_with("Use 16 connections: 960.0 tps at a p99 of 20.0 ms; 64 connections give"),
        "{said}"
    );
    assert!(
        said.contains(
            "Against the current 4 (400.0 tps, p99 14.0 ms) it gives ×2.40 [2.10, 2.70]: more."
        ),
        "{said}"
    );
    let largest = with(|run| {
        run.findings.comparisons = vec![comparison(PoolAgainst::Smaller, 5, [1.8, 2.0, 2.2])];
    });
    let said = plain(words::answer(&largest));
    assert!(said.contains("; 5 connections give ×0.500"), "{said}");
    let same = with(|run| run.pool.current = Some(16));
    assert!(plain(words::answer(&same)).ends_with("The current 16 connections are the advice."));
    assert_eq!(words::answer(&advised()).len(), 1, "no screen folds the current number away");
}

/// What was asked is answered first, and what is configured is the answer to it.
#[test]
fn a_rate_is_answered_with_yes_or_no() {
    let check = |rate: f64, current: Option<u32>, first: &str, size: u32| {
        let run = asked(rate, current);
        let said = words::answer(&run);
        let answer = plain(&said[..1]);
        assert!(answer.starts_with(first), "{rate} {current:?}: {answer}");
        assert!(
            plain(&said[1..]).starts_with("For the most throughput: 16 connections: 960.0 tps"),
            "{said:?}"
        );
        assert_eq!(run.parameters.unwrap().size, size, "{rate} {current:?}");
    };
    check(
        100.0,
        Some(5),
        "Yes: 5 connections carry 100 a second (500.0 tps at a p99 of 14.0 ms); 4 would, too.",
        5,
    );
    check(
        300.0,
        Some(4),
        "Yes: 4 connections carry 300 a second (400.0 tps at a p99 of 14.0 ms).",
        4,
    );
    check(450.0, Some(5), "Barely: 5 connections reach 450 a second without room (500.0 tps", 16);
    check(500.0, Some(4), "No: 4 connections do not reach 500 a second (400.0 tps", 16);
    check(500.0, None, "For 500 a second: 16 connections carry it (960.0 tps", 16);
    check(2_000.0, None, "For 2 000 a second, no number that was tried carries it with room.", 16);
    let page = plain([crate::text::draw(
        super::document(&asked(100.0, Some(5))),
        crate::TextScreen::new(false, Some(100)),
    )]);
    assert!(page.contains("maximumPoolSize=5") && page.contains("carries the rate"), "{page}");
}

/// Each comparison has the words that its interval supports, and no others.
#[test]
fn a_comparison_is_judged_by_its_interval() {
    for (interval, words) in [
        ([1.02, 1.1, 1.2], ": more."),
        ([0.8, 0.9, 0.99], ": less."),
        ([SHARE_OF_BEST, 1.0, 1.0 / SHARE_OF_BEST], ": the same within 5 %."),
        ([0.7, 1.0, 1.4], ": not decided"),
    ] {
        let run =
            with(|run| run.findings.comparisons[1] = comparison(PoolAgainst::Current, 4, interval));
        let said = plain(words::answer(&run));
        assert!(said.contains(words), "{interval:?}: {said}");
    }
}

#[test]
fn an_answer_says_what_it_is_not() {
    let unfinished = with(|run| run.findings.outcome = PoolOutcome::Unfinished);
    assert!(
        plain(words::answer(&unfinished)).starts_with("So far, without a check: 16 connections")
    );
    let growing = with(|run| run.findings.is_growing = true);
    assert!(plain(words::answer(&growing)).contains("still grows at 64 connections"));
    let nothing = with(|run| {
        run.pool.p99_limit_us = Some(10_000.0);
        run.findings.outcome = PoolOutcome::NothingMeetsLimit;
    });
    let said = plain(words::answer(&nothing));
    assert_eq!(
        said,
        "No number of connections has a p99 of 10.0 ms: the shortest is 12.0 ms \
         [10.8 ms, 13.2 ms], with 1 connection and 100.0 tps."
    );
    let none = with(|run| run.findings.outcome = PoolOutcome::NoResult);
    assert_eq!(plain(words::answer(&none)), "No trial gave a result.");
}

#[test]
fn trust_follows_the_check() {
    let check = |change: fn(&mut PoolRun), grade: &str, words: &str| {
        let said = words::trust(&with(change));
        assert!(said[0].starts_with(grade) && said[0].ends_with(words), "{said:?}");
    };
    check(|_| {}, "fair: ", "the ratios are known within ×1.125");
    check(|run| run.findings.comparisons.truncate(1), "good: ", "known within ×1.021");
    check(|run| run.findings.comparisons[0].ratio_high = Some(1.5), "low: ", "known within ×1.562");
    check(
        |run| run.findings.comparisons[1].ratio_high = None,
        "low: ",
        "the ratios have no interval",
    );
    check(|run| run.findings.comparisons.clear(), "low: ", "there was no check");
    check(|run| run.findings.outcome = PoolOutcome::Unfinished, "low: ", "there was no check");
    // 40 may be needed, 2.5 times the advice; or more than any number that was measured.
    check(
        |run| {
            run.findings.comparisons.truncate(1);
            run.findings.enough = Some(40);
        },
        "fair: ",
        "5 are too few and 40 enough; the ratios are known within ×1.021",
    );
    check(|run| run.findings.enough = None, "low: ", "known within ×1.125");
    let failed = with(|run| {
        run.findings.comparisons.truncate(1);
        run.trials[0].trial.validity = Validity::invalid(NoEvidence::NotMeasured);
    });
    let (trials, said) = (failed.trials.len(), words::trust(&failed));
    let first = "the first: the measure phase was never reached";
    assert_eq!(plain(&said[1..]), format!("1 of {trials} trials gave no result; {first}"));
    assert!(said[0].starts_with("low: "), "half of the trials: {said:?}");
}

/// Throughput cannot fall by 144 %: e^0.058 27 is 1.06.
#[test]
fn large_noise_is_a_factor() {
    let said = |sd: f64, far_off: u32| {
        let run = with(|run| {
            (run.findings.trial_sd, run.findings.far_off) = (Some(sd), far_off);
        });
        plain(&words::trust(&run)[..1])
    };
    assert!(said(2.4_f64.ln(), 0).contains(": one trial varies by a factor of 2.40; "));
    assert!(said(0.058_27, 5).contains("varies by ±6.0 %, 5 trials far off hardly count; "));
}

/// What disturbed the trials is in each form of the answer.
#[test]
fn disturbances_are_in_text_page_and_json() {
    let run = with(|run| {
        run.findings.comparisons.truncate(1);
        let largest = vec![ProgramUse { name: "python3".to_owned(), cores: 1.75 }];
        let other_programs =
            Some(OtherPrograms { cores: 1.75, of_cores: 2.0, idle_cores: 0.0, largest });
        run.trials[0].trial.surroundings =
            Some(TrialSurroundings { other_programs, ..TrialSurroundings::default() });
    });
    let told = "other programs used 1.8 of 2 cores: python3 1.8";
    assert!(plain(words::trust(&run)).contains(told), "{:?}", words::trust(&run));
    assert!(words::trust(&run)[0].starts_with("fair: "), "the check alone would be good");
    let text = crate::text::draw(super::document(&run), crate::TextScreen::new(false, Some(200)));
    assert!(plain([text]).contains(told));
    let json: serde_json::Value = serde_json::from_str(&super::pool_json(&run)).unwrap();
    assert_eq!(json["trials"][0]["disturbances"][0]["cores"], 1.75, "{json}");
}

/// 19 ms to 22 ms for a limit of 20 ms: the advice may be over it, and 64 connections within it.
#[test]
fn a_number_near_the_limit_is_named_so() {
    let run = with(|run| {
        run.pool.p99_limit_us = Some(20_000.0);
        run.findings.curve[3].is_near_limit = true;
        run.findings.curve[4].is_near_limit = true;
        run.findings.near_limit = Some(64);
    });
    let said = plain(words::answer(&run));
    let near = "That is near the limit: the p99 is 20.0 ms [18.0 ms, 22.0 ms]. 64 connections give \
                1 000 tps near the limit: their p99 is 80.0 ms [72.0 ms, 88.0 ms].";
    assert!(said.contains(near), "{said}");
    assert_eq!(words::remark(&run, &run.findings.curve[3]), "advice, p99 near the limit");
    assert!(!plain(words::answer(&advised())).contains("near the limit"));
}

/// The ratio in the answer is the quotient of two rows of the table: 960 of 1 000 is 96 %.
#[test]
fn the_table_has_the_same_figures_as_the_answer() {
    let table = super::curve_table(&advised());
    assert_eq!(table.header[2..4], ["of the best", "curve"]);
    let of_advice: Vec<_> = table.rows[3].iter().map(|entry| entry.text.clone()).collect();
    assert_eq!(plain(&of_advice[..4]), "16 960.0 96 % 96 %");
    assert_eq!(of_advice[4].replace('\u{a0}', " "), "20.0 ms [18.0 ms, 22.0 ms]");
}

#[test]
fn a_rate_needs_what_was_measured_and_never_less_than_littles_law() {
    let said = |rate| words::rate_text(&asked(rate, Some(4))).unwrap().replace('\u{a0}', " ");
    assert!(
        said(400.0).contains("at least 4 connections in use (Little's law)"),
        "{}",
        said(400.0)
    );
    assert!(said(400.0).ends_with("500.0 tps measured with 5 connections"), "{}", said(400.0));
    assert!(
        said(2_000.0).contains("no number of connections carries that rate"),
        "{}",
        said(2_000.0)
    );
    assert_eq!(words::rate_text(&advised()), None);
}

#[test]
fn the_rule_of_thumb_is_compared_with_the_advice() {
    let said = |run: &PoolRun| words::rule_text(run).unwrap().replace('\u{a0}', " ");
    assert!(
        said(&advised()).ends_with("gives 5, in place of 16: 500.0 tps, ×0.521 of the 960.0 tps")
    );
    let equal = with(|run| run.findings.advice = Some(5));
    assert!(said(&equal).ends_with("gives 5, which is the advice"));
    let over = with(|run| run.findings.advice = Some(4));
    assert!(said(&over).contains("gives 5, in place of 4: 500.0 tps"), "{}", said(&over));
}

/// 4 connections carry what 3 do not.
#[test]
fn processes_that_share_fewer_connections_than_advised_say_so() {
    let said = |connections, instances| {
        let limits = PoolLimits { instances, p99_limit_us: None, wait_timeout_s: None };
        let mut run = advised();
        run.parameters = Some(PoolParameters::new(connections, None, &limits));
        words::parameters_text(&run).unwrap()
    };
    assert!(said(4, 3).contains("most = 1 in each of 3 processes (3 in all, in place of 4);"));
    assert!(said(2, 3).contains("(3 in all, in place of 2)"));
    assert!(said(16, 2).contains("most = 8 in each of 2 processes;"), "{}", said(16, 2));
}

#[test]
fn the_lifetime_has_its_reason() {
    let reason = |wait: Option<u64>| {
        let limits = PoolLimits { instances: 2, p99_limit_us: None, wait_timeout_s: wait };
        let parameters = PoolParameters::new(16, None, &limits);
        let rows = words::reasons(&advised(), &parameters);
        assert_eq!(rows[0][1..], ["8".to_owned(), "16 connections for 2 processes".to_owned()]);
        rows.into_iter().find(|row| row[0] == "max lifetime").unwrap()
    };
    assert_eq!(reason(Some(120))[1..], ["90 s", "30 s before the server's wait_timeout of 120 s"]);
    assert!(reason(Some(28_800))[2].starts_with("under the server's wait_timeout of 28800 s"));
    assert!(reason(None)[2].starts_with("renewed in half an hour"));
}

/// `make test-pools` runs them; here, that each has the login and all its parameters, in one of the
/// units. Go has one limit for the wait and the statement, and mysql2 one of the queue.
#[test]
fn each_configuration_has_the_login_and_the_parameters() {
    let limits =
        PoolLimits { instances: 1, p99_limit_us: Some(3_100_000.0), wait_timeout_s: Some(107) };
    let parameters = PoolParameters::new(37, Some(400_000.0), &limits);
    for (dialect, libraries) in [(SqlDialect::Mysql, 7), (SqlDialect::Postgres, 6)] {
        let all: Vec<_> = PoolLibrary::ALL
            .into_iter()
            .filter_map(|library| {
                Some((library.name(), library.lines(&parameters, dialect)?.join("\n")))
            })
            .collect();
        assert_eq!(all.len(), libraries);
        for (name, text) in all {
            let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
            assert!(
                ["USER", "PASSWORD", "HOST:", "/DB"].iter().all(|word| text.contains(word)),
                "{text}"
            );
            assert!(
                has(&["37"])
                    && has(&["2700", "2.7", "10700", "queueLimit: 370"])
                    && has(&["8000", "=8", ": 8"]),
                "{name}:\n{text}"
            );
            assert!(has(&["77", "77000"]), "{name}:\n{text}");
        }
    }
}
