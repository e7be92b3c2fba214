//! Searches for a pool that cannot be. Nothing is started for any of them.

use std::path::Path;

use crate::common::{Place, copy_folder};

#[test]
fn searches_that_cannot_be() {
    let place = Place::new();
    for (flags, words) in [
        (
            &["--format", "csv"][..],
            &["invalid value 'csv' for '--format <FORMAT>'", "text, json, md"][..],
        ),
        (
            &["--current", "65", "--most", "64"],
            &["--current 65", "at most 64 are tried", "--most 65"],
        ),
        (&["--current", "513"], &["--current 513", "at most 512 are tried"]),
        (&["--p99", "0ms"], &["--p99", "a limit of 0 allows nothing"]),
        (&["--p99", "fast"], &["--p99", "fast"]),
        (&["--p99", "50"], &["--p99", "has no unit: 50ms, or 50s?"]),
        (&["--rate", "0"], &["--rate", "must be more than 0"]),
        (&["--rate", "1000/d"], &["--rate", "`d` is none of the units s, min, h"]),
        // A rate has the same form everywhere; what is refused here is the plan.
        (&["--rate", "1000/s", "insrt"], &["unknown plan `insrt`"]),
        (&["--most", "0"], &["--most", "0 is not in 1..=100000"]),
        (&["--instances", "0"], &["--instances"]),
        (&["--for", "hikari"], &["--for", "hikaricp"]),
        (&["insrt"], &["unknown plan `insrt`", "did you mean `insert`?"]),
        (&["--resume", "nowhere"], &["nowhere"]),
        (&["--resume", "--quick"], &["cannot be used with", "--quick"]),
        (&["--resume", "--instances", "3"], &["cannot be used with", "--instances"]),
        (&["--resume", "--dsn", "mysql://u@h/"], &["cannot be used with", "--dsn"]),
        (&["--resume", "--pin", "0"], &["cannot be used with", "--pin"]),
        (&["--resume", "--my-cnf", "my.cnf"], &["cannot be used with", "--my-cnf"]),
    ] {
        let args = [&["pool"], flags].concat();
        place.refused(&args, words);
        assert!(!place.path().join("runs").exists(), "{args:?} left a record");
    }
    assert!(place.servers().is_empty());
}

#[test]
fn cores_that_there_are_not_are_refused_by_all_that_measure() {
    let place = Place::new();
    let sides = ["explain", "sync_binlog=1", "sync_binlog=0"];
    for command in [&["run", "insert"][..], &["sweep", "insert", "-c", "1,8"], &["pool"], &sides] {
        let args = [command, &["--pin", "99999"]].concat();
        place.refused(&args, &["--pin 99999: this process may not use core 99999"]);
    }
}

#[test]
fn each_command_names_the_one_that_goes_on_with_a_folder() {
    let place = Place::new();
    for (kind, fixture) in [
        ("sweep", "cli/tests/fixtures/version-1/sweep"),
        ("pool", "archive/testdata/before-adaptive-pool"),
        ("explain", "archive/testdata/before-adaptive-explanation"),
    ] {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(fixture);
        copy_folder(&fixture, &place.path().join(format!("a {kind}; exit")));
    }
    for (command, folder, problem, next) in [
        ("pool", "a sweep; exit", "is not a search for a pool", "truetps sweep --resume"),
        ("pool", "a explain; exit", "is not a search for a pool", "truetps explain --resume"),
        ("explain", "a pool; exit", "is not an explanation", "truetps pool --resume"),
        ("sweep", "a pool; exit", "from each other's results", "truetps pool --resume"),
        ("sweep", "a explain; exit", "from each other's results", "truetps explain --resume"),
    ] {
        place.refused(&[command, "--resume", folder], &[problem, &format!("{next} '{folder}'")]);
    }
}

/// Its next trials would follow from a search that there is no more; its answer can be read.
#[test]
fn a_search_of_an_older_version_is_read_and_not_resumed() {
    let place = Place::new();
    let fixture = "../archive/testdata/before-adaptive-pool";
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
    copy_folder(&fixture, &place.path().join("old"));
    let report = place.run(&["report", "old"]);
    assert!(report.stdout.contains("So far, without a check: 4 connections"), "{}", report.stdout);
    place.refused(&["pool", "--resume", "old"], &["chosen by the search of an older version"]);
}
