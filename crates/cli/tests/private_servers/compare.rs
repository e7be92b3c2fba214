//! What happened in a run, and what two runs differ by: `truetps stalls` and `truetps compare` on
//! real runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::quiet_machine;
use truetps_testkit::take_machine;

use crate::common::{
    Place, Ran, SMALL_REDO, has_server, has_strace, signal, wait_until, with_small_redo,
};
use crate::support::Owned;

/// The answer without its line breaks.
fn flat(ran: &Ran) -> String {
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

/// A run whose server is stopped for some seconds, some seconds after the warm-up.
fn stopped_run(place: &Place, measure_s: u64, after_s: u64, stopped_s: u64, more: &[&str]) {
    let run = [
        "run",
        "insert",
        "--connections=4",
        "--table-rows=1000",
        "--warm-up=1",
        "--measure",
        &measure_s.to_string(),
    ];
    let child = place.start(&[&run[..], more].concat());
    place.wait_for_interval("trial-0001");
    sleep(Duration::from_secs(after_s));
    let servers = place.servers();
    assert_eq!(servers.len(), 1, "{servers:?}");
    signal(servers[0], Signal::STOP);
    sleep(Duration::from_secs(stopped_s));
    signal(servers[0], Signal::CONT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Stalls"), "{}", ran.stdout);
}

#[test]
fn a_server_that_is_stopped_for_two_seconds_is_one_stall_of_two_seconds() {
    let _machine = take_machine();
    let Some(binary) =
        mariadb("a_server_that_is_stopped_for_two_seconds_is_one_stall_of_two_seconds")
    else {
        return;
    };
    let place = Place::with_templates();
    // A commit that waits for no disk: what a busy machine does to flushes is no stall of this
    // test.
    let setting = "--set=innodb_flush_log_at_trx_commit=2";
    stopped_run(&place, 9, 4, 2, &[setting, "--basedir", &binary.path.display().to_string()]);
    let found = json(&place.good(&["stalls", "--format=json"]));
    let stalls = found["trials"][0]["stalls"]["list"].as_array().unwrap();
    let long: Vec<_> =
        stalls.iter().filter(|stall| stall["length_ms"].as_f64().unwrap() > 1000.0).collect();
    assert_eq!(long.len(), 1, "{stalls:?}");
    let length = long[0]["length_ms"].as_f64().unwrap();
    assert!((length - 2000.0).abs() <= 200.0, "{length}");
    assert_eq!(long[0]["kind"], "stall");
    assert!(long[0]["depth"].as_f64().unwrap() > 0.9, "{long:?}");
    // The server used less CPU than else.
    let signs = long[0]["coincident"]["signs"].as_array().unwrap();
    let cpu = signs
        .iter()
        .find(|sign| sign["name"] == "server CPU")
        .unwrap_or_else(|| panic!("{signs:?}"));
    assert!(cpu["value"].as_f64().unwrap() < cpu["usual"].as_f64().unwrap(), "{cpu}");

    let folder = place.latest().join("trial-0001");
    let short = flat(&place.good(&["stalls", folder.to_str().unwrap()]));
    assert!(
        short.contains("Answer Stalled: ") && short.contains("the server did not answer the probe"),
        "{short}"
    );
    let text = flat(&place.good(&["stalls", folder.to_str().unwrap(), "--full"]));
    assert!(text.contains("stall at ") && text.contains("server CPU"), "{text}");
    assert!(place.good(&["stalls", "--format=csv"]).stdout.contains("trial-0001,stall,"));
    assert!(place.good(&["stalls", "--format=md"]).stdout.contains("# Stalls of"));
    let report = place.good(&["report", "--full"]).stdout;
    assert!(report.contains("Stalls and dips"), "{report}");
}

/// The server is stopped before the end and continues after it: no response time includes those
/// seconds.
#[test]
fn a_standstill_to_the_end_is_reported_with_the_age_of_what_waited() {
    let _machine = take_machine();
    let Some(binary) = mariadb("a_standstill_to_the_end_is_reported_with_the_age_of_what_waited")
    else {
        return;
    };
    let place = Place::with_templates();
    stopped_run(&place, 5, 2, 5, &["--basedir", &binary.path.display().to_string()]);
    let is_reported = |text: &str| {
        text.contains("4 transactions were still in flight at the end, the oldest for ")
    };
    let report = place.good(&["report"]);
    assert!(is_reported(&flat(&report)), "{}", report.stdout);
    assert!(
        flat(&report).contains("the server did not answer the probe for "),
        "{}",
        report.stdout
    );
    let found = json(&place.good(&["report", "--format=json"]));
    let trial = &found["trials"][0];
    assert!(is_reported(trial["notes"][0].as_str().unwrap()), "{trial}");
    // Whatever a busy machine has made of the seconds before.
    let last = trial["stalls"]["list"].as_array().unwrap().last().unwrap();
    assert!(last["coincident"]["outage"]["to_ms"].is_f64(), "{trial}");
    assert!(is_reported(&place.good(&["report", "--format=md"]).stdout));
    assert!(is_reported(&fs::read_to_string(place.latest().join("report.html")).unwrap()));
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/testdata/before-probe/trial-0001");
    let compared = place.run(&["compare", "latest", other, "--full"]);
    assert!(
        flat(&compared).contains("A: trial-0001: 4 transactions were still in flight"),
        "{}",
        compared.stdout
    );
}

/// Counts what a process asks of its disk, until it is ended.
struct Strace {
    child: Child,
    summary: std::path::PathBuf,
}

impl Strace {
    #[expect(clippy::disallowed_methods, reason = "a real tool")]
    fn attach(place: &Place, pid: u32, name: &str) -> Self {
        let (summary, log) = (place.path().join(name), place.path().join(format!("{name}.log")));
        let messages = fs::File::create(&log).unwrap();
        let child = Command::new("strace")
            .args([
                "-f",
                "-c",
                "-U",
                "calls,name",
                "-e",
                "trace=fsync,fdatasync,sync_file_range,msync",
                "-o",
            ])
            .arg(&summary)
            .args(["-p", &pid.to_string()])
            .stderr(messages)
            .spawn()
            .unwrap();
        wait_until("strace", || fs::read_to_string(&log).unwrap().contains("attached"));
        Self { child, summary }
    }

    /// Calls of all kinds together.
    fn end(mut self) -> f64 {
        signal(self.child.id(), Signal::INT);
        self.child.wait().unwrap();
        let text = fs::read_to_string(&self.summary).unwrap();
        let calls = text.lines().filter_map(|line| {
            let (calls, name) = line.trim().split_once(char::is_whitespace)?;
            if name.trim() == "total" { None } else { calls.parse::<f64>().ok() }
        });
        calls.sum()
    }
}

/// Two runs of different length under strace: their difference is due to the transactions alone,
/// without tables, logins and disconnects.
#[test]
fn the_ledgers_syncs_match_strace() {
    let _machine = quiet_machine();
    let Some(binary) = mariadb("the_ledgers_syncs_match_strace") else { return };
    if !has_strace() {
        return;
    }
    let settings = [
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("performance_schema", "ON"),
    ];
    let owned = Owned::start(&binary, &settings);
    let place = Place::with_templates();
    let run = |transactions: u32| {
        let strace = Strace::attach(&place, owned.server.pid(), &format!("strace-{transactions}"));
        let (dsn, number) = (owned.socket_dsn(), transactions.to_string());
        let args = [
            "run",
            "insert",
            "--dsn",
            &dsn,
            "--connections=1",
            "--table-rows=500",
            "--warm-up=0",
            "--measure=60",
        ];
        let ran = place.good(&[&args[..], &["--format=json", "--transactions", &number]].concat());
        (strace.end(), json(&ran))
    };
    let ((short, _), (long, report)) = (run(500), run(4500));
    let seen = (long - short) / 4000.0;
    let lines = report["trials"][0]["ledger"]["lines"].as_array().unwrap();
    let line = |key: &str| {
        let line = lines
            .iter()
            .find(|line| line["key"] == key)
            .unwrap_or_else(|| panic!("{key}: {lines:?}"));
        line["per_tx"].as_f64().unwrap_or_else(|| panic!("{line}"))
    };
    let counted = line("engine_syncs_per_tx") + line("binlog_syncs_per_tx");
    assert!((counted / seen - 1.0).abs() < 0.05, "the ledger says {counted}, strace {seen}");
    assert!(
        (line("redo_syncs_per_tx") - 1.0).abs() < 0.05
            && (line("binlog_syncs_per_tx") - 1.0).abs() < 0.05
    );
}

const TWO_KEYS: &str = r#"
name = "two-keys"
about = "a test"
[workload]
name = "delete-insert"
table_rows = 5000
[load]
warm_up_s = 0.1
measure_s = 1.0
[factors]
key = ["deleted", "auto"]
connections = [2]
[design]
blocks = 2
aa_pair = false
"#;

#[test]
fn two_keys_of_one_experiment_are_compared_block_by_block() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("two.toml", &with_small_redo(TWO_KEYS));
    let swept = place.run(&["sweep", "./two.toml"]);
    assert!(matches!(swept.code, Some(0 | 3)), "{}", swept.stderr);
    let levels =
        ["compare", "latest", "latest", "--a-levels=key=deleted", "--b-levels", "key=auto"];
    let short = place.run(&levels);
    assert!(
        matches!(short.code, Some(0 | 3)) && flat(&short).contains("2 trials each, interleaved"),
        "{short:?}"
    );
    let text = place.run(&[&levels[..], &["--full"]].concat());
    assert!(matches!(text.code, Some(0 | 3)), "{}", text.stderr);
    for part in [
        "Verdict",
        "2 trials each, interleaved",
        "What a transaction cost",
        "What was sent",
        "inserts that name their primary key: A 100 %, B 0.0 %",
        "inserts with the key that the same transaction has just deleted: A 100 %, B 0.0 %",
        "What was different",
    ] {
        assert!(flat(&text).contains(part), "{part}\n{}", text.stdout);
    }
    let document = json(&place.run(&[&levels[..], &["--format=json"]].concat()));
    let comparison = &document["comparisons"][0]["comparison"];
    assert_eq!((&comparison["pairing"], &comparison["pairs"]), (&"blocks".into(), &2.into()));
    assert_eq!(document["comparisons"][0]["conditions"][0]["what"], "workload.key");
    assert!(
        place
            .run(&[&levels[..], &["--format=md"]].concat())
            .stdout
            .contains("## What a transaction cost")
    );
    let csv = place.run(&[&levels[..], &["--format=csv"]].concat()).stdout;
    assert!(
        csv.lines().any(|line| line.contains(",tps,")) && csv.starts_with("a,b,figure,"),
        "{csv}"
    );

    // Each way to cross a threshold, and to keep it: neither side is a hundred times as fast.
    let judged = |text: &str| place.run(&[&levels[..], &["--fail-if", text]].concat()).code;
    // Two pairs have wide intervals on a busy machine: the threshold is far beyond them.
    assert_eq!(judged("tps<100000000%"), Some(1));
    assert_eq!(judged("tps>100000000%"), Some(0));
    assert_eq!(judged("binlog_syncs_per_tx>5%"), Some(3), "these were not counted");
    place.refused(
        &[&levels[..], &["--fail-if=qps<1%"]].concat(),
        &["--fail-if 'qps<1%'", "unknown figure `qps`"],
    );

    // Connections were not named, and are the same on both sides.
    place.refused(&["compare", "latest", "latest"], &["same trials", "--a-levels"]);
    place.refused(
        &["compare", "latest", "latest", "--a-levels=key=x"],
        &["--a-levels key=x", "key=deleted"],
    );
    place.refused(&["compare", "latest", "nowhere"], &["nowhere"]);
    assert_eq!(place.run(&["stalls", "nowhere"]).code, Some(2));
}

/// Case 4 as two plans: one inserts the key that it has deleted, the other one a key of the
/// server's own.
#[test]
fn one_line_of_two_plans_with_sql_of_their_own_is_what_was_different() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let run = |insert: &str| {
        let plan = format!(
            "name = \"shop\"\nabout = \"a test\"\n[workload]\nname = \"custom\"\n\
             [[workload.table]]\nname = \"shop\"\nrows = 100\n\
             create = [\"CREATE TABLE shop (id INT AUTO_INCREMENT PRIMARY KEY, k INT)\"]\n\
             [workload.table.columns]\nk = {{ kind = \"int\", min = 1, max = 9 }}\n\
             [[workload.statements]]\nsql = \"DELETE FROM shop WHERE id = 7\"\n\
             [[workload.statements]]\nsql = \"{insert}\"\n\
             [load]\nwarm_up_s = 0\nmeasure_s = 0.5\n[factors]\nconnections = [1]\n\
             [design]\nblocks = 1\naa_pair = false\n"
        );
        place.write("shop.toml", &with_small_redo(&plan));
        let swept = place.run(&["sweep", "./shop.toml"]);
        assert!(matches!(swept.code, Some(0 | 3)), "{}", swept.stderr);
        place.latest().display().to_string()
    };
    let (a, b) =
        (run("INSERT INTO shop (id, k) VALUES (7, 1)"), run("INSERT INTO shop (k) VALUES (1)"));
    let text = place.run(&["compare", &a, &b, "--full"]).stdout;
    let section = text.split("What was different").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(section.trim_start().starts_with("workload.statements: - A, + B"), "{section}");
    for line in ["-INSERT INTO shop (id, k) VALUES (7, 1)\n", "+INSERT INTO shop (k) VALUES (1)\n"]
    {
        assert!(section.contains(line), "{line}\n{section}");
    }
}

