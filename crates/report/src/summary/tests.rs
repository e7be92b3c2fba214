//! Every screen fits, at each width, and says what matters first.

use truetps_analysis::CrashAnalysis;
use truetps_archive::CrashedRun;
use truetps_knowledge::{SettingsSide, SideValue, diff};
use truetps_record::{
    Configuration, CrashKind, CrashRecord, CrashRole, CrashRun, CrashStep, CrashedConfiguration,
    Flavour, ServerFacts, SettingValue,
};

use super::layout::SUMMARY_LINES_MAX;
use super::{crash_summary, diff_summary, stalls_summary, summary_text};
use crate::fixture::Fixture;
use crate::{AnswerVerdict, FolderAnswer, ReportAnswer};
use crate::{TextScreen, display_width};

const SWEEP: &str = "\
durability: What does each durability setting cost?
mariadb 10.11.19, private, 2 cores, one flush 310 µs, insert

Answer    With innodb_flush_log_at_trx_commit=1 (baseline): 2 652 tps, best at
          50 connections (95 % interval [2 553, 2 755] tps).
          =2: faster than =1 at 1, 8 and 50 connections (×2.26 to ×28.8).
          =0: faster than =1 at 1, 8 and 50 connections (×2.28 to ×28.5).

By innodb_flush_log_at_trx_commit
             best tps  at  p99 there           ratio at 50  power cut loses
baseline =1     2 652  50    56.6 ms                     –        nothing
         =2     9 029   8    2.66 ms  ×2.26 [2.16, 2.37]        about 1 s
         =0     8 939   8    2.68 ms  ×2.28 [2.17, 2.39]        about 1 s *
losses: if the disk honours flushes; * also if the server crashes

tps at connections      1      8     50
                =1  210.0  811.3  2 652
                =2  6 040  9 029  5 999
                =0  5 980  8 939  6 040

Use       =1: 50 connections (the most tried, and the fastest: more may be
          faster); =2 and =0: 8 connections (\"cores × 2 + spindles\" gives 5)
Trust     good: identical runs differed by +0.67 % [-6.3 %, +8.2 %] (3 pairs); a
          verdict needs a factor of about 1.11 (connections=8) to 1.15
          (connections=50)
          … 2 more with --full
Trials    30 of 30 valid; 3 blocks; 5 min 30 s of trials
";

/// Draws a screen at each width of a terminal, and for no terminal. A terminal of 40 columns has
/// narrower tables and more lines.
pub(crate) fn check_screen(draw: impl Fn(TextScreen) -> String) {
    for width in [40, 80, 100, 160] {
        let screen = TextScreen::new(false, Some(width));
        for (text, screen) in
            [(draw(screen), screen), (draw(screen.answer_last()), screen.answer_last())]
        {
            let wide: Vec<_> = text.lines().filter(|line| display_width(line) > width).collect();
            assert!(wide.is_empty(), "{width}: {wide:#?}\n{text}");
            let lines = text.lines().count();
            assert!(
                lines <= SUMMARY_LINES_MAX || width < 80,
                "{lines} lines at {width} columns\n{text}"
            );
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
            let answer = text.lines().position(|line| line.starts_with("Answer")).unwrap();
            let last_gap = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.is_empty())
                .map(|(at, _)| at)
                .last()
                .unwrap();
            if screen.has_answer_last() {
                assert_eq!(answer, last_gap + 1, "the answer is what stands last\n{text}");
            } else {
                let header_max = if width < 80 { 10 } else { 8 };
                assert!(
                    text.lines().nth(answer - 1).unwrap().is_empty() && answer < header_max,
                    "the answer comes first\n{text}"
                );
            }
        }
    }
    let lines = draw(TextScreen::PLAIN).lines().count();
    assert!(lines <= SUMMARY_LINES_MAX, "{lines} lines without a terminal");
}

