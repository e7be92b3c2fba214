//! `truetps merge` of parts that were recorded earlier.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::homes::Disk;
use crate::common::{Place, copy_folder};

/// An experiment of four trials whose only comparison is open.
const OPEN_SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-1/sweep");

/// A place with two parts of one load, `part-0` and `part-1`.
fn place_with_parts() -> Place {
    let place = Place::new();
    for index in 0..2 {
        let folder = place.path().join(format!("part-{index}"));
        copy_folder(Path::new(OPEN_SWEEP), &folder);
        let path = folder.join("experiment.json");
        let mut experiment: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        experiment["part"] = json!({"index": index, "of": 2, "pid": 7, "meeting": "m"});
        fs::write(&path, experiment.to_string()).unwrap();
        for trial in 1..=4 {
            let start = json!({"server_us": 1_795_916_671_867_727_i64, "uncertainty_us": 150.0, "clock_offset_us": 0.0});
            set_start(&folder.join(format!("trial-000{trial}")), &start);
        }
    }
    place
}

fn set_start(trial: &Path, start: &Value) {
    let path = trial.join("run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    run["start"] = start.clone();
    fs::write(&path, run.to_string()).unwrap();
}

const MERGE: [&str; 3] = ["merge", "part-0", "part-1"];

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn a_part_that_cannot_be_read_leaves_no_merged_run() {
    let place = place_with_parts();
    let runs = place.path().join("runs");
    let merged = place.run(&MERGE);
    assert_eq!(merged.code, Some(3), "nothing is decided: {}", merged.stderr);
    let (before, latest) = (entries(&runs), place.latest());
    assert_eq!(before.len(), 2, "the merged run, and the link to it: {before:?}");
    // In the last trial: the others are merged by then.
    let path = place.path().join("part-1/trial-0004/latency.hdr");
    let text = fs::read_to_string(&path).unwrap();
    for (file, edited, problem) in [
        (
            "latency.hdr",
            format!("{text}Tag=measure,1.000\n"),
            "part-1/trial-0004: latency.hdr: line ",
        ),
        ("intervals.jsonl", "{}\n".to_owned(), "part-1/trial-0004/intervals.jsonl: line 1: "),
    ] {
        fs::write(path.with_file_name(file), edited).unwrap();
        place.refused(&MERGE, &[problem]);
        assert_eq!((entries(&runs), place.latest()), (before.clone(), latest.clone()), "{file}");
    }
}

#[test]
fn a_full_disk_leaves_no_merged_run() {
    let place = place_with_parts();
    let Some(disk) = Disk::mount(&place, "a_full_disk_leaves_no_merged_run") else { return };
    // Room for a part of what is written.
    let left = disk.fill_but(40 << 10);
    let runs = disk.path().to_str().unwrap();
    let merged = place.run(&[&MERGE[..], &["--runs", runs]].concat());
    assert_eq!(merged.code, Some(4), "{}", merged.stderr);
    assert!(merged.stderr.contains("No space left on device"), "{}", merged.stderr);
    assert!(merged.stderr.contains("/trial-0"), "some of it was written: {}", merged.stderr);
    assert_eq!(entries(disk.path()), std::slice::from_ref(&left), "nothing is left of it");
    fs::remove_file(left).unwrap();
    let merged = place.run(&[&MERGE[..], &["--runs", runs]].concat());
    assert_eq!(merged.code, Some(3), "{}", merged.stderr);
}

#[test]
fn a_latest_that_is_no_link_loses_no_run() {
    let place = place_with_parts();
    let runs = place.path().join("runs");
    fs::create_dir_all(runs.join("latest/taken")).unwrap();
    let merged = place.run(&MERGE);
    assert_eq!(merged.code, Some(3), "nothing is decided: {}", merged.stderr);
    assert!(
        merged.stderr.contains("warning: runs/latest: not set to this run: Is a directory"),
        "{}",
        merged.stderr
    );
    assert!(merged.stdout.contains("4 of 4 valid"), "{}", merged.stdout);
    assert_eq!(
        entries(&runs).len(),
        2,
        "the merged run, and what was there before: {:?}",
        entries(&runs)
    );
}

/// `sweep --resume` refuses a merged run.
#[test]
fn what_is_open_is_decided_by_all_parts_anew() {
    let place = place_with_parts();
    let merged = place.run(&MERGE);
    assert!(merged.stderr.contains("start all parts again with --blocks "), "{}", merged.stderr);
    assert!(merged.stderr.contains("(may decide 1 of 1 that are open)"), "{}", merged.stderr);
    let report = place.run(&["report", "runs/latest"]);
    assert!(report.stderr.contains("start all parts again with --blocks "), "{}", report.stderr);
    let part = place.run(&["report", "part-1"]);
    for ran in [merged, report, part] {
        assert!(
            !format!("{}{}", ran.stdout, ran.stderr).contains("--resume"),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
    }
}

/// Figures of parts that did not start together are no figures of one load.
#[test]
fn a_part_that_did_not_start_with_the_others_makes_the_trial_invalid() {
    let place = place_with_parts();
    let trial = place.path().join("part-1/trial-0002");
    let check = |start: Value, problem: Option<&str>| {
        set_start(&trial, &start);
        let merged = place.run(&MERGE);
        let joined = merged.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let valid = if problem.is_some() { "3 of 4 valid, 1 invalid" } else { "4 of 4 valid" };
        assert!(joined.contains(valid), "{start}: {joined}");
        let run: Value =
            serde_json::from_slice(&fs::read(place.latest().join("trial-0002/run.json")).unwrap())
                .unwrap();
        let reason = problem.map(|problem| format!("part 1/2: {problem}"));
        assert_eq!(
            run["validity"]["reason"]["problem"].as_str(),
            reason.as_deref(),
            "{start}: {run}"
        );
    };
    let at = 1_795_916_671_867_727_i64;
    let start = |server_us: i64, uncertainty_us: f64| json!({"server_us": server_us, "uncertainty_us": uncertainty_us, "clock_offset_us": 0.0});
    check(start(at, 50_000.0), None);
    for (uncertainty_us, shown) in [(50_001.0, "50001.0"), (1e308, "1e308"), (-1.0, "-1.0")] {
        let problem = format!("start.uncertainty_us is {shown}: not between 0 and 50000");
        check(start(at, uncertainty_us), Some(&problem));
    }
    for server_us in [5, at + 1, i64::MAX] {
        let problem = format!("start.server_us is {server_us}, and {at} in another part");
        check(start(server_us, 150.0), Some(&problem));
    }
    check(Value::Null, Some("start is missing, the moment at which all parts start"));
}

#[test]
fn every_format_says_that_it_is_no_whole_load() {
    let place = place_with_parts();
    // Of four parts, two are missing.
    for index in 0..2 {
        let path = place.path().join(format!("part-{index}/experiment.json"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"of\":2", "\"of\":4")).unwrap();
    }
    place.run(&MERGE);
    for (folder, words, value) in [
        ("part-1", "nly part 1/4 of a load", "1/4"),
        ("runs/latest", "art 2/4, 3/4 is missing", "without 2/4 3/4"),
    ] {
        let said = |format: &str| {
            let ran = place.run(&["report", folder, "--format", format]);
            (ran.stdout, ran.stderr)
        };
        for format in ["text", "json", "md", "junit"] {
            let (stdout, _) = said(format);
            let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(joined.contains(words), "{folder} {format}: {joined}");
        }
        for format in ["jsonl", "sysbench"] {
            let (_, stderr) = said(format);
            assert!(stderr.contains(words), "{folder} {format}: {stderr}");
        }
        let (table, _) = said("csv");
        let rows: Vec<_> = table.lines().map(|line| line.split(',').collect::<Vec<_>>()).collect();
        let column = rows[0].iter().position(|name| *name == "part_of_load").unwrap();
        assert!(
            rows.len() == 3 && rows[1..].iter().all(|row| row[column] == value),
            "{folder}: {table}"
        );
        let (metrics, _) = said("prometheus");
        let mut samples = metrics.lines().filter(|line| !line.starts_with('#')).peekable();
        assert!(samples.peek().is_some(), "{folder}: {metrics}");
        let label = format!(",part_of_load=\"{value}\"");
        assert!(samples.all(|sample| sample.contains(&label)), "{folder}: {metrics}");
        // It has no column for it.
        let stalls = place.run(&["stalls", folder, "--format", "csv"]);
        assert!(stalls.stderr.contains(words), "{folder}: {}", stalls.stderr);
    }
    let compared = place.run(&["compare", "part-0", "part-1", "--format", "csv"]);
    assert!(
        compared.stderr.contains("only part 0/4 of a load")
            && compared.stderr.contains("only part 1/4 of a load")
    );
}