#[test]
fn explain_is_the_next_command_where_more_than_one_thing_differs() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let run = |folder: &str, settings: &[&str]| {
        let short = [
            "run",
            "insert",
            "-c=2",
            "--table-rows=100",
            "--warm-up=0.1",
            "--measure=0.4",
            "--runs",
            folder,
        ];
        place.run(&[&short[..], &[SMALL_REDO], settings].concat());
    };
    run("a", &["--set=innodb_flush_log_at_trx_commit=1"]);
    run("b", &["--set=innodb_flush_log_at_trx_commit=0"]);
    run("c", &["--set=innodb_flush_log_at_trx_commit=0", "--set=join_buffer_size=1M"]);
    let next = |b: &str| {
        let compared = place.run(&["compare", "a/latest", b]);
        let line = compared
            .stderr
            .lines()
            .find(|line| line.starts_with("Next   truetps explain"))
            .map(str::to_owned);
        line.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let words = next("c/latest").expect("two settings differ");
    assert_eq!(next("b/latest"), None, "one setting differs: it is the cause");
    // The folders of the command are sides that explain takes; without time it ends before the
    // first trial.
    let explained = place
        .run(&["explain", &words[3], &words[4], SMALL_REDO, "--budget", "1ms", "--format", "json"]);
    let document: Value =
        serde_json::from_str(&explained.stdout).unwrap_or_else(|_| panic!("{}", explained.stderr));
    let names: Vec<_> =
        document["factors"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        ["innodb_flush_log_at_trx_commit", "join_buffer_size"],
        "{}",
        explained.stderr
    );
}