fn all() -> Vec<Fixture> {
    vec![
        Fixture::durability(),
        Fixture::durability().with_settings(),
        Fixture::durability().with(Vec::clear),
        Fixture::durability().with_settings().with_cpu_times(8, 4e6, 9e6, 0.1),
        Fixture::connections_only(),
        Fixture::script_without_server(),
        Fixture::slap(),
        Fixture::external(),
        Fixture::troubled(),
        Fixture::watched(),
        Fixture::watched_at("1, 8, 50"),
        Fixture::open_run(1000),
        Fixture::open_run(8000),
        Fixture::rates(),
        Fixture::old(),
        many_cells(),
    ]
}

/// 60 combinations of settings at two numbers of connections.
fn many_cells() -> Fixture {
    Fixture::of_plan(
        "name = \"many\"\nabout = \"Which of sixty combinations is fastest?\"\n[workload]\nname = \
         \"insert\"\n\
         [design]\nblocks = 2\n[factors]\ninnodb_flush_log_at_trx_commit = [1, 2, 0]\n\
         sync_binlog = [0, 1, 10, 100]\ninnodb_io_capacity = [100, 200, 400, 800, \
         1600]\nconnections = [1, 8]\n",
    )
}

#[test]
fn every_experiment_fits_one_screen() {
    for fixture in all() {
        check_screen(|screen| summary_text(&fixture.input(), screen));
        check_screen(|screen| stalls_summary("runs/made-up", &fixture.run, screen));
    }
}

/// The whole screen, as a reader without a terminal gets it.
#[test]
fn the_screen_of_a_sweep() {
    let text = summary_text(
        &Fixture::durability().with_settings().input(),
        TextScreen::new(false, Some(80)),
    );
    assert_eq!(text, SWEEP);
}

/// Where several settings are varied, each one's own effect is what was asked.
#[test]
fn several_settings_begin_with_the_effect_of_each() {
    let plan = "name = \"two\"\nabout = \"Which setting?\"\n[workload]\nname = \
                \"insert\"\n[design]\nblocks = 3\n[factors]\n\
                innodb_flush_log_at_trx_commit = [1, 2]\ninnodb_doublewrite = [true, \
                false]\nconnections = [8]\n";
    let fixture = Fixture::of_plan(plan);
    let text = summary_text(&fixture.input(), TextScreen::new(false, Some(100)));
    let answer = text.lines().find(|line| line.starts_with("Answer")).unwrap();
    let first = "Answer    Each setting over all levels of the others: \
                 innodb_flush_log_at_trx_commit=2 faster than";
    assert!(answer.starts_with(first), "{text}");
    assert!(text.contains("main effect of") && text.contains("innodb_doublewrite=false"), "{text}");
    let full = fixture.input().text(TextScreen::PLAIN);
    assert!(full.contains("Main effects") && full.contains("truetps explain A B"), "{full}");
    assert!(!Fixture::durability().input().text(TextScreen::PLAIN).contains("Main effects"));
    let (base, best) = crate::base_and_best(&fixture.input()).unwrap_or_default();
    assert!(
        base.is_empty()
            || (base.contains("innodb_doublewrite=") && best.contains("innodb_doublewrite="))
    );
}

/// 20 000 transactions of one row a second, or 1 600 of a hundred.
fn set_rows(trials: &mut [truetps_record::Trial]) {
    for trial in trials.iter_mut() {
        let rows = trial.configuration.levels["rows_per_insert"].as_int().unwrap() as u64;
        let noise = 1.0 + f64::from(trial.block) / 100.0;
        let measured = trial.measured.as_mut().unwrap();
        let tps = if rows == 1 { 20_000.0 } else { 1_600.0 } * noise;
        (measured.tps, measured.counts.ok) = (tps, (tps * measured.length_ms / 1e3) as u64);
        measured.counts.rows_changed = measured.counts.ok * rows;
    }
}

