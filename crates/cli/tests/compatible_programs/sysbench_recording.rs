//! `truetps sysbench … run` leaves a run folder, and `truetps report` makes an answer from it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::quiet_machine;

use rustix::process::Signal;

use crate::common::{Place, Ran, has_strace, reason_of, signal, wait_until};
use crate::support::{ACCOUNT, Owned, PASSWORD};

const SCHEMA: &str = include_str!("../../../../docs/reference/report.schema.json");
const PASSWORD_PART: &str = "h1dden";

/// Each event is started twice: its first attempt inserts a key that is there already.
const STUMBLING: &str = r#"
sysbench.cmdline.options = { first = { "First key", 1000 } }
local attempt, key = 0, 0
function thread_init()
  con = sysbench.sql.driver():connect()
  key = sysbench.opt.first + 1000000 * (sysbench.tid + 1)
end
function event()
  attempt = attempt + 1
  if attempt % 2 == 1 then con:query("INSERT INTO marks VALUES (1)") end
  key = key + 1
  con:query("INSERT INTO marks VALUES (" .. key .. ")")
end
"#;

const FAILING: &str = r#"
local n = 0
function event()
  n = n + 1
  if n == 20 then error("enough of it") end
end
"#;

pub(crate) fn sysbench<'a>(script: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    [&["sysbench", script][..], flags, &["run"]].concat()
}

pub(crate) fn run(place: &Place, script: &str, flags: &[&str]) -> Ran {
    place.run(&sysbench(script, flags))
}