#[test]
fn runs_of_different_workloads_are_compared_with_a_note() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let run = |workload: &str, level: u8| {
        let level = format!("--set=innodb_flush_log_at_trx_commit={level}");
        let load = ["--connections=2", "--table-rows=1000", "--warm-up=0", "--measure=6"];
        let run = [&["run", workload, &level, SMALL_REDO][..], &load].concat();
        place.good(&run);
        place.latest()
    };
    let (a, b) = (run("insert", 1), run("update-index", 0));
    let compared = place.run(&["compare", a.to_str().unwrap(), b.to_str().unwrap(), "--full"]);
    // A single trial each decides nothing.
    assert_eq!(compared.code, Some(3), "{}", compared.stderr);
    for part in [
        "not enough data",
        "1 trial each, not interleaved",
        "The workloads differ",
        "A side has a single trial",
        "Within these trials",
        "workload",
        "not interleaved: any change on the machine",
    ] {
        assert!(flat(&compared).contains(part), "{part}\n{}", compared.stdout);
    }
    // A trial's folder works as well as its experiment's folder.
    let trial = b.join("trial-0001");
    assert_eq!(place.run(&["compare", a.to_str().unwrap(), trial.to_str().unwrap()]).code, Some(3));

    survives_less(&place, &a, &b);
    damaged(&place, &a, &b);
}