/// A transaction of 100 rows is a twelfth as fast as one of a single row, and writes eight times
/// the rows.
#[test]
fn rows_a_second_are_shown_where_transactions_have_several() {
    let plan = "name = \"rows\"\nabout = \"How many rows?\"\n[workload]\nname = \
                \"bulk-insert\"\n[design]\nblocks = 3\n\
                [factors]\nrows_per_insert = [1, 100]\nconnections = [8]\n";
    let fixture = Fixture::of_plan(plan).with(|trials| set_rows(trials));
    let screen = TextScreen::new(false, Some(100));
    let text = summary_text(&fixture.input(), screen);
    for part in ["tps = 20 200 rows/s", "in rows a second ×8.0", "rows/s"] {
        assert!(
            text.contains(part) || text.replace('\u{a0}', " ").contains(part),
            "{part}\n{text}"
        );
    }
    let page = fixture.input().html();
    assert!(page.contains(">rows/s</th>") && page.contains("161"), "the page has the column");
    let json: serde_json::Value = serde_json::from_str(&fixture.input().json()).unwrap();
    let rows = json["analysis"]["cells"][1]["rows_changed_per_s"].as_f64().unwrap();
    assert!((rows / 161_600.0 - 1.0).abs() < 0.01, "{rows}");
    let two = Fixture::of_plan(
        &plan.replace("[factors]", "[factors]\ninnodb_doublewrite = [true, false]"),
    );
    let two = two.with(|trials| set_rows(trials));
    let text = summary_text(&two.input(), screen).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("rows_per_insert=100 slower than =1 (×0.080")
            && text.contains("; in rows a second ×8.0"),
        "{text}"
    );
    let one = summary_text(&Fixture::durability().input(), screen);
    assert!(!one.contains("rows/s"), "one row a transaction: tps says it\n{one}");
}

/// Also of the configuration that runs twice in a block, where one of the two was lost, however far
/// its trials lie apart.
#[test]
fn one_row_a_transaction_is_never_another_number_of_rows_a_second() {
    let spread = |trials: &mut Vec<truetps_record::Trial>| {
        for (number, trial) in trials.iter_mut().enumerate() {
            let measured = trial.measured.as_mut().unwrap();
            measured.counts.ok = [400, 9_000, 1_700, 130, 5_100][number % 5];
            measured.counts.rows_changed = measured.counts.ok;
            measured.tps = measured.counts.ok as f64 / (measured.length_ms / 1e3);
        }
        let is_twin =
            |trial: &&mut truetps_record::Trial| trial.role == truetps_record::TrialRole::AaTwin;
        let twin = trials.iter_mut().find(is_twin).unwrap();
        twin.validity =
            truetps_record::Validity::Invalid(truetps_record::Reason::Text("lost".to_owned()));
    };
    let fixture = Fixture::durability().with(spread);
    let text = summary_text(&fixture.input(), TextScreen::new(false, Some(100)));
    assert!(!text.contains("rows/s") && !text.contains("rows a second"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&fixture.input().json()).unwrap();
    for cell in json["analysis"]["cells"].as_array().unwrap() {
        let [tps, rows] =
            [&cell["tps"]["value"], &cell["rows_changed_per_s"]].map(|one| one.as_f64().unwrap());
        assert!((rows / tps - 1.0).abs() < 1e-9, "{tps} tps, {rows} rows/s: {cell}");
    }
}

#[test]
fn many_combinations_show_the_fastest_and_count_the_others() {
    let text = summary_text(&many_cells().input(), TextScreen::new(false, Some(100)));
    assert!(text.contains("more with --full"), "{text}");
    let rows: Vec<_> =
        text.lines().skip_while(|line| !line.starts_with("By ")).skip(2).take(2).collect();
    assert!(rows[0].contains("baseline =1 / =0 / =100 "), "{text}");
    assert!(rows[1].contains("9 090"), "the fastest comes next\n{text}");
    assert!(text.contains("Of 80 comparisons with the baseline: "), "{text}");
}

/// Nothing of a report is lost: what a screen leaves out stands in the full report, and what it
/// says there, too.
#[test]
fn the_screen_names_the_full_report() {
    let fixture = many_cells();
    let full = fixture.input().text(TextScreen::PLAIN);
    for curve in &fixture.analysis.curves {
        assert!(full.contains(&curve.label), "{}", curve.label);
    }
}

#[test]
fn what_a_power_cut_loses_is_a_column_where_it_differs() {
    let text = |fixture: &Fixture| summary_text(&fixture.input(), TextScreen::new(false, Some(80)));
    let differs = text(&Fixture::durability().with_settings());
    assert!(differs.contains("power cut loses") && differs.contains("about 1 s *"), "{differs}");
    let words = differs.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("* also if the server crashes"), "{differs}");
    let unknown = text(&Fixture::durability());
    assert!(
        !unknown.contains("power cut loses"),
        "nothing is claimed where nothing is known\n{unknown}"
    );
}

