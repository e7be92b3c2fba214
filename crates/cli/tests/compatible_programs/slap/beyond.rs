//! What a run leaves behind, how it ends, and options that mysqlslap does not have.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::{Place, Ran, signal, wait_until};
use crate::slap::Bench;
use crate::slap::defects::number_behind;
use crate::support::PASSWORD;

#[test]
fn no_password_is_in_a_record_or_on_the_screen() {
    let Some(bench) = Bench::start("no_password_is_in_a_record_or_on_the_screen") else { return };
    let port = format!("--port={}", bench.owned.port);
    let way = [
        "slap",
        "--no-defaults",
        "--host=127.0.0.1",
        &port,
        "--user=loader",
        "--create-schema=truetps_slap",
        "-c2",
    ];
    for words in [
        &[format!("-ap{PASSWORD}")][..],
        &[format!("--pa={PASSWORD}"), "-a".to_owned()],
        &[format!("--loose-password={PASSWORD}"), "-a".to_owned(), PASSWORD.to_owned()],
    ] {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ran = bench.place.run(&[&way[..], &words].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
        let record = std::fs::read_to_string(bench.place.latest().join("experiment.json")).unwrap();
        assert!(record.contains("truetps slap"), "{record}");
        let printed = bench
            .place
            .run(&[&["slap", "--no-defaults", "--print-defaults"], &words[..]].concat())
            .stdout;
        for text in [&record, &printed, &ran.stdout, &ran.stderr] {
            assert!(!text.contains("h1dden"), "{words:?}: {text}");
        }
    }
    let ran = bench.place.run(&[&way[..], &["-a", "-p", PASSWORD]].concat());
    assert!(
        !ran.stderr.contains("h1dden") && ran.stderr.contains("right behind -p"),
        "{}",
        ran.stderr
    );
}

#[test]
fn no_password_is_in_the_list_of_processes() {
    let Some(bench) = Bench::start("no_password_is_in_the_list_of_processes") else { return };
    let port = format!("--port={}", bench.owned.port);
    let link = bench.place.path().join("mysqlslap");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_truetps"), &link).unwrap();
    let test = [
        "--create=create table t (a int)",
        "--create-schema=truetps_ps",
        "--query=select sleep(300)",
    ];
    let password = format!("-sp{PASSWORD}");
    let words = [
        &["--no-defaults", "--host=127.0.0.1", &port, "--user=loader", &password, "-c2"],
        &test[..],
    ]
    .concat();
    for is_link in [false, true] {
        let mut command = bench.place.command(&[]);
        if is_link {
            command = bench.place.program(&link, &words);
        } else {
            command.arg("slap").args(&words);
        }
        // The environment has another password than the command line.
        command
            .env("MYSQL_PWD", "wrong")
            .arg("--pre-system=env > environment")
            .stderr(Stdio::piped());
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        wait_until("queries", || {
            let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'select \
                       sleep(300)'";
            bench.owned.admin().query_value(sql).unwrap().as_deref() == Some("2")
        });
        let of =
            |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap();
        let (shown, name) = (of("cmdline").replace('\0', " "), of("comm"));
        let first = if is_link { link.to_str().unwrap() } else { env!("CARGO_BIN_EXE_truetps") };
        assert!(
            shown.starts_with(&format!("{first} ")) && shown.contains(" --user=loader -spx -c2 "),
            "{shown}"
        );
        assert!(!shown.contains("h1dden"), "{shown}");
        assert_eq!(name.trim_end(), if is_link { "mysqlslap" } else { "truetps" });
        signal(child.id(), Signal::INT);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(130), "{}", ran.stderr);
        let environment = std::fs::read_to_string(bench.place.path().join("environment")).unwrap();
        assert!(
            environment.contains("MYSQL_PWD=wrong") && !environment.contains("TRUETPS_HIDDEN"),
            "{environment}"
        );
    }
    let ran = bench.place.run(&[&["slap"], &words[..], &["--password="]].concat());
    assert!(
        ran.code == Some(1) && ran.stderr.contains("using password: NO"),
        "the last one counts: {}",
        ran.stderr
    );
    let ran = bench.place.run(&[&["slap"], &words[..], &["--skip-password"]].concat());
    assert!(ran.code == Some(1) && ran.stderr.contains("using password: NO"), "{}", ran.stderr);
}

#[test]
fn a_schema_that_is_there_is_never_dropped() {
    let Some(bench) = Bench::start("a_schema_that_is_there_is_never_dropped") else { return };
    for source in [&["-a"][..], &["--query=select 1", "--create=create table t (a int)"]] {
        let seen = bench.ours(&[source, &["--create-schema=precious"]].concat());
        assert_eq!(seen.ran.code, Some(1));
        assert!(
            seen.ran.stderr.contains(
                "Cannot create schema precious : Can't create database 'precious'; database exists"
            ),
            "{}",
            seen.ran.stderr
        );
        assert!(seen.ran.stderr.contains("hint: "), "{}", seen.ran.stderr);
    }
    let seen = bench.ours(&[
        "--query=select line from letters",
        "--create-schema=precious",
        "-c2",
        "--number-of-queries=6",
    ]);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    let rows = bench.owned.admin().query_value("SELECT COUNT(*) FROM precious.letters").unwrap();
    assert_eq!(rows.as_deref(), Some("3"));
}

