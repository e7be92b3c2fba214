//! `truetps explain` on real servers: its trials are what they are called, it ends and goes on, and nothing is left
//! behind. No test asserts a figure, nor that a cause is found: `truetps-causes` proves that.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Place, SMALL_REDO, has_server, signal, wait_until};

/// Short trials on few rows.
const SHORT: [&str; 8] = ["--table-rows", "500", "-c", "4", "--measure", "0.4", "--warm-up", "0.1"];

/// Settings that make no difference.
const HARMLESS: &str = "net_buffer_length=8192,max_connect_errors=7,join_buffer_size=1M,lock_wait_timeout=99";

fn explain(place: &Place, a: &str, b: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let args = [&["explain", a, b, SMALL_REDO, "--format", "json"][..], &SHORT, more].concat();
    let ran = place.run(&args);
    let document = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    (ran.code, document, ran.stderr)
}

#[test]
fn what_differs_is_measured_and_the_rest_is_listed() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("a.cnf", "[mysqld]\ninnodb_flush_log_at_trx_commit = 1\nport = 3307\n");
    let lines = HARMLESS.replace(',', "\n");
    place.write("b.cnf", &format!("[mysqld]\ninnodb_flush_log_at_trx_commit = 0\nport = 3308\n{lines}\n"));
    let (_, document, stderr) = explain(&place, "a.cnf", "b.cnf", &["--budget", "9s"]);
    let factors: Vec<_> =
        document["factors"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(factors.len(), 5, "{factors:?}\n{stderr}");
    assert_eq!(factors[0], "innodb_flush_log_at_trx_commit", "the most suspicious first");
    // MariaDB since 10.8 derives another setting from it, which is no question of its own.
    assert!(!factors.contains(&"innodb_log_file_buffering"), "{factors:?}");
    let left_out = document["left_out"].as_array().unwrap();
    let port = left_out.iter().find(|one| one["name"] == "port").expect("what a private server has itself is listed");
    assert!(port["reason"].as_str().unwrap().contains("a private server has its own"), "{port}");
    assert!(document["findings"]["trials"].as_u64().unwrap() >= 1, "{document}");
    assert!(document["findings"]["not_started"] == serde_json::json!([]));

    // Every trial has the levels that its mixture says.
    let trials = document["trials"].as_array().unwrap();
    for trial in trials.iter().take(12) {
        let with: Vec<_> = trial["with"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let path = place.latest().join(trial["name"].as_str().unwrap()).join("server/variables.json");
        let variables: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let expect = if with.contains(&factors[0]) { "0" } else { "1" };
        assert_eq!(variables[factors[0]], expect, "{trial}");
    }
    // The same answer from the folder alone, and in all forms.
    let again = place.run(&["report", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), document);
    for args in [&["report"][..], &["report", "--full"], &["report", "--format", "md"]] {
        let ran = place.run(args);
        assert!(ran.stdout.contains("b.cnf against a.cnf"), "{}", ran.stdout);
    }
    let page = fs::read_to_string(place.latest().join("report.html")).unwrap();
    assert!(page.contains("</html>") && page.contains("Everything else that differs"), "{page}");
    assert!(place.servers().is_empty() && place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn a_restart_only_setting_and_one_that_needs_its_own_data() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let (code, document, stderr) = explain(
        &place,
        "log_bin=ON,back_log=77",
        "log_bin=OFF,back_log=90,innodb_log_file_size=16M",
        &["--budget", "9s"],
    );
    assert!(matches!(code, Some(0 | 3)), "{stderr}");
    let change = |name: &str| {
        let factors = document["factors"].as_array().unwrap();
        factors.iter().find(|factor| factor["name"] == name).map(|factor| factor["change"].as_str().unwrap().to_owned())
    };
    assert_eq!(change("log_bin").as_deref(), Some("restart"));
    assert_eq!(change("innodb_log_file_size").as_deref(), Some("new_data"));
    for trial in document["trials"].as_array().unwrap() {
        assert!(trial["tps"].is_number(), "{trial}");
    }
}

#[test]
fn a_side_that_does_not_start_is_named() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.refused(&["explain", "defaults", "innodb_page_size=3000", SMALL_REDO], &["innodb_page_size"]);
    // The program accepts this name, and the server aborts with it.
    let ran = place.run(&["explain", "defaults", "default_storage_engine=nonsense", SMALL_REDO]);
    let said = ran.stderr.split("error: ").nth(1).unwrap_or_default();
    assert!(ran.code != Some(0) && said.starts_with("default_storage_engine=nonsense: "), "{}", ran.stderr);
    assert!(said.contains("Unknown/unsupported storage engine"), "{}", ran.stderr);
    assert!(place.servers().is_empty(), "{:?}", place.servers());
    assert!(!place.path().join("runs").exists() || fs::read_dir(place.path().join("runs")).unwrap().next().is_none());
}

#[test]
fn it_ends_with_its_budget_and_goes_on_later() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let b = format!("innodb_flush_log_at_trx_commit=2,{HARMLESS}");
    let args = [&["explain", "defaults", &b, SMALL_REDO, "--budget", "3s"][..], &SHORT].concat();
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("Unfinished") && ran.stderr.contains("truetps explain --resume"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let folder = place.latest();
    let measured = |folder: &std::path::Path| {
        let document: Value = serde_json::from_slice(&fs::read(folder.join("explanation.json")).unwrap()).unwrap();
        document["mixtures"].as_array().unwrap().clone()
    };
    let before = measured(&folder);
    let first = fs::read(folder.join("trial-0001/run.json")).unwrap();
    let ran = place.run(&["explain", "--resume", "--budget", "5s"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}{}", ran.stdout, ran.stderr);
    let after = measured(&folder);
    assert!(after.len() > before.len() && after.starts_with(&before), "{before:?} {after:?}");
    assert_eq!(fs::read(folder.join("trial-0001/run.json")).unwrap(), first, "what was measured is kept");
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let b = format!("innodb_flush_log_at_trx_commit=2,{HARMLESS}");
    let args = [&["explain", "defaults", &b, SMALL_REDO][..], &SHORT].concat();
    let child = place.start(&args);
    wait_until("the fifth trial", || place.path().join("runs/latest/trial-0005/intervals.jsonl").exists());
    signal(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&fs::read(place.latest().join("explanation.json")).unwrap()).unwrap();
    assert!(document["mixtures"].as_array().unwrap().len() >= 5);
    assert!(place.servers().is_empty(), "{:?}", place.servers());
}

#[test]
fn sides_that_cannot_be_explained() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("a.cnf", "[mysqld]\nsync_binlog = 1\n");
    place.refused(&["explain", "a.cnf", "a.cnf"], &["do not differ in anything that can be measured"]);
    place.refused(&["explain", "defaults", "no_such_setting=1"], &["no_such_setting", "no_such_setting=1"]);
    place.refused(&["explain", "defaults", "sync_binlog=0", "--plan", "no-such-plan"], &["no-such-plan"]);
    place.refused(&["explain", "nowhere.cnf", "sync_binlog=0"], &["nowhere.cnf", "is no file"]);
    place.refused(&["explain", "mysql://root@127.0.0.1", "sync_binlog=0"], &["truetps server capture"]);
    place.refused(&["explain", "defaults"], &["<B>"]);
    place.refused(&["explain", "defaults", "sync_binlog=0", "--format", "csv"], &["csv"]);
    place.refused(&["explain", "defaults", "sync_binlog=0,sync_binlog=1"], &["set twice"]);
    place.refused(&["explain", "defaults", "sync_binlog"], &["is no file"]);
    place.refused(&["explain", "server=x", "sync_binlog=0"], &["a server is a side of its own"]);
    place.refused(&["explain", "sync_binlog=0", "disk=sata-ssd"], &["sync_binlog=0: has no level of disk"]);
    place.refused(&["explain", "connections=1", "connections=2", "-c", "4"], &["--connections: A and B differ"]);
    place.refused(
        &["explain", "defaults", "sync_binlog=0", "--dsn", "mysql://root@127.0.0.1:1"],
        &["private servers only", "truetps server capture"],
    );
    assert!(place.servers().is_empty());
}