/// A screen without line breaks and with plain spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// With both controls, as they must be.
fn believed(records: &[CrashRecord]) -> Vec<CrashRecord> {
    let keeps = records.iter().map(|one| (CrashRole::KeepsAll, 0, one));
    let loses = records.iter().map(|one| (CrashRole::LosesSome, 9, one));
    let controls = keeps.chain(loses).map(|(role, lost, one)| CrashRecord {
        role,
        lost,
        configuration: Configuration { levels: [].into() },
        ..one.clone()
    });
    controls.chain(records.iter().cloned()).collect()
}

#[test]
fn crashes_have_a_price_with_an_interval_and_bounds_that_are_named() {
    let (run, records) = crashes(&[1, 2], &[1]);
    let input = crashed(&run, &believed(&records));
    let text = words(&crash_summary(&input, TextScreen::PLAIN));
    for expect in [
        "Losses only where the settings allow them.",
        "Throughput against innodb_flush_log_at_trx_commit=1 sync_binlog=1: \
         innodb_flush_log_at_trx_commit=2 ×1.500 [1.500, 1.500], faster.",
        // 1 − 0.05^(1/10).
        "0 (≤ 26 %)",
        "(95 %)",
        "Each number of lost rows is the largest of 10 crashes: on average one further crash in 11 \
         loses more.",
        "=1 / =1 5 223 1.80 ms safest",
    ] {
        assert!(text.contains(expect), "{text} should contain {expect}");
    }
    let page = input.html();
    assert!(page.contains("×1.500 [1.500, 1.500]") && page.contains("faster"), "{page}");
}

#[test]
fn a_few_crashes_without_a_loss_are_no_statement() {
    let (run, records) = crashes(&[1], &[1]);
    let said = |blocks: u32| {
        let few: Vec<_> = records.iter().filter(|one| one.block < Some(blocks)).cloned().collect();
        let input = crashed(&run, &believed(&few));
        (words(&crash_summary(&input, TextScreen::PLAIN)), input.verdict())
    };
    let (two, exit) = said(2);
    let expect = "No statement where nothing was lost in 2 crashes: up to 78 % of them may lose \
                  something (95 %); it takes 5 crashes of each kind.";
    assert!(two.contains(expect) && !two.contains("Nothing was lost"), "{two}");
    assert_eq!(exit, AnswerVerdict::Inconclusive);
    let (five, _) = said(5);
    let expect = "Nothing was lost: at most 45 % of crashes of a kind lose something (95 %).";
    assert!(five.contains(expect) && !five.contains("o statement"), "{five}");
}

#[test]
fn what_is_left_out_and_what_disturbed_crashes_is_named() {
    let (mut run, mut records) = crashes(&[1, 2], &[1]);
    run.configurations = vec![CrashedConfiguration {
        role: CrashRole::Cell,
        configuration: records[0].configuration.clone(),
        left_out: Some("mariadbd did not start".to_owned()),
    }];
    records[3].number = 4;
    records[3].steal = Some(0.5);
    let input = crashed(&run, &records);
    let text = words(&crash_summary(&input, TextScreen::PLAIN));
    for expect in [
        "innodb_flush_log_at_trx_commit=1 sync_binlog=1: its remaining crashes were left out: \
         mariadbd did not start.",
        "crash 4: other guests of the machine took 50 % of the CPU time",
    ] {
        assert!(text.contains(expect), "{text} should contain {expect}");
    }
    let document: serde_json::Value = serde_json::from_str(&input.json()).unwrap();
    let disturbed = &document["disturbances"][0];
    assert_eq!((&disturbed["crash"], &disturbed["kind"]), (&4.into(), &"steal".into()));
    assert_eq!(document["configurations"][0]["left_out"], "mariadbd did not start");
}

