//! `truetps explain` on real servers: its trials are what they are called, it ends and goes on, and
//! nothing is left behind. No test asserts a figure, nor that a cause is found: `truetps-causes`
//! proves that.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use truetps_sandbox::{Catalogue, ServerBinary, ServerUser};
use truetps_testkit::mysql_family::{fetched_server, mariadb};
use truetps_testkit::private_postgres;

use crate::browser::check_document_page;
use crate::common::{Place, SMALL_REDO, has_disks, has_server, signal, wait_until};

/// Short trials on few rows.
const SHORT: [&str; 8] = ["--table-rows", "500", "-c", "4", "--measure", "0.4", "--warm-up", "0.1"];

/// Settings that make no difference.
const HARMLESS: &str =
    "net_buffer_length=8192,max_connect_errors=7,join_buffer_size=1M,lock_wait_timeout=99";

fn explain(place: &Place, a: &str, b: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let args = [&["explain", a, b, SMALL_REDO, "--format", "json"][..], &SHORT, more].concat();
    let ran = place.run(&args);
    let document = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    (ran.code, document, ran.stderr)
}

#[test]
fn what_differs_is_measured_and_the_rest_is_listed() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("a.cnf", "[mysqld]\ninnodb_flush_log_at_trx_commit = 1\nport = 3307\n");
    let lines = HARMLESS.replace(',', "\n");
    place.write(
        "b.cnf",
        &format!("[mysqld]\ninnodb_flush_log_at_trx_commit = 0\nport = 3308\n{lines}\n"),
    );
    let (_, document, stderr) = explain(&place, "a.cnf", "b.cnf", &["--budget", "9s"]);
    let factors: Vec<_> = document["factors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(factors.len(), 5, "{factors:?}\n{stderr}");
    assert_eq!(factors[0], "innodb_flush_log_at_trx_commit", "the most suspicious first");
    // MariaDB since 10.8 derives another setting from it, which is no question of its own.
    assert!(!factors.contains(&"innodb_log_file_buffering"), "{factors:?}");
    let left_out = document["left_out"].as_array().unwrap();
    let port = left_out
        .iter()
        .find(|one| one["name"] == "port")
        .expect("what a private server has itself is listed");
    assert!(port["reason"].as_str().unwrap().contains("a private server has its own"), "{port}");
    assert!(document["findings"]["trials"].as_u64().unwrap() >= 1, "{document}");
    assert!(document["findings"]["not_started"] == serde_json::json!([]));

    // Every trial has the levels that its mixture says.
    let trials = document["trials"].as_array().unwrap();
    for trial in trials.iter().take(12) {
        let with: Vec<_> =
            trial["with"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let path =
            place.latest().join(trial["name"].as_str().unwrap()).join("server/variables.json");
        let variables: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let expect = if with.contains(&factors[0]) { "0" } else { "1" };
        assert_eq!(variables[factors[0]], expect, "{trial}");
    }
    // The same answer from the folder alone, and in all forms.
    let again = place.run(&["report", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), document);
    for args in [&["report"][..], &["report", "--full"], &["report", "--format", "md"]] {
        let ran = place.run(args);
        assert!(ran.stdout.contains("b.cnf against a.cnf"), "{}", ran.stdout);
    }
    let page = fs::read_to_string(place.latest().join("report.html")).unwrap();
    assert!(page.contains("</html>") && page.contains("Everything else that differs"), "{page}");
    check_document_page(&place, "Everything else that differs");
    assert!(place.servers().is_empty() && place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn a_restart_only_setting_and_one_that_needs_its_own_data() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let (code, document, stderr) = explain(
        &place,
        "log_bin=ON,back_log=77",
        "log_bin=OFF,back_log=90,innodb_log_file_size=16M",
        &["--budget", "9s"],
    );
    assert!(matches!(code, Some(0 | 3)), "{stderr}");
    let change = |name: &str| {
        let factors = document["factors"].as_array().unwrap();
        factors
            .iter()
            .find(|factor| factor["name"] == name)
            .map(|factor| factor["change"].as_str().unwrap().to_owned())
    };
    assert_eq!(change("log_bin").as_deref(), Some("restart"));
    assert_eq!(change("innodb_log_file_size").as_deref(), Some("new_data"));
    for trial in document["trials"].as_array().unwrap() {
        assert!(trial["tps"].is_number(), "{trial}");
    }
}

#[test]
fn a_side_that_does_not_start_is_named() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.refused(
        &["explain", "defaults", "innodb_page_size=3000", SMALL_REDO],
        &["innodb_page_size"],
    );
    // The program accepts this name, and the server aborts with it.
    let ran = place.run(&["explain", "defaults", "default_storage_engine=nonsense", SMALL_REDO]);
    let said = ran.stderr.split("error: ").nth(1).unwrap_or_default();
    assert!(
        ran.code != Some(0) && said.starts_with("default_storage_engine=nonsense: "),
        "{}",
        ran.stderr
    );
    assert!(said.contains("Unknown/unsupported storage engine"), "{}", ran.stderr);
    assert!(place.servers().is_empty(), "{:?}", place.servers());
    assert!(
        !place.path().join("runs").exists()
            || fs::read_dir(place.path().join("runs")).unwrap().next().is_none()
    );
}

#[test]
fn it_ends_with_its_budget_and_goes_on_later() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let b = format!("innodb_flush_log_at_trx_commit=2,{HARMLESS}");
    place.good(&["sweep", "insert", "-c", "1,8", "--save-plan", "mine.toml"]);
    place.write("my.cnf", "[mysqld]\nsort_buffer_size = 1M\n");
    let named = ["--plan", "./mine.toml", "--my-cnf", "my.cnf", "--set", "read_buffer_size=64K"];
    let args = [&["explain", "defaults", &b, SMALL_REDO, "--budget", "3s"][..], &SHORT, &named];
    let ran = place.run(&args.concat());
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("Unfinished") && ran.stderr.contains("truetps explain --resume"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let folder = place.latest();
    let before = mixtures(&folder);
    let first = fs::read(folder.join("trial-0001/run.json")).unwrap();
    // As another version of truetps would have called it.
    edit(&folder.join("explanation.json"), |document| {
        document["factors"][0]["name"] = "another name".into();
        document["factors"][0]["merged"] = "in other words".into();
    });
    // What was asked is recorded: the words of the command line may have another meaning now.
    let command = std::cell::RefCell::new(Value::Null);
    edit(&folder.join("experiment.json"), |document| {
        let renamed = serde_json::json!(["truetps", "explain", "--renamed"]);
        command.replace(std::mem::replace(&mut document["command"], renamed));
    });
    // The option file is read again; both sides have it, so that it is none of the differences.
    place.write("my.cnf", "[mysqld]\nsort_buffer_size = 2M\n");
    place.refused(
        &["explain", "--resume"],
        &["`A.sort_buffer_size` of the experiment was \"1M\", and is \"2M\" now"],
    );
    place.write("my.cnf", "[mysqld]\nsort_buffer_size = 1M\n");
    // The folder has its own plan.
    let (named_plan, gone) = (place.path().join("mine.toml"), place.path().join("gone.toml"));
    fs::rename(&named_plan, &gone).unwrap();
    let ran = place.run(&["explain", "--resume", "--budget", "5s"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}{}", ran.stdout, ran.stderr);
    let after = mixtures(&folder);
    assert!(after.len() > before.len() && after.starts_with(&before), "{before:?} {after:?}");
    assert_eq!(
        fs::read(folder.join("trial-0001/run.json")).unwrap(),
        first,
        "what was measured is kept"
    );
    // An older version has recorded the command line alone.
    fs::rename(&gone, &named_plan).unwrap();
    edit(&folder.join("experiment.json"), |document| {
        document["command"] = command.take();
        document.as_object_mut().unwrap().remove("asked").unwrap();
    });
    // Before both sides had the server's default of what one of them sets, truetps chose it.
    edit(&folder.join("experiment.json"), |document| {
        let chosen = document["server"]["chosen_settings"].as_array_mut().unwrap();
        chosen.push(serde_json::json!(["innodb_io_capacity", "333"]));
    });
    let ran = place.run(&["explain", "--resume", "--budget", "5s"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    let why =
        "started under other conditions: innodb_io_capacity was 333, and is left to the server now";
    assert!(
        ran.stderr.contains(why) && ran.stderr.contains("hint: restore what has changed"),
        "{}",
        ran.stderr
    );
    assert_eq!(mixtures(&folder).len(), after.len(), "nothing is measured");
}

/// The mixtures of the trials that were scheduled.
fn mixtures(folder: &std::path::Path) -> Vec<String> {
    let experiment: Value =
        serde_json::from_slice(&fs::read(folder.join("experiment.json")).unwrap()).unwrap();
    let schedule = experiment["schedule"].as_array().unwrap();
    schedule.iter().map(|one| one["mixture"].as_str().unwrap().to_owned()).collect()
}

fn edit(path: &std::path::Path, change: impl FnOnce(&mut Value)) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut document);
    fs::write(path, serde_json::to_vec(&document).unwrap()).unwrap();
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let b = format!("innodb_flush_log_at_trx_commit=2,{HARMLESS}");
    let args = [&["explain", "defaults", &b, SMALL_REDO][..], &SHORT].concat();
    let child = place.start(&args);
    wait_until("the fifth trial", || {
        place.path().join("runs/latest/trial-0005/intervals.jsonl").exists()
    });
    signal(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("interrupted: what was measured is kept\nNext   truetps explain --resume"),
        "{said}"
    );
    assert!(mixtures(&place.latest()).len() >= 5);
    assert!(place.servers().is_empty(), "{:?}", place.servers());
}

/// Runs of tests are beside each other on purpose: they measure no trial again.
#[test]
fn a_server_that_was_stopped_is_in_the_answer() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let b = format!("innodb_flush_log_at_trx_commit=2,{HARMLESS}");
    let load = ["--table-rows", "500", "-c", "4", "--measure", "3", "--warm-up", "0.1"];
    let more = ["--format", "json", "--budget", "6s"];
    let args = [&["explain", "defaults", &b, SMALL_REDO][..], &load, &more].concat();
    let child = place.start(&args);
    place.wait_for_interval("trial-0001");
    let server = place.servers()[0];
    signal(server, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1500));
    signal(server, Signal::CONT);
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trial = &document["trials"][0];
    let found = trial["disturbances"].as_array().unwrap();
    assert!(found.iter().any(|one| one["kind"] == "server_stopped"), "{trial}");
    for args in [&["report"][..], &["report", "--full"]] {
        let text = place.run(args).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("the server's process was stopped by a signal"), "{text}");
    }
}

