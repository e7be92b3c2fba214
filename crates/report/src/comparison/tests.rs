//! Comparisons of made-up experiments, in every format.

use truetps_analysis::{Comparison, Judgement, Missing, Pairing, ThresholdState};
use truetps_knowledge::{Diff, DurabilityPair};
use truetps_record::{Configuration, WorkloadProfile};

use super::{ComparedSide, FailIf, RunComparison, comparison_csv, comparison_json};
use crate::ReportAnswer;
use crate::TextScreen;
use crate::fixture::Fixture;
use crate::junit::comparison_junit;
use crate::junit::tests::checked;
use crate::schema_check::violations;

const SCHEMA: &str = include_str!("../../../../docs/reference/comparison.schema.json");

/// Two configurations of a fixture.
struct Made {
    fixture: Fixture,
    of_a: Configuration,
    of_b: Configuration,
    thresholds: Vec<(FailIf, ThresholdState)>,
    comparison: Comparison,
    durability: DurabilityPair,
    settings: Option<Diff>,
}

impl Made {
    fn of(fixture: Fixture, a: usize, b: usize, pairing: Pairing) -> Self {
        let configurations = fixture.run.plan.configurations();
        let (of_a, of_b) = (configurations[a].clone(), configurations[b].clone());
        let thresholds =
            ["tps<-5%", "p99>10%", "durability"].map(|text| text.parse::<FailIf>().unwrap());
        let mut run_b = fixture.run.clone();
        if pairing == Pairing::None {
            run_b.path = "elsewhere".into();
        }
        let a = ComparedSide { name: "a", run: &fixture.run, configuration: &of_a };
        let b = ComparedSide { name: "b", run: &run_b, configuration: &of_b };
        let RunComparison { comparison, durability, thresholds, settings, .. } =
            RunComparison::all(&[(a, b)], &thresholds).remove(0);
        Self { fixture, of_a, of_b, thresholds, comparison, durability, settings }
    }

    fn input(&self) -> RunComparison<'_> {
        let side =
            |name, configuration| ComparedSide { name, run: &self.fixture.run, configuration };
        RunComparison {
            a: side("runs/before", &self.of_a),
            b: side("runs/after", &self.of_b),
            comparison: self.comparison.clone(),
            settings: self.settings.clone(),
            durability: self.durability.clone(),
            thresholds: self.thresholds.clone(),
        }
    }

    fn check(&self) {
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let document = serde_json::from_str(&comparison_json(&[self.input()])).unwrap();
        assert_eq!(violations(&schema, &document), Vec::<String>::new());
    }
}

/// Flush levels 1 and 0 at 8 connections.
fn flushes(pairing: Pairing) -> Made {
    Made::of(Fixture::durability(), 1, 7, pairing)
}

/// One screen, however wide, of one comparison and of several.
#[test]
fn a_comparison_fits_one_screen() {
    let made = flushes(Pairing::Blocks);
    crate::summary::check_screen(|screen| {
        crate::summary::comparison_summary(&[made.input()], screen)
    });
    let others = [
        flushes(Pairing::None),
        Made::of(Fixture::troubled(), 1, 7, Pairing::Blocks),
        flushes(Pairing::Blocks),
    ];
    let several = || others.iter().map(Made::input).cycle().take(60).collect::<Vec<_>>();
    crate::summary::check_screen(|screen| crate::summary::comparison_summary(&several(), screen));
    let text = crate::summary::comparison_summary(&several(), TextScreen::PLAIN);
    assert!(
        text.contains("Of 60 configurations, B is faster in ") && text.contains("more with --full"),
        "{text}"
    );
}

