//! Explanations of made-up servers: their words, and their document.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::Value;
use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_analysis::LoadedTrial;
use truetps_archive::ExplainedRun;
use truetps_causes::{CauseQuestion, Findings, LogInterval, Mixture};
use truetps_record::{
    CONNECTIONS, Configuration, ExplainedFactor, ExplainedSide, Explanation, FactorChange,
    FactorLevel, Flavour, LeftOut, NoEvidence, SCHEMA_VERSION, SettingValue, Validity,
};

use super::explanation_json;
use crate::TextScreen;
use crate::fixture::Fixture;
use crate::schema_check::violations;
use crate::summary::{check_screen, explanation_summary};
use crate::{FolderAnswer, ReportAnswer};

const SCHEMA: &str = include_str!("../../../../docs/reference/explanation.schema.json");

/// Settings with the level of A and of B.
const SETTINGS: [(&str, &str, &str); 7] = [
    ("log_bin", "OFF", "ON"),
    ("sync_binlog", "0", "1"),
    ("table_open_cache", "2000", "400"),
    ("net_buffer_length", "16384", "8192"),
    ("max_connect_errors", "100", "7"),
    ("join_buffer_size", "262144", "1048576"),
    ("sql_mode", "", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE"),
];

/// A server without chance, but for a wave that no design follows.
struct MadeUp<'a> {
    value: Server<'a>,
    trials: Vec<(Mixture, Option<f64>)>,
    most: usize,
}

impl Source<CauseQuestion> for MadeUp<'_> {
    fn run(&mut self, batch: &Batch<CauseQuestion>, _: &Findings) -> Option<Vec<Option<f64>>> {
        if self.trials.len() + batch.points.len() > self.most {
            return None;
        }
        let results: Vec<_> = batch
            .points
            .iter()
            .enumerate()
            .map(|(n, mixture)| {
                let wave = 0.02 * ((self.trials.len() + n) as f64 * 2.4).sin();
                (self.value)(*mixture).map(|value| value + wave)
            })
            .collect();
        self.trials.extend(batch.points.iter().copied().zip(results.iter().copied()));
        Some(results)
    }
}

fn explained(value: Server<'_>, most: usize) -> ExplainedRun {
    let fixture = Fixture::connections_only();
    let level = |text: &str| SettingValue::Text(text.to_owned());
    let factors: Vec<_> = SETTINGS
        .iter()
        .map(|(name, a, b)| ExplainedFactor {
            name: (*name).to_owned(),
            levels: vec![FactorLevel { name: (*name).to_owned(), a: level(a), b: level(b) }],
            change: if *name == "log_bin" { FactorChange::Restart } else { FactorChange::Dynamic },
            merged: None,
        })
        .collect();
    let side = |name: &str, is_a: bool| ExplainedSide {
        name: name.to_owned(),
        configuration: configuration(
            &factors,
            if is_a { Mixture::A } else { Mixture::b(factors.len()) },
        ),
        server: fixture.run.experiment.server.clone(),
        notes: Vec::new(),
    };
    let mut source = MadeUp { value, trials: Vec::new(), most };
    let findings = CauseQuestion::new(factors.len(), &[0, 1], 42, 3.0).investigate(&mut source);
    let explanation = Explanation {
        schema_version: SCHEMA_VERSION,
        seed: 42,
        smallest_percent: 3.0,
        budget_s: None,
        a: side("old.cnf", true),
        b: side("new.cnf", false),
        suspects: vec![0, 1],
        left_out: vec![LeftOut {
            name: "server_id".to_owned(),
            a: Some("1".to_owned()),
            b: Some("2".to_owned()),
            reason: "who the server is".to_owned(),
        }],
        asked: None,
        mixtures: Vec::new(),
        factors,
    };
    let first = &fixture.run.trials[0].trial;
    let trial = |(n, (mixture, log)): (usize, &(Mixture, Option<f64>))| {
        let mut trial = first.clone();
        trial.name = format!("trial-{:04}", n + 1);
        trial.configuration = configuration(&explanation.factors, *mixture);
        if let Some(log) = log {
            trial.measured.as_mut().unwrap().tps = log.exp();
        } else {
            trial.measured = None;
            trial.validity = Validity::invalid(NoEvidence::ServerNotPrepared {
                error: "<it> aborts".to_owned(),
            });
        }
        let settings = trial.configuration.settings();
        let variables =
            settings.map(|(name, level)| (name.to_owned(), level.option_text())).collect();
        (*mixture, LoadedTrial { variables: Some(variables), ..LoadedTrial::from(trial) })
    };
    let trials = source.trials.iter().enumerate().map(trial).collect();
    let (plan, experiment) = (fixture.run.plan, fixture.run.experiment);
    ExplainedRun {
        path: PathBuf::new(),
        plan,
        experiment,
        explanation,
        trials,
        findings,
        is_foreign: false,
    }
}

