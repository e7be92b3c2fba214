//! Emulated disks and crashes, on a real server.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{
    Place, SMALL_REDO, has_disks, has_server, mounts_below, signal, wait_until, with_small_redo,
};

const PLAN: &str = "name = \"c\"\nabout = \"What is lost?\"\n[workload]\nname = \"insert\"\n\
    [factors]\ninnodb_flush_log_at_trx_commit = [2]\nlog_bin = [false]\nconnections = [4]\n";

const ON_A_DISK: [&str; 8] = [
    "run",
    "insert",
    "--disk",
    "hdd7200",
    "--connections=2",
    "--warm-up=0.2",
    "--table-rows=500",
    SMALL_REDO,
];

fn crashes(place: &Place, args: &[&str]) -> (Option<i32>, Value) {
    let plan = place.write("crash.toml", &with_small_redo(PLAN));
    let words = ["crash", plan.to_str().unwrap(), "--format", "json"];
    let ran = place.run(&[&words[..], args].concat());
    let document = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{:?}: {}", ran.code, ran.stderr));
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
    assert_eq!(mounts_below(&place.home()), Vec::<String>::new());
    (ran.code, document)
}

/// The summary of a role and a kind.
fn summary<'a>(document: &'a Value, role: &str, kind: &str) -> &'a Value {
    let cells = document["cells"].as_array().unwrap().iter().filter(|cell| cell["role"] == role);
    cells
        .flat_map(|cell| cell["kinds"].as_array().unwrap())
        .find(|one| one["kind"] == kind)
        .unwrap()
}

#[test]
fn the_end_of_a_server_loses_what_it_had_not_written() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    // Too few: nothing that was not lost is a statement.
    let (code, few) = crashes(&place, &["--kinds", "kill", "--crashes", "1"]);
    assert_eq!(
        (code, &summary(&few, "cell", "kill")["verdict"]),
        (Some(3), &"no_statement".into())
    );
    let (code, document) = crashes(&place, &["--kinds", "kill", "--crashes", "5"]);
    assert_eq!(code, Some(0), "{document}");
    check_blocks(&document);
    for role in ["cell", "keeps_all"] {
        let kept = summary(&document, role, "kill");
        assert_eq!((&kept["lost_max"], &kept["verdict"]), (&0.into(), &"kept".into()), "{kept}");
        // 1 − 0.05^(1/5).
        let bound = kept["loss_share_max"].as_f64().unwrap();
        assert!((bound - 0.450_720).abs() < 1e-5, "{kept}");
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

/// No server has so much memory: it does not start.
#[test]
fn a_server_that_does_not_start_leaves_out_its_own_crashes_only() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let plan = PLAN.replace(
        "innodb_flush_log_at_trx_commit = [2]",
        "innodb_buffer_pool_size = [\"32M\", \"90000G\"]",
    );
    let plan = place.write("memory.toml", &with_small_redo(&plan));
    let words = ["crash", plan.to_str().unwrap(), "--kinds=kill", "--crashes=1", "--format=json"];
    let ran = place.run(&words);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let configurations = document["configurations"].as_array().unwrap();
    let left_out = configurations.iter().filter(|one| one["left_out"].is_string());
    let left_out: Vec<_> =
        left_out.map(|one| &one["configuration"]["innodb_buffer_pool_size"]).collect();
    assert_eq!(left_out, ["90000G"], "{document}");
    // Both controls, and the other configuration.
    assert_eq!(document["crashes"].as_array().unwrap().len(), 3, "{document}");
    assert_eq!(document["is_complete"], false);
    assert!(ran.stderr.contains("its remaining crashes are left out"), "{}", ran.stderr);
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

/// Every block crashes each configuration once, the controls among them, and not always in the same
/// order; the price is one of pairs.
fn check_blocks(document: &Value) {
    let crashes = document["crashes"].as_array().unwrap();
    let roles_in = |block: u64| {
        let of_block = crashes.iter().filter(move |crash| crash["block"] == block);
        of_block.map(|crash| crash["role"].as_str().unwrap()).collect::<Vec<_>>()
    };
    let orders: std::collections::BTreeSet<_> = (0..5).map(roles_in).collect();
    for order in &orders {
        let mut roles = order.clone();
        roles.sort_unstable();
        assert_eq!(roles, ["cell", "keeps_all", "loses_some"], "{document}");
    }
    assert!(orders.len() > 1, "{orders:?}");
    assert!(crashes.iter().all(|crash| crash["surroundings"].is_object()), "{document}");
    let cells = document["cells"].as_array().unwrap();
    let price = |role: &str| &cells.iter().find(|cell| cell["role"] == role).unwrap()["price"];
    // The only configuration of the plan promises to keep all when its server is killed.
    assert_eq!((price("cell"), price("keeps_all")), (&Value::Null, &Value::Null), "{document}");
    assert_eq!(document["safest"]["innodb_flush_log_at_trx_commit"], 2, "{document}");
}

#[test]
fn a_power_cut_loses_what_was_not_flushed() {
    if !has_server() || !has_disks("a_power_cut_loses_what_was_not_flushed") {
        return;
    }
    let place = Place::with_templates();
    let (code, document) =
        crashes(&place, &["--disk", "native", "--kinds", "os,power", "--crashes", "2"]);
    assert_eq!(code, Some(0), "{document}");
    for kind in ["os", "power"] {
        assert_eq!(summary(&document, "keeps_all", kind)["verdict"], "no_statement", "{document}");
        assert_eq!(summary(&document, "cell", kind)["verdict"], "lost_as_allowed", "{document}");
        assert_eq!(
            summary(&document, "loses_some", kind)["verdict"],
            "lost_as_allowed",
            "{document}"
        );
    }
    // Against the control, which is the only one that keeps all.
    let cells = document["cells"].as_array().unwrap().iter();
    let price = &cells.clone().find(|cell| cell["role"] == "cell").unwrap()["price"];
    assert!(price["tps_ratio"]["n"] == 4 && price["verdict"].is_string(), "{document}");
    let folder = document_folder(&place);
    let report = place.run(&["report", folder.to_str().unwrap(), "--full"]);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<h2>Controls</h2>") && !page.contains("src=\"http"), "{page}");
    assert!(
        report.code == Some(0)
            && report.stdout.contains("losses only where the settings allow them"),
        "{report:?}"
    );
}