/// A transaction of B changes 100 rows: it is slower, and B writes more rows.
#[test]
fn other_numbers_of_rows_are_compared_in_rows() {
    let plan = "name = \"rows\"\nabout = \"x\"\n[workload]\nname = \
                \"bulk-insert\"\n[design]\nblocks = 4\naa_pair = false\n\
                [factors]\nrows_per_insert = [1, 100]\nconnections = [8]\n";
    let fixture = Fixture::of_plan(plan).with(|trials| {
        for trial in trials.iter_mut() {
            let rows = trial.configuration.levels["rows_per_insert"].as_int().unwrap() as u64;
            let measured = trial.measured.as_mut().unwrap();
            let tps =
                if rows == 1 { 20_000.0 } else { 1_600.0 } * (1.0 + f64::from(trial.block) / 100.0);
            (measured.tps, measured.counts.ok) = (tps, (tps * measured.length_ms / 1e3) as u64);
            measured.counts.rows_changed = measured.counts.ok * rows;
        }
    });
    let made = Made::of(fixture, 0, 1, Pairing::Blocks);
    made.check();
    let plain =
        |text: String| text.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let short = plain(crate::summary::comparison_summary(&[made.input()], TextScreen::PLAIN));
    assert!(
        short.contains("Answer B is slower: ×0.080 ")
            && short.contains("In rows B is faster: ×8.00"),
        "{short}"
    );
    assert!(short.contains("a transaction changed 1.00 rows on A and 100.0 on B"), "{short}");
    let full = plain(vec![made.input()].text(TextScreen::PLAIN));
    assert!(full.contains("Rows in rows B is faster: ×8.00"), "{full}");
    let same = plain(crate::summary::comparison_summary(
        &[flushes(Pairing::Blocks).input()],
        TextScreen::PLAIN,
    ));
    assert!(!same.contains("rows/s"), "{same}");
}

/// That a faster side loses commits stands beside the verdict.
#[test]
fn a_faster_side_that_loses_commits_says_so() {
    let made = Made::of(Fixture::durability().with_settings(), 1, 7, Pairing::Blocks);
    let text = crate::summary::comparison_summary(&[made.input()], TextScreen::PLAIN);
    let answer: Vec<_> =
        text.lines().skip_while(|line| !line.starts_with("Answer")).take(4).collect();
    let answer = answer.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "B risks more commits in a crash. A crash of the server process or a power failure \
                can cost B up to about 1 s";
    assert!(answer.starts_with("Answer B is faster: ×") && answer.contains(said), "{text}");
}

#[test]
fn documents_match_the_schema() {
    flushes(Pairing::Blocks).check();
    flushes(Pairing::None).check();
    Made::of(Fixture::connections_only(), 0, 1, Pairing::None).check();
    Made::of(Fixture::watched(), 0, 1, Pairing::Blocks).check();
    Made::of(Fixture::troubled(), 0, 3, Pairing::Blocks).check();
    Made::of(Fixture::script_without_server(), 0, 0, Pairing::None).check();
    Made::of(Fixture::durability().with(Vec::clear), 0, 3, Pairing::Blocks).check();
}

#[test]
fn the_answer_in_words() {
    let text = vec![flushes(Pairing::Blocks).input()].text(TextScreen::PLAIN);
    for part in [
        "runs/after (innodb_flush_log_at_trx_commit=0 connections=8) compared with runs/before\n\
         (innodb_flush_log_at_trx_commit=1 connections=8)",
        "Verdict   B is faster: ×1",
        "6 and 3 trials, interleaved",
        "Fail if   tps<-5%: kept",
        "Stalls    A not known; B not known",
        "innodb_flush_log_at_trx_commit  1  0",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("not interleaved"), "{text}");
    let text = vec![flushes(Pairing::None).input()].text(TextScreen::PLAIN);
    assert!(text.contains("not interleaved") && text.contains("How far this goes"), "{text}");
    let markdown = vec![flushes(Pairing::None).input()].markdown();
    assert!(markdown.contains("| tps |") && markdown.contains("## Figures"), "{markdown}");
    let csv = comparison_csv(&[flushes(Pairing::None).input()]);
    assert!(csv.lines().all(|line| line.split(',').count() == 9), "{csv}");
    assert!(csv.contains(",tps,") && csv.contains(",higher\r\n"), "{csv}");
}

