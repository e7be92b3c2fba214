//! A recorded run of an older version, intact and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use truetps_analysis::Absent;

use crate::{Histograms, Run};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/testdata/before-probe")
}

/// A copy that a test may damage.
fn copy() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(copy.path().join(&folder)).unwrap();
        for entry in fs::read_dir(recorded().join(&folder)).unwrap() {
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
    let copy = copy();
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