fn document_folder(place: &Place) -> std::path::PathBuf {
    let runs = fs::read_dir(place.path().join("runs")).unwrap();
    runs.map(|entry| entry.unwrap().path()).find(|path| path.join("crash.json").exists()).unwrap()
}

#[test]
fn a_binlog_that_is_flushed_has_what_the_table_has() {
    if !has_server() || !has_disks("a_binlog_that_is_flushed_has_what_the_table_has") {
        return;
    }
    let place = Place::with_templates();
    let plan = PLAN
        .replace("[2]", "[1]")
        .replace("[false]", "[true]")
        .replace("log_bin", "sync_binlog = [1, 0]\nlog_bin");
    let plan = place.write("binlog.toml", &with_small_redo(&plan));
    let ran = place.run(&[
        "crash",
        plan.to_str().unwrap(),
        "--disk=native",
        "--kinds=os",
        "--crashes=2",
        "--format=json",
    ]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["not_proven"], serde_json::json!([]), "{document}");
    assert_eq!(document["is_complete"], true, "{document}");
    // What the binlog loses may take rows of the table with it. Where it does not, two crashes
    // state nothing.
    let mut of_plan = document["crashes"].as_array().unwrap().iter();
    let lost = of_plan.any(|one| one["role"] == "cell" && one["lost"].as_u64() > Some(0));
    assert_eq!(ran.code, Some(if lost { 0 } else { 3 }), "{}", ran.stderr);
    let mut seen = 0;
    for crash in
        document["crashes"].as_array().unwrap().iter().filter(|crash| crash["role"] == "cell")
    {
        let (is_flushed, binlog) = (crash["configuration"]["sync_binlog"] == 1, &crash["binlog"]);
        assert_eq!(binlog["binlog_only"], 0, "{crash}");
        assert!(!is_flushed || binlog["rows"].as_u64() > Some(0), "{crash}");
        assert_eq!(binlog["table_only"] == 0, is_flushed, "{crash}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn kinds_without_a_disk_are_refused_before_anything_starts() {
    let place = Place::with_templates();
    let plan = place.write("crash.toml", &with_small_redo(PLAN));
    let plan = plan.to_str().unwrap();
    place.refused(&["crash", plan, "--kinds", "power"], &["--kinds power", "--disk"]);
    place.refused(
        &["crash", plan, "--kinds", "kill", "--format", "csv"],
        &["invalid value 'csv' for '--format <FORMAT>'", "text, json, md"],
    );
    place.refused(&["crash", plan, "--kinds", "fire"], &["not one of kill, os, power"]);
    place.refused(
        &["run", "insert", "--disk", "hdd720"],
        &["there is no disk profile `hdd720`", "hdd7200"],
    );
    let nonsense = place.write(
        "mine.toml",
        "name = \"mine\"\nabout = \"\"\nvolatile_cache_mb = 1\nwrite_us = -1\n",
    );
    place.refused(
        &["run", "insert", "--disk", nonsense.to_str().unwrap()],
        &["mine.toml", "write_us"],
    );
}

#[test]
fn a_commit_on_a_spinning_disk_takes_a_revolution() {
    if !has_server() || !has_disks("a_commit_on_a_spinning_disk_takes_a_revolution") {
        return;
    }
    let place = Place::with_templates();
    let ran = place.good(
        &[&ON_A_DISK[..], &["--measure=1", "--set", "log_bin=OFF", "--format", "json"]].concat(),
    );
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let disk = &document["disks"][0];
    assert_eq!(
        (&disk["profile"], disk["overwrite_flushes"].as_f64()),
        (&"hdd7200".into(), Some(1.0)),
        "{disk}"
    );
    // Half a revolution at least, on a machine as busy as may be.
    let p50_us = document["trials"][0]["response_us_p50"].as_f64().unwrap();
    assert!(p50_us > 4_000.0, "{p50_us}");
    let text = place.good(&["report", "--full"]);
    assert!(
        text.stdout
            .contains("Disk      hdd7200, emulated (level block): a page written and flushed"),
        "{}",
        text.stdout
    );
    assert_eq!(mounts_below(&place.home()), Vec::<String>::new());
}

#[test]
fn a_killed_run_on_a_disk_leaves_nothing() {
    if !has_server() || !has_disks("a_killed_run_on_a_disk_leaves_nothing") {
        return;
    }
    let place = Place::with_templates();
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
        let file = fs::read_to_string(device.unwrap().path().join("loop/backing_file"))
            .unwrap_or_default();
        assert!(!file.contains(&home), "{file}");
    }
}

/// The process of the only disk of this place.
fn helper(place: &Place) -> Option<u32> {
    let home = place.home().display().to_string();
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("disk-helper") && line.contains(&home)
    })
}