fn intervals(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.latest().join("trial-0001/intervals.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// The equations of each interval, and that intervals follow each other.
fn check_counts(intervals: &[Value], measured: &Value) {
    let balance = |one: &Value| {
        let sum = |names: &[&str]| names.iter().map(|name| number(one, name)).sum::<u64>();
        assert_eq!(sum(&["carried_in", "started"]), sum(&["ok", "failed", "in_flight"]), "{one}");
    };
    intervals.iter().for_each(balance);
    for one in intervals {
        let buckets = one["buckets"].as_array().unwrap().iter().map(|ok| ok.as_u64().unwrap());
        assert_eq!(buckets.sum::<u64>(), number(one, "ok"), "{one}");
    }
    balance(measured);
    for pair in intervals.windows(2) {
        assert_eq!(pair[0]["in_flight"], pair[1]["carried_in"]);
    }
    let measured_ones = intervals.iter().filter(|one| one["phase"] == "measure");
    let ok: u64 = measured_ones.map(|one| number(one, "ok")).sum();
    assert_eq!(ok, number(measured, "ok"));
}

/// Both forms of the report; the JSON one has the form that is promised.
fn reports(place: &Place) -> (Ran, Value) {
    let document = place.run(&["report", "--format", "json"]);
    let document: Value =
        serde_json::from_str(&document.stdout).unwrap_or_else(|_| panic!("{}", document.stderr));
    let schema = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(crate::schema_check::violations(&schema, &document), Vec::<String>::new());
    (place.run(&["report", "--full"]), document)
}

fn files_below(path: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(path).unwrap().flatten() {
        if entry.path().is_dir() {
            files_below(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

#[test]
fn a_suspended_script_run_is_no_evidence() {
    let place = Place::new();
    let script = place.write("busy.lua", "function event() for i = 1, 10000 do end end");
    let flags = ["--threads=2", "--time=4", "--report-format=json"];
    let child = place.start(&sysbench(script.to_str().unwrap(), &flags));
    place.wait_for_interval("trial-0001");
    signal(child.id(), Signal::STOP);
    std::thread::sleep(std::time::Duration::from_millis(600));
    signal(child.id(), Signal::CONT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "invalid", "{trial}{}", ran.stderr);
    assert!(ran.stderr.contains("the load generator was suspended for "), "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let kept = json(&place.latest().join("trial-0001/sysbench.json"));
    assert_eq!(
        (&printed["validity"], &printed["validity"]["state"]),
        (&kept["validity"], &"invalid".into())
    );
    let (text, document) = reports(&place);
    let reason = document["trials"][0]["validity"]["reason"].as_str().unwrap();
    assert!(reason.contains("the load generator was suspended for "), "{document}");
    assert!(text.stdout.contains("suspended"), "{}", text.stdout);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn a_run_on_a_server_is_a_folder_that_can_be_reported() {
    let Some(binary) = mariadb("a_run_on_a_server_is_a_folder") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[
        "CREATE DATABASE truetps_marks",
        "CREATE TABLE truetps_marks.marks (id BIGINT PRIMARY KEY)",
        "INSERT INTO truetps_marks.marks VALUES (1)",
    ]);
    let place = Place::new();
    let script = place.write("stumbling.lua", STUMBLING);
    let script = script.to_str().unwrap();
    let password = format!("--mysql-password={PASSWORD}");
    let port = format!("--mysql-port={}", owned.port);
    let user = format!("--mysql-user={ACCOUNT}");
    let server = ["--mysql-host=127.0.0.1", &port, &user, &password, "--mysql-db=truetps_marks"];
    let flags = [
        "--threads=3",
        "--time=2",
        "--warmup-time=1",
        "--mysql-ignore-errors=1062",
        "--rand-seed=7",
    ];
    let ran = run(&place, script, &[&server[..], &flags].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("recorded"), "{}", ran.stdout);
    let warning = "truetps: warning: a password on the command line can be read by other users of \
                   this host: put it in the file of --config-file, or use --dsn with \
                   TRUETPS_PASSWORD\n";
    let (before, last) = ran.stderr.split_at(warning.len().min(ran.stderr.len()));
    assert_eq!((before, last.lines().count()), (warning, 1), "{}", ran.stderr);
    assert!(last.starts_with("truetps: recorded in runs/sysbench-"), "{last}");

    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "valid", "{trial}");
    assert_eq!((&trial["server"]["flavour"], &trial["seed"]), (&"mariadb".into(), &7.into()));
    let address = &json(&place.latest().join("experiment.json"))["server_address"];
    let expect = format!("mysql://{ACCOUNT}@127.0.0.1:{}/truetps_marks", owned.port);
    assert!(address.as_str().unwrap().starts_with(&expect), "{address}");
    let measured = &trial["measured"];
    let all = intervals(&place);
    check_counts(&all, measured);
    let phases: Vec<_> = all.iter().map(|one| one["phase"].as_str().unwrap()).collect();
    let warm_up = phases.iter().filter(|phase| **phase == "warm_up").count();
    assert!(
        warm_up >= 1
            && phases.len() >= warm_up + 2
            && phases[warm_up..].iter().all(|phase| *phase == "measure")
    );
    // An event is an attempt that fails, and one that succeeds.
    let (ok, retried) = (number(measured, "ok"), number(measured, "retried"));
    assert!(ok > 0 && retried.abs_diff(ok) <= 6, "{measured}");
    assert_eq!(measured["errors"][0]["class"], "duplicate_key");
    assert!(measured["client_cpu_us_per_tx"].as_f64().unwrap() > 0.0, "{measured}");
    assert!(measured["worker_busy_max"].as_f64().unwrap() > 0.0, "{measured}");
    assert_eq!(measured["server_cpu_us_per_tx"], Value::Null);
    assert_eq!(
        (&trial["engine"]["clients"], &trial["engine"]["clients_failed"]),
        (&3.into(), &0.into())
    );

    let document = json(&place.latest().join("trial-0001/sysbench.json"));
    assert_eq!(document["totals"]["transactions"], measured["ok"]);
    assert_eq!(
        (&document["seed"], document["options"]["threads"].as_f64()),
        (&7.into(), Some(3.0))
    );
    let kinds: Vec<_> =
        document["statements_by_kind"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["insert"]);
    let command = document["command"].to_string();
    assert!(
        command.contains("--mysql-password=***") && command.contains("--warmup-time=1"),
        "{command}"
    );

    let (text, report) = reports(&place);
    assert_eq!(text.code, Some(0), "{}{}", text.stdout, text.stderr);
    assert!(
        text.stdout.contains("Server    mariadb ")
            && text.stdout.contains("stumbling.lua, a script of sysbench")
    );
    assert!(
        text.stdout.contains("Durability: a commit of InnoDB tables survives"),
        "{}",
        text.stdout
    );
    assert!(
        text.stdout.contains("1 of 1 valid") && text.stdout.contains("duplicate_key"),
        "{}",
        text.stdout
    );
    assert_eq!(report["trials"][0]["tps"], measured["tps"]);
    assert!(place.latest().join("report.html").exists());

    let mut files = Vec::new();
    files_below(&place.path().join("runs"), &mut files);
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let content = fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&content).contains(PASSWORD_PART), "{}", file.display());
    }
}

/// The options are for PostgreSQL; only the first event shows that the script uses another server.
#[test]
fn readings_of_another_server_than_the_one_used_are_dropped() {
    let Some(binary) = mariadb("readings_of_another_server") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&["CREATE DATABASE sbtest"]);
    let place = Place::new();
    let script = "function event() connection = connection or \
                  sysbench.sql.driver('mysql'):connect() connection:query('DO 1') end";
    let script = place.write("other.lua", script);
    let socket = format!("--mysql-socket={}", owned.server.socket().display());
    let options = [
        "--mysql-user=root",
        &socket,
        "--db-driver=pgsql",
        "--pgsql-host=127.0.0.1",
        "--pgsql-port=1",
    ];
    for (interval, expect) in [("--probe-interval=1", true), ("--probe-interval=0", false)] {
        let ran = run(
            &place,
            script.to_str().unwrap(),
            &[&options[..], &["--events=100", interval]].concat(),
        );
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let trial = place.run_json("trial-0001");
        assert_eq!(trial["notes"].to_string().contains("not watched: "), expect, "{trial}");
        assert!(!place.latest().join("trial-0001/probe.jsonl").exists(), "{trial}");
    }
}

#[test]
fn a_script_without_a_server_is_not_given_one() {
    // Events that start late are more than those that were asked for.
    let _machine = quiet_machine();
    let place = Place::new();
    let limits = ["--events=300", "--time=0", "--warmup-time=1"];
    let ran = run(
        &place,
        "cpu",
        &[&limits[..], &["--threads=2", "--rate=1000", "--cpu-max-prime=100"]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!((&trial["validity"]["state"], &trial["server"]), (&"valid".into(), &Value::Null));
    let measured = &trial["measured"];
    // One more or less runs while the warm-up ends.
    assert!(
        (290..=310).contains(&number(measured, "ok")) && number(measured, "statements") == 0,
        "{measured}"
    );
    let document = json(&place.latest().join("trial-0001/sysbench.json"));
    assert_eq!(document["totals"]["transactions"], measured["ok"]);
    check_counts(&intervals(&place), measured);
    let starts = &measured["open_loop"];
    assert_eq!(
        number(starts, "queued_in") + number(starts, "scheduled"),
        number(measured, "started") + number(starts, "queued"),
    );
    assert!(
        ["service_us_p50", "lag_us_p50", "late_us_p50"].iter().all(|name| starts[*name].is_f64()),
        "{starts}"
    );
    let (text, report) = reports(&place);
    assert!(text.stdout.contains("none: the script had connected to no server"), "{}", text.stdout);
    assert!(!text.stdout.contains("mysql"), "{}", text.stdout);
    assert_eq!(report["server"], Value::Null);
    // The record can be read, and is no plan.
    let plan = place.latest().join("plan.toml");
    let checked = place.run(&["plan", "check", plan.to_str().unwrap()]);
    assert_eq!(checked.code, Some(2), "{}", checked.stderr);
    assert!(
        checked.stderr.contains("is the record of a run of `truetps sysbench`"),
        "{}",
        checked.stderr
    );
}

#[test]
fn no_runs_leave_nothing() {
    let place = Place::new();
    let ran = run(&place, "cpu", &["--events=10", "--runs=none"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    let ran = run(&place, "cpu", &["--events=10", "--runs=kept here"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let made: Vec<_> = fs::read_dir(place.path().join("kept here"))
        .unwrap()
        .flatten()
        .map(|one| one.file_name())
        .collect();
    assert_eq!(made.len(), 2, "the folder and the link: {made:?}");
}

/// A service, cron, a read-only container: a user without a home folder that can be written.
#[test]
fn a_user_without_a_home_runs_it_nevertheless() {
    let place = Place::new();
    place.write("file", "");
    let plain = run(&place, "cpu", &["--events=10", "--runs=none"]);
    for (home, why) in [(None, "the user has no home folder"), (Some("file"), "file/.local/state")]
    {
        let mut command = place.command(&["sysbench", "cpu", "--events=10", "run"]);
        command.env_remove("TRUETPS_RUNS").env_remove("XDG_STATE_HOME").env_remove("HOME");
        if let Some(home) = home {
            command.env("HOME", place.path().join(home));
        }
        let before = fs::read_dir(place.path()).unwrap().count();
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(shape(&ran.stdout), shape(&plain.stdout));
        let told = |line: &&str| {
            line.starts_with("truetps: the run is not recorded: ") && line.contains(why)
        };
        assert_eq!(ran.stderr.lines().filter(told).count(), 1, "{home:?}: {}", ran.stderr);
        assert_eq!(
            fs::read_dir(place.path()).unwrap().count(),
            before,
            "{home:?}: nothing is left behind"
        );
    }
}

/// What the standard output has, but for the figures and the space that they leave.
fn shape(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.chars().filter(|c| !c.is_ascii_digit() && *c != ' ').collect())
        .collect()
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_anything_starts() {
    let place = Place::new();
    place.write("file", "");
    let refused = run(&place, "cpu", &["--events=10", "--runs=file/runs"]);
    assert_eq!(refused.code, Some(1), "{}{}", refused.stdout, refused.stderr);
    let text = refused.stdout + &refused.stderr;
    assert!(text.contains("the run cannot be recorded: file/runs"), "{text}");
    assert!(
        text.contains("--runs=DIR or TRUETPS_RUNS, or use --runs=none")
            && !text.contains("started"),
        "{text}"
    );
    let plain = run(&place, "cpu", &["--events=10", "--runs=none"]);
    let recorded = run(&place, "cpu", &["--events=10"]);
    assert_eq!(shape(&recorded.stdout), shape(&plain.stdout));
    let last = recorded.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("truetps: recorded in runs/sysbench-cpu-"), "{}", recorded.stderr);
    assert!(!plain.stderr.contains("recorded in"), "{}", plain.stderr);
}

/// Without `--runs` and `TRUETPS_RUNS` nothing is left in the folder that the user happens to be
/// in.
#[test]
fn runs_go_to_the_state_folder_and_are_found_there() {
    let place = Place::new();
    let with = |args: &[&str]| -> Ran {
        place.command(args).env_remove("TRUETPS_RUNS").output().unwrap().into()
    };
    let ran = with(&["sysbench", "cpu", "--events=10", "run"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let state = place.path().join("state/truetps/runs");
    assert_eq!(ran.stderr, "", "the remark is for a terminal, and for who names a folder");
    assert!(!place.path().join("runs").exists() && state.join("latest").exists());
    for args in [&["report"][..], &["report", "latest"], &["stalls"], &["stalls", "latest"]] {
        let read = with(args);
        assert!(read.code != Some(2), "{args:?}: {}", read.stderr);
        assert!(!read.stderr.contains("No such file"), "{args:?}: {}", read.stderr);
    }
    // The newest of both folders.
    let here = with(&["sysbench", "cpu", "--events=10", "--runs=runs", "run"]);
    assert_eq!(here.code, Some(0), "{}", here.stderr);
    let report = with(&["report"]);
    assert!(report.stderr.contains("Saved  runs/sysbench-cpu-"), "{}", report.stderr);
    // `--runs` names one.
    let report = with(&["report", "--runs", state.to_str().unwrap()]);
    assert!(report.stderr.contains("Saved  state/truetps/runs/sysbench-cpu-"), "{}", report.stderr);
    // Not writable: root writes everywhere but below a file.
    place.write("state2", "");
    let mut command = place.command(&["sysbench", "cpu", "--events=10", "run"]);
    command.env_remove("TRUETPS_RUNS").env("XDG_STATE_HOME", place.path().join("state2"));
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the run is not recorded: ")
            && ran.stderr.contains("state2/truetps/runs"),
        "{}",
        ran.stderr
    );
}

/// Waits until a run that goes on has written so many intervals.
fn wait_for_intervals(place: &Place, number: usize) {
    let path = place.path().join("runs/latest/trial-0001/intervals.jsonl");
    wait_until("intervals", || {
        fs::read_to_string(&path).is_ok_and(|text| text.matches('\n').count() >= number)
    });
}

#[test]
fn what_is_killed_is_readable_to_its_last_second() {
    let place = Place::new();
    let mut child =
        place.start(&sysbench("cpu", &["--time=60", "--rate=50", "--cpu-max-prime=100"]));
    wait_for_intervals(&place, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(intervals(&place).len() >= 2);
    let trial = place.run_json("trial-0001");
    assert_eq!(
        (&trial["validity"]["state"], &trial["measured"]),
        (&"partial".into(), &Value::Null)
    );
    let (text, _) = reports(&place);
    assert!(text.stdout.contains("1 partial"), "{}", text.stdout);
}

#[test]
fn ctrl_c_leaves_a_partial_run_with_its_figures() {
    let place = Place::new();
    let child = place.start(&sysbench("cpu", &["--time=60", "--rate=50", "--cpu-max-prime=100"]));
    wait_for_intervals(&place, 1);
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    let trial = place.run_json("trial-0001");
    let validity = &trial["validity"];
    assert_eq!(
        (&validity["state"], reason_of(&trial).as_str()),
        (&"partial".into(), "interrupted")
    );
    check_counts(&intervals(&place), &trial["measured"]);
    let (text, _) = reports(&place);
    assert!(text.stdout.contains("partial: interrupted"), "{}", text.stdout);
}

#[test]
fn a_failed_script_is_no_evidence() {
    let place = Place::new();
    let script = place.write("failing.lua", FAILING);
    let ran = run(&place, script.to_str().unwrap(), &["--threads=2"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "invalid");
    assert!(reason_of(&trial).contains("enough of it"), "{trial}");
    assert!(number(&trial["engine"], "clients_failed") >= 1);
    assert!(number(&trial["measured"], "failed") >= 1);
    assert!(place.latest().join("trial-0001/sysbench.json").exists());
}

#[test]
fn a_folder_that_goes_away_costs_one_line() {
    let place = Place::new();
    let child = place.start(&sysbench("cpu", &["--time=3", "--rate=50", "--cpu-max-prime=100"]));
    wait_for_intervals(&place, 1);
    fs::remove_dir_all(place.latest()).unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    // The standard output is sysbench's.
    let lines: Vec<_> = ran
        .stderr
        .lines()
        .filter(|line| line.contains("this run is recorded no further"))
        .collect();
    assert!(lines.len() == 1 && !ran.stdout.contains("ALERT"), "{}{}", ran.stdout, ran.stderr);
}

/// A power failure finds files before the names that they get, lines before the figures, and names
/// in their folders.
#[test]
fn what_is_recorded_reaches_the_disk_in_order() {
    if !has_strace() {
        return;
    }
    let place = Place::new();
    place.write("idle.lua", "function event() end");
    let log = place.path().join("calls");
    let program = env!("CARGO_BIN_EXE_truetps");
    let traced =
        ["-f", "-y", "-s", "400", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o"];
    let run = ["sysbench", "./idle.lua", "--events=5", "run"];
    let args = [&traced[..], &[log.to_str().unwrap(), program], &run].concat();
    let ran: Ran = place.program(Path::new("strace"), &args).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = fs::read_to_string(&log).unwrap();
    let calls: Vec<_> = text.lines().collect();
    let mut runs =
        fs::read_dir(place.path().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let folder = runs.find(|path| !path.is_symlink()).unwrap();
    let trial = folder.join("trial-0001");
    let last = |what: &str, name: &Path| {
        let wanted = format!("{what}sync(");
        let path = format!(
            "<{}>",
            fs::canonicalize(name.parent().unwrap())
                .unwrap()
                .join(name.file_name().unwrap())
                .display()
        );
        let is_it = |call: &&str| call.contains(&wanted) && call.contains(&path);
        calls.iter().rposition(is_it).unwrap_or_else(|| panic!("{what}sync of {path}:\n{text}"))
    };
    let renamed = |name: &str| {
        let is_it = |call: &&str| call.contains("rename") && call.contains(&format!("/{name}\""));
        calls.iter().rposition(is_it).unwrap_or_else(|| panic!("rename of {name}:\n{text}"))
    };
    let written = renamed("run.json");
    for name in ["intervals.jsonl", "latency.hdr", "run.json.tmp"] {
        assert!(last("fdata", &trial.join(name)) < written, "{name}:\n{text}");
    }
    assert!(last("f", &trial) > written, "{text}");
    assert!(last("f", &folder) > renamed("experiment.json"), "{text}");
    last("f", folder.parent().unwrap());
}
