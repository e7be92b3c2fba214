//! `truetps mtls` beside the original, which is fetched from PyPI where that can be reached.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod common;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Place, Ran};
use support::{ACCOUNT, Owned, PASSWORD, assert_secret};
use truetps_testkit::mysql_family::mariadb;

struct Bench {
    owned: Owned,
    place: Place,
}

impl Bench {
    fn start(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        let owned = Owned::start(&binary, &[("general_log", "ON"), ("log_output", "TABLE")]);
        owned.execute(&["CREATE DATABASE truetps_m"]);
        Some(Self { owned, place: Place::new() })
    }

    fn server(&self) -> Vec<String> {
        vec![format!("--port={}", self.owned.port), format!("--user={ACCOUNT}"), "--database=truetps_m".to_owned()]
    }

    fn ours(&self, args: &[&str]) -> Ran {
        let server = self.server();
        let words: Vec<&str> =
            std::iter::once("mtls").chain(server.iter().map(String::as_str)).chain(args.iter().copied()).collect();
        self.place.command(&words).env("TRUETPS_PASSWORD", PASSWORD).output().unwrap().into()
    }

    #[expect(clippy::disallowed_methods, reason = "the program to compare with")]
    fn original(&self, python: &Path, args: &[&str]) -> Ran {
        let password = format!("--password={PASSWORD}");
        // By the interpreter: a path with a blank in it is none in the first line of a script.
        let script = python.with_file_name("mtls-perf-bench");
        Command::new(python)
            .arg(script)
            .args(self.server())
            .arg(password)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    fn value(&self, sql: &str) -> String {
        self.owned.admin().query_value(sql).unwrap().unwrap_or_default()
    }

    /// CREATE TABLE of `t`.
    fn table(&self) -> String {
        self.owned.admin().query("SHOW CREATE TABLE truetps_m.t").unwrap().rows[0][1].clone().unwrap()
    }

    fn sent(&self, like: &str) -> u64 {
        let sql = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Query' AND LOWER(argument) LIKE";
        self.value(&format!("{sql} '{like}' AND argument NOT LIKE '%general_log%'")).parse().unwrap()
    }
}

/// The original in a virtual environment of its own; `None`, and said, where it cannot be had.
#[expect(clippy::disallowed_methods, reason = "the program to compare with")]
fn original(place: &Place, test: &str) -> Option<PathBuf> {
    let folder = place.path().join("venv");
    let run = |program: &Path, args: &[&str]| {
        let ran = Command::new(program).args(args).current_dir(place.path()).stdin(Stdio::null()).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    // It does not say that it needs the connector.
    let packages = ["-m", "pip", "install", "--quiet", "mysqltools-python==2.22.7.20", "mysql-connector-python"];
    let python = folder.join("bin/python");
    if run(Path::new("python3"), &["-m", "venv", "venv"]) && run(&python, &packages) {
        return Some(python);
    }
    eprintln!("SKIPPED: {test}: mtls-perf-bench cannot be fetched here");
    None
}

/// Lines of the log without times, processes and figures.
fn lines(log: &str) -> Vec<String> {
    let message = |line: &str| {
        line.splitn(6, "  ")
            .skip(1)
            .enumerate()
            .filter(|(n, _)| *n != 1)
            .map(|(_, part)| part.replace(|c: char| c.is_ascii_digit(), ""))
            .collect::<Vec<_>>()
            .join("  ")
    };
    let mut lines: Vec<String> = log.lines().map(message).map(|line| line.replace('.', "")).collect();
    lines.dedup();
    lines
}

const COLUMNS: [&str; 7] =
    ["--ints=4", "--floats=2", "--varchars=2", "--doubles=1", "--texts=1", "--decimals=1", "--decimal-precision=14"];

#[test]
fn it_makes_and_fills_the_table_of_the_original() {
    const TEST: &str = "it_makes_and_fills_the_table_of_the_original";
    let Some(bench) = Bench::start(TEST) else { return };
    let Some(program) = original(&bench.place, TEST) else { return };
    let mut seen = Vec::new();
    for is_ours in [true, false] {
        let run = |args: &[&str]| if is_ours { bench.ours(args) } else { bench.original(&program, args) };
        bench.owned.execute(&["TRUNCATE mysql.general_log"]);
        let made = run(&[&COLUMNS[..], &["create"]].concat());
        let table = bench.table();
        let filled = run(&[&COLUMNS[..], &["--rows=60", "--parallel=4", "insert"]].concat());
        let rows = bench.value("SELECT COUNT(*) FROM truetps_m.t");
        // The original commits once more at its end.
        let sent = (bench.sent("insert into %"), bench.sent("commit").min(60));
        let widths = bench.value("SELECT GROUP_CONCAT(DISTINCT LENGTH(c0), ',', LENGTH(t0)) FROM truetps_m.t");
        let dropped = run(&["drop"]);
        let codes = [made.code, filled.code, dropped.code];
        let logs = [&made, &filled].map(|ran| lines(&ran.stderr));
        seen.push((codes, table, rows, sent, widths, logs));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!((seen[0].0, seen[0].2.as_str()), ([Some(0); 3], "60"));
}

#[test]
fn the_last_line_of_the_log_has_the_figure() {
    let Some(bench) = Bench::start("the_last_line_of_the_log_has_the_figure") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let ran = bench.ours(&["--ints=1", "--rows=50", "--parallel=2", "insert"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let last = ran.stderr.lines().last().unwrap();
    let message = last.rsplit("  INFO  ").next().unwrap();
    assert!(message.starts_with("TPS:") && message.contains(" duration ") && message.ends_with("(s)"), "{last}");
    assert!(ran.stdout.starts_with("truetps\n") && ran.stdout.contains("50 of 50 rows"), "{}", ran.stdout);
    assert_eq!(bench.place.run_json("trial-0001")["measured"]["ok"], 50);
    assert_secret(&bench.place, &ran);
    let classic = bench.ours(&["--ints=1", "--classic", "--runs=none", "insert"]);
    assert_eq!((classic.code, classic.stdout.as_str()), (Some(0), ""));
}

#[test]
fn defect_1_no_row_is_lost_to_a_remainder() {
    let Some(bench) = Bench::start("defect_1_no_row_is_lost_to_a_remainder") else { return };
    bench.ours(&["--ints=1", "create"]);
    let ran = bench.ours(&["--ints=1", "--rows=803", "--parallel=8", "insert"]);
    assert_eq!(
        (ran.code, bench.value("SELECT COUNT(*) FROM truetps_m.t").as_str()),
        (Some(0), "803"),
        "{}",
        ran.stderr
    );
    let ran = bench.ours(&["--ints=1", "--rows=803", "--batch=8", "insert"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--rows=803 is no multiple of --batch=8"), "{}", ran.stderr);
    let ran = bench.ours(&["--ints=1", "--rows=800", "--batch=8", "--parallel=3", "insert"]);
    assert_eq!(
        (ran.code, bench.value("SELECT COUNT(*) FROM truetps_m.t").as_str()),
        (Some(0), "1603"),
        "{}",
        ran.stderr
    );
}

#[test]
fn defects_2_to_4_errors_are_said_without_the_password() {
    let Some(bench) = Bench::start("defects_2_to_4_errors_are_said_without_the_password") else { return };
    assert_eq!(bench.ours(&["--ints=1", "create"]).code, Some(0));
    let again = bench.ours(&["--ints=1", "create"]);
    assert!(again.code == Some(3) && again.stderr.contains("ERROR  1050 (42S01): Table"), "{}", again.stderr);
    let denied = bench.ours(&["--ints=1", "--user=nobody_here", "create"]);
    assert!(
        denied.code == Some(3) && denied.stderr.contains("ERROR  1045 (28000): Access denied"),
        "{}",
        denied.stderr
    );
    assert_secret(&bench.place, &denied);
    // The table has other columns: each INSERT fails, and the run says so to its end.
    let failed = bench.ours(&["--floats=1", "--rows=10", "insert"]);
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    assert!(failed.stderr.contains("Unknown column 'f0'") && failed.stderr.contains("TPS:0.00"), "{}", failed.stderr);
    assert!(failed.stdout.contains("0 of 10 rows, 10 failed"), "{}", failed.stdout);
    assert_eq!(bench.ours(&["drop"]).code, Some(0));
    assert_eq!(bench.ours(&["drop"]).code, Some(3));
    for (args, expect) in [(&["insert"][..], "columns counts equal 0"), (&["create"], "do not have any columns")] {
        let ran = bench.ours(args);
        assert!(ran.code == Some(2) && ran.stderr.contains(expect), "{}", ran.stderr);
    }
}

#[test]
fn texts_fit_their_columns_and_a_seed_decides_them() {
    let Some(bench) = Bench::start("texts_fit_their_columns_and_a_seed_decides_them") else { return };
    let columns = [
        "--varchars=1",
        "--varchar-length=20",
        "--decimals=1",
        "--decimal-precision=5",
        "--blobs=1",
        "--bigints=1",
        "--datetimes=1",
    ];
    assert_eq!(bench.ours(&[&columns[..], &["create"]].concat()).code, Some(0));
    let mut sums = Vec::new();
    for seed in ["--seed=1", "--seed=1", "--seed=2"] {
        bench.owned.execute(&["TRUNCATE truetps_m.t"]);
        let ran = bench.ours(&[&columns[..], &["--rows=40", seed, "insert"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        sums.push(bench.value(
            "SELECT CONCAT(COUNT(*), ' ', MAX(LENGTH(c0)), ' ', SUM(CRC32(CONCAT(c0, dm0, b0, dt0)))) FROM truetps_m.t",
        ));
    }
    assert!(sums[0].starts_with("40 20 ") && sums[0] == sums[1] && sums[0] != sums[2], "{sums:?}");
}