/// B may lose a second of commits: this is reported whatever is known of its speed.
fn survives_less(place: &Place, a: &Path, b: &Path) {
    let (from, to) = (a.to_str().unwrap(), b.to_str().unwrap());
    let judged = |a: &str, b: &str| place.run(&["compare", a, b, "--fail-if=durability"]);
    let less = judged(from, to);
    assert_eq!(less.code, Some(1), "{}", less.stdout);
    let risk = "a crash of the server process or a power failure can cost B up to about 1 s of \
                acknowledged transactions";
    let said = "B risks more commits in a crash. A crash of the server process or a power failure \
                can cost B up to about 1 s";
    assert!(
        flat(&less).contains(said) && less.stdout.contains("durability: crossed"),
        "{}",
        less.stdout
    );
    assert!(flat(&place.run(&["compare", from, to, "--full"])).contains(risk));
    assert_eq!(judged(to, from).code, Some(0));
    let csv = place.run(&["compare", from, to, "--fail-if=durability", "--format=csv"]);
    assert!(
        csv.code == Some(1) && csv.stderr.contains("--fail-if durability: crossed"),
        "{}",
        csv.stderr
    );
    // An old folder has no settings: neither the same nor less.
    let recorded = b.join("trial-0001/server/variables.json");
    let text = fs::read(&recorded).unwrap();
    fs::remove_file(&recorded).unwrap();
    let unknown = judged(from, to);
    assert_eq!(unknown.code, Some(3), "{}", unknown.stdout);
    assert!(
        flat(&unknown).contains("durability: cannot be judged") && !flat(&unknown).contains(risk)
    );
    fs::write(&recorded, text).unwrap();
}

