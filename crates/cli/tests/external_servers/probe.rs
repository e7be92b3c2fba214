//! What is seen of server and host: beside a load, and by `truetps probe`.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use truetps_folder::ProbeFolder;
use truetps_record::{ProbeSeries, ProbeSource};
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer, private_postgres};
use truetps_testkit::{quiet_machine, take_machine};

use crate::common::{Place, Ran, SMALL_REDO, SMALL_WAL, signal, wait_until};
use crate::support::{ACCOUNT, Owned, PASSWORD};

fn series_of(folder: &Path) -> ProbeSeries {
    ProbeSeries::parse(&fs::read_to_string(folder.join("probe.jsonl")).unwrap()).unwrap()
}

fn why(series: &ProbeSeries, what: &str) -> String {
    let found = series.absent.iter().find(|signal| signal.what == what);
    found.unwrap_or_else(|| panic!("{what} is not absent: {:?}", series.absent)).why.clone()
}

fn has(series: &ProbeSeries, names: &[&str]) {
    for name in names {
        assert!(
            !series.points(name).is_empty(),
            "{name} is not there; absent: {:?}",
            series.absent
        );
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
    let _machine = take_machine();
    let Some(binary) = mariadb("server_and_host_are_seen_beside_a_load") else { return };
    let basedir = binary.path.display().to_string();
    let place = Place::with_templates();
    let base = [
        "run",
        "insert",
        "--table-rows=500",
        "--warm-up=1",
        "--measure=2",
        "--basedir",
        &basedir,
        SMALL_REDO,
    ];
    place.good(&base);
    let series = series_of(&place.latest().join("trial-0001"));
    for source in [ProbeSource::Server, ProbeSource::Host] {
        let times = series.times(source);
        assert!(times.len() >= 4, "{source:?}: {times:?}");
        assert!(
            times[0] < 200.0 && largest_gap(times, 0.0, 3000.0) < 1700.0,
            "{source:?}: {times:?}"
        );
        // Where the measure phase begins and ends.
        assert!(
            [1000.0, 3000.0].iter().all(|at| times.iter().any(|time| (time - at).abs() < 300.0)),
            "{times:?}"
        );
    }
    has(&series, &["status.Innodb_os_log_written", "status.Handler_commit", "session_lock_waits"]);
    has(
        &series,
        &["host.cpu_busy_ms", "host.context_switches", "server.cpu_us", "server.context_switches"],
    );
    has(&series, &["server.rss_bytes", "generator.cpu_us", "generator.context_switches"]);
    assert!(series.growth("status.Handler_commit", 1000.0, 3000.0, 300.0).unwrap() > 0.0);
    assert!(why(&series, "wait").contains("performance_schema is OFF"), "{:?}", series.absent);

    place.good(&[&base[..], &["--no-probe"]].concat());
    assert!(!place.latest().join("trial-0001/probe.jsonl").exists());
    place
        .refused(&[&base[..], &["--probe-interval=1ms"]].concat(), &["`--probe-interval`", "0.05"]);
}

#[test]
fn waits_are_timed_where_the_plan_asks() {
    let Some(binary) = mariadb("waits_are_timed_where_the_plan_asks") else { return };
    let basedir = binary.path.display().to_string();
    let place = Place::with_templates();
    let load = [
        "run",
        "insert",
        "--table-rows=500",
        "--warm-up=0",
        "--measure=1",
        "--set=log_bin=ON",
        SMALL_REDO,
    ];
    let ran = place.good(
        &[&load[..], &["--waits", "--full", "--probe-interval=250ms", "--basedir", &basedir]]
            .concat(),
    );
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert!(ran.stdout.contains("performance_schema=ON"), "a choice of truetps's: {}", ran.stdout);
    let series = series_of(&place.latest().join("trial-0001"));
    assert!(
        series.times(ProbeSource::Server).len() >= 4,
        "{:?}",
        series.times(ProbeSource::Server)
    );
    has(&series, &["file.wait/io/file/sql/binlog.misc", "metric.trx_rw_commits"]);
    assert!(series.with_prefix("wait.wait/synch/mutex/").next().is_some(), "mutexes are timed");
    let binlog = "file.wait/io/file/sql/binlog.write_bytes";
    assert!(series.growth(binlog, 0.0, 1000.0, 500.0).unwrap() > 0.0);
    assert!(
        ran.stdout.contains("What sessions waited on") && ran.stdout.contains("wait/io/file/"),
        "{}",
        ran.stdout
    );
    ranked_waits(&place, "timed");
}

/// A stall or none: what sessions waited on is in the answer, longest first.
fn ranked_waits(place: &Place, source: &str) {
    let report: serde_json::Value =
        serde_json::from_str(&place.good(&["report", "--format=json"]).stdout).unwrap();
    let waits = &report["cell_details"][0]["waits"];
    let list = waits["list"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    assert!((1..=6).contains(&list.len()), "{waits}");
    assert!(list.iter().any(|wait| wait["source"] == source), "{waits}");
    let sessions: Vec<_> = list.iter().map(|wait| wait["sessions"].as_f64().unwrap()).collect();
    assert!(sessions.is_sorted_by(|one, next| one >= next), "{sessions:?}");
    for wait in list {
        // Less than ten sightings of a state say nothing of its length.
        let is_rare = wait["source"] == "sampled" && wait["count"].as_f64() < Some(10.0);
        assert_eq!(wait["us_per_tx"].as_f64() > Some(0.0), !is_rare, "{waits}");
    }
    assert_eq!(report["trials"][0]["waits"]["list"][0]["name"], list[0]["name"]);
    let html = fs::read_to_string(place.latest().join("report.html")).unwrap();
    assert!(html.contains("id=\"waits\""));
}

#[test]
fn what_an_account_may_not_read_is_absent() {
    let Some(binary) = mariadb("what_an_account_may_not_read_is_absent") else { return };
    let owned = Owned::start(&binary, &[("performance_schema", "ON")]);
    owned.execute(&[
        "CREATE USER poor@'%' IDENTIFIED BY 'x'",
        "GRANT SELECT ON precious.* TO poor@'%'",
    ]);
    let before = owned.belongings();
    let place = Place::new();
    let dsn = format!("mysql://poor@127.0.0.1:{}", owned.port);
    let mut command =
        place.command(&["probe", &dsn, "--duration=1s", "--interval=200ms", "--format=json"]);
    let ran: Ran = command.env("TRUETPS_PASSWORD", "x").output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let folder = the_probe(&place);
    let series = folder.series().unwrap();
    assert!(
        series.times(ProbeSource::Server).len() >= 4,
        "{:?}",
        series.times(ProbeSource::Server)
    );
    has(&series, &["status.Handler_commit", "host.cpu_busy_ms"]);
    for what in ["metric", "file", "wait", "session", "session_lock_waits", "server", "disk"] {
        assert!(!why(&series, what).is_empty());
        assert_eq!(series.with_prefix(&format!("{what}.")).next(), None, "{what}");
    }
    assert!(
        why(&series, "metric").contains("PROCESS"),
        "and not a column of another version's: {:?}",
        series.absent
    );
    let summary: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(summary["run"]["server"]["flavour"], "mariadb");
    assert_eq!(owned.belongings(), before);
}

#[test]
fn a_server_that_hangs_does_not_hide_its_host() {
    let _machine = quiet_machine();
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
    // It is reported while it lasts, at its end, and in the summary.
    let lines = ran.stderr.matches("no answer from the server for ").count();
    assert!((2..=5).contains(&lines), "every half second: {}", ran.stderr);
    let again = seconds_in(&ran.stderr, "answers again, after ");
    assert!((1.8..2.6).contains(&again), "{again} s: {}", ran.stderr);
    let all = seconds_in(&ran.stdout, "not answering: ");
    assert!((all - again).abs() < 0.06 || all > again, "{all} s: {}", ran.stdout);

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
    assert!(report.stdout.contains("probe.no_answer_ms,counter,"), "{}", report.stdout);
    assert!(
        report.stdout.lines().count() > 20
            && report.stdout.matches('\n').count() == report.stdout.matches("\r\n").count()
    );
    // It has no trial for those that are about trials.
    let path = folder.path().display().to_string();
    place.refused(&["stalls", &path], &["the folder of a probe", "hint: truetps report"]);
    place
        .refused(&["compare", &path, "latest"], &["the folder of a probe", "hint: truetps report"]);
    // What is lost is named, and the rest is shown.
    let file = folder.path().join("probe.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    let ran = place.good(&["report", &path]);
    assert!(
        ran.stderr.contains("bytes: the rest is missing") && ran.stdout.contains("Damaged   "),
        "{}",
        ran.stdout
    );
    fs::write(&file, text.replacen("\"schema_version\":2", "\"schema_version\":99", 1)).unwrap();
    let ran = place.run(&["report", &path]);
    assert!(
        ran.code == Some(4)
            && ran.stderr.contains("newer truetps")
            && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
}

/// The number behind these words.
fn seconds_in(text: &str, words: &str) -> f64 {
    let behind = text.split(words).nth(1).unwrap_or_else(|| panic!("no {words:?} in {text}"));
    behind.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_server_that_is_gone_at_the_end_is_no_good_end() {
    let _machine = quiet_machine();
    let Some(binary) = mariadb("a_server_that_is_gone_at_the_end_is_no_good_end") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let child = place.start(&["probe", &owned.socket_dsn(), "--interval=200ms", "--duration=3s"]);
    sleep(Duration::from_millis(1200));
    signal(owned.server.pid(), Signal::KILL);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("no answer from the server for 1.") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("did not answer at the end"), "{}", ran.stderr);
    let all = seconds_in(&ran.stdout, "not answering: ");
    assert!((1.2..2.6).contains(&all) && ran.stdout.contains("status.Questions"), "{}", ran.stdout);
    let folder = the_probe(&place);
    let again = place.run(&["report", &folder.path().display().to_string()]);
    assert_eq!((again.code, again.stdout), (Some(4), ran.stdout));
}

#[test]
fn a_restart_and_a_session_that_is_ended_are_distinguished() {
    let _machine = quiet_machine();
    let Some(binary) = mariadb("a_restart_and_a_session_that_is_ended") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, dsn) = (Place::new(), owned.socket_dsn());
    let child = place.start(&["probe", &dsn, "--interval=100ms"]);
    sleep(Duration::from_millis(1200));
    let mut admin = owned.admin();
    let sessions = "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> \
                    CONNECTION_ID()";
    let probes = admin.query_value(sessions).unwrap().unwrap();
    admin.execute(&format!("KILL {probes}")).unwrap();
    sleep(Duration::from_secs(1));
    assert_ne!(admin.query_value(sessions).unwrap(), Some(probes), "it has come back");
    drop(admin);
    // Longer than the readings are apart: a fast server can be back before the next one.
    let owned = owned.restarted_after(Duration::from_millis(500), &binary, &[]);
    sleep(Duration::from_millis(1500));
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let silent = ran.stderr.matches("answers again, after ").count();
    assert_eq!(silent, 1, "the restart, and not the KILL: {}", ran.stderr);
    assert!(ran.stderr.contains("counters fell"), "{}", ran.stderr);
    assert!(ran.stdout.contains("Restart   counters fell at "), "{}", ran.stdout);
    assert!(ran.stdout.contains("status.Questions"), "growth before and after: {}", ran.stdout);
    drop(owned);
}

#[test]
fn a_duration_is_watched_from_end_to_end() {
    let _machine = quiet_machine();
    let Some(binary) = mariadb("a_duration_is_watched_from_end_to_end") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, dsn) = (Place::new(), owned.socket_dsn());
    for (duration, hint) in [("0s", "hint: "), ("999ms", "1s")] {
        let given = format!("--duration={duration}");
        place.refused(
            &["probe", &dsn, &given],
            &["`--duration`", "shorter than the interval", hint],
        );
    }
    assert!(!place.path().join("runs").exists(), "nothing was begun");
    let ran = place.good(&["probe", &dsn, "--interval=500ms", "--duration=1s"]);
    let series = the_probe(&place).series().unwrap();
    for source in [ProbeSource::Server, ProbeSource::Host] {
        let times = series.times(source);
        let (first, last) = (times[0], *times.last().unwrap());
        assert!((3..=4).contains(&times.len()), "{source:?}: {times:?}");
        assert!(
            (-100.0..200.0).contains(&first) && (1000.0..1300.0).contains(&last),
            "{source:?}: {times:?}"
        );
    }
    assert!(
        ran.stdout.contains("Watched   1.0 s") || ran.stdout.contains("Watched   1.1 s"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("\n1.0s  running "), "the last one, too: {}", ran.stderr);
}

#[test]
fn what_cannot_be_kept_is_not_watched_any_longer() {
    let Some(binary) = mariadb("what_cannot_be_kept_is_not_watched_any_longer") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    // Files of 24 KiB at most: the kernel's signal must not end the program.
    let limited = "ulimit -f 48; exec \"$0\" \"$@\"";
    let dsn = owned.socket_dsn();
    let words = [
        "-c",
        limited,
        env!("CARGO_BIN_EXE_truetps"),
        "probe",
        &dsn,
        "--interval=50ms",
        "--duration=1m",
    ];
    let ran: Ran = place.program(Path::new("/bin/sh"), &words).output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("not recorded to the end: ") && ran.stderr.contains("hint: make room"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.contains("the record is cut off") && ran.stdout.contains("status."),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("did not answer"), "{}", ran.stdout);
}

#[test]
fn a_server_that_is_not_there_is_no_probe() {
    let place = Place::new();
    let ran = place.run(&["probe", "mysql://root@?socket=/nowhere/sock"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("/nowhere/sock") && !place.path().join("runs").exists(),
        "{}",
        ran.stderr
    );
    let dsn = "mysql://root@?socket=/nowhere/sock";
    place.refused(&["probe", dsn, "--interval=1ms"], &["`--interval`", "0.05", "hint: "]);
    place.refused(
        &["probe", "nobody"],
        &["nobody: neither the name of a server nor an address", "truetps server list"],
    );
    place.refused(
        &["probe", "me:secret@db1"],
        &["DSN: neither the name of a server nor an address"],
    );
}

#[test]
fn postgres_is_seen_beside_a_load() {
    let Some(binary) = private_postgres("postgres_is_seen_beside_a_load") else { return };
    let basedir = binary.basedir.display().to_string();
    let place = Place::with_templates();
    let load = [
        "run",
        "insert",
        "--table-rows=500",
        "--warm-up=0",
        "--measure=3",
        "--probe-interval=250ms",
    ];
    place.good(&[&load[..], &["--waits", "--basedir", &basedir, SMALL_WAL]].concat());
    let series = series_of(&place.latest().join("trial-0001"));
    assert!(
        series.times(ProbeSource::Server).len() >= 8,
        "{:?}",
        series.times(ProbeSource::Server)
    );
    has(
        &series,
        &["pg_stat_database.xact_commit", "pg_stat_bgwriter.buffers_alloc", "pg_locks.waiting"],
    );
    has(
        &series,
        &["pg_lsn.insert_bytes", "pg_lsn.flush_bytes", "server.cpu_us", "server.context_switches"],
    );
    assert!(series.growth("pg_lsn.flush_bytes", 0.0, 3000.0, 300.0).unwrap() > 0.0);
    assert!(series.with_prefix("session.").next().is_some(), "some session was seen at work");
    if binary.version.major >= 14 {
        has(&series, &["pg_stat_wal.wal_bytes"]);
    } else {
        assert!(why(&series, "pg_stat_wal").contains("pg_stat_wal"));
    }
    assert!(series.points("server.rss_bytes").is_empty(), "its processes share memory");
    ranked_waits(&place, "sampled");
}

/// A server of many processes: the probe's own is one of them.
fn signal_all(postgres: &PostgresServer, which: Signal) {
    let parent = postgres.pid();
    signal(parent, which);
    let processes = fs::read_dir("/proc").unwrap().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let its_parent =
            stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
        if its_parent == Some(parent.to_string().as_str()) {
            signal(pid, which);
        }
    }
}

#[test]
fn a_postgres_that_hangs_and_dies_is_seen() {
    let _machine = quiet_machine();
    let test = "a_postgres_that_hangs_and_dies_is_seen";
    let Some(mut postgres) = PostgresServer::start(test, &PostgresOptions::default()) else {
        return;
    };
    // A role without any right but to log in.
    postgres.connect().unwrap().execute("CREATE ROLE poor LOGIN").unwrap();
    let place = Place::new();
    let dsn = format!("postgresql://poor@/postgres?socket={}", postgres.socket().display());
    let child = place.start(&["probe", &dsn, "--interval=200ms", "--duration=5s", "--full"]);
    sleep(Duration::from_millis(600));
    // A session ended by another user says nothing about the server, or its signals.
    let end =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'poor'";
    assert_eq!(postgres.connect().unwrap().query_value(end).unwrap().as_deref(), Some("1"));
    sleep(Duration::from_millis(600));
    signal_all(&postgres, Signal::STOP);
    sleep(Duration::from_millis(1500));
    signal_all(&postgres, Signal::CONT);
    sleep(Duration::from_secs(1));
    postgres.kill();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let hung = seconds_in(&ran.stderr, "answers again, after ");
    assert!((1.2..2.2).contains(&hung), "{}", ran.stderr);
    assert!(ran.stderr.contains("did not answer at the end"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("running"), "absent, and not zero: {}", ran.stderr);
    assert!(!ran.stdout.contains("terminating connection"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("2 times") && ran.stdout.contains("session: the account sees"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_probe_that_was_suspended_blames_no_server() {
    let _machine = quiet_machine();
    let Some(binary) = mariadb("a_probe_that_was_suspended_blames_no_server") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let child = place.start(&["probe", &owned.socket_dsn(), "--interval=2s", "--duration=5s"]);
    let folder = || {
        fs::read_dir(place.path().join("runs"))
            .ok()?
            .flatten()
            .find_map(|one| ProbeFolder::open(&one.path()))
    };
    wait_until("the first readings", || {
        folder().is_some_and(|one| one.kept_bytes().is_ok_and(|bytes| bytes > 2000))
    });
    // The second question is under way when the probe is stopped: the server does not answer it at
    // once.
    sleep(Duration::from_millis(1700));
    signal(owned.server.pid(), Signal::STOP);
    sleep(Duration::from_millis(500));
    signal(child.id(), Signal::STOP);
    signal(owned.server.pid(), Signal::CONT);
    sleep(Duration::from_millis(1700));
    signal(child.id(), Signal::CONT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(seconds_in(&ran.stderr, "truetps itself was suspended for ") > 1.2, "{}", ran.stderr);
    assert!(ran.stdout.contains("truetps itself did not run for "), "{}", ran.stdout);
    let summary = the_probe(&place).summary().unwrap();
    assert_eq!(summary.run.suspensions.len(), 1);
    assert!(summary.no_answer_ms < 1000.0 && summary.answers_at_end, "{:?}", summary.outages);
}

/// On a server that has just started, each commit is one of the binlog and two or more of the
/// handler.
#[test]
fn lines_and_summary_count_the_same_commits() {
    const COMMITS: u32 = 300;
    let Some(binary) = mariadb("lines_and_summary_count_the_same_commits") else { return };
    let with_binlog = [("log_bin", "ON")];
    let owned = Owned::start(&binary, &with_binlog).restarted(&binary, &with_binlog);
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let child = place.start(&["probe", &dsn, "--interval=500ms", "--duration=4s"]);
    sleep(Duration::from_millis(1200));
    let mut admin = owned.admin();
    for id in 0..COMMITS {
        admin
            .execute(&format!("INSERT INTO precious.letters VALUES ({}, 'more')", id + 10))
            .unwrap();
    }
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let number = |text: &str| {
        text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect::<String>().parse().ok()
    };
    let (mut before_s, mut counted) = (None, 0.0);
    for line in ran.stderr.lines() {
        let Some(at_s) = line.split_once("s  ").and_then(|(at, _)| at.parse::<f64>().ok()) else {
            continue;
        };
        let rate =
            line.split_once("commits ").and_then(|(_, rest)| number(rest.split("/s").next()?));
        counted += rate
            .zip(before_s.replace(at_s))
            .map_or(0.0, |(rate, before_s): (f64, f64)| rate * (at_s - before_s));
    }
    let summary = the_probe(&place).summary().unwrap();
    let binlog = summary.counters["status.Binlog_commits"].growth;
    assert!(binlog >= f64::from(COMMITS), "{binlog}");
    // The first line is about the time since the first sample, which has none; times have one
    // decimal.
    assert!(
        (counted - binlog).abs() < binlog * 0.25,
        "{counted} in the lines, {binlog}: {}",
        ran.stderr
    );
    assert!(ran.stdout.contains("status.Binlog_commits"), "{}", ran.stdout);
}

/// A replica that may not write to a table falls behind; what its server says of that is what the
/// probe says.
#[test]
fn a_replica_is_as_far_behind_as_its_server_says() {
    let Some(binary) = mariadb("a_replica_is_as_far_behind_as_its_server_says") else { return };
    let source = Owned::start(&binary, &[("log_bin", "ON"), ("server_id", "1")]);
    let replica = Owned::start(&binary, &[("server_id", "2")]);
    source.execute(&[&format!("GRANT REPLICATION SLAVE ON *.* TO {ACCOUNT}@'%'")]);
    let at = source.admin().query("SELECT @@gtid_binlog_pos").unwrap().rows[0][0].clone().unwrap();
    replica.execute(&[
        &format!("SET GLOBAL gtid_slave_pos = '{at}'"),
        &format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='{ACCOUNT}', \
             MASTER_PASSWORD='{PASSWORD}', MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0, \
             MASTER_USE_GTID=slave_pos",
            source.port
        ),
        "START SLAVE",
    ]);
    let mut holder = replica.admin();
    holder.execute("LOCK TABLES precious.letters WRITE").unwrap();
    source.execute(&["INSERT INTO precious.letters VALUES (9, 'held')"]);
    let (place, dsn) = (Place::new(), replica.socket_dsn());
    let ran = place.good(&["probe", &dsn, "--interval=500ms", "--duration=4s"]);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let most = seconds_in(&said, "The replica was at most ");
    let status = holder.query("SHOW SLAVE STATUS").unwrap();
    let column = status.columns.iter().position(|name| name == "Seconds_Behind_Master").unwrap();
    let own: f64 = status.rows[0][column].as_ref().unwrap().parse().unwrap();
    assert!(most >= 2.0 && (-1.0..=3.0).contains(&(own - most)), "the server says {own} s: {said}");
    assert!(ran.stderr.contains(&format!("  behind {most:.0} s")), "{}", ran.stderr);

    holder.execute("UNLOCK TABLES").unwrap();
    replica.execute(&["STOP SLAVE"]);
    let ran = place.good(&["probe", &dsn, "--interval=500ms", "--duration=1500ms"]);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("replication does not run."), "{said}");
    assert!(ran.stderr.contains("  replication does not run"), "{}", ran.stderr);
}

fn the_probe(place: &Place) -> ProbeFolder {
    let entries = fs::read_dir(place.path().join("runs")).unwrap().flatten();
    let mut found: Vec<_> = entries.filter_map(|entry| ProbeFolder::open(&entry.path())).collect();
    assert_eq!(found.len(), 1);
    found.remove(0)
}
