//! `truetps report` on folders of an older version, cut off, edited by hand, empty: it says what is
//! wrong by the name of the file, or shows what is there, and never panics.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use truetps_report::{AnswerFormat, AnswerSubject, FORMATS};

use crate::common::{Place, Ran, copy_folder};

/// A run of a version before the probe: two trials, without buckets, gaps and profile.
pub(super) const BEFORE_PROBE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../report/testdata/before-probe");

struct Copied {
    place: Place,
    folder: PathBuf,
}

impl Copied {
    fn new() -> Self {
        let place = Place::new();
        let folder = place.path().join("a run");
        copy_folder(Path::new(BEFORE_PROBE), &folder);
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
        let run = |format: &str| {
            let ran = self.place.run(&["report", "a run", "--format", format]);
            assert!(!ran.stderr.contains("panicked"), "{format}: {}", ran.stderr);
            ran
        };
        let mut all: Vec<_> = FORMATS.iter().map(|format| run(format.name)).collect();
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

    fn shown_whole(&self) {
        let ran = self.report();
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
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

#[test]
fn a_folder_of_an_older_version_has_all_formats() {
    let old = Copied::new();
    let ran = old.report();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("Stalls    not known: the record has whole seconds only"),
        "{}",
        ran.stdout
    );
    let run = |format: &str| old.place.good(&["report", "a run", "--format", format]).stdout;
    assert!(run("sysbench").contains("    transactions:                        "));
    let lines = run("jsonl");
    assert_eq!(lines.lines().count(), 2);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["name"], &first["stalls"]["absent"]["reason"]),
        (&"trial-0001".into(), &"seconds_only".into())
    );
    let page = fs::read_to_string(old.folder.join("report.html")).unwrap();
    assert!(
        page.contains("How response times are spread") && !page.contains("probe.jsonl\""),
        "its files, and no others"
    );
}

#[test]
fn what_was_cut_off_is_named() {
    let cut = |file: &str, to: usize| {
        let copied = Copied::new();
        copied.edit(file, |text| text[..to].to_owned());
        copied
    };
    let length =
        |file: &str| fs::metadata(Path::new(BEFORE_PROBE).join(file)).unwrap().len() as usize;
    let (intervals, latency) = ("trial-0001/intervals.jsonl", "trial-0001/latency.hdr");
    cut(intervals, length(intervals) - 40)
        .shown(0, &["not read: trial-0001/intervals.jsonl: its last line is cut off"]);
    let half =
        "trial-0001/intervals.jsonl: has 1.0 of the 2.0 s that were measured: the rest is missing";
    cut(intervals, length(intervals) - 500).shown(0, &[half]);
    let all =
        "trial-0001/intervals.jsonl: has 0.0 of the 2.0 s that were measured: the rest is missing";
    cut(intervals, 0).shown(0, &[all]);
    cut(latency, length(latency) - 40)
        .shown(0, &["trial-0001/latency.hdr: has 3 of 4 intervals: the rest is missing"]);
    cut(latency, 0)
        .shown(0, &["trial-0001/latency.hdr: has 0 of 4 intervals: the rest is missing"]);
    cut("trial-0001/server/variables.json", 20)
        .shown(0, &["trial-0001/server/variables.json: EOF"]);
    let lost = ["not read: trial-0001/run.json: EOF", "1 of 2 valid, 1 unreadable"];
    cut("trial-0001/run.json", 700).shown(4, &lost);
    cut("trial-0001/run.json", 0).shown(4, &lost);
    cut("experiment.json", 900).refused(4, &["experiment.json: EOF", "restore the file"]);
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
    check(
        run,
        "\"tps\": ",
        "-5.0",
        4,
        "trial-0001/run.json: measured.tps is -5: no measurement has such a value",
    );
    check(
        run,
        "\"tps\": ",
        "1e308",
        4,
        "trial-0001/run.json: measured.tps is 1e308: no measurement has such a value",
    );
    check(run, "\"tps\": ", "NaN", 4, "trial-0001/run.json: expected value at line");
    check(run, "\"tps\": ", "1e999", 4, "trial-0001/run.json: number out of range");
    check(run, "\"tps\": ", "\"fast\"", 4, "trial-0001/run.json: invalid type: string \"fast\"");
    check(run, "\"ok\": ", "-1", 4, "trial-0001/run.json: invalid value: integer `-1`");
    check(
        run,
        "\"ok\": ",
        "18446744073709551615",
        4,
        "trial-0001/run.json: measured.ok is 1.8446744073709552e19: no measurement",
    );
    check(run, "\"state\": ", "\"sure\"", 4, "trial-0001/run.json: unknown variant `sure`");
    check(intervals, "\"tps\":", "-1.0", 0, "trial-0001/intervals.jsonl: line 1: tps is -1");
    check(
        intervals,
        "\"length_ms\":",
        "1e300",
        0,
        "trial-0001/intervals.jsonl: line 1: length_ms is 1",
    );
    check(
        intervals,
        "\"response_us_p99\":",
        "\"?\"",
        0,
        "trial-0001/intervals.jsonl: line 1: invalid type",
    );
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
        .shown(4, &["trial-0001/run.json: is missing, although other files of the trial exist"]);
    without("trial-0001/latency.hdr")
        .shown(0, &["trial-0001/latency.hdr: is missing, although other files"]);
    without("trial-0001/intervals.jsonl").shown(0, &["trial-0001/intervals.jsonl: No such file"]);
    without("experiment.json")
        .refused(2, &["not a run folder: it has neither experiment.json nor run.json"]);
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
    let said = "written by a newer truetps (schema version 99; this one reads up to 2)";
    newer("experiment.json")
        .refused(4, &["experiment.json: ", said, "hint: use truetps 0.1.0, or a newer one"]);
    newer("trial-0002/run.json").shown(4, &[&format!("not read: trial-0002/run.json: {said}")]);
}