/// An error in a folder names the file.
fn damaged(place: &Place, a: &Path, b: &Path) {
    let (a, trial) = (a.to_str().unwrap(), b.join("trial-0001"));
    let b = b.to_str().unwrap();
    let edit = |file: &str, change: &dyn Fn(String) -> String| {
        let path = trial.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, change(text.clone())).unwrap();
        (path, text)
    };
    let restore = |(path, text): (std::path::PathBuf, String)| fs::write(path, text).unwrap();

    // Cut off in the middle of a line: that line is missing, and no more.
    for file in ["intervals.jsonl", "probe.jsonl"] {
        let whole = edit(file, &|text| text[..text.len() - 30].to_owned());
        let ran = place.run(&["compare", a, b]);
        assert_eq!(ran.code, Some(3), "{file}");
        assert!(
            flat(&ran)
                .contains(&format!("B: not read: trial-0001/{file}: its last line is cut off")),
            "{}",
            ran.stdout
        );
        restore(whole);
    }
    let newer = edit("run.json", &|text| {
        text.replacen("\"schema_version\": 2", "\"schema_version\": 99", 1)
    });
    place.refused(&["compare", a, b], &["run.json", "newer truetps"]);
    restore(newer);
    let edited = edit("intervals.jsonl", &|text| text.replacen("\"start_ms\":", "\"start\":", 1));
    // The trial's figures are in another file.
    for args in [&["compare", a, b][..], &["stalls", b]] {
        let ran = place.run(args);
        assert!(
            flat(&ran).contains("trial-0001/intervals.jsonl: line 1: missing field"),
            "{args:?}: {}",
            ran.stdout
        );
    }
    restore(edited);
    let nonsense = edit("probe.jsonl", &|_| "nonsense\n".to_owned());
    let ran = place.run(&["compare", a, b, "--full"]);
    assert!(ran.code == Some(3) && ran.stdout.contains("Figures"), "{}{}", ran.stdout, ran.stderr);
    assert!(
        flat(&ran).contains("probe.jsonl: its first line is not the header of a probe"),
        "{}",
        ran.stdout
    );
    restore(nonsense);
    fs::remove_file(trial.join("probe.jsonl")).unwrap();
    assert_eq!(place.run(&["compare", a, b]).code, Some(3));
    fs::create_dir(place.path().join("empty")).unwrap();
    place.refused(&["compare", a, "empty"], &["empty", "experiment.json"]);
}

fn examples(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// The command of a job's file: its lines are folded into one.
fn command_of(file: &str) -> String {
    let text = fs::read_to_string(examples("ci").join(file)).unwrap();
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("ci/compare-with-base.sh "));
    lines.take(2).collect::<Vec<_>>().join(" ")
}

/// A job of `examples/ci`, with short trials.
struct CiJob {
    place: Place,
    summary: std::path::PathBuf,
}

impl CiJob {
    fn new() -> Self {
        let place = Place::with_templates();
        let summary = place.write("step summary.md", "# Before\n");
        symlink(examples("ci"), place.path().join("ci")).unwrap();
        Self { place, summary }
    }

    fn run(
        &self,
        plan: &str,
        levels: [&str; 3],
        conditions: &[&str],
        variables: &[(&str, &str)],
    ) -> Ran {
        let plan = format!("ci/{plan}");
        let fail_if = conditions.iter().flat_map(|condition| ["--fail-if", condition]);
        let args: Vec<_> = [plan.as_str()].into_iter().chain(levels).chain(fail_if).collect();
        self.run_program(Path::new("ci/compare-with-base.sh"), &args, variables)
    }

