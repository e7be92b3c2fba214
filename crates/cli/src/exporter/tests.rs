//! The exporter over its sockets, the reference of its metrics, and the dashboard that uses them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use truetps_probe::every_signal;
use truetps_record::{ProbeHeader, ServerFacts};
use truetps_report::{ProbeMetrics, probe_metric_rows};

use super::{BoundExporter, CONNECTIONS_MAX, Exporter};
use crate::args::ListenArgs;

fn args(listen: &str, listen_remote: bool) -> ListenArgs {
    ListenArgs { listen: Some(listen.parse().unwrap()), listen_remote }
}

fn exporter() -> (SocketAddr, Exporter) {
    let bound = BoundExporter::bind(&args("127.0.0.1:0", false)).unwrap().unwrap();
    let server = ServerFacts::from_version_text("10.11.6-MariaDB");
    let metrics = ProbeMetrics::new(&ProbeHeader::of_version_1(1e3, None), &server, "0");
    (bound.address(), bound.with(metrics, Instant::now()))
}

/// The answer, while the exporter accepts.
fn answer(exporter: &Exporter, address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request).unwrap();
    exporter.accept();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn each_request_has_its_answer() {
    let (address, exporter) = exporter();
    let check = |request: &str, expect: &str| {
        let text = answer(&exporter, address, request.as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {expect}\r\n")), "{request:?}: {text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        assert!(
            body.is_empty() && request.starts_with("HEAD") || length == body.len().to_string(),
            "{text}"
        );
        text
    };
    let text = check("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK");
    assert!(text.contains("\r\nContent-Type: text/plain; version=0.0.4"), "{text}");
    assert!(
        text.contains("\r\n\r\n# HELP truetps_build_info ") && text.contains("\ntruetps_up 0\n"),
        "{text}"
    );
    check("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK");
    assert!(check("GET / HTTP/1.1\r\n\r\n", "200 OK").contains("href=\"/metrics\""));
    check("GET /favicon.ico HTTP/1.1\r\n\r\n", "404 Not Found");
    assert!(
        check("PUT /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed")
            .contains("\r\nAllow: GET, HEAD\r\n")
    );
    check("GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "421 Misdirected Request");
    check("nonsense\r\n\r\n", "400 Bad Request");
    check(
        &format!("GET / HTTP/1.1\r\na: {}", "x".repeat(9000)),
        "431 Request Header Fields Too Large",
    );
}

/// Silent clients end after a second, and until then the oldest ones make room for the newest.
#[test]
fn a_scrape_is_answered_beside_any_number_of_silent_clients() {
    let (address, exporter) = exporter();
    let mut silent: Vec<_> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
    exporter.accept();
    assert_eq!(exporter.open.streams().len(), CONNECTIONS_MAX);
    let began = Instant::now();
    assert!(answer(&exporter, address, b"GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let mut answers = silent.iter_mut().map(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    });
    let closed = 50 - CONNECTIONS_MAX;
    assert!(answers.by_ref().take(closed).all(|text| text.is_empty()), "closed to make room");
    let late = answers.filter(|text| text.starts_with("HTTP/1.1 408 Request Timeout\r\n")).count();
    assert!(late >= CONNECTIONS_MAX - 1, "{late}: one more has made room for the scrape");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !exporter.open.streams().is_empty() {
        assert!(Instant::now() < deadline, "a place is still taken");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn other_hosts_reach_it_only_where_that_is_allowed() {
    let refused = |listen| BoundExporter::bind(&args(listen, false)).unwrap_err().to_string();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let error = refused(listen);
        assert!(
            error.contains("neither login nor encryption") && error.contains("--listen-remote"),
            "{error}"
        );
    }
    assert!(BoundExporter::bind(&args("0.0.0.0:0", true)).is_ok());
    let taken = BoundExporter::bind(&args("127.0.0.1:0", false)).unwrap().unwrap();
    let error = refused(&taken.address().to_string());
    assert!(error.contains("`--listen 127.0.0.1:") && error.contains("free port"), "{error}");
    assert!(
        BoundExporter::bind(&ListenArgs { listen: None, listen_remote: false }).unwrap().is_none()
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// With `UPDATE_REFERENCE=1` the test writes what it would check.
#[test]
fn the_reference_has_all_metrics_of_the_exporter() {
    const MARKS: [&str; 2] = ["<!-- metrics -->\n", "<!-- end of metrics -->"];
    let path = root().join("docs/reference/probe-metrics.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(MARKS[0]).unwrap();
    let after = rest.split_once(MARKS[1]).unwrap().1;
    let rows = probe_metric_rows(&every_signal());
    let names: BTreeSet<_> = rows.iter().map(|row| &row.name).collect();
    assert_eq!(names.len(), rows.len(), "two values have one metric");
    let rows = rows
        .iter()
        .map(|row| format!("| `{}` | {} | {} | {} |\n", row.name, row.kind, row.labels, row.about));
    let table = format!(
        "\n| metric | type | label | value |\n|---|---|---|---|\n{}\n",
        rows.collect::<String>()
    );
    let made = format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1]);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, made).unwrap();
    } else {
        assert!(
            text == made,
            "docs/reference/probe-metrics.md: set UPDATE_REFERENCE=1 and test again"
        );
    }
}

/// All strings of these names, wherever they are.
fn strings<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get(name).and_then(Value::as_str));
            object.values().for_each(|inside| strings(inside, name, found));
        }
        Value::Array(list) => list.iter().for_each(|inside| strings(inside, name, found)),
        _ => {}
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_name(c)).filter(|word| word.starts_with("truetps_"))
}

/// The dashboard and the documents name no metric that the exporter does not have.
#[test]
fn the_dashboard_uses_only_metrics_of_the_exporter() {
    let rows = probe_metric_rows(&every_signal());
    let names: BTreeSet<_> = rows.iter().map(|row| row.name.as_str()).collect();
    let text = std::fs::read_to_string(root().join("examples/grafana/truetps-probe.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let (mut queries, mut variables) = (Vec::new(), Vec::new());
    strings(&dashboard, "expr", &mut queries);
    strings(&dashboard["templating"], "query", &mut variables);
    assert!(queries.len() >= 8, "{queries:?}");
    for query in queries.iter().chain(&variables) {
        for name in words(query) {
            assert!(names.contains(name), "{name}: {query}");
            let is_rate = query.contains(&format!("rate({name}"));
            assert_eq!(is_rate, name.ends_with("_total"), "a counter is shown as a rate: {query}");
        }
    }
    for query in &queries {
        assert!(words(query).next().is_some(), "{query}");
    }
}