#[test]
fn other_folders_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path().join("empty")).unwrap();
    place.refused(&["report", "empty"], &["not a run folder", "hint: "]);
    place.refused(&["report", "nowhere"], &["nowhere: No such file", "hint: "]);
    let copied = Copied::new();
    copied.place.refused(
        &["report", "a run/trial-0001"],
        &["is the folder of one trial: the experiment is the one above it"],
    );
}

#[test]
fn a_schedule_that_no_plan_can_have_is_refused() {
    let copied = Copied::new();
    copied.edit("experiment.json", |text| {
        let mut experiment: serde_json::Value = serde_json::from_str(&text).unwrap();
        let schedule = experiment["schedule"].as_array_mut().unwrap();
        schedule.resize(20_001, schedule[0].clone());
        experiment.to_string()
    });
    let problem =
        "experiment.json: schedule has 20001 trials: more than 20000, the limit of a plan";
    copied.refused(4, &[problem]);
    copied.place.refused(&["stalls", "a run"], &[problem]);
    let resumed = copied.place.run(&["sweep", "--resume", "a run"]);
    assert!(resumed.stderr.contains(problem), "{}", resumed.stderr);
    // A record has as many repetitions as its program was asked for.
    copied.edit("plan.toml", |text| format!("recorded_from = \"slap\"\n{text}"));
    assert!(!copied.place.run(&["report", "a run"]).stderr.contains(problem));
}

/// No schedule that truetps writes has a trial twice; its trial is read twice.
#[test]
fn a_schedule_that_was_edited_is_read_as_it_is() {
    let copied = Copied::new();
    copied.replace("experiment.json", "\"trial-0001\"", "\"trial-0002\"");
    let ran = copied.report();
    assert!(ran.code.is_some_and(|code| code <= 4), "{ran:?}");
}

#[test]
fn names_of_trials_stay_within_the_folder() {
    for name in ["", "../a run/trial-0001", "/tmp/trial-0001", ".."] {
        let copied = Copied::new();
        copied.replace("experiment.json", "\"trial-0001\"", &format!("\"{name}\""));
        copied.refused(4, &["experiment.json: schedule.name is `", "a trial's name has"]);
        let ran = copied.place.run(&["sweep", "--resume", "a run"]);
        assert!(ran.code == Some(2) && ran.stderr.contains("a trial's name has"), "{ran:?}");
    }
    let copied = Copied::new();
    copied.replace("trial-0001/run.json", "\"name\": \"trial-0001\"", "\"name\": \"../x\"");
    copied.shown(4, &["trial-0001/run.json: name is `../x`: not the name of its folder"]);
}

#[test]
fn a_record_without_connections_is_named() {
    let (run, levels) =
        ("trial-0001/run.json", ["0.5", "0", "-8", "true", "\"many\"", "4294967296"]);
    for level in levels {
        let copied = Copied::new();
        copied.replace(run, "\"connections\": 2", &format!("\"connections\": {level}"));
        copied.shown(4, &[&format!("not read: {run}: configuration.connections is ")]);
        let copied = Copied::new();
        copied.replace(
            "experiment.json",
            "\"connections\": 2",
            &format!("\"connections\": {level}"),
        );
        copied.refused(4, &["experiment.json: trial-000", ": configuration.connections is "]);
    }
    let copied = Copied::new();
    copied.replace(run, "\"connections\": 2", "\"clients\": 2");
    copied.shown(4, &["configuration.connections is missing"]);
    let copied = Copied::new();
    copied.edit("plan.toml", |text| {
        format!("recorded_from = \"slap\"\n{text}").replace("connections = ", "sync_binlog = ")
    });
    copied.refused(4, &["plan.toml: line ", ": `factors`: `connections` is missing"]);
}

