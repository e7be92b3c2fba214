//! Run folders of schema version 1: `truetps report`, `compare` and `stalls` read them and find the
//! figures that the version that wrote them found (`sweep.csv` and `sysbench.csv` are its reports).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Place, copy_folder};

const FOLDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-1");
/// Two levels in two blocks; the server was stopped for 0.6 s in `trial-0002`.
const SWEEP: &str = "sweep";
const SCRIPT: &str = "sysbench";
/// The run of a script that its user interrupted.
const INTERRUPTED: &str = "interrupted";

fn place_with(folders: &[&str]) -> Place {
    let place = Place::new();
    for folder in folders {
        copy_folder(&Path::new(FOLDERS).join(folder), &place.path().join(folder));
    }
    place
}

/// Column → field of each row.
fn rows(csv: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let columns: Vec<_> = lines.next().unwrap().collect();
    lines.map(|fields| columns.iter().copied().zip(fields).collect()).collect()
}

/// What a later version says of the same figures: they are no figures of the folder.
const JUDGED_ANEW: [&str; 3] = ["noise_sigma", "smallest_visible_effect", "more_blocks"];

/// Whether texts are the same, or numbers but for their last digits, which depend on the order of a
/// sum.
fn is_same(old: &str, new: &str) -> bool {
    let numbers = old.parse::<f64>().ok().zip(new.parse::<f64>().ok());
    old == new || numbers.is_some_and(|(old, new)| (old - new).abs() <= 1e-12 * old.abs())
}

/// Every figure of the old report, in the column that it had.
fn has_the_same_figures(folder: &str) {
    let place = place_with(&[folder]);
    let report = place.run(&["report", folder, "--format", "csv"]).stdout;
    let old = fs::read_to_string(Path::new(FOLDERS).join(format!("{folder}.csv"))).unwrap();
    let (old, new) = (rows(&old), rows(&report));
    assert_eq!(new.len(), old.len());
    for (old, new) in old.iter().zip(&new) {
        for (column, figure) in old {
            if JUDGED_ANEW.contains(column) {
                continue;
            }
            let now = new.get(column).copied().unwrap_or("absent");
            assert!(is_same(figure, now), "{column} of {folder}: {figure} {now}");
        }
    }
}

#[test]
fn a_report_has_the_old_figures() {
    has_the_same_figures(SWEEP);
    has_the_same_figures(SCRIPT);
}

#[test]
fn a_stall_is_found_with_what_happened_beside_it() {
    let place = place_with(&[SWEEP]);
    let text = place.good(&["stalls", SWEEP, "--full"]).stdout;
    for expect in [
        "longest 624 ms",
        "stall  1.1 s  624 ms     99 %  4 390 tps",
        "server CPU: 0.13 cores, usually 0.29",
    ] {
        assert!(text.contains(expect), "{expect}: {text}");
    }
    let list: Value =
        serde_json::from_str(&place.good(&["stalls", SWEEP, "--format", "json"]).stdout).unwrap();
    let stall = &list["trials"][1]["stalls"]["list"][0];
    assert_eq!((&stall["start_ms"], &stall["length_ms"]), (&1100.0.into(), &623.534_408.into()));
}

#[test]
fn two_levels_are_compared() {
    let place = place_with(&[SWEEP]);
    let (a, b) = ("innodb_flush_log_at_trx_commit=1", "innodb_flush_log_at_trx_commit=2");
    let text =
        place.run(&["compare", SWEEP, SWEEP, "--a-levels", a, "--b-levels", b, "--full"]).stdout;
    for expect in [
        "×11.0 [0.204, 589] tps, 2 trials each",
        "A 1 stall in 4.00 s (16 % of it), longest 624 ms; B none in 4.00 s",
        "tps         3 081        33 760     ×11.0 [0.204, 589]",
        "redo log     390 B    395 B",
    ] {
        assert!(text.contains(expect), "{expect}: {text}");
    }
}

fn replace(place: &Place, trial: &str, from: &str, to: &str) {
    let file = place.path().join(SWEEP).join(trial).join("run.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&file, text.replace(from, to)).unwrap();
}

#[test]
fn reasons_are_the_texts_that_were_written() {
    let place = place_with(&[SWEEP, INTERRUPTED]);
    let text = place.run(&["report", INTERRUPTED, "--full"]).stdout;
    assert!(text.contains("trial-0001 (connections=2) partial: the user interrupted it"), "{text}");

    replace(
        &place,
        "trial-0003",
        "\"state\": \"valid\"",
        "\"state\": \"invalid\", \"reason\": \"the disk was full\"",
    );
    replace(
        &place,
        "trial-0004",
        "\"errors\": []",
        "\"errors\": [], \"generator_limited\": \"a worker was busy\"",
    );
    let text = place.run(&["report", SWEEP, "--full"]).stdout;
    for expect in ["invalid: the disk was full", "a worker was busy"] {
        assert!(text.contains(expect), "{expect}: {text}");
    }
}

/// One text was the folder of private servers or the address of an external one.
#[test]
fn a_folder_of_servers_is_distinguished_from_an_address() {
    let place = place_with(&[SWEEP, SCRIPT]);
    let of = |folder: &str| -> (Value, Value) {
        let report: Value =
            serde_json::from_str(&place.run(&["report", folder, "--format", "json"]).stdout)
                .unwrap();
        let experiment = &report["experiment"];
        (experiment["sandbox_dir"].clone(), experiment["server_address"].clone())
    };
    assert_eq!(of(SWEEP), ("/srv/truetps".into(), Value::Null));
    assert_eq!(of(SCRIPT), (Value::Null, "/srv/mariadb/socket".into()));
}

/// `--runs runs-before` and `--runs runs-after`: the folders stand for the newest experiment in
/// each.
#[test]
fn a_folder_of_experiments_is_the_newest_of_them() {
    let place = Place::new();
    for folder in ["runs-before", "runs-after"] {
        fs::create_dir(place.path().join(folder)).unwrap();
        copy_folder(&Path::new(FOLDERS).join(SWEEP), &place.path().join(folder).join("the-run"));
        copy_folder(
            &Path::new(FOLDERS).join(SCRIPT),
            &place.path().join(folder).join("an-older-one"),
        );
        std::os::unix::fs::symlink("the-run", place.path().join(folder).join("latest")).unwrap();
    }
    let by_folders = place.run(&["compare", "runs-before", "runs-after", "--format", "csv"]);
    let by_runs =
        place.run(&["compare", "runs-before/the-run", "runs-after/the-run", "--format", "csv"]);
    assert_eq!(by_folders.code, by_runs.code, "{}", by_folders.stderr);
    let figures = |csv: &str| csv.replace("/latest", "/the-run");
    assert_eq!(figures(&by_folders.stdout), by_runs.stdout);
    assert!(by_runs.stdout.lines().count() > 2, "{}", by_runs.stdout);
    // A folder without any is refused as before.
    fs::create_dir(place.path().join("empty")).unwrap();
    place.refused(&["compare", "empty", "runs-after"], &["empty"]);
}
