//! Emulated disks and crashes, on a real server.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::thread;
use std::time::Duration;

use common::{Place, has_disks, has_server, mounts_below, signal, wait_until};
use rustix::process::Signal;
use serde_json::Value;

const PLAN: &str = "name = \"c\"\nabout = \"What is lost?\"\n[workload]\nname = \"insert\"\n\
    [factors]\ninnodb_flush_log_at_trx_commit = [2]\nlog_bin = [false]\nconnections = [4]\n";

const ON_A_DISK: [&str; 7] =
    ["run", "insert", "--disk", "hdd7200", "--connections=2", "--warm-up=0.2", "--table-rows=500"];

fn crashes(place: &Place, args: &[&str]) -> (Option<i32>, Value) {
    let plan = place.write("crash.toml", PLAN);
    let words = ["crash", plan.to_str().unwrap(), "--format", "json"];
    let ran = place.run(&[&words[..], args].concat());
    let document = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{:?}: {}", ran.code, ran.stderr));
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
    assert_eq!(mounts_below(&place.home()), Vec::<String>::new());
    (ran.code, document)
}

/// The summary of a role and a kind.
fn summary<'a>(document: &'a Value, role: &str, kind: &str) -> &'a Value {
    let summaries = document["summaries"].as_array().unwrap();
    summaries.iter().find(|one| one["role"] == role && one["kind"] == kind).unwrap()
}

#[test]
fn the_end_of_a_server_loses_what_it_had_not_written() {
    if !has_server() {
        return;
    }
    let place = Place::new();
    let (code, document) = crashes(&place, &["--kinds", "kill", "--crashes", "2"]);
    assert_eq!(code, Some(0), "{document}");
    for role in ["cell", "keeps_all"] {
        let kept = summary(&document, role, "kill");
        assert_eq!((&kept["lost_max"], &kept["verdict"]), (&0.into(), &"kept".into()), "{kept}");
        assert!(kept["acknowledged"].as_u64() > Some(0), "{kept}");
    }
    let lost = summary(&document, "loses_some", "kill");
    assert!(lost["lost_max"].as_u64() > Some(0) && lost["verdict"] == "lost_as_allowed", "{lost}");
    for record in document["crashes"].as_array().unwrap() {
        let count = |key: &str| record[key].as_u64().unwrap();
        assert_eq!(count("attempted"), count("acknowledged") + count("unknown"), "{record}");
        assert_eq!((count("unexpected"), &record["table_problem"]), (0, &Value::Null), "{record}");
    }
}

#[test]
fn a_power_cut_loses_what_was_not_flushed() {
    if !has_server() || !has_disks("a_power_cut_loses_what_was_not_flushed") {
        return;
    }
    let place = Place::new();
    let (code, document) = crashes(&place, &["--disk", "native", "--kinds", "os,power", "--crashes", "2"]);
    assert_eq!(code, Some(0), "{document}");
    for kind in ["os", "power"] {
        assert_eq!(summary(&document, "keeps_all", kind)["verdict"], "kept", "{document}");
        assert_eq!(summary(&document, "cell", kind)["verdict"], "lost_as_allowed", "{document}");
        assert_eq!(summary(&document, "loses_some", kind)["verdict"], "lost_as_allowed", "{document}");
    }
    let report = place.run(&["report", document_folder(&place).to_str().unwrap()]);
    assert!(
        report.code == Some(0) && report.stdout.contains("losses only where the settings allow them"),
        "{report:?}"
    );
}

fn document_folder(place: &Place) -> std::path::PathBuf {
    let runs = fs::read_dir(place.path().join("runs")).unwrap();
    runs.map(|entry| entry.unwrap().path()).find(|path| path.join("crash.json").exists()).unwrap()
}

#[test]
fn kinds_without_a_disk_are_refused_before_anything_starts() {
    let place = Place::new();
    let plan = place.write("crash.toml", PLAN);
    let plan = plan.to_str().unwrap();
    place.refused(&["crash", plan, "--kinds", "power"], &["--kinds power", "--disk"]);
    place.refused(&["crash", plan, "--kinds", "kill", "--format", "csv"], &["crashes have no CSV"]);
    place.refused(&["crash", plan, "--kinds", "fire"], &["not one of kill, os, power"]);
    place.refused(&["run", "insert", "--disk", "hdd720"], &["there is no disk profile `hdd720`", "hdd7200"]);
    let nonsense = place.write("mine.toml", "name = \"mine\"\nabout = \"\"\nvolatile_cache_mb = 1\nwrite_us = -1\n");
    place.refused(&["run", "insert", "--disk", nonsense.to_str().unwrap()], &["mine.toml", "write_us"]);
}

#[test]
fn a_commit_on_a_spinning_disk_takes_a_revolution() {
    if !has_server() || !has_disks("a_commit_on_a_spinning_disk_takes_a_revolution") {
        return;
    }
    let place = Place::new();
    let ran = place.good(&[&ON_A_DISK[..], &["--measure=1", "--set", "log_bin=OFF", "--format", "json"]].concat());
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let disk = &document["disks"][0];
    assert_eq!((&disk["profile"], disk["overwrite_flushes"].as_f64()), (&"hdd7200".into(), Some(1.0)), "{disk}");
    // Half a revolution at least, on a machine as busy as may be.
    let p50_us = document["trials"][0]["response_us_p50"].as_f64().unwrap();
    assert!(p50_us > 4_000.0, "{p50_us}");
    let text = place.good(&["report"]);
    assert!(text.stdout.contains("Disk      hdd7200, emulated: a page written and flushed takes"), "{}", text.stdout);
    assert_eq!(mounts_below(&place.home()), Vec::<String>::new());
}

#[test]
fn a_killed_run_on_a_disk_leaves_nothing() {
    if !has_server() || !has_disks("a_killed_run_on_a_disk_leaves_nothing") {
        return;
    }
    let place = Place::new();
    for delay_ms in [700, 1900, 3500] {
        let mut child = place.start(&[&ON_A_DISK[..], &["--measure=9"]].concat());
        thread::sleep(Duration::from_millis(delay_ms));
        signal(child.id(), Signal::KILL);
        child.wait().unwrap();
    }
    place.good(&["server", "clean"]);
    wait_until("the disks are gone", || mounts_below(&place.home()).is_empty());
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
    let home = place.home().display().to_string();
    for device in fs::read_dir("/sys/block").unwrap() {
        let file = fs::read_to_string(device.unwrap().path().join("loop/backing_file")).unwrap_or_default();
        assert!(!file.contains(&home), "{file}");
    }
}
