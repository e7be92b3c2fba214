//! The main job on a real server: what is recorded, what survives, what is gone afterwards. No test
//! asserts a figure.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use truetps_testkit::share_machine;

use crate::common::{
    Place, Ran, SMALL, SMALL_REDO, has_server, reason_of, signal, signal_taken, wait_until,
    with_small_redo,
};

/// One configuration, three long trials: to be disturbed. The server sleeps for most of them, so
/// that other tests do not.
/// A plan of three trials of 4 s.
pub(crate) const LONG: &str = r#"
name = "long"
about = "a test"
[workload]
sql = ["INSERT INTO line (n) VALUES (1)", "DO SLEEP(0.004)"]
create = "CREATE TABLE line (id INT AUTO_INCREMENT PRIMARY KEY, n INT)"
[load]
warm_up_s = 0.1
measure_s = 4
[factors]
connections = [3]
[design]
blocks = 3
aa_pair = false
"#;

fn json(place: &Place, file: &str) -> serde_json::Value {
    serde_json::from_slice(&fs::read(place.latest().join(file)).unwrap()).unwrap()
}

/// No server of this place runs, and nothing is left for `server clean`.
fn assert_nothing_left(place: &Place) {
    assert!(place.servers().is_empty(), "{:?}", place.servers());
    let list = place.run(&["server", "list"]);
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), ""), "{}", list.stderr);
}

#[test]
fn a_sweep_leaves_a_whole_record_and_no_server() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("small.toml", &with_small_redo(SMALL));
    let ran = place.run(&["sweep", "./small.toml", "--format", "json"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{:?}\n{}", ran.code, ran.stderr);
    let answer: serde_json::Value =
        serde_json::from_str(&ran.stdout).expect("one JSON document on stdout");
    assert_eq!(answer["schema_version"], 2);
    let blocks: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("block ")).collect();
    assert!(
        blocks.len() == 2 && blocks[1].contains("[10/10]  5 of 5 trials valid"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains('\x1b'), "no control characters where stderr is no terminal");

    let experiment = json(&place, "experiment.json");
    assert_eq!(experiment["schedule"].as_array().unwrap().len(), 10);
    for n in 1..=10 {
        let trial = place.run_json(&format!("trial-{n:04}"));
        assert_eq!(trial["validity"]["state"], "valid", "{trial}");
        let measured = &trial["measured"];
        let count = |name: &str| measured[name].as_u64().unwrap();
        assert_eq!(
            count("carried_in") + count("started"),
            count("ok") + count("failed") + count("in_flight")
        );
        assert!(count("ok") > 0 && count("failed") == 0);
        let folder = place.latest().join(format!("trial-{n:04}"));
        for file in [
            "intervals.jsonl",
            "latency.hdr",
            "server/my.cnf",
            "server/variables.json",
            "server/error.log",
        ] {
            assert!(folder.join(file).is_file(), "{file}");
        }
        let variables: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("server/variables.json")).unwrap())
                .unwrap();
        let level = trial["configuration"]["innodb_flush_log_at_trx_commit"].to_string();
        assert_eq!(
            variables["innodb_flush_log_at_trx_commit"],
            level.as_str(),
            "the level that the trial is labelled with"
        );
    }
    assert!(fs::read_to_string(place.latest().join("report.html")).unwrap().contains("</html>"));
    assert_nothing_left(&place);

    // The same answer again, from the folder alone.
    let again = place.run(&["report", "--format", "json"]);
    assert_eq!(again.stdout, ran.stdout);
    for format in ["text", "csv", "md"] {
        assert!(
            place.run(&["report", "--format", format]).stdout.contains("connections"),
            "{format}"
        );
    }
}

/// What a server is that starts with a level, a trial of that level is too, whether it was set at
/// the start or later.
#[test]
fn a_level_is_what_a_server_started_with_it_has() {
    if !has_server() {
        return;
    }
    levels_are_started_with("[2, 1]", 1);
    // A log that is buffered once stays so until the server ends: there is a way from 1 to 2, and
    // none back.
    levels_are_started_with("[1, 2]", 3);
}