#[test]
fn sides_that_cannot_be_explained() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("a.cnf", "[mysqld]\nsync_binlog = 1\n");
    place.refused(
        &["explain", "defaults", "no_such_setting=1"],
        &["no_such_setting", "no_such_setting=1"],
    );
    place.refused(
        &["explain", "defaults", "sync_binlog=0", "--plan", "no-such-plan"],
        &["no-such-plan"],
    );
    place.refused(&["explain", "nowhere.cnf", "sync_binlog=0"], &["nowhere.cnf", "is not a file"]);
    place.refused(
        &["explain", "mysql://root@127.0.0.1", "sync_binlog=0"],
        &["truetps server capture"],
    );
    place.refused(&["explain", "defaults"], &["<B>"]);
    place.refused(&["explain", "defaults", "sync_binlog=0", "--format", "csv"], &["csv"]);
    place.refused(&["explain", "defaults", "sync_binlog=0,sync_binlog=1"], &["set twice"]);
    place.refused(&["explain", "defaults", "sync_binlog"], &["is not a file"]);
    place.refused(&["explain", "server=x", "sync_binlog=0"], &["a server is a side of its own"]);
    place.refused(
        &["explain", "sync_binlog=0", "disk=sata-ssd"],
        &["sync_binlog=0: has no level of disk"],
    );
    place.refused(
        &["explain", "connections=1", "connections=2", "-c", "4"],
        &["--connections: A and B differ"],
    );
    place.refused(
        &["explain", "defaults", "sync_binlog=0", "--dsn", "mysql://root@127.0.0.1:1"],
        &["private servers only", "truetps server capture"],
    );
    assert!(place.servers().is_empty());
}

