//! Ctrl-C: what it ends, its messages, and what a second one leaves behind.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::terminal::Terminal;
use crate::common::{Ran, signal, signal_taken, wait_until};
use crate::slap::Bench;

const SCHEMA: &str =
    "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'mysqlslap'";
const SLEEPING: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE \
                        'select sleep%' OR info LIKE 'insert into t%'";

#[test]
fn an_interrupt_ends_long_queries_of_clients() {
    let Some(bench) = Bench::start("an_interrupt_ends_long_queries_of_clients") else { return };
    let socket = bench.socket();
    let value = |sql: &str| bench.owned.admin().query_value(sql).unwrap().unwrap();
    // With a table, so that the schema is not dropped before the queries have ended.
    for query in
        ["--query=select sleep(300) from t", "--query=insert into t select sleep(300) from t"]
    {
        for more in
            [&["-c3"][..], &["-c3", "--prepared"], &["-c3", "--commit=2", "--number-of-queries=12"]]
        {
            let own = ["slap", "--no-defaults", &socket, "--user=root", "--delimiter=;", query];
            let create = "--create=create table t (a int);insert into t values (1)";
            let child = bench.place.start(&[&own[..], &[create], more].concat());
            wait_until("queries at work", || value(SLEEPING) == "3");
            let began = Instant::now();
            signal(child.id(), Signal::INT);
            let ran: Ran = child.wait_with_output().unwrap().into();
            assert_eq!(ran.code, Some(130), "{query} {more:?}: {}", ran.stderr);
            // Two seconds, and as much patience as a busy machine needs.
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "{query} {more:?}: {:?}",
                began.elapsed()
            );
            let said = "mysqlslap: interrupted: running statements are ended after 1 s, and the \
                        schema mysqlslap is dropped; Ctrl-C again leaves it behind\n";
            let (before, last) = ran.stderr.split_at(said.len().min(ran.stderr.len()));
            assert_eq!(before, said, "{query} {more:?}");
            assert!(
                last.starts_with("truetps: recorded in runs/slap-") && last.lines().count() == 1,
                "{last}"
            );
            assert_eq!(
                (value(SCHEMA).as_str(), value(SLEEPING).as_str()),
                ("0", "0"),
                "{query} {more:?}"
            );
        }
    }
}

#[test]
fn a_second_interrupt_says_what_is_left_behind() {
    let Some(bench) = Bench::start("a_second_interrupt_says_what_is_left_behind") else { return };
    let socket = bench.socket();
    let own = ["slap", "--no-defaults", &socket, "--user=root", "--runs=none", "--query=select 1"];
    let left =
        "\nmysqlslap: the schema mysqlslap is left behind; to drop it: DROP SCHEMA `mysqlslap`\n";
    for (more, behind) in [(&[][..], left), (&["--no-drop"], "Ctrl-C again leaves at once\n")] {
        let test = ["--create=create table t (a int)", "--pre-system=touch there; sleep 4"];
        let child = bench.place.start(&[&own[..], &test, more].concat());
        let there = bench.place.path().join("there");
        wait_until("the command", || there.exists());
        std::fs::remove_file(there).unwrap();
        signal_taken(child.id(), Signal::INT);
        signal(child.id(), Signal::TERM);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(143), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.ends_with(behind), "{more:?}: {}", ran.stderr);
        assert_eq!(
            bench.owned.admin().query_value(SCHEMA).unwrap().as_deref(),
            Some("1"),
            "{more:?}"
        );
        bench.owned.execute(&["DROP SCHEMA mysqlslap"]);
    }
}

#[test]
fn a_second_interrupt_ends_a_live_view_at_once() {
    let Some(bench) = Bench::start("a_second_interrupt_ends_a_live_view_at_once") else { return };
    let socket = bench.socket();
    let own = ["slap", "--no-defaults", &socket, "--user=root", "--ui"];
    let test =
        ["--create=create table t (a int)", "--query=select 1", "--number-of-queries=1000000000"];
    let run = [&own[..], &test].concat();
    let terminal = Terminal::new();
    // The standard output goes to the terminal, too, and is held back.
    let mut command = terminal.command(&bench.place, &run);
    let mut child = command.stdout(terminal.program.try_clone().unwrap()).spawn().unwrap();
    terminal.wait_for_measuring();
    // A server that does not answer keeps the program from ending by itself.
    signal(bench.owned.server.pid(), Signal::STOP);
    terminal.types("\x03");
    wait_until("the first Ctrl-C to be taken", || terminal.text().contains("STOPPING"));
    let began = Instant::now();
    terminal.types("\x03");
    wait_until("the program to end", || child.try_wait().unwrap().is_some());
    let took = began.elapsed();
    signal(bench.owned.server.pid(), Signal::CONT);
    let rest = terminal.is_left("a second Ctrl-C");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(took < Duration::from_secs(3), "{took:?}: {rest}");
}
