//! `truetps slap` beside the original, and what the original does wrong.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod common;
mod support;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use common::{Place, Ran, signal, wait_until};
use rustix::process::Signal;
use support::Owned;
use truetps_testkit::mysql_family::mariadb;

const ORIGINAL: &str = "mariadb-slap";
const MISSING: &str = "mariadb-slap is not installed, which these tests compare with: apt-get install mariadb-client";

/// A server that remembers what was sent to it.
struct Bench {
    owned: Owned,
    place: Place,
}

/// What came of one command line.
struct Seen {
    ran: Ran,
    /// Statements of the log, without what differs from run to run, and how often each was sent.
    statements: BTreeMap<String, u64>,
    /// Rows of `t1` or `t`, where the schema was left behind.
    rows: Option<String>,
    connections: u64,
}

impl Bench {
    fn start(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        let owned =
            Owned::start(&binary, &[("general_log", "ON"), ("log_output", "TABLE"), ("max_connections", "300")]);
        Some(Self { owned, place: Place::new() })
    }

    fn socket(&self) -> String {
        format!("--socket={}", self.owned.server.socket().display())
    }

    fn ours(&self, args: &[&str]) -> Seen {
        let socket = self.socket();
        let own = ["slap", "--no-defaults", &socket, "--user=root"];
        self.seen(|| self.place.run(&[&own, args].concat()))
    }

    #[expect(clippy::disallowed_methods, reason = "the program to compare with")]
    fn original(&self, args: &[&str]) -> Seen {
        let socket = self.socket();
        let own = ["--no-defaults", socket.as_str(), "--user=root", "--skip-ssl"];
        self.seen(|| Command::new(ORIGINAL).args(own).args(args).stdin(Stdio::null()).output().expect(MISSING).into())
    }

    fn seen(&self, run: impl FnOnce() -> Ran) -> Seen {
        self.owned.execute(&["DROP SCHEMA IF EXISTS mysqlslap", "TRUNCATE mysql.general_log"]);
        let ran = run();
        let mut admin = self.owned.admin();
        let sql = "SELECT CAST(argument AS CHAR) FROM mysql.general_log WHERE command_type IN ('Query', 'Init DB') AND \
                   thread_id <> CONNECTION_ID()";
        let mut statements = BTreeMap::new();
        for row in admin.query(sql).unwrap().rows {
            let text = shape(row[0].as_deref().unwrap_or_default());
            if !text.starts_with("TRUNCATE") && !text.contains("VERSION()") {
                *statements.entry(text).or_default() += 1;
            }
        }
        let sql = "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Connect'";
        let connections: u64 = admin.query_value(sql).unwrap().unwrap().parse().unwrap();
        let table = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'mysqlslap' LIMIT 1";
        let rows = admin
            .query_value(table)
            .unwrap()
            .map(|table| admin.query_value(&format!("SELECT COUNT(*) FROM mysqlslap.{table}")).unwrap().unwrap());
        // Without the one that asks.
        Seen { ran, statements, rows, connections: connections - 1 }
    }
}

