//! How `truetps sysbench` ends where scripts, servers or readers would keep it from that.

use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran, signal};
use crate::support::Owned;

#[test]
fn one_ctrl_c_ends_a_script_that_computes_for_ever() {
    const HOOK: &str = "
        function event() end
        sysbench.hooks.report_intermediate = function() print('at it') while true do end end";
    let place = Place::new();
    for (name, script, flags) in [
        ("body.lua", "print('at it') while true do end", &[][..]),
        ("prepare.lua", "function prepare() print('at it') while true do end end", &[]),
        (
            "done.lua",
            "function event() end function done() print('at it') while true do end end",
            &["--events=1"],
        ),
        ("hook.lua", HOOK, &["--time=100", "--report-interval=1"]),
    ] {
        place.write(name, script);
        let path = format!("./{name}");
        let command = if name == "prepare.lua" { "prepare" } else { "run" };
        let child = place.start(&[&["sysbench", &path, "--runs=none"], flags, &[command]].concat());
        // It prints to a pipe, which is read only at the end; so much CPU time means that the
        // script runs.
        crate::common::wait_until("a script that computes", || {
            crate::common::cpu_seconds(child.id()) > 2.0
        });
        signal(child.id(), Signal::INT);
        let began = Instant::now();
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!(ran.code, Some(130), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("at it"), "{name}: {}", ran.stdout);
        assert!(ran.stderr.contains("the script does not end"), "{name}: {}", ran.stderr);
        assert!(began.elapsed() < Duration::from_secs(30), "{name}");
    }
}

/// As a shell has the code of a program that the signal kills.
#[test]
fn a_signal_before_the_first_event_has_its_code() {
    let place = Place::new();
    let script = "local ffi = require('ffi') ffi.cdef('int raise(int)') ffi.C.raise(15) function \
                  prepare() end";
    place.write("raise.lua", script);
    let ran = place.run(&["sysbench", "./raise.lua", "--runs=none", "prepare"]);
    assert_eq!(ran.code, Some(143), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_document_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    place.write("nothing.lua", "function event() end");
    let ran = place
        .command(&[
            "sysbench",
            "./nothing.lua",
            "--events=1",
            "--runs=none",
            "--report-format=json",
            "run",
        ])
        .stdout(Stdio::from(File::create("/dev/full").unwrap()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("FATAL: the report cannot be written: No space left on device"),
        "{stderr}"
    );
}

#[test]
fn a_server_that_is_away_when_the_time_ends_costs_no_report() {
    const SCRIPT: &str = "
        function thread_init() connection = sysbench.sql.driver():connect() end
        function event() connection:query('SELECT 1') end";
    let Some(binary) = mariadb("a_server_that_is_away_when_the_time_ends_costs_no_report") else {
        return;
    };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    place.write("asks.lua", SCRIPT);
    let dsn = format!("--dsn={}", owned.socket_dsn());
    let flags = ["--mysql-ignore-errors=2006,2013", "--threads=3", "--time=4", "--runs=none"];
    let child = place.start(&[&["sysbench", "./asks.lua", &dsn], &flags[..], &["run"]].concat());
    crate::common::wait_until("clients at work", || {
        let sql = "SELECT COUNT(*) > 3 FROM information_schema.processlist";
        owned.admin().query_value(sql).unwrap().as_deref() == Some("1")
    });
    std::thread::sleep(Duration::from_millis(500));
    signal(owned.server.pid(), Signal::KILL);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("total number of events:") && !ran.stdout.contains("FATAL"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_limit_of_open_files_is_raised_or_named_once() {
    const SCRIPT: &str = "
        function thread_init() connection = sysbench.sql.driver():connect() end
        function event() connection:query('SELECT 1') end";
    let test = "a_limit_of_open_files_is_raised_or_named_once";
    let Some(binary) = mariadb(test) else { return };
    let (owned, place) = (Owned::start(&binary, &[("max_connections", "300")]), Place::new());
    place.write("asks.lua", SCRIPT);
    let (dsn, ours) = (format!("--dsn={}", owned.socket_dsn()), env!("CARGO_BIN_EXE_truetps"));
    let flags = ["--threads=100", "--events=100", "--runs=none", "run"];
    let sysbench = [&["sysbench", "./asks.lua", &dsn], &flags[..]].concat();
    let socket = format!("--socket={}", owned.server.socket().display());
    let slap = [
        "slap",
        "--no-defaults",
        &socket,
        "--user=root",
        "--create-schema=precious",
        "--runs=none",
        "-c100",
        "--query=select 1",
    ];
    let limited = |limit: &str, words: &[&str]| -> Ran {
        let script = format!("ulimit {limit} && exec \"$@\"");
        let command = [&["-c", &script, "sh", ours], words].concat();
        place.program(std::path::Path::new("sh"), &command).output().unwrap().into()
    };
    for words in [&sysbench[..], &slap[..]] {
        let ran = limited("-Sn 64", words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}{}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.contains("FATAL"), "{}", ran.stdout);
    }
    let ran = limited("-n 64", &sysbench);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, Some(1), "{said}");
    assert_eq!(
        said.matches("the limit of open files (`ulimit -n`) is 64, and 100 clients need up to 328")
            .count(),
        1,
        "{said}"
    );
    assert_eq!(said.matches("(24)").count(), 1, "{said}");
    assert!(said.contains("LimitNOFILE=328"), "{said}");
}
