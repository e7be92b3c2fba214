//! A server that stops during a run of `truetps sysbench`: its stall, with what it waited on, in
//! every view.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use truetps_sandbox::ServerBinary;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::quiet_machine;
use truetps_testkit::take_machine;

use crate::common::terminal::{LEAVE, Terminal};
use crate::common::{Place, Ran, signal, wait_until};
use crate::support::Owned;

const SCRIPT: &str = "/usr/share/sysbench/oltp_read_write.lua";
const STOPPED: Duration = Duration::from_secs(2);
/// All waits are timed, so that the probe sees what lasted as long as the stop.
const TIMED: [(&str, &str); 2] =
    [("performance_schema", "ON"), ("performance_schema_instrument", "wait/%=ON")];

/// The standard error without the line that names the run folder.
fn without_folder(stderr: &str) -> String {
    stderr.split_inclusive('\n').filter(|line| !line.starts_with("truetps: recorded in ")).collect()
}

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
    place.good(
        &words(&owned, &["--runs=none", "prepare"]).iter().map(String::as_str).collect::<Vec<_>>(),
    );
    Some(owned)
}

fn words(owned: &Owned, flags: &[&str]) -> Vec<String> {
    let socket = format!("--mysql-socket={}", owned.server.socket().display());
    let all = [
        "sysbench",
        "oltp_read_write",
        &socket,
        "--mysql-user=root",
        "--tables=2",
        "--table-size=1000",
    ];
    all.iter().chain(flags).map(|word| (*word).to_owned()).collect()
}

/// Waits until the run has an usual throughput.
fn wait_for_the_middle(place: &Place) {
    place.wait_for_interval("trial-0001");
    sleep(Duration::from_millis(2500));
}

/// What `stalls` found in the run.
fn stalls(place: &Place) -> Value {
    let mut document: Value =
        serde_json::from_str(&place.good(&["stalls", "--format=json"]).stdout).unwrap();
    document["trials"][0]["stalls"].take()
}

/// The stall of the run that is of about this length: one stop is one stall. The machine may stand
/// still for a moment besides, at another time.
fn the_stall(place: &Place) -> Value {
    let stalls = stalls(place);
    let list = stalls["list"].as_array().unwrap();
    let ms = |stall: &Value, name: &str| stall[name].as_f64().unwrap();
    let wanted_ms = STOPPED.as_secs_f64() * 1e3;
    let (of_the_stop, others): (Vec<_>, Vec<_>) =
        list.iter().filter(|stall| stall["kind"] == "stall").partition(|stall| {
            (wanted_ms - 200.0..wanted_ms + 900.0).contains(&ms(stall, "length_ms"))
        });
    let [the_stall] = &of_the_stop[..] else { panic!("{stalls}") };
    let (begin_ms, length_ms) = (ms(the_stall, "start_ms"), ms(the_stall, "length_ms"));
    for other in others {
        let end_ms = ms(other, "start_ms") + ms(other, "length_ms");
        let is_apart =
            end_ms + 500.0 < begin_ms || ms(other, "start_ms") > begin_ms + length_ms + 500.0;
        assert!(is_apart && ms(other, "length_ms") < 1e3, "{stalls}");
    }
    (*the_stall).clone()
}