/// A statement without its numbers and texts, and without the byte that the original sends behind some.
fn shape(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql.trim_end_matches('\0').trim();
    while let Some(c) = rest.chars().next() {
        let bytes = if c == '\'' {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else if c.is_ascii_digit() {
            rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
        } else {
            out.extend((!c.is_whitespace()).then_some(c));
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push('N');
        rest = &rest[bytes..];
    }
    out
}

/// The report's lines, without their figures.
fn lines(report: &str) -> Vec<String> {
    report.lines().map(|line| line.replace(|c: char| c.is_ascii_digit(), "0")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn generated_tests_are_those_of_the_original() {
    let Some(bench) = Bench::start("generated_tests_are_those_of_the_original") else { return };
    for kind in ["mixed", "write", "read", "update", "key"] {
        for flags in [
            &["--auto-generate-sql-add-autoincrement"][..],
            &["--auto-generate-sql-guid-primary", "--auto-generate-sql-secondary-indexes=2"],
            &["-x", "2", "-y", "3:1", "--auto-generate-sql-unique-query-number=3"],
        ] {
            if kind == "key" && flags[0] == "-x" {
                continue;
            }
            let load = format!("--auto-generate-sql-load-type={kind}");
            let rest = ["--number-of-queries=40", "-c4", "--no-drop", "--auto-generate-sql-write-number=20"];
            let args = [&["-a", &load], flags, &rest[..]].concat();
            let (ours, theirs) = (bench.ours(&[&args[..], &["--classic"]].concat()), bench.original(&args));
            assert_eq!(ours.ran.code, Some(0), "{args:?}: {}{}", ours.ran.stdout, ours.ran.stderr);
            assert_eq!(lines(&ours.ran.stdout), lines(&theirs.ran.stdout), "{args:?}");
            assert_eq!(ours.rows, theirs.rows, "{args:?}");
            let without_use = |seen: &Seen| {
                let mut statements = seen.statements.clone();
                // The original reads the keys where it has no use for them, too.
                let skipped = ["mysqlslap", "USE`mysqlslap`", "SELECTidfromtN"];
                statements.retain(|sql, _| !skipped.contains(&sql.as_str()));
                statements
            };
            assert_eq!(without_use(&ours), without_use(&theirs), "{args:?}");
        }
    }
}

#[test]
fn tests_of_the_users_own_are_those_of_the_original() {
    let Some(bench) = Bench::start("tests_of_the_users_own_are_those_of_the_original") else { return };
    let create = "--create=create table t (a int);insert into t values (1)";
    for (flags, differs) in [
        (&["--query=insert into t values (2);select a from t", "-c3", "--number-of-queries=12"][..], &[][..]),
        (
            &[
                "--query=update t set a = a + 1",
                "-c2",
                "-i2",
                "--pre-query=select 10;select 11",
                "--post-query=select 12",
            ],
            &[],
        ),
        (
            &["--query=insert into t values (3)", "-c2", "--number-of-queries=8", "--commit=2", "-e", "innodb"],
            &["COMMIT"],
        ),
        (
            &[
                "--query=insert into t values (3)",
                "-c1,2",
                "--engine=innodb,memory:max_rows=99",
                "--init-command=select 7",
            ],
            &["selectN"],
        ),
    ] {
        let args = [&[create, "--delimiter=;"], flags].concat();
        let (ours, theirs) = (bench.ours(&[&args[..], &["--classic"]].concat()), bench.original(&args));
        assert_eq!(ours.ran.code, Some(0), "{args:?}: {}", ours.ran.stderr);
        assert_eq!(lines(&ours.ran.stdout), lines(&theirs.ran.stdout), "{args:?}");
        let common = |seen: &Seen| {
            let mut statements = seen.statements.clone();
            statements.retain(|sql, _| {
                let is_schema = sql == "mysqlslap" || sql.contains("`mysqlslap`");
                !is_schema && !differs.contains(&sql.as_str()) && sql != "SETAUTOCOMMIT=N"
            });
            statements
        };
        assert_eq!(common(&ours), common(&theirs), "{args:?}");
    }
}

#[test]
fn refusals_are_those_of_the_original() {
    let Some(bench) = Bench::start("refusals_are_those_of_the_original") else { return };
    for args in [
        &["-a", "--query=select 1"][..],
        &["-a", "--create=create table t (a int)"],
        &["-a", "--auto-generate-sql-guid-primary", "--auto-generate-sql-add-autoincrement"],
        &["-a", "--auto-generate-sql-execute-number=3", "--number-of-queries=4"],
        &["-a", "--auto-generate-sql-load-type=key"],
        &["--frills"],
        &["-Z"],
        &["--auto"],
        &["-a", "--commit"],
        &["-q"],
        &["-a", "--commit=x"],
        &["-a", "--commit=-1"],
        &["-a", "--engine=none_such"],
        &["--query=select 1", "--create=creat table t (a int)"],
        &["--query=select 1", "--create=create table t (a int)", "--pre-query=frills"],
        &["-a", "--user=nobody_here"],
        &["-a", "--protocol=pigeon"],
    ] {
        let (ours, theirs) = (bench.ours(args), bench.original(args));
        let first = |ran: &Ran| {
            let text = ran.stderr.replace("mariadb-slap: ", "mysqlslap: ");
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!((ours.ran.code, first(&ours.ran)), (theirs.ran.code, first(&theirs.ran)), "{args:?}");
    }
}

#[test]
fn defect_1_partial_runs_are_no_success() {
    let Some(bench) = Bench::start("defect_1_partial_runs_are_no_success") else { return };
    bench.owned.execute(&["SET GLOBAL max_connections = 20"]);
    let seen = bench.ours(&[
        "--query=select sleep(0.01)",
        "--create=create table t (a int)",
        "-c40",
        "--number-of-queries=80",
    ]);
    assert_eq!(seen.ran.code, Some(1), "{}", seen.ran.stdout);
    assert!(seen.ran.stderr.contains("Too many connections"), "{}", seen.ran.stderr);
    assert!(seen.ran.stdout.contains("INVALID") && seen.ran.stdout.contains(" failed"), "{}", seen.ran.stdout);
}

#[test]
fn defect_2_an_error_of_a_client_is_no_success() {
    let Some(bench) = Bench::start("defect_2_an_error_of_a_client_is_no_success") else { return };
    let args = [
        "--query=insert into t values (1)",
        "--create=create table t (a int primary key)",
        "-c2",
        "--number-of-queries=10",
    ];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(1), "{}", seen.ran.stdout);
    for text in ["1 of 10 queries, 9 failed", "9 duplicate_key (Duplicate entry '1'"] {
        assert!(seen.ran.stdout.contains(text), "{text}: {}", seen.ran.stdout);
    }
    assert!(seen.ran.stderr.contains("mysqlslap: Cannot run query"), "{}", seen.ran.stderr);
}

#[test]
fn defect_3_clients_connect_again_after_as_many_statements_as_asked_for() {
    let Some(bench) = Bench::start("defect_3_clients_connect_again_after_as_many_statements_as_asked_for") else {
        return;
    };
    let args = ["--query=select 1", "--create=create table t (a int)", "-c2", "--number-of-queries=40", "--detach=5"];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    // 20 statements of each client on 4 connections, and the one that prepares.
    assert_eq!(seen.connections, 2 * 4 + 1);
}

#[test]
fn defect_4_what_is_committed_together_stays_so_after_a_new_connection() {
    let Some(bench) = Bench::start("defect_4_what_is_committed_together_stays_so_after_a_new_connection") else {
        return;
    };
    let seen = bench.ours(&[
        "--query=insert into t values (1)",
        "--create=create table t (a int)",
        "--number-of-queries=40",
        "--commit=4",
        "--detach=8",
    ]);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!((seen.statements["SETAUTOCOMMIT=N"], seen.statements["COMMIT"]), (5, 10));
}

#[test]
fn defects_5_and_6_a_delimiter_is_a_delimiter_and_a_literal_a_literal() {
    let Some(bench) = Bench::start("defects_5_and_6_a_delimiter_is_a_delimiter_and_a_literal_a_literal") else {
        return;
    };
    bench.place.write("q.sql", "select 'a//b'//\n\n\n//select 'x;y' -- not // here\n//select 3//");
    let args = ["--query=q.sql", "--create=create table t (a int)", "--delimiter=//", "--number-of-queries=6"];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    let selects: u64 = seen.statements.iter().filter(|(sql, _)| sql.starts_with("select")).map(|(_, n)| n).sum();
    assert_eq!(selects, 6, "{:?}", seen.statements);
}

#[test]
fn defect_7_as_many_queries_are_run_as_were_asked_for() {
    let Some(bench) = Bench::start("defect_7_as_many_queries_are_run_as_were_asked_for") else { return };
    for (clients, queries) in [("100", "1050"), ("100", "50"), ("7", "23")] {
        for commit in ["0", "4"] {
            let args = ["--query=insert into t values (1)", "--create=create table t (a int)", "--no-drop"];
            let more =
                [&format!("-c{clients}"), &format!("--number-of-queries={queries}"), &format!("--commit={commit}")];
            let seen = bench.ours(&[&args[..], &more.map(String::as_str)].concat());
            assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
            assert_eq!(seen.rows.as_deref(), Some(queries), "{more:?}");
        }
    }
}

#[test]
fn defect_8_the_queries_of_the_user_are_not_mixed() {
    let Some(bench) = Bench::start("defect_8_the_queries_of_the_user_are_not_mixed") else { return };
    let seen =
        bench.ours(&["--query=select 1", "--create=create table t (a int)", "--csv", "-c2", "--number-of-queries=4"]);
    assert!(seen.ran.stdout.starts_with(",query,0.0") && seen.ran.stdout.ends_with(",2,2\n"), "{}", seen.ran.stdout);
    let seen = bench.ours(&["-a", "--csv=figures.csv", "-c1,2", "--auto-generate-sql-load-type=write"]);
    assert_eq!((seen.ran.code, seen.ran.stdout.as_str()), (Some(0), ""));
    let figures = std::fs::read_to_string(bench.place.path().join("figures.csv")).unwrap();
    assert_eq!(figures.lines().filter(|line| line.starts_with(",write,")).count(), 2, "{figures}");
}

#[test]
fn defect_9_a_seed_decides_what_is_generated() {
    let place = Place::new();
    let print = |seed: &str| place.run(&["slap", "--no-defaults", "-a", "--only-print", seed]).stdout;
    assert_eq!(print("--seed=1"), print("--seed=1"));
    assert_ne!(print("--seed=1"), print("--seed=2"));
}

#[test]
fn a_schema_that_is_there_is_never_dropped() {
    let Some(bench) = Bench::start("a_schema_that_is_there_is_never_dropped") else { return };
    for source in [&["-a"][..], &["--query=select 1", "--create=create table t (a int)"]] {
        let seen = bench.ours(&[source, &["--create-schema=precious"]].concat());
        assert_eq!(seen.ran.code, Some(1));
        assert!(
            seen.ran
                .stderr
                .contains("Cannot create schema precious : Can't create database 'precious'; database exists"),
            "{}",
            seen.ran.stderr
        );
        assert!(seen.ran.stderr.contains("hint: "), "{}", seen.ran.stderr);
    }
    let seen =
        bench.ours(&["--query=select line from letters", "--create-schema=precious", "-c2", "--number-of-queries=6"]);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    let rows = bench.owned.admin().query_value("SELECT COUNT(*) FROM precious.letters").unwrap();
    assert_eq!(rows.as_deref(), Some("3"));
}

#[test]
fn what_is_made_is_dropped_however_it_ends() {
    let Some(bench) = Bench::start("what_is_made_is_dropped_however_it_ends") else { return };
    let is_gone = || {
        let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'mysqlslap'";
        bench.owned.admin().query_value(sql).unwrap().as_deref() == Some("0")
    };
    let socket = bench.socket();
    let own = ["slap", "--no-defaults", &socket, "--user=root", "--create=create table t (a int)"];
    let child =
        bench.place.start(&[&own[..], &["--query=select sleep(0.05)", "--number-of-queries=100000", "-c3"]].concat());
    wait_until("queries at work", || {
        let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'select sleep%'";
        bench.owned.admin().query_value(sql).unwrap().as_deref() == Some("3")
    });
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stdout.contains("partial: interrupted"), "{}", ran.stdout);
    assert!(is_gone());
    let ran = bench.place.run(&[&own[..], &["--query=frills"]].concat());
    assert!(ran.code == Some(1) && is_gone(), "{}", ran.stdout);
}

#[test]
fn a_run_is_kept_and_reported() {
    let Some(bench) = Bench::start("a_run_is_kept_and_reported") else { return };
    let seen = bench.ours(&["-a", "-c2,4", "-i2", "--number-of-queries=40"]);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!(seen.ran.stdout.matches("\tvalidity: valid\n").count(), 2, "{}", seen.ran.stdout);
    for n in 1..=4 {
        let trial = bench.place.run_json(&format!("trial-{n:04}"));
        assert_eq!(trial["measured"]["ok"], 40, "{trial}");
    }
    let report = bench.place.run(&["report"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let classic = bench.ours(&["-a", "--classic", "--runs=none"]).ran;
    assert!(classic.stdout.starts_with("Benchmark\n") && !classic.stdout.contains("truetps"), "{}", classic.stdout);
}

#[test]
fn a_rate_is_kept_and_a_time_ends_a_run() {
    let Some(bench) = Bench::start("a_rate_is_kept_and_a_time_ends_a_run") else { return };
    let args = ["--query=select 1", "--create=create table t (a int)", "-c4", "--time=1", "--rate=200/s"];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    let sent = seen.statements["selectN"];
    assert!((150..=201).contains(&sent), "{sent}");
}

#[test]
fn wrong_files_are_named_before_anything_is_sent() {
    let place = Place::new();
    place.write("empty.sql", " \n-- nothing\n");
    for (args, expect) in [
        (&["--query=none.sql"][..], "--query=none.sql: there is no such file"),
        (&["--query=empty.sql"], "--query=empty.sql: there is no statement in it"),
        (&["--query=select 1", "--create=/nowhere/c.sql"], "--create=/nowhere/c.sql: there is no such file"),
        (&["--query=select 'x"], "the quote ' is not closed"),
        (&["-a", "--csv=/nowhere/x.csv"], "Could not open csv file: /nowhere/x.csv"),
        (&["-a", "--concurrency=0"], "--concurrency=0 is no list of clients"),
        (&["-a", "--concurrency=2,x"], "--concurrency=2,x is no list of clients"),
        (&["-a", "--iterations=0"], "--iterations=0 is not between 1 and"),
        (&["-a", "--compress"], "--compress is not supported"),
        (&["-c4"], "nothing to run"),
    ] {
        let ran = place.run(&[&["slap", "--no-defaults", "--socket=/nowhere/sock"], args].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expect), "{args:?}: {}", ran.stderr);
    }
}
