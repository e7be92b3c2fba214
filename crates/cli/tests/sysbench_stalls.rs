//! A server that stops during a run of `truetps sysbench`: its stall, with what it waited on, in every view.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod common;
mod support;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use common::terminal::{LEAVE, Terminal};
use common::{Place, Ran, signal, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use support::Owned;
use truetps_sandbox::ServerBinary;
use truetps_testkit::mysql_family::mariadb;

const SCRIPT: &str = "/usr/share/sysbench/oltp_read_write.lua";
const STOPPED: Duration = Duration::from_secs(2);
/// All waits are timed, so that the probe sees what lasted as long as the stop.
const TIMED: [(&str, &str); 2] = [("performance_schema", "ON"), ("performance_schema_instrument", "wait/%=ON")];

/// A server with the tables of the script; `None`, with a notice, where it cannot be tested.
fn prepared(test: &str, place: &Place) -> Option<Owned> {
    let binary: ServerBinary = mariadb(test)?;
    if !Path::new(SCRIPT).exists() {
        assert!(std::env::var_os("TRUETPS_REQUIRE_SERVER").is_none(), "{SCRIPT} is missing");
        eprintln!("SKIPPED: {test}: no {SCRIPT}");
        return None;
    }
    let owned = Owned::start(&binary, &TIMED);
    owned.execute(&["CREATE DATABASE sbtest"]);
    place.good(&words(&owned, &["--runs=none", "prepare"]).iter().map(String::as_str).collect::<Vec<_>>());
    Some(owned)
}

fn words(owned: &Owned, flags: &[&str]) -> Vec<String> {
    let socket = format!("--mysql-socket={}", owned.server.socket().display());
    let all = ["sysbench", "oltp_read_write", &socket, "--mysql-user=root", "--tables=2", "--table-size=1000"];
    all.iter().chain(flags).map(|word| (*word).to_owned()).collect()
}

/// Stops the server for a while in the middle of the run.
fn stop_a_while(place: &Place, owned: &Owned) {
    place.wait_for_interval("trial-0001");
    sleep(Duration::from_millis(2500));
    signal(owned.server.pid(), Signal::STOP);
    sleep(STOPPED);
    signal(owned.server.pid(), Signal::CONT);
}

fn json(place: &Place, words: &[&str]) -> Value {
    serde_json::from_str(&place.good(words).stdout).unwrap()
}

fn check_stall(stall: &Value) {
    let (length_ms, wanted_ms) = (stall["length_ms"].as_f64().unwrap(), STOPPED.as_secs_f64() * 1e3);
    assert!((wanted_ms - 200.0..wanted_ms + 900.0).contains(&length_ms), "{stall}");
    assert_eq!(stall["kind"], "stall");
    let waits = stall["coincident"]["waits"].as_array().unwrap();
    assert!(!waits.is_empty(), "{stall}");
}

#[test]
fn a_server_that_stops_is_one_stall_with_its_waits() {
    let place = Place::new();
    let Some(owned) = prepared("a_server_that_stops_is_one_stall_with_its_waits", &place) else { return };
    let before = owned.belongings();
    let run = words(&owned, &["--threads=4", "--time=8", "--rate=100", "--report-interval=1", "run"]);
    let child = place.start(&run.iter().map(String::as_str).collect::<Vec<_>>());
    stop_a_while(&place, &owned);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("s ] thds: 4 ").count(), 8, "{}", ran.stdout);
    assert_eq!(owned.belongings(), before, "the probe changes nothing");

    let stalls = json(&place, &["stalls", "--format=json"]);
    let list = stalls["trials"][0]["stalls"]["list"].as_array().unwrap();
    let list: Vec<_> = list.iter().filter(|stall| stall["kind"] == "stall").collect();
    assert_eq!(list.len(), 1, "{stalls}");
    check_stall(list[0]);
    let text = place.good(&["stalls"]).stdout;
    assert!(text.contains("1 stall") && !text.contains("not known"), "{text}");

    let report = json(&place, &["report", "--format=json"]);
    let trial = &report["trials"][0];
    let measured = &place.run_json("trial-0001")["measured"];
    assert!(measured["open_loop"]["lag_us_p99"].as_f64().unwrap() > 1e6, "starts waited: {measured}");
    assert!(measured["server_cpu_us_per_tx"].as_f64().is_some_and(|us| us > 0.0), "{measured}");
    assert!(trial["ledger"].to_string().contains("redo"), "{trial}");
    let page = fs::read_to_string(place.latest().join("report.html")).unwrap();
    for part in ["Cost ledger", "oltp_read_write"] {
        assert!(page.contains(part), "{part}");
    }
    let text = place.good(&["report"]).stdout;
    assert!(text.contains("Ledger    a transaction: ") && text.contains("Stalls    1 "), "{text}");
}

#[test]
fn the_live_view_shows_the_stall_and_then_the_lines_of_sysbench() {
    let place = Place::new();
    let Some(owned) = prepared("the_live_view_shows_the_stall", &place) else { return };
    let terminal = Terminal::new();
    let run = words(&owned, &["--threads=4", "--time=7", "--report-interval=1", "--ui", "run"]);
    let run: Vec<_> = run.iter().map(String::as_str).collect();
    // The lines of sysbench go to the terminal, too.
    let mut command = terminal.command(&place, &run);
    let mut child = command.stdout(terminal.program.try_clone().unwrap()).spawn().unwrap();
    stop_a_while(&place, &owned);
    let status = child.wait().unwrap();
    let rest = terminal.is_left("the end of a script");
    assert_eq!(status.code(), Some(0), "{rest}");
    let shown = terminal.text();
    let picture = &shown[..shown.rfind(LEAVE).unwrap()];
    assert!(picture.contains("oltp_read_write") && picture.contains("stall"), "{picture:?}");
    wait_until("the report of sysbench", || terminal.text().contains("Threads fairness:"));
    let text = terminal.text();
    let rest = &text[text.rfind(LEAVE).unwrap()..];
    assert_eq!(rest.matches("s ] thds: 4 ").count(), 7, "{rest}");
    assert!(!picture.contains("s ] thds: 4 "), "the picture is alone on the terminal");
}

#[test]
fn an_account_that_may_not_read_runs_without_readings() {
    let place = Place::new();
    let Some(owned) = prepared("an_account_that_may_not_read", &place) else { return };
    owned.execute(&["CREATE USER poor@localhost MAX_USER_CONNECTIONS 2", "GRANT ALL ON sbtest.* TO poor@localhost"]);
    for (threads, words) in [("2", "max_user_connections"), ("1", "PROCESS")] {
        let mut run = words_of_poor(&owned, threads);
        run.push("run".to_owned());
        let ran = place.run(&run.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
        assert_eq!(place.run_json("trial-0001")["validity"]["state"], "valid");
        let probe = fs::read_to_string(place.latest().join("trial-0001/probe.jsonl")).unwrap();
        let header: Value = serde_json::from_str(probe.lines().next().unwrap()).unwrap();
        assert!(header["absent"].to_string().contains(words), "{header}");
        assert!(probe.contains("host.cpu"), "the host is read");
    }
}

fn words_of_poor(owned: &Owned, threads: &str) -> Vec<String> {
    let threads = format!("--threads={threads}");
    let words = words(owned, &[&threads, "--events=20"]);
    words.into_iter().map(|word| word.replace("--mysql-user=root", "--mysql-user=poor")).collect()
}
