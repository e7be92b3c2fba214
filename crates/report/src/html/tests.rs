//! The page as a whole. `TRUETPS_KEEP_HTML=/some/folder cargo test -p truetps-report html` keeps
//! the pages that these tests make, to be looked at in a browser.

use truetps_analysis::{LoadedTrial, TrialLatency, UnreadFile};
use truetps_record::{
    Counts, ErrorClass, ErrorCount, Interval, LatencyFigures, LatencyInterval, Phase, Reason,
    StartCounts, Trial, Validity,
};

use super::html;
use crate::ReportInput;
use crate::fixture::Fixture;
use crate::fixture_open::open_loop;

const FILES: [&str; 3] = ["run.json", "intervals.jsonl", "latency.hdr"];
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
/// What a page of the plan `durability` may weigh.
const SIZE_MAX: usize = 220_000;
/// For its files, its line in the table and its series.
const TRIAL_SIZE_MAX: usize = 1_100;

fn keep(name: &str, page: &str) {
    if let Some(folder) = std::env::var_os("TRUETPS_KEEP_HTML") {
        std::fs::write(std::path::Path::new(&folder).join(name), page).unwrap();
    }
}

/// The shipped plan with all its trials, one of which is invalid.
fn ordinary() -> Fixture {
    Fixture::of_plan(include_str!("../../../../plans/durability.toml")).with(|trials| {
        for trial in trials.iter_mut() {
            scatter(trial);
        }
        trials[17].validity =
            Validity::Invalid(Reason::Text("the server died: signal 9".to_owned()));
        trials[17].measured = None;
    })
}

