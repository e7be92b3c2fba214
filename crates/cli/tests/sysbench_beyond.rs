//! What `truetps sysbench` does beyond sysbench: one document, one address, an end when the user has had enough.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says loudly what it skips")]

mod common;
mod support;

use std::time::Duration;

use common::{Place, Ran, signal};
use rustix::process::Signal;
use serde_json::Value;
use support::{Owned, PASSWORD, assert_secret, run_with_password};
use truetps_testkit::mysql_family::mariadb;

const NAME_OF_DRIVER: &str = "function prepare() print('driver', sysbench.sql.driver():name()) end";
const CONNECT: &str = "
function prepare() print('asked', sysbench.sql.driver():connect():query_row('SELECT 7')) end
function thread_init() connection = sysbench.sql.driver():connect() end
function event() connection:query('SELECT SLEEP(30)') end
function done() print('done') end
";

#[test]
fn a_json_document_is_alone_on_the_standard_output() {
    let place = Place::new();
    let script = "
        ffi.cdef('int puts(const char *);')
        print('body')
        function event() print('event') ffi.C.puts('from C') io.stdout:write('by a file\\n') end
        function done() io.write('done\\n') end";
    place.write("talks.lua", script);
    let ran = place.run(&["sysbench", "./talks.lua", "--events=1", "--report-format=json", "--runs=none", "run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["totals"]["transactions"], 1, "{document}");
    for text in ["body", "event", "from C", "by a file", "done", "Threads started!"] {
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
}

#[test]
fn an_address_names_the_driver() {
    let place = Place::new();
    place.write("names.lua", NAME_OF_DRIVER);
    let run = |flags: &[&str]| place.run(&[&["sysbench", "./names.lua", "prepare"], flags].concat());
    for (flags, driver) in [
        (&["--dsn=postgresql://me@nowhere/mine"][..], "pgsql"),
        (&["--dsn=mysql://me@nowhere/mine"], "mysql"),
        (&["--dsn=postgresql://me@nowhere/mine", "--db-driver=pgsql"], "pgsql"),
    ] {
        let ran = run(flags);
        assert!(ran.stdout.ends_with(&format!("driver\t{driver}\n")), "{flags:?}: {}", ran.stdout);
    }
    // Not to a server that nobody has named.
    let ran = run(&["--dsn=postgresql://me@nowhere/mine", "--db-driver=mysql"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("FATAL: --dsn is no address for the driver 'mysql': postgresql://"), "{}", ran.stdout);
}

#[test]
fn the_password_of_an_address_comes_from_the_environment() {
    let Some(binary) = mariadb("the_password_of_an_address_comes_from_the_environment") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    place.write("asks.lua", CONNECT);
    let dsn = format!("--dsn={}/", owned.tcp_dsn());
    let args = ["sysbench", "./asks.lua", &dsn, "prepare"];
    let ran = run_with_password(&place, &args);
    assert!(ran.code == Some(0) && ran.stdout.ends_with("asked\t7\n"), "{PASSWORD}: {}", ran.stdout);
    assert_secret(&place, &ran);
    assert_eq!(place.run(&args).code, Some(1), "there is no other way in");
}

#[test]
fn ctrl_c_ends_a_run_whose_statements_do_not_end() {
    let Some(binary) = mariadb("ctrl_c_ends_a_run_whose_statements_do_not_end") else { return };
    let (owned, place) = (Owned::start(&binary, &[]), Place::new());
    place.write("hangs.lua", CONNECT);
    let dsn = format!("--dsn={}", owned.socket_dsn());
    let child = place.start(&["sysbench", "./hangs.lua", &dsn, "--runs=none", "--threads=3", "--time=100", "run"]);
    common::wait_until("three statements that hang", || {
        let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(30)'";
        owned.admin().query_value(sql).unwrap().as_deref() == Some("3")
    });
    let began = std::time::Instant::now();
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(ran.stdout.contains("total number of events:              0") && ran.stdout.ends_with("done\n"));
}