fn check_nothing_is_left(place: &Place) {
    assert_eq!(mounts_below(&place.home()), Vec::<String>::new());
    assert!(place.servers().is_empty() && helper(place).is_none());
    let servers = fs::read_dir(place.home().join("servers")).unwrap();
    assert_eq!(servers.filter(|entry| entry.as_ref().unwrap().file_name() != ".lock").count(), 0);
}

#[test]
fn a_trial_whose_disk_ends_says_so() {
    if !has_server() || !has_disks("a_trial_whose_disk_ends_says_so") {
        return;
    }
    let place = Place::with_templates();
    let mut args = ON_A_DISK.to_vec();
    args[3] = "native";
    let child = place.start(&[&args[..], &["--measure=30"]].concat());
    wait_until("a trial", || place.path().join("runs/latest/trial-0001/intervals.jsonl").exists());
    place.wait_for_interval("trial-0001");
    signal(helper(&place).unwrap(), Signal::KILL);
    let ran: crate::common::Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let words = "the process of its emulated disk had ended before: signal: 9";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    check_nothing_is_left(&place);
}

#[test]
fn crashes_that_are_interrupted_are_kept_and_leave_nothing() {
    if !has_server() || !has_disks("crashes_that_are_interrupted_are_kept_and_leave_nothing") {
        return;
    }
    let place = Place::with_templates();
    let plan = place.write("crash.toml", &with_small_redo(PLAN));
    let child = place.start(&[
        "crash",
        plan.to_str().unwrap(),
        "--disk",
        "native",
        "--kinds",
        "os",
        "--crashes",
        "9",
    ]);
    let recorded = || {
        let runs = fs::read_dir(place.path().join("runs")).into_iter().flatten().flatten();
        let texts =
            runs.filter_map(|run| fs::read_to_string(run.path().join("crashes.jsonl")).ok());
        texts.map(|text| text.lines().count()).sum::<usize>()
    };
    wait_until("two crashes", || recorded() >= 2);
    // In the middle of the next one.
    thread::sleep(Duration::from_millis(700));
    signal(child.id(), Signal::INT);
    let ran: crate::common::Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let words: Vec<_> = ran.stdout.split_whitespace().collect();
    assert!(
        ran.stderr.contains("Saved  ")
            && words.join(" ").contains("not all planned crashes have happened"),
        "{ran:?}"
    );
    assert!(recorded() >= 2);
    check_nothing_is_left(&place);
}