/// Largest numbers that a file can hold.
#[test]
fn numbers_at_the_end_of_their_range_are_shown() {
    let copied = Copied::new();
    for trial in ["trial-0001", "trial-0002"] {
        let run = format!("{trial}/run.json");
        copied.edit(&run, |text| {
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            let with = |name: &str| {
                (format!("\"{name}\": {}", json[name]), format!("\"{name}\": {}", u32::MAX))
            };
            let (block, position) = (with("block"), with("position"));
            text.replacen(&block.0, &block.1, 1).replacen(&position.0, &position.1, 1)
        });
    }
    copied.shown_whole();
}

/// A pipe has no end, and a reader that waits for one hangs.
#[test]
fn what_is_no_file_is_named() {
    let files =
        ["run.json", "intervals.jsonl", "latency.hdr", "probe.jsonl", "server/variables.json"];
    for file in files {
        let copied = Copied::new();
        let path = copied.folder.join("trial-0001").join(file);
        let _ = fs::remove_file(&path);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let code = if file == "run.json" { 4 } else { 0 };
        copied.shown(code, &[&format!("trial-0001/{file}: is not a regular file")]);
    }
    for file in ["plan.toml", "experiment.json"] {
        let copied = Copied::new();
        let path = copied.folder.join(file);
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert_ne!(copied.report().code, Some(0));
    }
    let copied = Copied::new();
    fs::File::options()
        .write(true)
        .open(copied.folder.join("trial-0001/run.json"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    copied.shown(4, &["trial-0001/run.json: is larger than"]);
}

/// A run folder may be another user's: a link in it could lead root to any file of the host.
#[test]
fn no_link_below_a_run_folder_is_followed() {
    let is_refused = |name: &str, args: &[&str]| {
        let copied = Copied::new();
        let (link, secret) = (copied.folder.join(name), copied.place.path().join("secret"));
        if link.is_dir() {
            fs::rename(&link, &secret).unwrap();
        } else {
            fs::write(&secret, "{\"schema_version\": \"SECRETVAL\"}\n").unwrap();
            fs::remove_file(&link).unwrap();
        }
        symlink(&secret, &link).unwrap();
        copy_folder(Path::new(BEFORE_PROBE), &copied.place.path().join("whole"));
        let ran = copied.place.run(args);
        let said = [&ran.stdout, " ", &ran.stderr]
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .concat();
        assert!(said.contains(&format!("{name}: is a symbolic link")), "{args:?} {name}: {said}");
        let page = fs::read_to_string(copied.folder.join("report.html")).unwrap_or_default();
        assert!(
            !said.contains("SECRETVAL") && !page.contains("SECRETVAL"),
            "{args:?} {name}: {said}"
        );
    };
    let of_experiment = ["plan.toml", "experiment.json"];
    let of_trial = ["trial-0001", "trial-0001/run.json"];
    let series = ["intervals.jsonl", "latency.hdr", "server", "server/variables.json"]
        .map(|name| format!("trial-0001/{name}"));
    let read_by_all = of_experiment.into_iter().chain(of_trial);
    for name in read_by_all.clone().chain(series.iter().map(String::as_str)) {
        is_refused(name, &["report", "a run"]);
        is_refused(name, &["stalls", "a run"]);
        is_refused(name, &["compare", "whole", "a run"]);
    }
    for name in read_by_all {
        is_refused(name, &["sweep", "--resume", "a run"]);
    }
}

/// The user has chosen the way to a run folder.
#[test]
fn links_lead_to_a_run_folder() {
    let copied = Copied::new();
    symlink("a run", copied.place.path().join("latest")).unwrap();
    for named in ["latest", "latest/", "latest/trial-0001"] {
        let ran = copied.place.run(&["stalls", named]);
        assert_eq!(ran.code, Some(0), "{named}: {}", ran.stderr);
    }
}

/// A plan with as many configurations as it may have, of which hardly any was measured. Where the
/// time grew with the square of their number, a report took more than half an hour.
#[test]
fn twenty_thousand_configurations_are_read_in_seconds() {
    let levels =
        |number: u32| (1..=number).map(|level| level.to_string()).collect::<Vec<_>>().join(", ");
    for (format, factors) in [
        ("text", format!("connections = [{}]", levels(20_000))),
        ("csv", format!("connections = [1, 2]\nsync_binlog = [{}]", levels(10_000))),
        ("text", format!("connections = [1]\nrate = [500]\nsync_binlog = [{}]", levels(20_000))),
    ] {
        let copied = Copied::new();
        copied.replace("plan.toml", "connections = [1, 2]", &factors);
        let began = Instant::now();
        let ran = copied.place.run(&["report", "a run", "--format", format]);
        assert!(ran.code.is_some_and(|code| code <= 3), "{format}: {}", ran.stderr);
        assert!(began.elapsed() < Duration::from_mins(2), "{format}: {:?}", began.elapsed());
    }
}

/// The run as a version with the probe would have left it: watched twice a second, with buckets.
fn watched() -> Copied {
    let copied = Copied::new();
    copied.edit("plan.toml", |text| text + "\n[probe]\nenabled = true\n");
    for trial in ["trial-0001", "trial-0002"] {
        copied.edit(&format!("{trial}/intervals.jsonl"), |text| {
            text.replace("}\n", &format!(",\"buckets\":{:?}}}\n", [300; 10]))
        });
        let sample = |half: u32| {
            let (at_ms, writes) = (half * 500, half * 1000);
            let host = format!(
                "{{\"source\":\"host\",\"at_ms\":{at_ms}.0,\"took_ms\":1.0,\"values\":{{\"disk.writes\":{writes}.0}}}}"
            );
            let server = format!(
                "{{\"source\":\"server\",\"at_ms\":{at_ms}.0,\"took_ms\":1.0,\"values\":{{\"status.Innodb_pages_written\":{writes}.0}}}}"
            );
            format!("{server}\n{host}\n")
        };
        let header =
            "{\"schema_version\":1,\"interval_ms\":500.0,\"family\":\"mysql\"}\n".to_owned();
        let samples: String = (0..=5).map(sample).collect();
        fs::write(copied.folder.join(trial).join("probe.jsonl"), header + &samples).unwrap();
    }
    copied
}

impl Copied {
    /// Named by all three commands in every format: where there is a place in the answer, there.
    fn damaged(&self, said: &str) {
        self.shown(0, &[&format!("not read: {said}")]);
        let whole = self.place.path().join("whole");
        copy_folder(Path::new(BEFORE_PROBE), &whole);
        let check = |args: &[&str], subject: AnswerSubject, code: i32| {
            for AnswerFormat { name: format, names_unread, .. } in AnswerFormat::all_for(subject) {
                let ran = self.place.run(&[args, &["--format", format]].concat());
                assert_eq!(ran.code, Some(code), "{args:?} {format}: {}{}", ran.stdout, ran.stderr);
                // Text is broken into lines.
                let joined =
                    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ").replace("\\_", "_");
                let place = if *names_unread { &joined } else { &ran.stderr };
                assert!(place.contains(said), "{args:?} {format}: {place}\nshould contain {said}");
            }
        };
        check(&["report", "a run"], AnswerSubject::Trials, 0);
        check(&["stalls", "a run"], AnswerSubject::List, 0);
        // Two trials each are no evidence.
        check(&["compare", "a run", "whole"], AnswerSubject::Comparison, 3);
        check(&["compare", "whole", "a run"], AnswerSubject::Comparison, 3);
        fs::remove_dir_all(whole).unwrap();
    }

    fn trial_json(&self) -> serde_json::Value {
        let lines = self.place.run(&["report", "a run", "--format", "jsonl"]).stdout;
        serde_json::from_str(lines.lines().next().unwrap()).unwrap()
    }
}

/// The ledger's line of the pages written: whether it is absent, and its source, or the damaged
/// file.
fn pages(trial: &serde_json::Value) -> (bool, Option<&str>) {
    let lines = trial["ledger"]["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["key"] == "pages_written_per_tx").unwrap();
    let is_damaged = line["absent"]["reason"] == "damaged";
    let said = if is_damaged { &line["absent"]["file"] } else { &line["source"] };
    assert!(is_damaged || line["source"].is_string() == line["absent"].is_null(), "{line}");
    (line["per_tx"].is_null(), said.as_str())
}

#[test]
fn damage_of_the_probe_is_named_and_what_is_left_is_used() {
    let whole = watched();
    assert_eq!(whole.report().code, Some(0));
    let trial = whole.trial_json();
    assert_eq!(pages(&trial), (false, Some("Innodb_pages_written")));
    assert!(
        !whole.place.run(&["report", "a run"]).stdout.contains("not read"),
        "nothing is damaged"
    );
    let damage = |said: &str, change: &dyn Fn(&Path)| {
        let copied = watched();
        change(&copied.folder.join("trial-0001/probe.jsonl"));
        copied.damaged(&format!("trial-0001/probe.jsonl: {said}"));
        let trial = copied.trial_json();
        assert_eq!(
            (&trial["stalls"]["absent"], &trial["stalls"]["watched_ms"]),
            (&serde_json::Value::Null, &2000.0.into())
        );
        trial
    };
    let lost = (true, Some("probe.jsonl"));
    let cut =
        |to: usize| move |path: &Path| fs::write(path, &fs::read(path).unwrap()[..to]).unwrap();
    assert_eq!(
        pages(&damage("is missing, although the plan says", &|path| fs::remove_file(path).unwrap())),
        lost
    );
    assert_eq!(pages(&damage("has no complete line", &cut(0))), lost);
    assert_eq!(pages(&damage("has no complete line", &cut(30))), lost);
    assert_eq!(pages(&damage("has no reading", &cut(80))), lost);
    assert!(pages(&damage("its readings end 2.0 s before the measure phase does", &cut(400))).0);
    let last = |path: &Path| cut(fs::read(path).unwrap().len() - 9)(path);
    assert_eq!(
        pages(&damage("its last line is cut off", &last)),
        (false, Some("Innodb_pages_written"))
    );
    let binary = |path: &Path| fs::write(path, b"\x7fELF\x00\xff\n\x00\xff").unwrap();
    assert_eq!(pages(&damage("its first line is not the header of a probe", &binary)), lost);
    let newer = |path: &Path| {
        let text = fs::read_to_string(path).unwrap().replacen(
            "\"schema_version\":1",
            "\"schema_version\":99",
            1,
        );
        fs::write(path, text).unwrap();
    };
    assert_eq!(pages(&damage("written by a newer truetps (schema version 99;", &newer)), lost);
}

#[test]
fn damage_of_the_series_is_named_and_what_is_left_is_used() {
    let damage = |said: &str, file: &str, change: &dyn Fn(&Path)| {
        let copied = watched();
        change(&copied.folder.join("trial-0001").join(file));
        copied.damaged(&format!("trial-0001/{file}: {said}"));
        copied.trial_json()
    };
    let keep = |lines: usize| {
        move |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            let kept: String = text.split_inclusive('\n').take(lines).collect();
            fs::write(path, kept + "{\"phase\":").unwrap();
        }
    };
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    let intervals = "intervals.jsonl";
    let trial =
        damage("has 1.0 of the 2.0 s that were measured: the rest is missing", intervals, &keep(2));
    assert_eq!(
        (&trial["stalls"]["absent"], &trial["stalls"]["watched_ms"]),
        (&serde_json::Value::Null, &1000.0.into())
    );
    for trial in [
        damage("has 0.0 of the 2.0 s that were measured", intervals, &keep(0)),
        damage("No such file", intervals, &remove),
        damage("line 2: expected value", intervals, &|path| {
            fs::write(path, fs::read_to_string(path).unwrap().replacen("\n{", "\n?", 1)).unwrap();
        }),
    ] {
        assert_eq!(trial["stalls"]["absent"]["file"], intervals);
        assert_eq!(pages(&trial), (true, Some("intervals.jsonl")));
    }
    damage("has 2 of 4 intervals: the rest is missing", "latency.hdr", &|path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() - 700]).unwrap();
    });
    damage("is missing, although other files of the trial exist", "latency.hdr", &remove);
}

#[test]
fn a_plan_or_a_schedule_that_is_cut_off_has_a_hint_everywhere() {
    for file in ["experiment.json", "plan.toml"] {
        let copied = Copied::new();
        copied.edit(file, |text| text[..60].to_owned());
        for args in [&["stalls", "a run"][..], &["compare", "a run", "a run"]] {
            copied
                .place
                .refused(args, &[file, "hint: plan.toml and experiment.json record the run"]);
        }
    }
    let copied = Copied::new();
    for trial in ["trial-0001", "trial-0002"] {
        copied.edit(&format!("{trial}/run.json"), |text| text[..700].to_owned());
    }
    for args in [&["stalls", "a run"][..], &["compare", "a run", "a run"]] {
        copied.place.refused(
            args,
            &["trial-0001/run.json: EOF", "can be read", "hint: `truetps report` says"],
        );
    }
}