fn configuration(factors: &[ExplainedFactor], mixture: Mixture) -> Configuration {
    let mut levels: IndexMap<_, _> = [(CONNECTIONS.to_owned(), SettingValue::Int(8))].into();
    for (index, factor) in factors.iter().enumerate() {
        let level = &factor.levels[0];
        levels.insert(
            factor.name.clone(),
            if mixture.has(index) { level.b.clone() } else { level.a.clone() },
        );
    }
    Configuration { levels }
}

const BASE: f64 = 9.0;
const ALL: usize = 10_000;

/// Its result for a mixture.
type Server<'a> = &'a dyn Fn(Mixture) -> Option<f64>;

#[expect(clippy::unnecessary_wraps, reason = "the form of a server that may give no result")]
fn together(mixture: Mixture) -> Option<f64> {
    Some(BASE - if mixture.has(0) && mixture.has(1) { 0.8 } else { 0.0 })
}

/// The answer as one line.
fn summary(run: &ExplainedRun) -> String {
    explanation_summary(run, TextScreen::new(false, Some(100)))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// A statement that the server of the trials knows.
#[test]
fn a_remedy_is_in_the_words_of_the_server() {
    let slow = |mixture: Mixture| Some(BASE - if mixture.has(1) { 0.6 } else { 0.0 });
    for (flavour, version, expect) in [
        (
            Flavour::Mariadb,
            "10.11.19",
            "in B: SET GLOBAL sync_binlog = 0 (and in the option file for good)",
        ),
        (
            Flavour::Mysql,
            "5.7.22",
            "in B: SET GLOBAL sync_binlog = 0 (and in the option file for good)",
        ),
        (Flavour::Mysql, "8.0.15", "in B: SET GLOBAL sync_binlog = 0 (SET PERSIST for good)"),
        (
            Flavour::Postgresql,
            "15.1",
            "in B: ALTER SYSTEM SET sync_binlog = '0', and SELECT pg_reload_conf()",
        ),
    ] {
        let mut run = explained(&slow, ALL);
        for (_, loaded) in &mut run.trials {
            let server = loaded.trial.server.as_mut().unwrap();
            (server.flavour, server.version) = (flavour, version.to_owned());
        }
        let text = summary(&run);
        assert!(text.contains(expect), "{flavour} {version}: {text}");
    }
}

#[test]
fn words_say_what_the_design_supports() {
    let one = explained(&|mixture| Some(BASE - if mixture.has(0) { 0.6 } else { 0.0 }), ALL);
    let text = summary(&one);
    assert!(
        text.contains(
            "log_bin (OFF → ON) alone makes it; no effect of anything else that differs \
                       was confirmed"
        ),
        "{text}"
    );
    assert!(text.contains("in B: skip_log_bin in the option file, and a restart"), "{text}");
    assert!(text.contains("this is no free gain"), "a replica is lost with the binlog: {text}");

    let text = summary(&explained(&together, ALL));
    assert!(
        text.contains("log_bin (OFF → ON) and sync_binlog (0 → 1) make it, only together"),
        "{text}"
    );

    let either =
        |mixture: Mixture| Some(BASE - if mixture.has(2) || mixture.has(3) { 0.6 } else { 0.0 });
    let text = summary(&explained(&either, ALL));
    assert!(text.contains("make it, either alone"), "{text}");

    let counter = |mixture: Mixture| {
        Some(BASE - if mixture.has(1) { 0.9 } else { 0.0 } + if mixture.has(4) { 0.4 } else { 0.0 })
    };
    let text = summary(&explained(&counter, ALL));
    assert!(
        text.contains("Of the difference, sync_binlog (0 → 1) makes 1")
            && text.contains("max_connect_errors (100 → 7) counteracts (-"),
        "{text}"
    );
}

#[test]
fn ends_without_a_cause() {
    let text = summary(&explained(&|_| Some(BASE), ALL));
    assert!(text.contains("No difference between A and B is reproduced"), "{text}");
    let text = summary(&explained(&together, 20));
    assert!(
        text.contains("Unfinished: B has ×0.4")
            && text.contains("It needs at least 1")
            && text.contains("So far, each changed alone in A: log_bin (OFF → ON) gives ×")
            && text.contains("Still open: which of the 7 differences between A and B make it.")
            && text.contains("Others not measured yet: table_open_cache, net_buffer_length"),
        "{text}"
    );
    let text = summary(&explained(&together, 0));
    assert!(text.contains("Unfinished: A and B were not compared yet."), "{text}");
    let dead =
        |mixture: Mixture| together(mixture).filter(|_| mixture != Mixture::b(SETTINGS.len()));
    let text = summary(&explained(&dead, ALL));
    assert!(
        text.contains("B gave no result, so that there is nothing to compare")
            && text.contains("<it> aborts"),
        "{text}"
    );
    // Three that act only all together are more than a design of two at a time can name.
    let three = |mixture: Mixture| {
        Some(BASE - if [2, 3, 4].iter().all(|factor| mixture.has(*factor)) { 0.3 } else { 0.0 })
    };
    let run = explained(&three, ALL);
    assert!(!summary(&run).contains("alone makes it"), "{}", summary(&run));
}

#[test]
fn what_does_not_work_apart_is_named() {
    let stubborn =
        |mixture: Mixture| together(mixture).filter(|_| !mixture.has(5) || mixture.has(6));
    let run = explained(&stubborn, ALL);
    let text = run.text(TextScreen::new(false, Some(120)));
    assert!(text.contains("join_buffer_size and sql_mode do not work apart"), "{text}");
    assert!(text.contains("Mixtures without a result") && text.contains("<it> aborts"), "{text}");
    assert!(run.html().contains("&#60;it&#62; aborts"), "texts of a server are escaped");
}

#[test]
fn every_screen_fits() {
    let ends: [(Server<'_>, usize); 4] = [
        (&together, ALL),
        (&together, 20),
        (&|_| Some(BASE), ALL),
        (&|mixture| Some(BASE - if mixture.has(0) { 0.6 } else { 0.0 }), ALL),
    ];
    for (value, most) in ends {
        let mut run = explained(value, most);
        check_screen(|screen| explanation_summary(&run, screen));
        run.explanation.a.name = "innodb_flush_log_at_trx_commit=1,sync_binlog=1,".repeat(8);
        check_screen(|screen| explanation_summary(&run, screen));
    }
}

#[test]
fn the_document_keeps_to_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for most in [0, 6, 20, ALL] {
        let document: Value =
            serde_json::from_str(&explanation_json(&explained(&together, most))).unwrap();
        assert_eq!(violations(&schema, &document), Vec::<String>::new());
    }
    let stubborn =
        |mixture: Mixture| together(mixture).filter(|_| !mixture.has(5) || mixture.has(6));
    let document: Value =
        serde_json::from_str(&explanation_json(&explained(&stubborn, ALL))).unwrap();
    assert_eq!(violations(&schema, &document), Vec::<String>::new());
}

#[test]
fn the_page_draws_each_share() {
    let run = explained(&together, ALL);
    let page = run.html();
    assert_eq!(
        page.matches("<svg class=\"forest\"").count(),
        2 + run.findings.others.len() + 2,
        "causes, others, closures"
    );
    let markdown = run.markdown();
    assert!(markdown.contains("| only together | log\\_bin |"), "{markdown}");
}

/// As the report of an experiment has it.
#[test]
fn the_page_has_navigation_theme_and_names_before_pictures() {
    let page = explained(&together, ALL).html();
    for part in [
        "<nav aria-label=\"Sections\">",
        "<a href=\"#verdict\">Answer</a>",
        "<a href=\"#part-1\">Causes</a>",
        "<section id=\"part-1\">",
        "function themeButton(",
        "<th scope=\"col\">cause</th><th scope=\"col\" class=\"forest-cell\">",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let row = page.split("<tr>").find(|row| row.contains("<svg class=\"forest\"")).unwrap();
    assert!(row.starts_with("<th scope=\"row\""), "{row}");
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing is loaded");
}

/// Trials of 5 s with a second between them, and a pause of two hours between two commands.
#[test]
fn the_time_that_is_left_does_not_count_pauses() {
    let mut run = explained(&together, 20);
    for (n, (_, loaded)) in run.trials.iter_mut().enumerate() {
        let began_s = n as i64 * 6 + if n > 9 { 7200 } else { 0 };
        let time = |time_s: i64| {
            let mut text = Vec::new();
            truetps_record::put_time(1_700_000_000 + time_s, &mut text);
            String::from_utf8(text).unwrap().replace(' ', "T") + "Z"
        };
        (loaded.trial.started_at, loaded.trial.ended_at) = (time(began_s), Some(time(began_s + 5)));
    }
    let left = run.findings.left.unwrap() as u64;
    let expect =
        format!("about {}.", crate::format::duration(std::time::Duration::from_secs(left * 6)));
    assert!(summary(&run).contains(&expect), "{expect}: {}", summary(&run));
}

/// An interval without 1 is no "no effect", whatever was confirmed.
#[test]
fn an_effect_that_was_not_confirmed_has_its_interval() {
    let mut run = explained(&|mixture| Some(BASE - if mixture.has(0) { 0.6 } else { 0.0 }), ALL);
    for other in &mut run.findings.others {
        other.effect = Some(LogInterval { value: 0.0, low: -0.01, high: 0.01 });
    }
    assert!(
        summary(&run).contains("these trials show no effect of anything else"),
        "{}",
        summary(&run)
    );
    let other = run.findings.others.iter_mut().find(|one| one.factor == 4).unwrap();
    other.effect = Some(LogInterval { value: 0.173, low: 0.1, high: 0.245 });
    let text = summary(&run);
    let told = "an effect that was not confirmed, and may be chance: max_connect_errors ×1.189 \
                [1.105, 1.278]";
    assert!(text.contains(told), "{text}");
    let rest = "no effect of anything else that differs was confirmed, and each is under 28 %.";
    assert!(!text.contains("these trials show no effect") && text.contains(rest), "{text}");
    let shown = text.split("no effect shown: ").nth(1).unwrap();
    assert!(
        shown.starts_with("table_open_cache") && !shown.contains("max_connect_errors"),
        "{text}"
    );
}

#[test]
fn both_sides_have_what_truetps_chose() {
    let mut run = explained(&together, ALL);
    run.explanation.factors[2].levels[0] = FactorLevel {
        name: "innodb_log_file_size".to_owned(),
        a: SettingValue::Int(536_870_912),
        b: SettingValue::Text("1G".to_owned()),
    };
    let text = run.text(TextScreen::new(false, Some(120)));
    assert!(
        text.contains("512 MiB") && text.contains("1 GiB") && !text.contains("536870912"),
        "{text}"
    );
    assert!(
        summary(&run).contains("Both sides have: buffer pool 512 MiB (chosen by truetps)"),
        "{}",
        summary(&run)
    );
    run.explanation.b.server.as_mut().unwrap().chosen_settings.clear();
    assert!(!summary(&run).contains("Both sides have"), "{}", summary(&run));
}

#[test]
fn without_a_trial_the_document_is_the_same() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let run = explained(&together, 0);
    let document: Value =
        serde_json::from_str(&super::nothing_differs_json("x", &run.explanation)).unwrap();
    assert_eq!(violations(&schema, &document), Vec::<String>::new());
    let text = crate::text::draw(
        super::nothing_differs(&run.explanation),
        TextScreen::new(false, Some(100)),
    );
    assert!(
        text.contains("do not differ") && text.contains("who the server is: server_id"),
        "{text}"
    );
}