/// Runs it where mounts are changed by these commands first, and only for it.
fn run_after(place: &Place, commands: &str, args: &[&str]) -> crate::common::Ran {
    let script = format!("set -e; {commands}; exec \"$0\" \"$@\"");
    let words = ["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_truetps")];
    place
        .program(std::path::Path::new("unshare"), &[&words[..], args].concat())
        .output()
        .unwrap()
        .into()
}

#[test]
fn what_a_machine_lacks_for_a_disk_is_named() {
    if !has_server() || !has_disks("what_a_machine_lacks_for_a_disk_is_named") {
        return;
    }
    let place = Place::with_templates();
    let run = [&ON_A_DISK[..], &["--measure=1"]].concat();
    let devices = "mkdir -p dev small; mount -t tmpfs none dev; cd dev; for name in null zero \
                   urandom random fuse; do cp -a /dev/$name .; done; cd ..";
    let check = |commands: &str, args: &[&str], code: i32, expect: &[&str]| {
        let ran = run_after(&place, commands, args);
        assert_eq!(ran.code, Some(code), "{commands}: {ran:?}");
        for words in expect {
            assert!(
                ran.stderr.contains(words),
                "{commands}: {}\nshould contain {words}",
                ran.stderr
            );
        }
        check_nothing_is_left(&place);
    };
    place.good(&["server", "add", "slow"]);
    let start = ["server", "start", "slow", "--disk", "hdd7200"];
    for args in [&run[..], &start] {
        let none = format!("{devices}; mount --move dev /dev");
        // A trial can do without: the file system is emulated, too. A disk that stays cannot.
        let is_trial = args[0] == "run";
        let (code, expect) =
            if is_trial { (0, "Saved  ") } else { (2, "the kernel has no loop devices") };
        check(&none, args, code, &[expect]);
        if is_trial {
            let short = place.good(&["report"]).stdout;
            assert!(short.contains("disk hdd7200, emulated (level file_system)"), "{short}");
            let text = place.good(&["report", "--full"]).stdout;
            assert!(text.contains("emulated (level file_system)"), "{text}");
            assert!(
                text.split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .contains("loss of metadata is not shown")
            );
        }
        let no_fuse =
            format!("{devices}; rm dev/fuse; touch dev/loop-control; mount --move dev /dev");
        check(&no_fuse, args, 2, &["/dev/fuse: the kernel has no FUSE"]);
        let used_up = format!("{devices}; cp -a /dev/null dev/loop-control; mount --move dev /dev");
        check(
            &used_up,
            args,
            4,
            &["losetup --find", "unused loop device", "hint: detach loop devices"],
        );
        check(
            "mount --bind /bin/false /usr/sbin/mkfs.ext4",
            args,
            4,
            &["`mkfs.ext4 ", "exit status: 1"],
        );
    }
    let small = format!("{devices}; mount -t tmpfs -o size=2G,mode=711 none small");
    let home = place.path().join("small/home");
    let full = [&run[..], &["--sandbox-dir", home.to_str().unwrap()]].concat();
    check(&small, &full, 2, &["not enough disk space: the emulated disk needs ", "--sandbox-dir"]);
    assert!(!place.home().join("named/slow/disk").exists());
}