/// A number between 0 and 1 that belongs to a trial and a second: the same in each test run.
fn random(trial: &Trial, second: u32) -> f64 {
    let mut state =
        u64::from(trial.block) << 32 | u64::from(trial.position) << 16 | u64::from(second);
    for _ in 0..3 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^= state >> 29;
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

fn scatter(trial: &mut Trial) {
    let factor = 1.0 + 0.08 * (random(trial, 99) - 0.5);
    let Some(measured) = &mut trial.measured else { return };
    measured.tps *= factor;
    measured.response.response_us_p99 = measured.response.response_us_p99.map(|us| us / factor);
}

fn add_series(one: &mut LoadedTrial) {
    one.files = FILES.to_vec();
    let trial = &one.trial;
    let Some(measured) = &trial.measured else { return };
    let interval = |second: u32| {
        let stalled = random(trial, second) > 0.985;
        let tps =
            if stalled { 0.0 } else { measured.tps * (0.9 + 0.2 * random(trial, second + 50)) };
        let figure = |us: Option<f64>| {
            us.filter(|_| !stalled).map(|us| us * (0.7 + 0.6 * random(trial, second + 80)))
        };
        let phase = if second == 0 { Phase::WarmUp } else { Phase::Measure };
        let counts = Counts { ok: tps as u64, started: tps as u64, ..Counts::default() };
        Interval {
            tps,
            response: LatencyFigures {
                response_us_p99: figure(measured.response.response_us_p99),
                response_us_max: figure(measured.response.response_us_max),
                ..LatencyFigures::default()
            },
            open_loop: measured.open_loop.map(|open| {
                let scheduled = open.starts.scheduled / 10;
                let queued = open.starts.queued / 10 * u64::from(second);
                open_loop(StartCounts { scheduled, queued, ..StartCounts::default() }, queued == 0)
            }),
            ..Interval::of_counts(phase, f64::from(second) * 1e3, 1e3, counts)
        }
    };
    one.intervals = (0..11).map(interval).collect();
    one.latency = Some(latency_of(trial, 11));
}

/// Two bands of response times around the trial's median, and a stall now and then.
fn latency_of(trial: &Trial, seconds: u32) -> TrialLatency {
    let middle = trial.measured.as_ref().unwrap().response.response_us_p50.unwrap_or(1000.0) * 1e3;
    let interval = |second: u32| {
        let stalled = random(trial, second) > 0.985;
        let mut counts: Vec<_> = (0..300_u32)
            .map(|n| {
                let tail = f64::from(n) / 300.0;
                let factor = 0.5 + 2.0 * tail.powi(8) + 0.2 * random(trial, 1000 * second + n);
                let slow = if n % 60 == 7 { 6.0 } else { 1.0 };
                ((middle * factor * slow) as u64, 3)
            })
            .collect();
        if stalled {
            counts.push((900_000_000, 8));
        }
        counts.sort_unstable();
        LatencyInterval {
            phase: if second == 0 { Phase::WarmUp } else { Phase::Measure },
            start_ms: f64::from(second) * 1e3,
            length_ms: 1e3,
            counts,
        }
    };
    TrialLatency::of((0..seconds).map(interval))
}

fn page(name: &str, fixture: &Fixture) -> String {
    let (mut run, mut analysis) = (fixture.run.clone(), fixture.analysis.clone());
    run.trials.iter_mut().for_each(add_series);
    for (cell, with_series) in analysis.cells.iter_mut().zip(run.analyse().cells) {
        cell.detail = with_series.detail;
    }
    let page = html(&ReportInput { run: &run, analysis: &analysis });
    keep(name, &page);
    page
}

/// Text of the block of data, as the browser's script gets it.
fn script_data(page: &str) -> serde_json::Value {
    let (_, rest) =
        page.split_once(r#"<script type="application/json" id="report-data">"#).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn an_ordinary_page_is_small_and_complete() {
    let fixture = ordinary();
    let page = page("ordinary.html", &fixture);
    assert!(!page.contains("broke down</a>"), "stalls were not looked for");
    let (_, verdict) = page.split_once("<h2>Verdict</h2>").unwrap();
    let first = verdict.lines().find(|line| line.starts_with("<p>")).unwrap();
    assert!(
        first.contains("faster") && !first.contains("(baseline)"),
        "the box has the verdict: {first}"
    );
    assert_eq!(fixture.run.trials.len(), 420);
    assert!(page.len() < SIZE_MAX + 420 * TRIAL_SIZE_MAX, "{} bytes", page.len());
    for LoadedTrial { trial, .. } in &fixture.run.trials {
        for file in FILES {
            assert!(
                page.contains(&format!(r#"href="./{}/{file}""#, trial.name)),
                "{} {file}",
                trial.name
            );
        }
    }
    let data = script_data(&page);
    assert_eq!(data["trials"].as_array().unwrap().len(), 419);
    assert_eq!(data["curves"].as_array().unwrap().len(), 3);
}

#[test]
fn nothing_is_loaded() {
    let page = page("troubled.html", &Fixture::troubled());
    for loading in [
        "src=",
        "@import",
        "url(",
        "<link",
        "<iframe",
        "<img",
        "<object",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        assert!(!page.contains(loading), "{loading}");
    }
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(link.starts_with('#') || link.starts_with("./"), "{link}");
    }
}

#[test]
fn hostile_text_stays_text() {
    let mut fixture = Fixture::troubled().with(|trials| {
        let hostile = || HOSTILE.to_owned();
        trials[0].notes = vec![hostile()];
        trials[1].validity = Validity::Invalid(Reason::Text(hostile()));
        trials[2].name = hostile();
        let error = ErrorCount {
            class: ErrorClass::Protocol,
            code: 1,
            count: 1,
            retried: 0,
            first_message: hostile(),
        };
        let measured = trials[3].measured.as_mut().unwrap();
        measured.errors = vec![error];
        measured.generator_limited = Some(Reason::Text(hostile()));
    });
    let hostile = || HOSTILE.to_owned();
    fixture.run.experiment.schedule[2].name = hostile();
    fixture.run.experiment.name = hostile();
    fixture.run.experiment.tool_version = hostile();
    fixture.run.experiment.created_at = hostile();
    fixture.run.experiment.sandbox_dir = Some(hostile());
    fixture.run.experiment.command.push(hostile());
    let server = fixture.run.experiment.server.as_mut().unwrap();
    server.version = hostile();
    server.version_text = hostile();
    server.chosen_settings.push((hostile(), hostile()));
    let host = &mut fixture.run.experiment.host;
    (host.kernel, host.cpu_model) = (hostile(), hostile());
    (host.virtualisation, host.file_system, host.device) =
        (Some(hostile()), Some(hostile()), Some(hostile()));
    fixture.run.plan.about = hostile();
    for curve in &mut fixture.analysis.curves {
        curve.label = hostile();
    }
    fixture.analysis.baseline_label = Some(hostile());
    let page = page("hostile.html", &fixture);
    assert!(!page.contains("<script>alert") && !page.contains("<img"), "escaped");
    assert!(!page.contains("onerror=alert(1)>\"'"), "escaped in attributes");
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, 5, "mark, frame, data, uPlot, charts");
    assert_eq!(page.matches("</script").count(), scripts);
    assert_eq!(script_data(&page)["curves"][0]["name"], HOSTILE);
}

#[test]
fn hostile_reasons_of_an_open_loop_stay_text() {
    let fixture = Fixture::rates().with(|trials| {
        for trial in trials {
            trial.measured.as_mut().unwrap().generator_limited =
                Some(Reason::Text(HOSTILE.to_owned()));
        }
    });
    let page = page("hostile-open.html", &fixture);
    assert!(!page.contains("<script>alert") && !page.contains("<img"), "escaped");
    assert_eq!(page.matches("<script").count(), 5, "mark, frame, data, uPlot, charts");
    assert!(page.contains("(3 of 3 trials) &#60;/script&#62;"), "the reason is there as text");
}

#[test]
fn an_open_loop_has_its_section_curves_and_queue() {
    let page = page("rates.html", &Fixture::rates());
    for part in [
        "Throughput against the target rate",
        "href=\"#open-loop\">Open loop</a>",
        "Open loop: did the server keep up?",
        "1\u{a0}200 of 40\u{a0}000 starts were still waiting at the end (3.0\u{a0}%)",
        "<span class=\"badge\">generator-limited</span>",
        "its own starts were late: p99 2.5 ms",
        "Response time counts from the scheduled start",
        "data-queue",
        "Poisson arrivals",
        "duplicate_key ignored",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let data = script_data(&page);
    assert_eq!((&data["axis"], &data["rule"]), (&"rate".into(), &serde_json::Value::Null));
    let cell = &data["curves"][0]["cells"][2];
    assert_eq!(
        (&cell["level"], &cell["sustained"], &cell["limited"]),
        (&4000.into(), &false.into(), &true.into())
    );
    let trial = data["trials"]
        .as_array()
        .unwrap()
        .iter()
        .find(|trial| trial["name"] == "trial-0003")
        .unwrap();
    assert_eq!(
        (&trial["open"]["scheduled"][5], &trial["open"]["queue"][5]),
        (&4000.into(), &600.into())
    );
}

#[test]
fn a_closed_loop_has_nothing_of_an_open_one() {
    let page = page("small.html", &Fixture::durability());
    for part in [
        "id=\"open-loop\"",
        "href=\"#open-loop\"",
        "data-queue tabindex",
        "hollow point",
        "class=\"badge\"",
    ] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(script_data(&page)["trials"][0].get("open").is_none());
}

#[test]
fn a_record_of_an_older_version_has_a_page() {
    let fixture = Fixture::old();
    let page = html(&fixture.input());
    keep("old.html", &page);
    assert_eq!(
        (fixture.analysis.trials_valid, fixture.analysis.cells[0].open_loop.is_none()),
        (1, true)
    );
    assert_eq!(script_data(&page)["trials"][0]["name"], "trial-0028");
    assert!(page.contains("22 290"), "its throughput");
}

#[test]
fn every_shape_of_experiment_has_a_page() {
    let check = |name, fixture: &Fixture, expect: &str| {
        let page = page(name, fixture);
        assert!(page.contains(expect), "{name}: {expect}");
        script_data(&page);
    };
    check("small.html", &Fixture::durability(), "Against innodb_flush_log_at_trx_commit=1");
    check("connections.html", &Fixture::connections_only(), "ran no A/A pair");
    check("open-run.html", &Fixture::open_run(1000), "Sustained: yes");
    check("open-overload.html", &Fixture::open_run(8000), "Sustained: no");
    check("open-empty.html", &Fixture::rates().with(Vec::clear), "no valid trial");
    check("empty.html", &Fixture::durability().with(Vec::clear), "no valid trial");
    let one_level = "name = \"binlog\"\nabout = \"What does the binlog cost?\"\n[workload]\nname = \
                     \"insert\"\n\
                     [factors]\nlog_bin = [false, true]\nsync_binlog = [0, 1]\nconnections = [50]\n";
    check("one-level.html", &Fixture::of_plan(one_level), "log_bin=true sync_binlog=1");
}

#[test]
fn a_stall_is_shaded_and_explained_and_costs_stand_side_by_side() {
    let fixture = Fixture::watched();
    let page = html(&fixture.input());
    keep("watched.html", &page);
    for part in [
        "Stalls: 1.8 of 60.0\u{a0}s measured (3.0\u{a0}%) in 1 of 2 trials, longest 1.8\u{a0}s \
         (trial-0002, 20.3\u{a0}s after its first transaction; waiting for redo flush).",
        "<p><a href=\"#stalls-title\">Throughput broke down</a>: 1.8 of 60.0\u{a0}s measured",
        "redo flush (wait/io/file/innodb/innodb_log_file): ",
        "href=\"#ledger\">Cost</a>",
        "Innodb_os_log_fsyncs",
        "Absent: ",
        "href=\"./trial-0001/probe.jsonl\">probe</a>",
        "href=\"./trial-0001/server/my.cnf\">my.cnf</a>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let data = script_data(&page);
    assert_eq!(data["trials"][1]["stalls"], serde_json::json!([[20_300, 1800, false]]));
    let classes = data["trials"][1]["waits"]["classes"].as_array().unwrap();
    assert_eq!(
        classes.iter().map(|class| &class[0]).collect::<Vec<_>>(),
        ["redo flush", "page flush"]
    );
    assert!(data["trials"][0].get("stalls").is_none());
}

#[test]
fn configurations_that_do_not_fit_beside_each_other_have_a_ledger_too() {
    for connections in ["4, 8", "1, 2, 4, 8, 16, 32, 64, 128"] {
        let fixture = Fixture::watched_at(connections);
        let page = html(&fixture.input());
        assert!(page.contains("The ledger of all configurations"), "{connections}");
        for cell in &fixture.analysis.cells {
            let name = super::labels::configuration(&cell.configuration);
            assert!(
                page.contains(&format!(
                    "<th scope=\"row\" class=\"text\">{name}</th><td>11.5 µs</td>"
                )),
                "{name}"
            );
        }
    }
}

#[test]
fn unreadable_files_are_reported() {
    let mut fixture = Fixture::connections_only();
    fixture.run.unread = vec![UnreadFile {
        path: "run.json".into(),
        what: format!("trial-0009/run.json: {HOSTILE}"),
        whole_trial: true,
    }];
    let page = page("unread.html", &fixture);
    assert!(
        page.contains("1 trial could not be read.")
            && page.contains("trial-0009/run.json: &#60;/script")
    );
}

#[test]
fn without_series_the_page_says_so() {
    let fixture = Fixture::durability();
    let page = html(&fixture.input());
    assert!(page.contains("No series of this experiment could be read."));
    script_data(&page);
}

#[test]
fn an_hour_of_seconds_is_merged() {
    let mut fixture = Fixture::connections_only();
    for one in &mut fixture.run.trials {
        add_series(one);
        let last = one.intervals[10].clone();
        one.intervals.extend(
            (11..30_000)
                .map(|second| Interval { start_ms: f64::from(second) * 1e3, ..last.clone() }),
        );
    }
    let page = html(&fixture.input());
    keep("long.html", &page);
    assert!(page.len() < 600_000, "{} bytes", page.len());
    assert!(page.contains("each step joins 5 intervals"));
}

#[test]
fn tables_stand_without_the_script() {
    let page = page("small.html", &Fixture::durability());
    let first_script = page.find("report-data").unwrap();
    let (tables, _) = page.split_at(first_script);
    assert!(tables.matches("<table").count() >= 6);
    assert_eq!(tables.matches("<noscript>").count(), 5, "one for each figure");
}

/// A rate that was sustained, and at which p99 was too long, has not held.
#[test]
fn a_search_marks_the_rates_that_broke_its_limits() {
    let mut fixture = Fixture::rates();
    fixture.run.experiment.slo = Some("p99<1ms".parse().unwrap());
    let fixture = fixture.with(|trials| {
        for trial in trials.iter_mut().filter(|trial| trial.configuration.rate() == Some(1000.0)) {
            trial.measured.as_mut().unwrap().response.response_us_p99 = Some(500.0);
        }
    });
    let page = html(&fixture.input());
    let at = page.find("Open loop: did the server keep up?").unwrap();
    let table = &page[at..page[at..].find("</table>").unwrap() + at];
    assert!(
        table.contains("<th scope=\"col\" class=\"text\">keeps to p99&#60;1ms</th>"),
        "{table}"
    );
    let row = |rate: &str| {
        let mut rows = table
            .split("<tr>")
            .filter(|row| row.contains(&format!("<th scope=\"row\">{rate}</th>")));
        rows.next().unwrap_or_else(|| panic!("{rate}: {table}")).to_owned()
    };
    assert!(row("1 000").contains("✓</b>in all of"), "{}", row("1 000"));
    assert!(
        row("2 000").contains("✗</b>in 0 of") && !row("2 000").contains('✓'),
        "{}",
        row("2 000")
    );
}
