//! The exporter of `truetps probe`: what a scrape sees, and what it costs the server.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::{Place, Ran, signal, wait_until};
use crate::support::{ACCOUNT, Owned, PASSWORD};

/// What the exporter answers at `/metrics`.
fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
        .write_all(format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    body.to_owned()
}

/// Where the probe listens, by its own words.
fn listens_at(child: &mut Child) -> String {
    let mut line = String::new();
    let mut messages = BufReader::new(child.stderr.as_mut().unwrap());
    while !line.starts_with("Listening on http://") {
        line.clear();
        assert!(messages.read_line(&mut line).unwrap() > 0, "it does not listen");
    }
    line.trim()
        .strip_prefix("Listening on http://")
        .unwrap()
        .strip_suffix("/metrics")
        .unwrap()
        .to_owned()
}

/// All samples have a name of the reference.
fn assert_documented(text: &str) {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/probe-metrics.md");
    let reference = fs::read_to_string(reference).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        assert!(reference.contains(&format!("\n| `{name}` |")), "{name} is not in the reference");
    }
}

#[test]
fn the_last_readings_can_be_scraped() {
    let Some(binary) = mariadb("the_last_readings_can_be_scraped") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let dsn = owned.tcp_dsn();
    let args = ["probe", &dsn, "--interval=200ms", "--listen=127.0.0.1:0", "--quiet"];
    let mut command = place.command(&args);
    command.env("TRUETPS_PASSWORD", PASSWORD).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let address = listens_at(&mut child);
    wait_until("a reading", || scrape(&address).contains("\ntruetps_up 1\n"));
    let text = scrape(&address);
    assert_documented(&text);
    for name in [
        "truetps_status_questions_total ",
        "truetps_host_cpu_busy_seconds_total ",
        "truetps_server_info{",
    ] {
        assert!(text.contains(&format!("\n{name}")), "{name}: {text}");
    }
    assert!(!text.contains(PASSWORD) && !text.contains(ACCOUNT), "{text}");

    signal(owned.server.pid(), Signal::STOP);
    wait_until("an outage", || scrape(&address).contains("\ntruetps_up 0\n"));
    let text = scrape(&address);
    assert!(!text.contains("truetps_status_") && text.contains("\ntruetps_host_"), "{text}");
    signal(owned.server.pid(), Signal::CONT);
    wait_until("the end of the outage", || scrape(&address).contains("\ntruetps_up 1\n"));

    place.refused(
        &["probe", &dsn, &format!("--listen={address}")],
        &["`--listen 127.0.0.1:", "free port"],
    );
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("status.Questions"), "{}", ran.stdout);
    let is_quiet = !ran.stderr.contains("Handler_commit") && !ran.stderr.contains("Binlog_commits");
    assert!(is_quiet && ran.stderr.contains("no answer from the server"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the server answers again"), "{}", ran.stderr);
    assert!(TcpStream::connect(&address).is_err(), "it listens no more");
}

#[test]
fn a_scrape_is_no_query() {
    let Some(binary) = mariadb("a_scrape_is_no_query") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let mut child =
        place.start(&["probe", &owned.socket_dsn(), "--interval=60s", "--listen=127.0.0.1:0"]);
    let address = listens_at(&mut child);
    wait_until("a reading", || scrape(&address).contains("\ntruetps_up 1\n"));
    let mut admin = owned.admin();
    let mut questions = || {
        let sql = "SELECT variable_value FROM information_schema.global_status WHERE variable_name \
                   = 'QUESTIONS'";
        admin.query_value(sql).unwrap().unwrap().parse::<u64>().unwrap()
    };
    let before = questions();
    (0..20).for_each(|_| assert_documented(&scrape(&address)));
    assert_eq!(questions(), before + 1, "the query that counts them");
    signal(child.id(), Signal::INT);
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_exporter_of_postgresql_has_the_names_of_the_reference() {
    let test = "an_exporter_of_postgresql_has_the_names_of_the_reference";
    let Some(postgres) = PostgresServer::start(test, &PostgresOptions::default()) else { return };
    let place = Place::new();
    let dsn = format!("postgresql://truetps@/postgres?socket={}", postgres.socket().display());
    let args = ["probe", &dsn, "--interval=200ms", "--listen=127.0.0.1:0", "--duration=20s"];
    let mut child = place.start(&args);
    let address = listens_at(&mut child);
    wait_until("a reading", || scrape(&address).contains("\ntruetps_up 1\n"));
    let text = scrape(&address);
    assert_documented(&text);
    assert!(text.contains("\ntruetps_pg_stat_database_total{name=\"xact_commit\"} "), "{text}");
    signal(child.id(), Signal::INT);
    assert!(child.wait().unwrap().success());
}

#[test]
fn wrong_addresses_to_listen_on_are_refused_before_the_login() {
    let place = Place::new();
    let dsn = "mysql://root@?socket=/nowhere/sock";
    place.refused(
        &["probe", dsn, "--listen=9104"],
        &["--listen", "not an IP address with a port", "127.0.0.1:9104"],
    );
    place.refused(
        &["probe", dsn, "--listen=0.0.0.0:0"],
        &["neither login nor encryption", "--listen-remote"],
    );
    place.refused(&["probe", dsn, "--listen-remote"], &["--listen <ADDRESS:PORT>"]);
}