    fn run_program(&self, program: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.place.program(program, args);
        command
            .env("TRUETPS", env!("CARGO_BIN_EXE_truetps"))
            .env("GITHUB_STEP_SUMMARY", &self.summary);
        command
            .env("SWEEP_FLAGS", format!("--quick --blocks 2 {SMALL_REDO}"))
            .env_remove("GITHUB_ACTIONS")
            .env_remove("RESULTS");
        command.envs(variables.iter().copied()).output().unwrap().into()
    }

    fn result(&self, name: &str) -> String {
        fs::read_to_string(self.place.path().join("truetps-results").join(name)).unwrap()
    }
}

const FLUSH: &str = "innodb_flush_log_at_trx_commit";

/// Durability follows from the settings, so that these conditions do not depend on the machine.
#[test]
fn a_ci_job_fails_where_a_condition_is_crossed_and_else_does_not() {
    if mariadb("a_ci_job_fails_where_a_condition_is_crossed_and_else_does_not").is_none() {
        return;
    }
    let job = CiJob::new();
    let command = command_of("github-actions.yml");
    assert!(command.ends_with(" --fail-if durability"), "{command}");
    assert_eq!(command, command_of("gitlab-ci.yml"));
    let ran = job.run_program(Path::new("/bin/sh"), &["-c", &command], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let summary = fs::read_to_string(&job.summary).unwrap();
    assert!(
        summary.starts_with("# Before\n# ") && summary.contains("durability: crossed"),
        "{summary}"
    );
    assert_eq!(ran.stdout, job.result("comparison.md"));
    assert!(
        ran.stdout.contains("interleaved") && !ran.stdout.contains("not interleaved"),
        "{}",
        ran.stdout
    );
    let junit = job.result("junit.xml");
    assert!(
        junit.contains("<failure type=\"threshold\" message=\"durability: crossed\">"),
        "{junit}"
    );
    let metrics = job.result("metrics.prom");
    assert!(metrics.contains("level_innodb_flush_log_at_trx_commit=\"2\""), "{metrics}");
    assert!(job.result("sweep.md").contains("settings-check"));

    // The other way round nothing is lost.
    let ran = job.run("settings.toml", [FLUSH, "2", "1"], &["durability"], &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(job.result("junit.xml").contains("failures=\"0\""));
}

#[test]
fn what_a_ci_job_cannot_decide_is_a_failure_or_a_warning() {
    if mariadb("what_a_ci_job_cannot_decide_is_a_failure_or_a_warning").is_none() {
        return;
    }
    let job = CiJob::new();
    // One block has no interval.
    let one = ("SWEEP_FLAGS", "--quick --blocks 1 --set=innodb_log_file_size=32M");
    let levels = [FLUSH, "1", "2"];
    let ran = job.run("settings.toml", levels, &["tps<-5%"], &[one]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(job.result("junit.xml").contains("<skipped message="), "{}", job.result("junit.xml"));
    let warned = [one, ("ON_UNDECIDED", "warn"), ("GITHUB_ACTIONS", "true")];
    let ran = job.run("settings.toml", levels, &["tps<-5%"], &warned);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("\n::warning::truetps could not decide"), "{}", ran.stdout);
}

#[test]
fn a_ci_job_compares_two_servers() {
    if mariadb("a_ci_job_compares_two_servers").is_none() {
        return;
    }
    let job = CiJob::new();
    for name in ["base", "candidate"] {
        job.place.good(&["server", "add", name]);
    }
    let ran = job.run("servers.toml", ["server", "base", "candidate"], &["durability"], &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(job.result("junit.xml").contains("server=candidate"), "{}", job.result("junit.xml"));
}

#[test]
fn a_wrong_ci_job_ends_before_anything_is_measured() {
    let job = CiJob::new();
    let check = |conditions: &[&str], variables: &[(&str, &str)], words: &str| {
        let ran = job.run("settings.toml", [FLUSH, "1", "2"], conditions, variables);
        assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    };
    check(&[], &[], "usage: ");
    check(&["qps<-5%"], &[], "unknown figure `qps`");
    check(&["durability"], &[("ON_UNDECIDED", "maybe")], "use fail or warn");
    assert!(!job.place.path().join("truetps-results/runs").exists());
}