/// A control and the configuration with its settings.
#[test]
fn a_control_that_differs_from_its_configuration_is_an_alarm() {
    let (run, records) = crashes(&[1, 2], &[1]);
    let said = |factor: f64| {
        let controls = records.iter().filter(|one| one.lost == 0).map(|one| CrashRecord {
            role: CrashRole::KeepsAll,
            tps: one.tps * factor * (1.0 + f64::from(one.block.unwrap() % 3) / 100.0),
            ..one.clone()
        });
        let all: Vec<_> = controls.chain(records.iter().cloned()).collect();
        words(&crash_summary(&crashed(&run, &all), TextScreen::PLAIN))
    };
    let expect = "the control with the settings of innodb_flush_log_at_trx_commit=1 sync_binlog=1 \
                  differed from it by";
    assert!(said(0.99).contains(expect) && !said(0.99).contains("A/A alarm"), "{}", said(0.99));
    assert!(said(1.6).contains(&format!("A/A alarm, small differences are no evidence: {expect}")));
}

/// Crashes of nine configurations with three kinds each, and their controls.
#[test]
fn crashes_fit_one_screen() {
    let (run, records) = crashes(&[0, 1, 2], &[0, 1, 100]);
    let input = crashed(&run, &records);
    check_screen(|screen| crash_summary(&input, screen));
    let text = crash_summary(&input, TextScreen::PLAIN);
    assert!(text.contains("By innodb_flush_log_at_trx_commit / sync_binlog"), "{text}");
    let many: Vec<i64> = (0..20).collect();
    let (run, records) = crashes(&[0, 1, 2], &many);
    check_screen(|screen| crash_summary(&crashed(&run, &records), screen));
    check_screen(|screen| crash_summary(&crashed(&run, &[]), screen));
    let controls: Vec<_> = records
        .into_iter()
        .map(|record| CrashRecord { role: CrashRole::KeepsAll, lost: 0, ..record })
        .collect();
    for nothing_of_plan in [&[][..], &controls] {
        let text = crash_summary(&crashed(&run, nothing_of_plan), TextScreen::PLAIN);
        assert!(text.contains("No configuration of the plan was crashed."), "{text}");
        assert!(!text.contains("Nothing was lost."), "{text}");
    }
}

fn crashed(run: &CrashRun, records: &[CrashRecord]) -> CrashedRun {
    CrashedRun {
        path: "runs/crash".into(),
        run: run.clone(),
        crashes: records.to_vec(),
        analysis: CrashAnalysis::of(records, run),
    }
}

fn crashes(flush: &[i64], sync: &[i64]) -> (CrashRun, Vec<CrashRecord>) {
    let host = Fixture::durability().run.experiment.host;
    let run = CrashRun {
        schema_version: 1,
        tool_version: "1".to_owned(),
        name: "crash".to_owned(),
        about: "What does each setting cost, and what does it lose?".to_owned(),
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        seed: 1,
        clients: 8,
        crashes: 10,
        kinds: CrashKind::ALL.to_vec(),
        survival: 0.3,
        steps: vec![CrashStep::Header, CrashStep::Recovery],
        is_live: true,
        configurations: Vec::new(),
        smallest_effect: 0.03,
        host,
        server: ServerFacts::from_version_text("8.0.36"),
        disk: None,
        table_check: Some("CHECK TABLE".to_owned()),
        command: Vec::new(),
        is_complete: true,
    };
    let levels = flush.iter().flat_map(|flush| sync.iter().map(move |sync| (*flush, *sync)));
    let of_cell = |(flush, sync): (i64, i64)| {
        let level = |name: &str, level: i64| (name.to_owned(), SettingValue::Int(level));
        let levels = [level("innodb_flush_log_at_trx_commit", flush), level("sync_binlog", sync)]
            .into_iter()
            .collect();
        let configuration = Configuration { levels };
        let lost = if flush == 1 { 0 } else { 1234 };
        (0..10).flat_map(move |block| {
            CrashKind::ALL.map(|kind| CrashRecord {
                block: Some(block),
                // The second decimal of a hundred differs from block to block.
                tps: 2500.0 * (1.0 + flush as f64) * (1.0 + f64::from(block * 7 % 10) / 100.0),
                ..crash(kind, &configuration, lost)
            })
        })
    };
    (run, levels.flat_map(of_cell).collect())
}