#[test]
fn what_is_made_is_dropped_however_it_ends() {
    let Some(bench) = Bench::start("what_is_made_is_dropped_however_it_ends") else { return };
    let is_gone = || {
        let sql =
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'mysqlslap'";
        bench.owned.admin().query_value(sql).unwrap().as_deref() == Some("0")
    };
    let socket = bench.socket();
    let own = ["slap", "--no-defaults", &socket, "--user=root", "--create=create table t (a int)"];
    let child = bench.place.start(
        &[&own[..], &["--query=select sleep(0.05)", "--number-of-queries=100000", "-c3"]].concat(),
    );
    wait_until("queries at work", || {
        let sql =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'select sleep%'";
        bench.owned.admin().query_value(sql).unwrap().as_deref() == Some("3")
    });
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stdout.contains("partial: interrupted"), "{}", ran.stdout);
    // Of the 33 333 that were wanted.
    assert!(
        number_behind(&ran.stdout, "Average number of queries per client: ") < 30_000,
        "{}",
        ran.stdout
    );
    assert!(is_gone());
    let ran = bench.place.run(&[&own[..], &["--query=frills"]].concat());
    assert!(ran.code == Some(1) && is_gone(), "{}", ran.stdout);
}

#[test]
fn a_run_is_kept_and_reported() {
    let Some(bench) = Bench::start("a_run_is_kept_and_reported") else { return };
    let seen = bench.ours(&["-a", "-c2,4", "-i2", "--number-of-queries=40"]);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!(seen.ran.stdout.matches("\tvalidity: valid").count(), 2, "{}", seen.ran.stdout);
    for n in 1..=4 {
        let trial = bench.place.run_json(&format!("trial-{n:04}"));
        assert_eq!(trial["measured"]["ok"], 40, "{trial}");
    }
    let report = bench.place.run(&["report"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let classic = bench.ours(&["-a", "--classic", "--runs=none"]).ran;
    assert!(
        classic.stdout.starts_with("Benchmark\n") && !classic.stdout.contains("truetps"),
        "{}",
        classic.stdout
    );
}

#[test]
fn a_rate_is_kept_and_a_time_ends_a_run() {
    let Some(bench) = Bench::start("a_rate_is_kept_and_a_time_ends_a_run") else { return };
    let args =
        ["--query=select 1", "--create=create table t (a int)", "-c4", "--time=1", "--rate=200/s"];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    // However slow the machine is: what was due is what the rate says.
    let trial = bench.place.run_json("trial-0001");
    let scheduled =
        trial["measured"]["open_loop"]["scheduled"].as_u64().unwrap_or_else(|| panic!("{trial}"));
    assert!((199..=201).contains(&scheduled), "{trial}");
    assert!(seen.statements["selectN"] <= scheduled, "{:?}", seen.statements);
}

#[test]
fn with_a_time_the_queries_of_all_runs_are_counted_one_by_one() {
    let Some(bench) = Bench::start("with_a_time_the_queries_of_all_runs_are_counted_one_by_one")
    else {
        return;
    };
    let args = [
        "--query=select 1",
        "--create=create table t (a int)",
        "-c2",
        "-i2",
        "--time=0.3",
        "--commit=10",
        "--csv",
    ];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    let each: u64 = seen.ran.stdout.trim_end().rsplit(',').next().unwrap().parse().unwrap();
    let transactions: u64 = (1..=2)
        .map(|n| bench.place.run_json(&format!("trial-000{n}"))["measured"]["ok"].as_u64().unwrap())
        .sum();
    assert_eq!(each, transactions * 10 / 4, "2 runs of 2 clients");
}

#[test]
fn the_connection_that_prepares_may_be_closed_while_clients_are_at_work() {
    let Some(bench) =
        Bench::start("the_connection_that_prepares_may_be_closed_while_clients_are_at_work")
    else {
        return;
    };
    bench.owned.execute(&["SET GLOBAL wait_timeout = 1"]);
    let args = [
        "--query=select 1",
        "--create=create table t (a int)",
        "--time=2.5",
        "--post-query=insert into t values (7)",
    ];
    let seen = bench.ours(&args);
    assert_eq!(seen.ran.code, Some(0), "{}", seen.ran.stderr);
    assert_eq!(
        (seen.statements["insertintotvalues(N)"], seen.rows),
        (1, None),
        "done, and dropped"
    );
}

#[test]
fn clients_connect_again_where_the_server_has_no_connection_to_spare() {
    let Some(bench) =
        Bench::start("clients_connect_again_where_the_server_has_no_connection_to_spare")
    else {
        return;
    };
    // The owner of the server may have one more: it is the one that prepares.
    bench.owned.execute(&["SET GLOBAL max_connections = 10"]);
    let args = [
        "--query=select 1",
        "--create=create table t (a int)",
        "-c10",
        "--number-of-queries=2000",
        "--detach=5",
    ];
    let ran = bench
        .place
        .run(&[&["slap", "--no-defaults", &bench.socket(), "--user=root"], &args[..]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("2000 of 2000 queries"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("(0 times)"), "{}", ran.stderr);
}

#[test]
fn tests_that_keep_the_schema_keep_the_last_one() {
    let Some(bench) = Bench::start("tests_that_keep_the_schema_keep_the_last_one") else { return };
    let seen = bench.ours(&[
        "--query=insert into t values (1)",
        "--create=create table t (a int)",
        "-c1,3",
        "-i2",
        "--no-drop",
    ]);
    assert_eq!((seen.ran.code, seen.rows.as_deref()), (Some(0), Some("3")), "{}", seen.ran.stderr);
}

#[test]
fn an_interrupt_ends_whatever_is_going_on() {
    let Some(bench) = Bench::start("an_interrupt_ends_whatever_is_going_on") else { return };
    let socket = bench.socket();
    let own = ["slap", "--no-defaults", &socket, "--user=root", "--runs=none"];
    let given = ["--query=select 1", "--create=create table t (a int)"];
    for (args, at_work) in [
        (&[given[0], given[1], "--pre-query=select sleep(300)"][..], "select sleep(300)"),
        (&[given[0], given[1], "--post-query=select sleep(300)"], "select sleep(300)"),
        (
            &[given[0], "--create=create table t select sleep(300)"],
            "create table t select sleep(300)",
        ),
        (&["-a", "--auto-generate-sql-write-number=500000000"], "INSERT INTO t1%"),
        (&[given[0], given[1], "--post-system=touch there; sleep 1"], ""),
    ] {
        let child = bench.place.start(&[&own[..], args].concat());
        wait_until(&format!("{args:?} is at work"), || {
            if at_work.is_empty() {
                return bench.place.path().join("there").exists();
            }
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '{at_work}'"
            );
            bench.owned.admin().query_value(&sql).unwrap().as_deref() == Some("1")
        });
        let began = Instant::now();
        signal(child.id(), Signal::INT);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(130), "{args:?}: {}", ran.stderr);
        // A second, and as much patience as a busy machine needs; the statements take minutes.
        assert!(began.elapsed() < Duration::from_secs(30), "{args:?}");
        let sql =
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'mysqlslap'";
        assert_eq!(bench.owned.admin().query_value(sql).unwrap().as_deref(), Some("0"), "{args:?}");
    }
}

#[test]
fn wrong_files_are_named_before_anything_is_sent() {
    let place = Place::new();
    place.write("empty.sql", " \n-- nothing\n");
    for (args, expect) in [
        (&["--query=none.sql"][..], "--query=none.sql: there is no such file"),
        (&["--query=empty.sql"], "--query=empty.sql: there is no statement in it"),
        (
            &["--query=select 1", "--create=/nowhere/c.sql"],
            "--create=/nowhere/c.sql: there is no such file",
        ),
        (&["--query=select 'x"], "the quote ' is not closed"),
        (&["-a", "--csv=/nowhere/x.csv"], "Could not open csv file: /nowhere/x.csv"),
        (&["-a", "--concurrency=0"], "--concurrency=0 is not a list of clients"),
        (&["-a", "--concurrency=2,x"], "--concurrency=2,x is not a list of clients"),
        (&["-a", "--iterations=0"], "--iterations=0 is not between 1 and"),
        (&["-a", "--compress"], "--compress is not supported"),
        (&["-c4"], "nothing to run"),
        (
            &["-a", "--seed=18446744073709551615"],
            "--seed=18446744073709551615 is more than 9223372036854775807",
        ),
        (&["-a", "--number-of-queries=9223372036854775808"], "is more than 9223372036854775807"),
        (&["-a", "--rate=1e300"], "--rate=1e300 is not between"),
        (
            &["-a", "--time=1", "--number-of-queries=3"],
            "Either time or number-of-queries can be used",
        ),
    ] {
        let ran = place.run(&[&["slap", "--no-defaults", "--socket=/nowhere/sock"], args].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expect), "{args:?}: {}", ran.stderr);
    }
}

/// The name of a table comes back in the server's message.
#[test]
fn a_terminal_obeys_no_message_of_a_server() {
    let Some(bench) = Bench::start("a_terminal_obeys_no_message_of_a_server") else { return };
    let hostile = "a\u{1b}[2J\r\u{7}\u{9b}31m\u{202e}b";
    let query = format!("--query=select * from `{hostile}`");
    let schema = format!("--create-schema={hostile}");
    for args in [[&*query, "--create-schema=precious"], ["--query=select 1", &schema]] {
        let ran = bench.ours(&args).ran;
        assert_ne!(ran.code, Some(0), "{args:?}");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        // The server itself escapes a part of them.
        assert!(all.contains("[2J"), "{all:?}");
        assert!(
            !all.chars().any(|c| truetps_record::is_obeyed(c) && !matches!(c, '\n' | '\t')),
            "{all:?}"
        );
    }
}
