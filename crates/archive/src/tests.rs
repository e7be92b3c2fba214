//! A recorded run of an older version, intact and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use truetps_analysis::Absent;
use truetps_causes::Outcome;
use truetps_pool::PoolOutcome;

use crate::{ExplainedRun, Histograms, PoolRun, Run};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/testdata/before-probe")
}

/// A folder as it was written when only its command line said how to go on with it, and the
/// mixtures of an explanation were a list of their own.
fn before_records(what: &str) -> PathBuf {
    let name = format!("testdata/before-adaptive-{what}");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A copy that a test may damage.
fn copy(source: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(copy.path().join(&folder)).unwrap();
        for entry in fs::read_dir(source.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else {
                fs::copy(entry.path(), copy.path().join(path)).unwrap();
            }
        }
    }
    copy
}

#[test]
fn a_run_has_everything_that_its_folder_has() {
    let run = Run::open(&recorded(), Histograms::Read).unwrap();
    assert_eq!((run.trials.len(), run.all_unread().count()), (2, 0));
    for one in &run.trials {
        assert!(
            !one.intervals.is_empty()
                && one.latency.is_some()
                && one.variables.is_some()
                && one.probe == Err(Absent::NotWatched)
        );
        assert_eq!(one.detail.stalls.absent, Some(Absent::SecondsOnly));
    }
    let analysis = run.analyse();
    assert!(analysis.cells.iter().any(|cell| cell.detail.latency.is_some()));
}

#[test]
fn one_trial_is_read_alone() {
    let run = Run::open(&recorded().join("trial-0002"), Histograms::LeftOut).unwrap();
    let names: Vec<_> = run.trials.iter().map(|one| one.trial.name.as_str()).collect();
    assert_eq!((names, run.trials[0].latency.is_none()), (vec!["trial-0002"], true));
}

#[test]
fn damage_is_named_and_the_rest_is_there() {
    let copy = copy(&recorded());
    fs::write(copy.path().join("trial-0001/run.json"), "{").unwrap();
    fs::write(copy.path().join("trial-0002/intervals.jsonl"), "").unwrap();
    fs::write(copy.path().join("trial-0002/probe.jsonl"), "").unwrap();
    let run = Run::open(copy.path(), Histograms::Read).unwrap();
    assert!(run.has_lost_a_trial());
    let [lost] = &run.unread[..] else { panic!("{:?}", run.unread) };
    assert!(lost.what.starts_with("trial-0001/run.json: "), "{lost:?}");
    let [left] = &run.trials[..] else { panic!("{:?}", run.trials) };
    assert!(
        left.unread.iter().any(|file| file.path.ends_with("trial-0002/intervals.jsonl")),
        "{:?}",
        left.unread
    );
    assert_eq!(left.detail.stalls.absent, Some(Absent::Damaged { file: "intervals.jsonl" }));
    assert_eq!(left.probe, Err(Absent::Damaged { file: "probe.jsonl" }));
    assert!(left.detail.ledger.is_some() && left.latency.is_some());
}

/// What the version that wrote these folders said about them.
#[test]
fn an_older_explanation_is_read_as_it_was() {
    let run = ExplainedRun::open(&before_records("explanation")).unwrap().unwrap();
    let mixtures: Vec<_> = run.trials.iter().map(|(mixture, _)| String::from(*mixture)).collect();
    assert_eq!(mixtures, ["3", "0", "3", "0", "3", "0", "0"]);
    assert!(!run.is_foreign && run.findings.outcome == Outcome::Unfinished);
    assert_eq!((run.findings.trials, run.findings.left), (4, Some(4)));
    assert_eq!(run.findings.noise, Some(1.015_171_537_194_590_2));
}

/// Its trials follow from the search of its version. That version gave these figures, which are
/// means of all trials: disturbed ones count less now.
#[test]
fn an_older_search_for_a_pool_is_judged_anew() {
    let run = PoolRun::open(&before_records("pool")).unwrap().unwrap();
    assert!(!run.is_foreign && run.findings.outcome == PoolOutcome::Unfinished);
    assert_eq!((run.pool.search, run.trials.len(), run.findings.advice), (1, 12, Some(4)));
    let curve = run.findings.curve.iter().map(|point| (point.connections, point.tps));
    let before = [(1, 329.0), (2, 3_308.0), (3, 4_885.0), (4, 7_100.0)];
    for ((connections, tps), (number, mean)) in curve.zip(before) {
        assert_eq!(connections, number);
        assert!((tps / mean - 1.0).abs() < 0.15, "{connections}: {tps}");
    }
}

#[test]
fn an_older_search_for_a_rate_is_read_as_it_was() {
    let run = Run::open(&before_records("rate-search"), Histograms::LeftOut).unwrap();
    assert_eq!(run.trials.len(), 9);
    let found = run.analyse().max_rate.unwrap();
    assert_eq!(found.held.map(|held| held.rate), Some(1_920.0));
    assert_eq!(found.broken.map(|broken| broken.rate), Some(2_010.0));
}

/// A server that died in the middle of a trial says nothing about the trial's rate, although its
/// clients were all there.
#[test]
fn an_invalid_trial_is_no_evidence_about_its_rate() {
    let copy = copy(&before_records("rate-search"));
    let path = copy.path().join("trial-0006/run.json");
    let mut trial: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let reason = serde_json::json!({"code": "server_died", "status": "signal 9", "log": null});
    trial["validity"] = serde_json::json!({"state": "invalid", "reason": reason});
    fs::write(&path, trial.to_string()).unwrap();
    let found = Run::open(copy.path(), Histograms::LeftOut).unwrap().analyse().max_rate.unwrap();
    assert_eq!(found.held.map(|held| held.rate), Some(1_760.0), "1 920 has no other trial");
    assert_eq!(found.broken.map(|broken| broken.rate), Some(2_010.0));
    let of_1920 =
        found.rates.iter().find(|tried| (1_900.0..1_930.0).contains(&tried.rate)).unwrap();
    assert_eq!((of_1920.held, of_1920.of, &of_1920.broken_by), (0, 0, &None));
}