/// A side that loses commits is not only faster.
#[test]
fn a_side_that_survives_less_is_reported_beside_the_verdict() {
    let with = |said: &str| {
        let mut made = Made::of(Fixture::durability().with_settings(), 1, 7, Pairing::Blocks);
        made.thresholds.retain(|(one, _)| one.to_string() == said);
        made
    };
    let less = with("durability");
    less.check();
    assert_eq!(less.thresholds[0].1, ThresholdState::Crossed);
    let text = vec![less.input()].text(TextScreen::PLAIN);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "6 and 3 trials, interleaved; a crash of the server process or a power failure can cost B \
         up to about 1 s of acknowledged transactions (A: nothing) Fail if durability: crossed",
        "Crash A: a commit of InnoDB tables survives a process crash and a power cut, if the disk",
        "B: a process crash or a power cut can lose up to about 1 s",
    ] {
        assert!(flat.contains(part), "{part}\n{text}");
    }
    assert!(vec![less.input()].markdown().contains("can cost B up to about 1 s"));
    assert!(comparison_csv(&[less.input()]).contains(",durability,,,,,,less\r\n"));
    let json: serde_json::Value = serde_json::from_str(&comparison_json(&[less.input()])).unwrap();
    assert_eq!(json["comparisons"][0]["durability"]["b_survives"], "less");

    let mut unknown = with("durability");
    unknown.durability = DurabilityPair::of(unknown.durability.a.clone(), None);
    let state = FailIf::Durability.state(&unknown.comparison, &unknown.durability, 1);
    assert_eq!(state, ThresholdState::DurabilityUnknown);
    unknown.thresholds = vec![(FailIf::Durability, state)];
    unknown.check();
    let text = vec![unknown.input()].text(TextScreen::PLAIN);
    assert!(
        text.contains("durability: cannot be judged") && text.contains("the settings of B"),
        "{text}"
    );
    assert!(!text.contains("can cost B"), "{text}");
}

/// An interval that excludes "no difference" beside "not enough data" needs a reason.
#[test]
fn an_undecided_verdict_has_its_reason() {
    let mut made = flushes(Pairing::Blocks);
    made.comparison.lines[0].change = Judgement::NotEnoughData { more_trials: None };
    for (missing, expect) in [
        (Missing::Interest, "not proven to be at least the 3.0 % of interest"),
        (Missing::Test { alpha: 0.05 / 3.0 }, "the test at 1.7 % is not passed"),
    ] {
        made.comparison.lines[0].missing = Some(missing);
        made.check();
        let text = vec![made.input()].text(TextScreen::PLAIN);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("does not include \"no difference\", but") && flat.contains(expect),
            "{text}"
        );
    }
}

/// One key again and again, and new ones at the end: what case 4 was about.
#[test]
fn workloads_differ_in_their_own_terms() {
    let profile = |deleted: f64, new_pages: f64| WorkloadProfile {
        transactions: 1000,
        statements_per_tx: 2.0,
        writes_per_tx: Some(2.0),
        inserted_rows_per_tx: Some(1.0),
        explicit_key_share: Some(deleted),
        deleted_key_share: Some(deleted),
        key_reuse_tx_p50: (deleted > 0.5).then_some(0.0),
        key_reuse_tx_max: 2500,
        recent_key_share: Some(0.5),
        rows_per_page: Some(2.37),
        new_pages_per_1000_tx: Some(new_pages),
    };
    let mut made = flushes(Pairing::None);
    made.comparison.profile_a = Some(profile(1.0, 0.0));
    made.comparison.profile_b = Some(profile(0.0, 14.1));
    let text = vec![made.input()].text(TextScreen::PLAIN);
    for part in [
        "inserts that name their primary key: A 100 %, B 0.0 %",
        "a client writes half of its keys again: A within the same transaction, B hardly ever",
        "new pages at the end of the table, in 1 000 transactions: A 0.000, B 14.1",
        "B fills new pages all the time",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("rows written on each page"), "equal values are not shown: {text}");
    made.comparison.profile_b = None;
    assert!(!vec![made.input()].text(TextScreen::PLAIN).contains("What was sent"));
}

