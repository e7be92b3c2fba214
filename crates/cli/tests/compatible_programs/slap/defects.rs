//! What the original does wrong, one test a defect.

use crate::common::Place;
use crate::slap::Bench;

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
    assert!(
        seen.ran.stdout.contains("INVALID") && seen.ran.stdout.contains(" failed"),
        "{}",
        seen.ran.stdout
    );
    // The owner of the server may have one connection more, which is the one that prepares.
    let ran = number_behind(&seen.ran.stdout, "Number of clients running queries: ");
    assert!((19..=20).contains(&ran), "{}", seen.ran.stdout);
    assert_eq!(
        number_behind(&seen.ran.stdout, "Average number of queries per client: "),
        2,
        "{}",
        seen.ran.stdout
    );
}

pub(crate) fn number_behind(text: &str, label: &str) -> u64 {
    let (_, rest) = text.split_once(label).unwrap_or_else(|| panic!("{label}: {text}"));
    rest.lines().next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_test_without_a_run_has_no_figures() {
    let Some(bench) = Bench::start("a_test_without_a_run_has_no_figures") else { return };
    let user = "CREATE USER slapper@localhost";
    bench.owned.execute(&[user, "GRANT ALL ON *.* TO slapper@localhost"]);
    let lock = "--pre-query=alter user slapper@localhost account lock";
    let seen = bench.ours(&[
        "--user=slapper",
        "--create=create table t (a int)",
        "--query=select 1",
        lock,
        "-c2",
        "--csv",
    ]);
    assert_eq!((seen.ran.code, seen.ran.stdout.as_str()), (Some(1), ""), "{}", seen.ran.stderr);
    assert!(
        seen.ran.stderr.contains("locked") && seen.ran.stderr.contains("no line of CSV"),
        "{}",
        seen.ran.stderr
    );
    bench.owned.execute(&["ALTER USER slapper@localhost ACCOUNT UNLOCK"]);
    let seen = bench.ours(&[
        "--user=slapper",
        "--create=create table t (a int)",
        "--query=select 1",
        lock,
    ]);
    assert!(
        !seen.ran.stdout.contains("Benchmark") && seen.ran.stdout.contains("INVALID"),
        "{}",
        seen.ran.stdout
    );
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
    let Some(bench) =
        Bench::start("defect_3_clients_connect_again_after_as_many_statements_as_asked_for")
    else {
        return;
    };
    let args = [
        "--query=select 1",
        "--create=create table t (a int)",
        "-c2",
        "--number-of-queries=40",
        "--detach=5",
    ];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    // 20 statements of each client on 4 connections, the one that prepares, those that ask for the
    // variables and for replicas, and the probe's.
    assert_eq!(seen.connections, 2 * 4 + 4);
}

#[test]
fn defect_4_what_is_committed_together_stays_so_after_a_new_connection() {
    let Some(bench) =
        Bench::start("defect_4_what_is_committed_together_stays_so_after_a_new_connection")
    else {
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

/// How often each number was inserted into `t`.
fn counted(bench: &Bench) -> Vec<(String, String)> {
    let rows = bench
        .owned
        .admin()
        .query("SELECT a, COUNT(*) FROM mysqlslap.t GROUP BY a ORDER BY a")
        .unwrap()
        .rows;
    rows.into_iter().map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap())).collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn defect_5_an_empty_statement_is_no_end() {
    let Some(bench) = Bench::start("defect_5_an_empty_statement_is_no_end") else { return };
    let create = ["--create=create table t (a varchar(9))", "--no-drop", "--number-of-queries=6"];
    bench.place.write(
        "q.sql",
        "insert into t values (1)//\n\n\n//insert into t values (2) -- not // here\n//insert into \
         t values (3)//",
    );
    let seen = bench.ours(&[&create[..], &["--query=q.sql", "--delimiter=//"]].concat());
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!(counted(&bench), owned(&[("1", "2"), ("2", "2"), ("3", "2")]));
    bench.place.write(
        "lines.sql",
        "insert into t values (4)\n\n\ninsert into t values (5)\ninsert into t values (6)\n",
    );
    let seen = bench.ours(&[&create[..], &["--query=lines.sql"]].concat());
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!(counted(&bench), owned(&[("4", "2"), ("5", "2"), ("6", "2")]));
}

#[test]
fn defect_6_a_delimiter_in_a_literal_is_text() {
    let Some(bench) = Bench::start("defect_6_a_delimiter_in_a_literal_is_text") else { return };
    let query = "--query=insert into t values ('a;b');insert into t values (\"c;d\")";
    let args = [
        "--create=create table t (a varchar(9));",
        "--no-drop",
        "--delimiter=;",
        "--number-of-queries=4",
        query,
    ];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!(counted(&bench), owned(&[("a;b", "2"), ("c;d", "2")]));
}

#[test]
fn defect_7_as_many_queries_are_run_as_were_asked_for() {
    let Some(bench) = Bench::start("defect_7_as_many_queries_are_run_as_were_asked_for") else {
        return;
    };
    for (clients, queries) in [("100", "1050"), ("100", "50"), ("7", "23")] {
        for commit in ["0", "4"] {
            let args = [
                "--query=insert into t values (1)",
                "--create=create table t (a int)",
                "--no-drop",
            ];
            let more = [
                &format!("-c{clients}"),
                &format!("--number-of-queries={queries}"),
                &format!("--commit={commit}"),
            ];
            let seen = bench.ours(&[&args[..], &more.map(String::as_str)].concat());
            assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
            assert_eq!(seen.rows.as_deref(), Some(queries), "{more:?}");
        }
    }
}

#[test]
fn defect_8_the_queries_of_the_user_are_not_mixed() {
    let Some(bench) = Bench::start("defect_8_the_queries_of_the_user_are_not_mixed") else {
        return;
    };
    let seen = bench.ours(&[
        "--query=select 1",
        "--create=create table t (a int)",
        "--csv",
        "-c2",
        "--number-of-queries=4",
    ]);
    let fields: Vec<_> = seen.ran.stdout.trim_end().split(',').collect();
    assert_eq!(
        (fields.len(), &fields[..2], &fields[5..]),
        (7, &["", "query"][..], &["2", "2"][..]),
        "{fields:?}"
    );
    let seconds =
        fields[2..5].iter().map(|field| field.parse::<f64>().unwrap()).collect::<Vec<_>>();
    assert!(seconds[1] <= seconds[0] && seconds[0] <= seconds[2], "{seconds:?}");
    assert_eq!(bench.ours(&["-a", "--csv=-"]).ran.stdout.matches(",mixed,").count(), 1);
    let seen =
        bench.ours(&["-a", "--csv=figures.csv", "-c1,2", "--auto-generate-sql-load-type=write"]);
    assert_eq!((seen.ran.code, seen.ran.stdout.as_str()), (Some(0), ""));
    let figures = std::fs::read_to_string(bench.place.path().join("figures.csv")).unwrap();
    assert_eq!(figures.lines().filter(|line| line.starts_with(",write,")).count(), 2, "{figures}");
}

#[test]
fn defect_9_a_seed_decides_what_is_generated() {
    let place = Place::new();
    let print =
        |seed: &str| place.run(&["slap", "--no-defaults", "-a", "--only-print", seed]).stdout;
    assert_eq!(print("--seed=1"), print("--seed=1"));
    assert_ne!(print("--seed=1"), print("--seed=2"));
}
