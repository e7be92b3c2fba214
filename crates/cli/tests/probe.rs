//! What is seen of server and host: beside a load, and by `truetps probe`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod support;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use common::{Place, Ran, signal};
use rustix::process::Signal;
use support::Owned;
use truetps_record::{ProbeFolder, ProbeSeries, ProbeSource};
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::private_postgres;

fn series_of(folder: &Path) -> ProbeSeries {
    ProbeSeries::parse(&fs::read_to_string(folder.join("probe.jsonl")).unwrap()).unwrap()
}

fn why(series: &ProbeSeries, what: &str) -> String {
    let found = series.absent.iter().find(|signal| signal.what == what);
    found.unwrap_or_else(|| panic!("{what} is not absent: {:?}", series.absent)).why.clone()
}

fn has(series: &ProbeSeries, names: &[&str]) {
    for name in names {
        assert!(!series.points(name).is_empty(), "{name} is not there; absent: {:?}", series.absent);
    }
}

/// The largest time without a sample between these, in milliseconds.
fn largest_gap(times: &[f64], from: f64, to: f64) -> f64 {
    let inside = times.iter().copied().filter(|at| (from..=to).contains(at));
    let all: Vec<_> = [from].into_iter().chain(inside).chain([to]).collect();
    all.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

#[test]
fn server_and_host_are_seen_beside_a_load() {
    let Some(binary) = mariadb("server_and_host_are_seen_beside_a_load") else { return };
    let basedir = binary.path.display().to_string();
    let place = Place::new();
    let base = ["run", "insert", "--table-rows=500", "--warm-up=1", "--measure=2", "--basedir", &basedir];
    place.good(&base);
    let series = series_of(&place.latest().join("trial-0001"));
    for source in [ProbeSource::Server, ProbeSource::Host] {
        let times = series.times(source);
        assert!(times.len() >= 4, "{source:?}: {times:?}");
        assert!(times[0] < 200.0 && largest_gap(times, 0.0, 3000.0) < 1700.0, "{source:?}: {times:?}");
        // Where the measure phase begins and ends.
        assert!([1000.0, 3000.0].iter().all(|at| times.iter().any(|time| (time - at).abs() < 300.0)), "{times:?}");
    }
    has(&series, &["status.Innodb_os_log_written", "status.Handler_commit", "session_lock_waits"]);
    has(&series, &["host.cpu_busy_ms", "host.context_switches", "server.cpu_us", "server.context_switches"]);
    has(&series, &["server.rss_bytes", "generator.cpu_us", "generator.context_switches"]);
    assert!(series.growth("status.Handler_commit", 1000.0, 3000.0, 300.0).unwrap() > 0.0);
    assert!(why(&series, "wait").contains("performance_schema is OFF"), "{:?}", series.absent);

    place.good(&[&base[..], &["--no-probe"]].concat());
    assert!(!place.latest().join("trial-0001/probe.jsonl").exists());
    place.refused(&[&base[..], &["--probe-interval=1ms"]].concat(), &["`--probe-interval`", "0.05"]);
}

#[test]
fn waits_are_timed_where_the_plan_asks() {
    let Some(binary) = mariadb("waits_are_timed_where_the_plan_asks") else { return };
    let basedir = binary.path.display().to_string();
    let place = Place::new();
    let load = ["run", "insert", "--table-rows=500", "--warm-up=0", "--measure=1", "--set=log_bin=ON"];
    let ran = place.good(&[&load[..], &["--waits", "--probe-interval=250ms", "--basedir", &basedir]].concat());
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert!(ran.stdout.contains("performance_schema=ON"), "a choice of truetps's: {}", ran.stdout);
    let series = series_of(&place.latest().join("trial-0001"));
    assert!(series.times(ProbeSource::Server).len() >= 4, "{:?}", series.times(ProbeSource::Server));
    has(&series, &["file.wait/io/file/sql/binlog.misc", "metric.trx_rw_commits"]);
    assert!(series.with_prefix("wait.wait/synch/mutex/").next().is_some(), "mutexes are timed");
    let binlog = "file.wait/io/file/sql/binlog.write_bytes";
    assert!(series.growth(binlog, 0.0, 1000.0, 500.0).unwrap() > 0.0);
}

#[test]
fn what_an_account_may_not_read_is_absent() {
    let Some(binary) = mariadb("what_an_account_may_not_read_is_absent") else { return };
    let owned = Owned::start(&binary, &[("performance_schema", "ON")]);
    owned.execute(&["CREATE USER poor@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON precious.* TO poor@'%'"]);
    let before = owned.belongings();
    let place = Place::new();
    let dsn = format!("mysql://poor@127.0.0.1:{}", owned.port);
    let mut command = place.command(&["probe", &dsn, "--duration=1s", "--interval=200ms", "--format=json"]);
    let ran: Ran = command.env("TRUETPS_PASSWORD", "x").output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let folder = the_probe(&place);
    let series = folder.series().unwrap();
    assert!(series.times(ProbeSource::Server).len() >= 4, "{:?}", series.times(ProbeSource::Server));
    has(&series, &["status.Handler_commit", "host.cpu_busy_ms"]);
    for what in ["metric", "file", "wait", "session", "session_lock_waits", "server", "disk"] {
        assert!(!why(&series, what).is_empty());
        assert_eq!(series.with_prefix(&format!("{what}.")).next(), None, "{what}");
    }
    let summary: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(summary["run"]["server"]["flavour"], "mariadb");
    assert_eq!(owned.belongings(), before);
}

#[test]
fn a_server_that_hangs_does_not_hide_its_host() {
    let Some(binary) = mariadb("a_server_that_hangs_does_not_hide_its_host") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let child = place.start(&["probe", &owned.socket_dsn(), "--interval=100ms"]);
    sleep(Duration::from_millis(1500));
    signal(owned.server.pid(), Signal::STOP);
    sleep(Duration::from_secs(2));
    signal(owned.server.pid(), Signal::CONT);
    sleep(Duration::from_secs(1));
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("status.Questions"), "{}", ran.stdout);
    assert!(ran.stderr.contains("running 0"), "a line a sample: {}", ran.stderr);

    let folder = the_probe(&place);
    let series = folder.series().unwrap();
    let (server, host) = (series.times(ProbeSource::Server), series.times(ProbeSource::Host));
    let end = *host.last().unwrap();
    assert!(end > 3500.0 && largest_gap(host, 0.0, end) < 800.0, "{host:?}");
    // The sample that hung is in the middle of the stop.
    let gap = largest_gap(server, 0.0, end);
    assert!((800.0..2500.0).contains(&gap), "{gap} ms: {server:?}");
    let text = fs::read_to_string(folder.path().join("probe.jsonl")).unwrap();
    let took = text.lines().skip(1).filter_map(|line| {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        if sample["source"] == "server" { sample["took_ms"].as_f64() } else { None }
    });
    let longest = took.fold(0.0, f64::max);
    assert!((1800.0..2600.0).contains(&longest), "a late sample says how late it is: {longest} ms");
    assert!(folder.run().unwrap().ended_at.is_some());

    // The same from the folder.
    let report = place.good(&["report", &folder.path().display().to_string(), "--format=csv"]);
    assert!(report.stdout.contains("status.Questions,counter,"), "{}", report.stdout);
}