/// Case 4, as two plans with statements of their own.
#[test]
fn one_line_of_two_plans_with_sql_of_their_own_is_what_was_different() {
    let custom = |insert: &str, low: u32| {
        format!(
            "name = \"own\"\nabout = \"x\"\n[workload]\nname = \"custom\"\n\
             [[workload.table]]\nname = \"shop\"\ncreate = [\"CREATE TABLE shop (id INT PRIMARY \
             KEY, k INT)\"]\n\
             [[workload.statements]]\nsql = \"\"\"DELETE FROM shop\nWHERE id = ?\"\"\"\n\
             params = [{{ kind = \"int\", min = {low}, max = 9 }}]\n[[workload.statements]]\nsql = \
             \"{insert}\"\n\
             [design]\nblocks = 1\naa_pair = false\n[factors]\nconnections = [1]\n"
        )
    };
    let sql = |insert: &str, _: u32| {
        format!(
            "name = \"own\"\nabout = \"x\"\n[workload]\nsql = [\"DELETE FROM shop\", \"{insert}\"]\n\
             create = \"CREATE TABLE shop (id INT PRIMARY KEY, k INT)\"\n\
             [design]\nblocks = 1\naa_pair = false\n[factors]\nconnections = [1]\n"
        )
    };
    let long = "x".repeat(500);
    let inserts = [
        format!("INSERT INTO shop VALUES (7, 0) /* {long} one */"),
        format!("INSERT INTO shop VALUES (7, 0) /* {long} two */"),
    ];
    let check = |plan: &dyn Fn(&str, u32) -> String, key: &str, expect: &[&str]| {
        let made = Made::of(Fixture::of_plan(&plan(&inserts[0], 1)), 0, 0, Pairing::None);
        let other = Made::of(Fixture::of_plan(&plan(&inserts[1], 2)), 0, 0, Pairing::None);
        let mut input = made.input();
        assert!(!vec![input.clone()].text(TextScreen::PLAIN).contains("What was different"));
        input.b = ComparedSide { run: &other.fixture.run, ..other.input().b };
        let text = vec![input.clone()].text(TextScreen::PLAIN);
        let section = text.split("What was different").nth(1).unwrap_or_else(|| panic!("{text}"));
        assert!(section.trim_start().starts_with(&format!("{key}: - A, + B")), "{section}");
        for part in expect {
            assert!(section.contains(part), "{part}\n{section}");
        }
        assert!(text.contains("Caution   the workloads differ"), "{text}");
        let short =
            crate::summary::comparison_summary(std::slice::from_ref(&input), TextScreen::PLAIN);
        assert!(
            short.contains("The workloads differ: see Work.")
                && !short.contains("--full shows how"),
            "{short}"
        );
        let work = short.split("Work      ").nth(1).unwrap_or_else(|| panic!("{short}"));
        let work = work.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            work.starts_with(&format!("{key}: A \"")) && work.contains(", B \""),
            "the line that differs\n{short}"
        );
        let document: serde_json::Value =
            serde_json::from_str(&comparison_json(std::slice::from_ref(&input))).unwrap();
        assert_eq!(
            violations(&serde_json::from_str(SCHEMA).unwrap(), &document),
            Vec::<String>::new()
        );
        assert_eq!(document["comparisons"][0]["sql"][0]["key"], key);
        assert!(vec![input.clone()].markdown().contains("```diff\n"));
    };
    let parameters = [
        "-  ? = {\"kind\":\"int\",\"min\":1,\"max\":9",
        "+  ? = {\"kind\":\"int\",\"min\":2,\"max\":9",
        "x one */",
        "x two */",
        " WHERE id = ?",
    ];
    check(&custom, "workload.statements", &parameters);
    check(&sql, "workload.sql", &["x one */", "x two */", " DELETE FROM shop"]);
}

#[test]
fn each_threshold_is_a_test_case() {
    use ThresholdState::{Bound, Crossed, DurabilityUnknown, Kept, NoFigure, Unsure};
    let of = |states: &[ThresholdState]| {
        let mut made = Made::of(Fixture::durability(), 0, 3, Pairing::Blocks);
        let threshold: FailIf = "tps<-5%".parse().unwrap();
        made.thresholds = states.iter().map(|state| (threshold, *state)).collect();
        let found = checked(&comparison_junit(&[made.input(), made.input()]));
        ["failure", "skipped", "testcase", "testsuite"].map(|element| found.number(element))
    };
    assert_eq!(of(&[Crossed, Kept]), [2, 0, 4, 2]);
    assert_eq!(of(&[Unsure, NoFigure, Bound, DurabilityUnknown]), [0, 8, 8, 2]);
    assert_eq!(of(&[]), [0, 0, 2, 2], "throughput could be compared");
}
