//! `truetps report` on folders of an older version, cut off, edited by hand, empty: it says what is wrong by the name of the
//! file, or shows what is there, and never panics.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Place, Ran};

/// A run of a version before the probe: two trials, without buckets, gaps and profile.
const BEFORE_PROBE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/testdata/before-probe");
const FORMATS: [&str; 6] = ["text", "json", "csv", "md", "jsonl", "sysbench"];

struct Copied {
    place: Place,
    folder: PathBuf,
}

impl Copied {
    fn new() -> Self {
        let place = Place::new();
        let folder = place.path().join("a run");
        copy(Path::new(BEFORE_PROBE), &folder);
        Self { place, folder }
    }

    fn edit(&self, file: &str, change: impl Fn(String) -> String) -> &Self {
        let path = self.folder.join(file);
        let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let changed = change(text.clone());
        assert_ne!(text, changed, "{file} has what is to be changed");
        fs::write(path, changed).unwrap();
        self
    }

    fn replace(&self, file: &str, from: &str, to: &str) -> &Self {
        self.edit(file, |text| text.replacen(from, to, 1))
    }

    /// All formats: the text of the first one, with the exit code that all have.
    fn report(&self) -> Ran {
        let run = |format: &&str| {
            let ran = self.place.run(&["report", "a run", "--format", format]);
            assert!(!ran.stderr.contains("panicked"), "{format}: {}", ran.stderr);
            ran
        };
        let mut all: Vec<_> = FORMATS.iter().map(run).collect();
        assert!(all.iter().all(|ran| ran.code == all[0].code), "{all:?}");
        all.swap_remove(0)
    }

    /// What is there is shown, and what is not is named in the answer and on the page.
    fn shown(&self, code: i32, expect: &[&str]) {
        let ran = self.report();
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        let page = fs::read_to_string(self.folder.join("report.html")).unwrap();
        for part in expect {
            let joined = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(joined.contains(part), "{joined}\nshould contain {part}");
            assert!(page.contains("Files that could not be read"), "{part}");
        }
    }

    fn refused(&self, code: i32, expect: &[&str]) {
        let ran = self.report();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{}", ran.stderr);
        for part in expect {
            assert!(ran.stderr.contains(part), "{}\nshould contain {part}", ran.stderr);
        }
        assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_folder_of_an_older_version_has_all_formats() {
    let old = Copied::new();
    let ran = old.report();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Stalls    not known: the record has whole seconds only"), "{}", ran.stdout);
    let run = |format: &str| old.place.good(&["report", "a run", "--format", format]).stdout;
    assert!(run("sysbench").contains("    transactions:                        "));
    let lines = run("jsonl");
    assert_eq!(lines.lines().count(), 2);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["name"], &first["stalls"]["unknown"]), (&"trial-0001".into(), &"no_buckets".into()));
    let page = fs::read_to_string(old.folder.join("report.html")).unwrap();
    assert!(
        page.contains("How response times are spread") && !page.contains("probe.jsonl\""),
        "its files, and no others"
    );
}

#[test]
fn what_a_kill_cut_off_is_left_out() {
    let cut = |file: &str, to: usize| {
        let copied = Copied::new();
        copied.edit(file, |text| text[..to].to_owned());
        copied
    };
    let length = |file: &str| fs::metadata(Path::new(BEFORE_PROBE).join(file)).unwrap().len() as usize;
    cut("trial-0001/intervals.jsonl", length("trial-0001/intervals.jsonl") - 40).shown(0, &[]);
    cut("trial-0001/latency.hdr", length("trial-0001/latency.hdr") - 40).shown(0, &[]);
    cut("trial-0001/latency.hdr", 0).shown(0, &[]);
    cut("trial-0001/intervals.jsonl", 0).shown(0, &[]);
    cut("trial-0001/server/variables.json", 20).shown(0, &["trial-0001/server/variables.json: EOF"]);
    let lost = ["not read: trial-0001/run.json: EOF", "1 of 2 valid, 1 unreadable"];
    cut("trial-0001/run.json", 700).shown(4, &lost);
    cut("trial-0001/run.json", 0).shown(4, &lost);
    cut("experiment.json", 900).refused(4, &["experiment.json: EOF", "put back the file"]);
    cut("experiment.json", 0).refused(4, &["experiment.json: EOF"]);
    cut("plan.toml", 100).refused(4, &["plan.toml: "]);
}