#[test]
fn a_server_that_is_not_there_is_no_probe() {
    let place = Place::new();
    let ran = place.run(&["probe", "mysql://root@?socket=/nowhere/sock"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("/nowhere/sock") && !place.path().join("runs").exists(), "{}", ran.stderr);
    place.refused(&["probe", "mysql://root@?socket=/nowhere/sock", "--interval=1ms"], &["--interval", "0.05"]);
}

#[test]
fn postgres_is_seen_beside_a_load() {
    let Some(binary) = private_postgres("postgres_is_seen_beside_a_load") else { return };
    let basedir = binary.basedir.display().to_string();
    let place = Place::new();
    let load = ["run", "insert", "--table-rows=500", "--warm-up=0", "--measure=3", "--probe-interval=250ms"];
    place.good(&[&load[..], &["--waits", "--basedir", &basedir]].concat());
    let series = series_of(&place.latest().join("trial-0001"));
    assert!(series.times(ProbeSource::Server).len() >= 8, "{:?}", series.times(ProbeSource::Server));
    has(&series, &["pg_stat_database.xact_commit", "pg_stat_bgwriter.buffers_alloc", "pg_locks.waiting"]);
    has(&series, &["pg_lsn.insert_bytes", "pg_lsn.flush_bytes", "server.cpu_us", "server.context_switches"]);
    assert!(series.growth("pg_lsn.flush_bytes", 0.0, 3000.0, 300.0).unwrap() > 0.0);
    assert!(series.with_prefix("session.").next().is_some(), "some session was seen at work");
    if binary.version.major >= 14 {
        has(&series, &["pg_stat_wal.wal_bytes"]);
    } else {
        assert!(why(&series, "pg_stat_wal").contains("pg_stat_wal"));
    }
    assert!(series.points("server.rss_bytes").is_empty(), "its processes share memory");
}

fn the_probe(place: &Place) -> ProbeFolder {
    let entries = fs::read_dir(place.path().join("runs")).unwrap().flatten();
    let mut found: Vec<_> = entries.filter_map(|entry| ProbeFolder::open(&entry.path())).collect();
    assert_eq!(found.len(), 1);
    found.remove(0)
}