fn crash(kind: CrashKind, configuration: &Configuration, lost: u64) -> CrashRecord {
    CrashRecord {
        number: 1,
        block: Some(0),
        role: CrashRole::Cell,
        kind,
        step: None,
        configuration: configuration.clone(),
        load_ms: 1500.0,
        tps: 2500.0,
        response_us_p99: Some(1800.0),
        attempted: 3000,
        acknowledged: 2992,
        unknown: 8,
        lost,
        loss_window_ms: None,
        recovered: 3,
        unexpected: 0,
        holes: 0,
        blocks_lost: 0,
        recovery_ms: 900.0,
        table_problem: None,
        binlog: None,
        promises_all_kept: Some(lost == 0),
        surroundings: None,
        steal: None,
        beside: Vec::new(),
    }
}

/// Many settings, some of them unknown, with long values and notes.
#[test]
fn settings_that_differ_fit_one_screen() {
    let side = |name: &str, odd: &str| {
        let value = |text: String| SideValue { value: text, ..SideValue::default() };
        let mut settings: std::collections::BTreeMap<_, _> = (0..80)
            .map(|n| (format!("made_up_setting_with_a_long_name_{n}"), value(format!("{odd}{n}"))))
            .collect();
        settings.insert("log_bin".to_owned(), value(odd.to_owned()));
        settings.insert(
            "innodb_flush_log_at_trx_commit".to_owned(),
            value(if odd == "ON" { "1" } else { "2" }.to_owned()),
        );
        settings.insert("optimizer_switch".to_owned(), value(format!("{odd},").repeat(40)));
        SettingsSide {
            name: name.to_owned(),
            kind: "capture".to_owned(),
            flavour: Some(Flavour::Mysql),
            version: Some("8.0.36".to_owned()),
            family: None,
            is_complete: true,
            settings,
            notes: vec![
                "a note that is long enough to need more than one line at eighty columns, as some \
                 are"
                .to_owned(),
            ],
        }
    };
    let (a, b) = (side("a.json", "ON"), side("b.json", "OFF"));
    check_screen(|screen| diff_summary(&diff(&a, &b), screen));
    check_screen(|screen| diff_summary(&diff(&a, &a), screen));
    let text = diff_summary(&diff(&a, &b), TextScreen::PLAIN);
    assert!(
        text.contains("Answer    Most likely to matter: ")
            && text.contains("B risks more commits in a crash."),
        "{text}"
    );
    assert!(text.contains("… 73 more with --full"), "{text}");
}

#[test]
fn doubts_are_named_with_how_grave_they_are() {
    let trust = |fixture: &Fixture| {
        let text = summary_text(&fixture.input(), TextScreen::PLAIN);
        text.lines().find(|line| line.starts_with("Trust")).unwrap().to_owned()
    };
    assert!(
        trust(&Fixture::durability())
            .starts_with("Trust     good: identical runs differed by +0.67 %")
    );
    assert!(trust(&Fixture::connections_only()).starts_with("Trust     low: one trial of each"));
    let mut quick = Fixture::durability();
    quick.run.experiment.quick = true;
    assert!(trust(&quick).starts_with("Trust     fair: short trials"), "{}", trust(&quick));
    let text = summary_text(&Fixture::durability().with(Vec::clear).input(), TextScreen::PLAIN);
    assert!(!text.contains("Trust"), "{text}");
}
