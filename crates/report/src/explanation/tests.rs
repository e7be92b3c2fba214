//! Explanations of made-up servers: their words, and their document.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::Value;
use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_analysis::LoadedTrial;
use truetps_archive::ExplainedRun;
use truetps_causes::{CauseQuestion, CauseRole, Findings, LogInterval, Mixture};
use truetps_record::{
    CONNECTIONS, Configuration, ExplainedFactor, ExplainedSide, Explanation, FactorChange,
    FactorLevel, Flavour, LeftOut, NoEvidence, OtherRun, SCHEMA_VERSION, SettingValue, Validity,
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
            "log_bin (OFF → ON) alone makes it; no effect of anything else was confirmed: \
                       each is between -4.3 % and +4.4 %."
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
    let text = summary(&run);
    assert!(
        !text.contains("not nothing") && text.contains("not told from ×1: sync_binlog"),
        "a suspect without effect is named, too: {text}"
    );
    let other = run.findings.others.iter_mut().find(|one| one.factor == 4).unwrap();
    other.effect = Some(LogInterval { value: 0.173, low: 0.1, high: 0.245 });
    let text = summary(&run);
    let told = "not confirmed, but not nothing: max_connect_errors ×1.189 [1.105, 1.278] (of 20 \
                such intervals one leaves out ×1 by chance)";
    assert!(text.contains(told), "{text}");
    let shown = text.split("not told from ×1: ").nth(1).unwrap();
    let shown = shown.split("Remedy").next().unwrap();
    assert!(!shown.contains("max_connect_errors"), "{text}");
    assert!(!text.contains("no effect shown") && !text.contains("no measurable"), "{text}");
}

/// ln 0.64 is a decline of 36 %, and ln 1.2 a rise of 20 %; twice of them 59 % and 44 %.
#[test]
fn a_bound_has_both_directions() {
    let mut run = explained(&|mixture| Some(BASE - if mixture.has(0) { 0.6 } else { 0.0 }), ALL);
    let bound = LogInterval { value: 0.0, low: 0.64_f64.ln(), high: 1.2_f64.ln() };
    run.findings.others_bound = Some(bound);
    let text = summary(&run);
    let answer = "no effect of anything else was confirmed: each is between -36 % and +20 %.";
    assert!(text.contains(answer), "{text}");
    let trust = "the mean effect of each of the other 6 differences is between -36 % and +20 % \
                 (all of them in 95 %); where it depends on one other difference, its effect is \
                 between -59 % and +44 %";
    assert!(text.contains(trust), "{text}");
    let low = LogInterval { value: -0.2, low: 0.64_f64.ln(), high: 0.02 };
    run.findings.others.iter_mut().for_each(|one| one.effect = Some(low));
    let full = run.text(TextScreen::new(false, Some(120)));
    assert!(full.contains("-36 %") && !full.contains("57 %") && !full.contains("56 %"), "{full}");
}

/// The blocks of a machine that became slower are not in the quotient: 4,000 against 1,000.
#[test]
fn throughputs_beside_a_ratio_have_its_quotient() {
    let mut run = explained(&|mixture| Some(BASE - if mixture.has(0) { 0.6 } else { 0.0 }), ALL);
    for (mixture, loaded) in &mut run.trials {
        let tps = if *mixture == Mixture::A { 1000.0 } else { 4500.0 };
        loaded.trial.measured.as_mut().unwrap().tps = tps;
    }
    let gap = 4.0_f64.ln();
    run.findings.gap = Some(LogInterval { value: gap, low: gap - 0.1, high: gap + 0.1 });
    let text = summary(&run);
    let told = "B has ×4.00 [3.62, 4.42] of the throughput of A (4 243 against 1 061 tps)";
    assert!(text.replace('\u{a0}', " ").contains(told), "{text}");
}

#[test]
fn an_unknown_role_is_named_and_parts_have_intervals() {
    let mut run = explained(&together, ALL);
    let part = LogInterval { value: 0.65, low: 0.55, high: 0.75 };
    for cause in &mut run.findings.causes {
        (cause.role, cause.part) = (CauseRole::NotKnown, Some(part));
    }
    run.findings.causes[0].is_of_fresh_trials = true;
    let text = summary(&run);
    assert!(text.contains("makes 65 % [55, 75] and"), "{text}");
    assert!(text.contains("role not known"), "{text}");
    let name = &run.explanation.factors[run.findings.causes[0].factor].name;
    let fresh = format!("the share of {name} is measured again, in fresh trials");
    let full = run.text(TextScreen::new(false, Some(200)));
    assert!(full.contains(&fresh), "{full}");
}

/// Two were found, and one of them was confirmed.
#[test]
fn what_was_found_and_not_confirmed_is_named_in_the_closures() {
    let mut run = explained(&|mixture| Some(BASE - if mixture.has(0) { 0.6 } else { 0.0 }), ALL);
    assert!(summary(&run).contains("A with the causes has ×"), "{}", summary(&run));
    run.findings.closures.with = [0, 2].into_iter().collect();
    let told = "A with the causes and table_open_cache, which is not confirmed, has ×";
    assert!(summary(&run).contains(told), "{}", summary(&run));
    assert_eq!(run.findings.causes[0].last, None, "the only cause has no others");
}

#[test]
fn disturbed_trials_are_named_in_all_forms() {
    let mut run = explained(&together, ALL);
    run.trials[3].1.trial.beside = vec![OtherRun { pid: 7, command: "sweep".to_owned() }];
    run.trials[5].1.trial.repeated_after = Some("strace traced the server".to_owned());
    let (text, page) = (run.text(TextScreen::new(false, Some(200))), run.html());
    for told in [
        "trial-0004: truetps sweep also put load on this host",
        "trial-0006: measured again, as strace traced the server",
    ] {
        assert!(text.contains(told) && page.contains(told), "{told}: {text}");
    }
    let document: Value = serde_json::from_str(&explanation_json(&run)).unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(violations(&schema, &document), Vec::<String>::new());
    assert_eq!(document["trials"][3]["disturbances"][0]["kind"], "other_runs");
    assert_eq!(document["trials"][5]["repeated_after"], "strace traced the server");
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