/// What the program itself says with `--no-defaults --verbose --help`.
fn default_of(binary: &ServerBinary, name: &str) -> String {
    let catalogue = Catalogue::ask(binary, &ServerUser::choose()).unwrap();
    catalogue.default_value(name).unwrap().replace("TRUE", "true").replace("FALSE", "false")
}

/// A level of a factor, in A.
fn level_of_a(document: &Value, name: &str) -> String {
    let factors = document["factors"].as_array().unwrap();
    let mut levels = factors.iter().flat_map(|factor| factor["levels"].as_array().unwrap());
    let level = levels
        .find(|level| level["name"] == name)
        .unwrap_or_else(|| panic!("{name} is no factor: {document}"));
    level["a"].to_string()
}

#[test]
fn what_a_side_leaves_unset_is_the_default_of_its_server() {
    let Some(binary) = mariadb("what_a_side_leaves_unset_is_the_default_of_its_server") else {
        return;
    };
    let place = Place::with_templates();
    place.write(
        "bp.cnf",
        "[mysqld]\ninnodb_buffer_pool_size=1G\ninnodb_flush_log_at_trx_commit=1\n",
    );
    let (_, document, _) = explain(&place, "defaults", "bp.cnf", &["--budget", "9s"]);
    let pool = "innodb_buffer_pool_size";
    assert_eq!(level_of_a(&document, pool), default_of(&binary, pool));
    let left_out = document["left_out"].as_array().unwrap();
    let same = left_out.iter().find(|one| one["name"] == "innodb_flush_log_at_trx_commit").unwrap();
    assert!(same["reason"].as_str().unwrap().contains("has the same without setting it"), "{same}");
    for trial in document["trials"].as_array().unwrap() {
        let path =
            place.latest().join(trial["name"].as_str().unwrap()).join("server/variables.json");
        let variables: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let is_a = trial["with"].as_array().unwrap().is_empty();
        let expect = if is_a { default_of(&binary, pool) } else { (1_u64 << 30).to_string() };
        assert_eq!(variables[pool], expect, "{trial}");
    }
    let full = place.run(&["report", "--full"]).stdout;
    assert!(
        full.contains("128 MiB") && full.contains("1 GiB") && !full.contains("134217728"),
        "{full}"
    );
    let short = place.run(&["report"]).stdout;
    assert!(
        short.contains("Both sides have: performance schema OFF (chosen by truetps)"),
        "{short}"
    );
}