#[test]
fn numbers_that_cannot_be_are_named() {
    let check = |file: &str, from: &str, to: &str, code: i32, expect: &str| {
        let copied = Copied::new();
        copied.edit(file, |text| {
            let at = text.find(from).unwrap() + from.len();
            let end = at + text[at..].find([',', '\n', '}']).unwrap();
            format!("{}{to}{}", &text[..at], &text[end..])
        });
        copied.shown(code, &[expect]);
    };
    let (run, intervals) = ("trial-0001/run.json", "trial-0001/intervals.jsonl");
    check(run, "\"tps\": ", "-5.0", 4, "trial-0001/run.json: measured.tps is -5: nothing that was measured can be");
    check(run, "\"tps\": ", "NaN", 4, "trial-0001/run.json: expected value at line");
    check(run, "\"tps\": ", "1e999", 4, "trial-0001/run.json: number out of range");
    check(run, "\"tps\": ", "\"fast\"", 4, "trial-0001/run.json: invalid type: string \"fast\"");
    check(run, "\"ok\": ", "-1", 4, "trial-0001/run.json: invalid value: integer `-1`");
    check(run, "\"ok\": ", "18446744073709551615", 4, "trial-0001/run.json: measured.ok is 18446744073709552000");
    check(run, "\"state\": ", "\"sure\"", 4, "trial-0001/run.json: unknown variant `sure`");
    check(intervals, "\"tps\":", "-1.0", 0, "trial-0001/intervals.jsonl: line 1: tps is -1");
    check(intervals, "\"length_ms\":", "1e300", 0, "trial-0001/intervals.jsonl: line 1: length_ms is 1");
    check(intervals, "\"response_us_p99\":", "\"?\"", 0, "trial-0001/intervals.jsonl: line 1: invalid type");
}

#[test]
fn a_line_of_histograms_that_was_edited_is_named() {
    let copied = Copied::new();
    copied.replace("trial-0001/latency.hdr", "Tag=measure", "Tag=elsewhere");
    copied.shown(0, &["trial-0001/latency.hdr: line ", " cannot be understood"]);
}

#[test]
fn files_that_are_missing() {
    let without = |file: &str| {
        let copied = Copied::new();
        fs::remove_file(copied.folder.join(file)).unwrap();
        copied
    };
    without("trial-0001/run.json")
        .shown(4, &["trial-0001/run.json: is missing, although the trial has left other files"]);
    without("trial-0001/latency.hdr").shown(0, &[]);
    without("trial-0001/intervals.jsonl").shown(0, &["trial-0001/intervals.jsonl: No such file"]);
    without("experiment.json").refused(2, &["is not an experiment's folder: it has no experiment.json"]);
    without("plan.toml").refused(4, &["plan.toml: No such file"]);
    let copied = Copied::new();
    fs::remove_dir_all(copied.folder.join("trial-0001")).unwrap();
    let ran = copied.report();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 of 2 valid, 1 not run"), "{}", ran.stdout);
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let newer = |file: &str| {
        let copied = Copied::new();
        copied.replace(file, "\"schema_version\": 1", "\"schema_version\": 99");
        copied
    };
    let said = "written by a newer truetps (schema version 99; this one reads up to 1)";
    newer("experiment.json").refused(4, &["experiment.json: ", said, "hint: use the truetps that has written it"]);
    newer("trial-0002/run.json").shown(4, &[&format!("not read: trial-0002/run.json: {said}")]);
}

#[test]
fn other_folders_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path().join("empty")).unwrap();
    place.refused(&["report", "empty"], &["is not an experiment's folder", "hint: "]);
    place.refused(&["report", "nowhere"], &["nowhere: No such file", "hint: "]);
    let copied = Copied::new();
    copied
        .place
        .refused(&["report", "a run/trial-0001"], &["is the folder of one trial: the experiment is the one above it"]);
}

/// The schedule of somebody's editor: trials twice, with other names, or none.
#[test]
fn a_schedule_that_was_edited_is_read_as_it_is() {
    for (from, to) in
        [("\"trial-0001\"", "\"trial-0002\""), ("\"trial-0001\"", "\"\""), ("\"trial-0001\"", "\"../a run\"")]
    {
        let copied = Copied::new();
        copied.replace("experiment.json", from, to);
        let ran = copied.report();
        assert!(ran.code.is_some_and(|code| code <= 4), "{from} {to}: {ran:?}");
    }
}