#[test]
fn a_server_that_stops_is_one_stall_of_a_script() {
    let _machine = quiet_machine();
    let place = Place::new();
    let Some(owned) = prepared("a_server_that_stops_is_one_stall_of_a_script", &place) else {
        return;
    };
    let before = owned.belongings();
    let run =
        words(&owned, &["--threads=4", "--time=8", "--rate=100", "--report-interval=1", "run"]);
    let child = place.start(&run.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for_the_middle(&place);
    signal(owned.server.pid(), Signal::STOP);
    sleep(STOPPED);
    signal(owned.server.pid(), Signal::CONT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, without_folder(&ran.stderr).as_str()), (Some(0), ""), "{}", ran.stdout);
    assert!(ran.stdout.matches("s ] thds: ").count() >= 7, "{}", ran.stdout);
    assert_eq!(owned.belongings(), before, "the probe changes nothing");

    let outage = &the_stall(&place)["coincident"]["outage"];
    assert!(outage["from_ms"].as_f64() < outage["to_ms"].as_f64(), "{outage}");
    let text = place.good(&["stalls", "--full"]).stdout;
    let count = stalls(&place)["stalls"].as_u64().unwrap();
    assert!(
        text.contains(&format!("{count} stall{} in ", if count == 1 { "" } else { "s" })),
        "{text}"
    );
    assert!(text.contains("time without an answer to the probe: "), "{text}");

    let measured = &place.run_json("trial-0001")["measured"];
    assert!(
        measured["open_loop"]["lag_us_p99"].as_f64().unwrap() > 1e6,
        "starts waited: {measured}"
    );
    assert!(measured["server_cpu_us_per_tx"].as_f64().is_some_and(|us| us > 0.0), "{measured}");
    let text = place.good(&["report", "--full"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Ledger a transaction: ",
        "longest 2.",
        "the server did not answer the probe for ",
        "redo log",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = fs::read_to_string(place.latest().join("report.html")).unwrap();
    for part in
        ["Stalls and dips", "What a transaction cost", "time without an answer to the probe"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_live_view_shows_the_stall_and_then_the_lines_of_sysbench() {
    let _machine = take_machine();
    let place = Place::new();
    let Some(owned) = prepared("the_live_view_shows_the_stall", &place) else { return };
    let terminal = Terminal::new();
    let run = words(&owned, &["--threads=4", "--time=7", "--report-interval=1", "--ui", "run"]);
    let run: Vec<_> = run.iter().map(String::as_str).collect();
    // The lines of sysbench go to the terminal, too.
    let mut command = terminal.command(&place, &run);
    let mut child = command.stdout(terminal.program.try_clone().unwrap()).spawn().unwrap();
    wait_for_the_middle(&place);
    let mut admin = owned.admin();
    admin.execute("FLUSH TABLES WITH READ LOCK").unwrap();
    sleep(STOPPED);
    admin.execute("UNLOCK TABLES").unwrap();
    let status = child.wait().unwrap();
    let rest = terminal.is_left("the end of a script");
    assert_eq!(status.code(), Some(0), "{rest}");
    let shown = terminal.text();
    let picture = &shown[..shown.rfind(LEAVE).unwrap()];
    // Only letters that change are drawn: of `Waiting for backup lock`, the first ones may have
    // been there.
    for part in ["oltp_read_write", " stall", "▲", "backup"] {
        assert!(picture.contains(part), "{part}: {picture:?}");
    }
    wait_until("the report of sysbench", || terminal.text().contains("Threads fairness:"));
    let text = terminal.text();
    let rest = &text[text.rfind(LEAVE).unwrap()..];
    assert!(rest.matches("s ] thds: ").count() >= 6, "{rest}");
    assert!(!picture.contains("s ] thds: "), "the picture is alone on the terminal");
    let stall = the_stall(&place);
    let waits = stall["coincident"]["waits"].as_array().unwrap();
    assert_eq!(waits[0]["name"], "wait/lock/metadata/sql/mdl", "{stall}");
    place.good(&["report"]);
    let page = fs::read_to_string(place.latest().join("report.html")).unwrap();
    assert!(page.contains("lock/metadata/sql/mdl"), "the waits are in the page");
}

#[test]
fn an_account_that_may_not_read_runs_without_readings() {
    let place = Place::new();
    let Some(owned) = prepared("an_account_that_may_not_read", &place) else { return };
    owned.execute(&[
        "CREATE USER poor@localhost WITH MAX_USER_CONNECTIONS 2",
        "GRANT ALL ON sbtest.* TO poor@localhost",
    ]);
    for (threads, words) in [("2", "max_user_connections"), ("1", "PROCESS")] {
        let mut run = words_of_poor(&owned, threads);
        run.push("run".to_owned());
        let ran = place.run(&run.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            (ran.code, without_folder(&ran.stderr).as_str()),
            (Some(0), ""),
            "{}",
            ran.stdout
        );
        assert_eq!(place.run_json("trial-0001")["validity"]["state"], "valid");
        let probe = fs::read_to_string(place.latest().join("trial-0001/probe.jsonl")).unwrap();
        let header: Value = serde_json::from_str(probe.lines().next().unwrap()).unwrap();
        assert!(header["absent"].to_string().contains(words), "{header}");
        assert!(probe.contains("host.cpu"), "the host is read");
    }
}

#[test]
fn a_script_that_connects_only_in_its_events_is_watched() {
    let place = Place::new();
    let Some(owned) = prepared("a_script_that_connects_only_in_its_events", &place) else { return };
    let socket = format!("--mysql-socket={}", owned.server.socket().display());
    let event = "function event()\n  driver = driver or sysbench.sql.driver()\n  local connection \
                 = driver:connect()\n  \
                 connection:query('SELECT 1')\n  connection:disconnect()\nend\n";
    // The driver is requested before the first event, or in it: then it is known from the options.
    for before in ["function thread_init()\n  driver = sysbench.sql.driver()\nend\n", ""] {
        place.write("connects.lua", &format!("{before}{event}"));
        place.good(&[
            "sysbench",
            "connects.lua",
            &socket,
            "--mysql-user=root",
            "--threads=2",
            "--time=2",
            "run",
        ]);
        let run = place.run_json("trial-0001");
        assert_eq!(
            (&run["validity"]["state"], run["notes"].as_array()),
            (&"valid".into(), Some(&vec![])),
            "{run}"
        );
        let probe = fs::read_to_string(place.latest().join("trial-0001/probe.jsonl")).unwrap();
        assert!(probe.matches(r#""source":"server""#).count() >= 2, "{probe}");
        assert!(
            run["measured"]["server_cpu_us_per_tx"].as_f64().is_some_and(|us| us > 0.0),
            "{run}"
        );
    }
    // A script that never connects is not.
    place.write("idle.lua", "function event() end\n");
    place.good(&["sysbench", "idle.lua", "--events=10", "run"]);
    assert!(!place.latest().join("trial-0001/probe.jsonl").exists());
}

fn words_of_poor(owned: &Owned, threads: &str) -> Vec<String> {
    let threads = format!("--threads={threads}");
    let words = words(owned, &[&threads, "--events=20"]);
    words.into_iter().map(|word| word.replace("--mysql-user=root", "--mysql-user=poor")).collect()
}