#[test]
fn what_a_side_leaves_unset_on_mysql() {
    let Some(server) = fetched_server("what_a_side_leaves_unset_on_mysql", "mysql-9.7") else {
        return;
    };
    let place = Place::with_templates();
    place.write("a.cnf", "[mysqld]\nmax_allowed_packet=32M\n");
    let lines =
        "innodb_buffer_pool_size=256M\ninnodb_redo_log_capacity=64M\nperformance_schema=OFF\n";
    place.write("b.cnf", &format!("[mysqld]\nmax_allowed_packet=32M\n{lines}"));
    let basedir = server.basedir.display().to_string();
    let args =
        ["explain", "a.cnf", "b.cnf", "--basedir", &basedir, "--format", "json", "--budget", "1s"];
    let ran = place.run(&[&args[..], &SHORT].concat());
    let document = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    for name in ["innodb_buffer_pool_size", "innodb_redo_log_capacity", "performance_schema"] {
        assert_eq!(level_of_a(&document, name), default_of(&server.binary, name), "{name}");
    }
}

/// In a fresh cluster, which initdb makes, in units of 8 kB.
#[test]
fn what_a_side_leaves_unset_on_postgresql() {
    let Some(binary) = private_postgres("what_a_side_leaves_unset_on_postgresql") else { return };
    let place = Place::with_templates();
    let basedir = binary.basedir.display().to_string();
    let wal = ["--set", "max_wal_size=128MB", "--set", "min_wal_size=32MB"];
    let args = [
        "explain",
        "defaults",
        "shared_buffers=64MB",
        "--basedir",
        &basedir,
        "--format",
        "json",
        "--budget",
        "1s",
    ];
    let ran = place.run(&[&args[..], &wal, &SHORT].concat());
    let document = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(level_of_a(&document, "shared_buffers"), "16384");
    let full = place.run(&["report", "--full"]).stdout;
    assert!(full.contains("128 MiB") && full.contains("64 MiB"), "{full}");
}

#[test]
fn nothing_that_can_be_measured_is_an_answer() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("a.cnf", "[mysqld]\nsync_binlog = 1\n");
    place.write("b.cnf", "[mysqld]\nsync_binlog = 1\nport = 3311\nsocket = /x\n");
    let same = place.good(&["explain", "a.cnf", "a.cnf", SMALL_REDO]);
    assert!(
        same.stdout.contains("do not differ in anything that can be measured"),
        "{}",
        same.stdout
    );
    let ports = place.good(&["explain", "a.cnf", "b.cnf", SMALL_REDO]);
    let said = ports.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expect in ["do not differ", "a private server has its own", ": port, socket"] {
        assert!(said.contains(expect), "{expect}: {said}");
    }
    let ran = place.good(&["explain", "a.cnf", "b.cnf", SMALL_REDO, "--format", "json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["findings"]["outcome"], "not_reproduced");
    assert!(
        document["left_out"].as_array().unwrap().iter().any(|one| one["name"] == "port"),
        "{document}"
    );
    let runs = place.path().join("runs");
    assert!(
        place.leftovers().is_empty()
            && (!runs.exists() || fs::read_dir(runs).unwrap().next().is_none())
    );
}

#[test]
fn the_disk_is_in_the_answer() {
    if !has_server() || !has_disks("the_disk_is_in_the_answer") {
        return;
    }
    let place = Place::with_templates();
    let b = "innodb_flush_log_at_trx_commit=0";
    explain(&place, "defaults", b, &["--budget", "2s", "--disk", "sata-ssd"]);
    let short = place.run(&["report"]).stdout;
    assert!(short.contains("disk sata-ssd") && !short.contains("one flush"), "{short}");
    let full = place.run(&["report", "--full"]).stdout;
    assert!(full.contains("sata-ssd, emulated"), "{full}");
    assert!(
        fs::read_to_string(place.latest().join("report.html"))
            .unwrap()
            .contains("sata-ssd, emulated")
    );
}
