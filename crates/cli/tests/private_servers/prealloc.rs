//! Binlog preallocation through the whole program: the factor of a sweep, and `truetps prealloc` on a server's files. That the
//! library itself is right is proven in `crates/prealloc/tests`.

use std::fs;

use serde_json::Value;
use truetps_testkit::private_postgres;

use crate::common::{Place, SMALL_REDO, has_server};

const SHORT: [&str; 10] = ["--table-rows", "200", "-c", "4", "--measure", "0.4", "--warm-up", "0.1", "--blocks", "2"];

#[test]
fn levels_are_switched_on_one_process_and_files_end_with_their_content() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let args =
        [&["sweep", "insert", "--vary", "prealloc=0,ahead", SMALL_REDO, "--format", "json"][..], &SHORT].concat();
    let ran = place.run(&args);
    assert!(ran.stderr.contains("log_bin = ON was added: prealloc has no effect"), "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(document["analysis"]["trials_valid"], document["analysis"]["trials_planned"], "{}", ran.stderr);
    // A trial whose binlog was not as its level says would be invalid. One process: no trial waited for a start.
    let logs: Vec<_> =
        fs::read_dir(place.latest()).unwrap().flatten().map(|entry| entry.path().join("server/error.log")).collect();
    let starts = logs.iter().filter_map(|path| fs::read_to_string(path).ok()).filter(|log| log.contains("truetps"));
    assert!(starts.count() > 0, "the library says in the server's log that it is there");
    assert!(place.servers().is_empty() && place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn modes_are_compared_and_a_binlog_is_needed() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let sweep = |vary: &str, more: &[&str]| {
        place.run(&[&["sweep", "insert", "--vary", vary, SMALL_REDO][..], &SHORT, more].concat())
    };
    let ran = sweep("prealloc=2,ahead", &["--format", "json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(document["analysis"]["trials_valid"], document["analysis"]["trials_planned"], "{}", ran.stderr);
    let ran = sweep("prealloc=0,ahead", &["--set", "log_bin=OFF"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("log_bin is off"), "{:?} {}", ran.code, ran.stderr);
    if let Some(postgres) = private_postgres("modes_are_compared_and_a_binlog_is_needed") {
        let ran = sweep("prealloc=0,ahead", &["--basedir", &postgres.basedir.display().to_string()]);
        assert!(ran.code == Some(2) && ran.stderr.contains("has no binlog"), "{:?} {}", ran.code, ran.stderr);
    }
}