fn levels_are_started_with(levels: &str, blocks: u32) {
    let place = Place::with_templates();
    let blocks_line = format!("blocks = {blocks}");
    place.write(
        "plan.toml",
        &with_small_redo(
            &SMALL
                .replace("[1, 0]", levels)
                .replace("[1, 4]", "[1]")
                .replace("blocks = 2", &blocks_line),
        ),
    );
    let ran = place.run(&["sweep", "./plan.toml", "--full"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let couplings = json(&place, "experiment.json")["couplings"].as_array().unwrap().clone();
    for n in 1..=3 * blocks {
        let trial = place.run_json(&format!("trial-{n:04}"));
        let level = &trial["configuration"]["innodb_flush_log_at_trx_commit"];
        let path = place.latest().join(format!("trial-{n:04}/server/variables.json"));
        let variables: serde_json::Value =
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for coupling in couplings.iter().filter(|coupling| coupling["level"] == *level) {
            assert_eq!(
                variables[coupling["name"].as_str().unwrap()],
                coupling["value"],
                "{coupling}"
            );
        }
    }
    // MariaDB since 10.8 has at least this one.
    if let Some(buffering) =
        couplings.iter().find(|coupling| coupling["name"] == "innodb_log_file_buffering")
    {
        assert!(
            ran.stdout.contains("innodb_log_file_buffering"),
            "{buffering} is reported\n{}",
            ran.stdout
        );
    }
}

#[test]
fn restart_only_factors_and_fresh_copies() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    // The binlog is decided when the server starts; sync_binlog is not.
    let plan = SMALL
        .replace(
            "innodb_flush_log_at_trx_commit = [1, 0]",
            "log_bin = [false, true]\nsync_binlog = [0, 1]",
        )
        .replace("connections = [1, 4]", "connections = [2]")
        .replace("blocks = 2", "blocks = 1");
    for datadir in ["refill", "fresh_copy"] {
        place.write("plan.toml", &with_small_redo(&format!("{plan}\ndatadir = \"{datadir}\"\n")));
        let ran = place.run(&["sweep", "./plan.toml"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{datadir}: {:?}\n{}", ran.code, ran.stderr);
        for n in 1..=5 {
            let folder = place.latest().join(format!("trial-{n:04}"));
            let trial = place.run_json(&format!("trial-{n:04}"));
            assert_eq!(trial["validity"]["state"], "valid", "{trial}");
            let variables: serde_json::Value =
                serde_json::from_slice(&fs::read(folder.join("server/variables.json")).unwrap())
                    .unwrap();
            let wanted = if trial["configuration"]["log_bin"] == true { "ON" } else { "OFF" };
            assert_eq!(variables["log_bin"], wanted, "{datadir} {n}");
        }
    }
    assert_nothing_left(&place);
}

#[test]
fn settings_and_levels_are_checked_before_anything_is_recorded() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let check = |from: &str, to: &str, words: &[&str]| {
        place.write("plan.toml", &SMALL.replace(from, to));
        for command in [&["sweep", "./plan.toml"][..], &["plan", "check", "./plan.toml"]] {
            let ran = place.run(command);
            assert_eq!(ran.code, Some(2), "{}", ran.stderr);
            for word in words {
                assert!(ran.stderr.contains(word), "{word:?} should be in:\n{}", ran.stderr);
            }
        }
    };
    let factor = "innodb_flush_log_at_trx_commit = [1, 0]";
    check(
        factor,
        "inodb_flush_log_at_trx_commit = [1, 0]",
        &["inodb_flush", "innodb_flush_log_at_trx_commit"],
    );
    check(
        factor,
        "innodb_flush_log_at_trx_commit = [1, 77]",
        &["innodb_flush_log_at_trx_commit", "77"],
    );
    check(factor, "innodb_flush_method = [\"O_DIRECTT\"]", &["innodb_flush_method", "O_DIRECTT"]);
    let words = [
        "it is one of PostgreSQL",
        "hint: for a private PostgreSQL write `flavour = \"postgresql\"`",
    ];
    check(factor, "synchronous_commit = [\"on\", \"off\"]", &words);
    check(factor, "datadir = [\"/tmp\"]", &["datadir"]);
    assert!(!place.path().join("runs").exists());
    // The program takes the level; this host has no room for it.
    place.write(
        "plan.toml",
        &SMALL.replace(factor, "innodb_buffer_pool_size = [\"64M\", \"8000G\"]"),
    );
    let ran = place.run(&["sweep", "./plan.toml"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("of memory"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(place.path().join("runs")).map_or(0, Iterator::count), 0);
    assert_nothing_left(&place);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_resume_does_the_rest() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("long.toml", &with_small_redo(LONG));
    let child = place.start(&["sweep", "./long.toml"]);
    place.wait_for_interval("trial-0002");
    // The interval is of the warm-up: on a busy disk nothing may be measured yet.
    std::thread::sleep(Duration::from_secs(1));
    signal(child.id(), Signal::INT);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("--resume"), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 of 3 valid"), "the answer so far is printed: {}", ran.stdout);
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "valid");
    let second = place.run_json("trial-0002");
    assert_eq!(second["validity"]["state"], "partial");
    assert!(second["measured"]["ok"].as_u64().unwrap() > 0, "{second}");
    assert_nothing_left(&place);

    let first = place.run_json("trial-0001");
    let resumed = place.run(&["sweep", "--resume"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(place.run_json("trial-0001"), first, "what was valid is not measured again");
    for trial in ["trial-0002", "trial-0003"] {
        assert_eq!(place.run_json(trial)["validity"]["state"], "valid");
    }
    assert!(
        place.latest().join("trial-0002.attempt-1/run.json").is_file(),
        "the first attempt is kept"
    );
}

#[test]
fn an_experiment_is_extended_by_more_blocks() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("small.toml", &with_small_redo(&SMALL.replace("blocks = 2", "blocks = 1")));
    let first = place.run(&["sweep", "./small.toml"]);
    assert!(!first.stdout.contains("extended"), "{}", first.stdout);
    let experiment = || {
        serde_json::from_slice(&fs::read(place.latest().join("experiment.json")).unwrap()).unwrap()
    };
    let before: serde_json::Value = experiment();
    place.refused(&["sweep", "--resume", "--blocks", "0"], &["--blocks"]);

    let ran = place.run(&["sweep", "--resume", "--blocks", "2", "--full"]);
    assert!(
        ran.stdout.contains("10 of 10 valid; 2 blocks in random order"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert!(ran.stdout.contains("extended from 1 to 2 blocks"), "{}", ran.stdout);
    let after: serde_json::Value = experiment();
    let trials = |json: &serde_json::Value| json["schedule"].as_array().unwrap().clone();
    assert_eq!((trials(&before).len(), trials(&after).len()), (5, 10));
    assert_eq!(trials(&after)[..5], trials(&before)[..]);
    let extension = &after["extensions"][0];
    assert_eq!((&extension["blocks_before"], &extension["blocks"]), (&1.into(), &2.into()));
    place.refused(
        &["sweep", "--resume", "--blocks", "1"],
        &["the experiment has 2 blocks", "hint: "],
    );
    assert_nothing_left(&place);
}

/// What is decided depends on the machine; that blocks are added only as asked, and only to what is
/// open, does not.
#[test]
fn more_blocks_follow_until_it_is_decided() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("small.toml", &with_small_redo(SMALL));
    place.refused(
        &["sweep", "./small.toml", "--until-decided", "--at-most", "1s"],
        &["--at-most 1 s", "hint: "],
    );
    place.refused(&["sweep", "./small.toml", "--at-most", "1h"], &["--until-decided"]);
    place.refused(&["sweep", "./small.toml", "--add-blocks", "1"], &["--resume"]);

    let ran = place.run(&["sweep", "./small.toml", "--until-decided"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{:?}\n{}", ran.code, ran.stderr);
    let experiment = json(&place, "experiment.json");
    // Left out where the planned blocks have decided all.
    let steps = experiment["extensions"].as_array().map_or(&[][..], Vec::as_slice);
    let ends: Vec<_> = steps.iter().map(|step| step["blocks"].as_u64().unwrap()).collect();
    assert!([&[][..], &[4], &[4, 8]].contains(&&ends[..]), "doubled, at most twice: {ends:?}");
    let trials = experiment["schedule"].as_array().unwrap();
    assert!(trials.iter().all(|trial| {
        let name = trial["name"].as_str().unwrap();
        place.run_json(name)["validity"]["state"] == "valid"
    }));

    let added = place.run(&["sweep", "--resume", "--add-blocks", "1"]);
    assert!(added.stderr.contains("1 more block of "), "{}", added.stderr);
    let after = json(&place, "experiment.json");
    assert_eq!(after["extensions"].as_array().unwrap().len(), steps.len() + 1);
    assert!(after["schedule"].as_array().unwrap().len() > trials.len());
    assert_nothing_left(&place);
}

#[test]
fn kill_9_leaves_a_readable_folder_and_no_server() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("long.toml", &with_small_redo(LONG));
    let mut child = place.start(&["sweep", "./long.toml"]);
    place.wait_for_interval("trial-0001");
    assert_eq!(place.servers().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the server to be gone", || place.servers().is_empty());
    assert_eq!(place.run_json("trial-0001")["validity"]["state"], "partial");
    let report = place.run(&["report"]);
    assert!(
        report.stdout.contains("partial") || report.stdout.contains("not finished"),
        "{}",
        report.stdout
    );

    let list = place.run(&["server", "list"]);
    assert!(list.stdout.contains("left behind"), "{}", list.stdout);
    let clean = place.run(&["server", "clean"]);
    assert!(clean.stdout.contains("removed"), "{} {}", clean.stdout, clean.stderr);
    assert_nothing_left(&place);
}

#[test]
fn a_server_that_dies_or_hangs_costs_its_trial_only() {
    if !has_server() {
        return;
    }
    // The threads below have no name, and so no permit of their own.
    let _machine = share_machine();
    // Beside each other: it takes a while until a server hangs.
    thread::scope(|scope| {
        for (what, with, words) in [
            ("dies", Signal::KILL, "the server died"),
            ("hangs", Signal::STOP, "no longer answers"),
        ] {
            scope.spawn(move || a_disturbed_server_costs_its_trial_only(what, with, words));
        }
    });
}

fn a_disturbed_server_costs_its_trial_only(what: &str, with: Signal, words: &str) {
    let place = Place::with_templates();
    place.write("long.toml", &with_small_redo(LONG));
    let child = place.start(&["sweep", "./long.toml"]);
    place.wait_for_interval("trial-0001");
    let server = place.servers()[0];
    signal(server, with);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{what}: {}", ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "invalid");
    assert!(reason_of(&trial).contains(words), "{trial}");
    for trial in ["trial-0002", "trial-0003"] {
        assert_eq!(place.run_json(trial)["validity"]["state"], "valid", "{what}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("NOT VALID"), "{}", ran.stderr);
    assert_nothing_left(&place);
}

/// A suspended generator has measured nothing, and nothing of it is the server's doing: not in a
/// closed loop, not in an open one.
#[test]
fn a_suspended_generator_blames_no_server() {
    if !has_server() {
        return;
    }
    for loop_flags in [&["-c", "2"][..], &["-c", "4", "--rate", "300"]] {
        let place = Place::with_templates();
        let flags =
            ["run", "insert", "--table-rows=500", "--warm-up=0.1", "--measure=4", SMALL_REDO];
        let child = place.start(&[&flags, loop_flags].concat());
        place.wait_for_interval("trial-0001");
        signal(child.id(), Signal::STOP);
        std::thread::sleep(Duration::from_millis(1100));
        signal(child.id(), Signal::CONT);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_ne!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let trial = place.run_json("trial-0001");
        assert_eq!(trial["validity"]["state"], "invalid", "{trial}");
        let reason = reason_of(&trial);
        assert!(reason.contains("the load generator was suspended for "), "{reason}");
        let suspensions = trial["engine"]["suspensions"].as_array().unwrap();
        assert!(
            suspensions.iter().any(|one| one["length_ms"].as_f64().unwrap() >= 900.0),
            "{trial}"
        );
        assert!(trial["measured"]["sustained"].is_null(), "{trial}");
        let stalls = place.run(&["stalls", "runs/latest"]);
        let report = place.run(&["report", "runs/latest"]);
        for text in [&ran.stdout, &ran.stderr, &stalls.stdout, &report.stdout] {
            for blame in ["did not answer the probe", "sustained: yes", "longest", "hangs"] {
                assert!(!text.contains(blame), "{blame}: {text}");
            }
        }
        assert!(
            stalls.stdout.contains("the load generator was suspended"),
            "{}{}",
            stalls.stdout,
            stalls.stderr
        );
        let stalls: serde_json::Value =
            serde_json::from_str(&place.run(&["stalls", "runs/latest", "--format=json"]).stdout)
                .unwrap();
        assert_eq!(stalls["trials"][0]["stalls"]["absent"]["reason"], "suspended", "{stalls}");
    }
}

/// As `nohup` starts it; and what ends it otherwise is in its exit code, as a shell would have it.
#[test]
fn a_signal_that_was_ignored_at_the_start_ends_nothing() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let program = env!("CARGO_BIN_EXE_truetps");
    let run =
        ["run", "insert", "-c=2", "--table-rows=500", "--warm-up=0.1", "--measure=3", SMALL_REDO];
    for (ignored, sent, expect) in [
        ("HUP", Signal::HUP, Some(0)),
        ("INT", Signal::INT, Some(0)),
        ("INT", Signal::HUP, Some(129)),
        ("HUP", Signal::TERM, Some(143)),
    ] {
        let ignores = format!("trap '' {ignored}; exec \"$0\" \"$@\"");
        let args = [&["-c", &ignores, program][..], &run].concat();
        let mut command = place.program(Path::new("/bin/sh"), &args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        place.wait_for_interval("trial-0001");
        signal(child.id(), sent);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, expect, "{ignored} ignored, {sent:?}: {}{}", ran.stdout, ran.stderr);
        fs::remove_dir_all(place.path().join("runs")).unwrap();
    }
}

#[test]
fn clients_that_cannot_connect_make_the_trial_invalid() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let ran = place.run(&[
        "run",
        "insert",
        "--connections",
        "20",
        "--measure=0.5",
        "--warm-up=0",
        "--table-rows=100",
        "--set",
        "max_connections=12",
        SMALL_REDO,
    ]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let trial = place.run_json("trial-0001");
    let reason = reason_of(&trial);
    assert!(
        reason.contains("of 20 clients could not connect")
            && reason.contains("Too many connections"),
        "{reason}"
    );
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Too many connections"), "{}", ran.stdout);
}

#[test]
fn two_at_once_do_not_meet() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("small.toml", &with_small_redo(SMALL));
    let both = [0, 1].map(|_| place.start(&["sweep", "./small.toml"]));
    for child in both {
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    }
    let experiments = fs::read_dir(place.path().join("runs")).unwrap().count();
    assert_eq!(experiments, 3, "two experiments and the link to the newest");
    assert_nothing_left(&place);
}

#[test]
fn an_experiment_that_runs_cannot_be_resumed() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("long.toml", &with_small_redo(LONG));
    let mut child = place.start(&["sweep", "./long.toml"]);
    place.wait_for_interval("trial-0001");
    let second = place.run(&["sweep", "--resume"]);
    assert_eq!(second.code, Some(2), "{}", second.stderr);
    assert!(second.stderr.contains("another truetps is measuring"), "{}", second.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    // The lock went with its holder.
    let resumed = place.run(&["sweep", "--resume"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
}

#[test]
fn a_full_disk_ends_the_experiment_with_what_it_has() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("long.toml", &with_small_redo(LONG));
    // A small file system, where the tests may mount one. It has the room that is tried before
    // anything starts, and during the first trial something else takes most of it.
    let runs = place.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let mounted = rustix::mount::mount(
        "none",
        &runs,
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        c"size=720k",
    );
    if let Err(error) = mounted {
        eprintln!("SKIPPED: a small file system cannot be mounted here: {error}");
        return;
    }
    let child = place.start(&["sweep", "./long.toml", "--blocks", "20"]);
    place.wait_for_interval("trial-0001");
    fs::write(runs.join("taken"), vec![1; 560 << 10]).unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    let valid = (1..=20).filter(|n| {
        let path = runs.join(format!("latest/trial-{n:04}/run.json"));
        fs::read_to_string(path).is_ok_and(|text| text.contains("\"valid\""))
    });
    let valid = valid.count();
    rustix::mount::unmount(&runs, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
    assert!(valid >= 1, "trials before the disk was full are kept\n{}", ran.stderr);
    assert_nothing_left(&place);
}

#[test]
fn the_second_ctrl_c_leaves_at_once() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("long.toml", &with_small_redo(&LONG.replace("measure_s = 4", "measure_s = 60")));
    let mut child = place.start(&["sweep", "./long.toml"]);
    place.wait_for_interval("trial-0001");
    // A server that does not answer holds up the polite end.
    let server = place.servers()[0];
    signal(server, Signal::STOP);
    signal_taken(child.id(), Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(
        child.try_wait().unwrap().is_none(),
        "the first one waits for the transactions in flight"
    );
    signal(child.id(), Signal::INT);
    wait_until("the program to leave", || child.try_wait().unwrap().is_some());
    wait_until("its server to be gone", || place.servers().is_empty());
}
