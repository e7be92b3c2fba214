//! `--part`: several load generators make one load of one server, and `truetps merge` puts them
//! together.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::Value;
use truetps_driver::{Client, Target};
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::{Place, Ran, reason_of, signal, wait_until};
use crate::support::relay::Relay;
use crate::support::{ACCOUNT, Owned, PASSWORD, spreading_proxy};

/// Most accounts of these tests have no password.
const SECRET: &str = "the same in all parts";

/// A load that its parts make.
pub(super) struct Load<'a> {
    pub(super) place: &'a Place,
    pub(super) args: Vec<&'a str>,
    pub(super) of: u32,
}

impl Load<'_> {
    fn runs(index: u32) -> String {
        format!("part-{index}")
    }

    /// The newest folder of a part.
    pub(super) fn folder(&self, index: u32) -> PathBuf {
        self.place.path().join(Self::runs(index)).join("latest")
    }

    pub(super) fn start(&self, index: u32) -> Child {
        self.start_with(index, &[])
    }

    pub(super) fn start_with(&self, index: u32, more: &[&str]) -> Child {
        let part = format!("--part={index}/{}", self.of);
        let args = [&self.args[..], &[&part, "--part-wait=20s"], more].concat();
        let mut command = self.place.command(&args);
        command.env("TRUETPS_RUNS", Self::runs(index));
        spawn(command)
    }

    pub(super) fn start_all(&self) -> Vec<Child> {
        (0..self.of).map(|index| self.start(index)).collect()
    }

    pub(super) fn trial(&self, index: u32) -> Value {
        json(&self.folder(index).join("trial-0001/run.json"))
    }

    /// Merges these parts; what was merged is the newest run of the place.
    pub(super) fn merge(&self, parts: &[u32]) -> Ran {
        let folders: Vec<_> =
            parts.iter().map(|index| format!("{}/latest", Self::runs(*index))).collect();
        let mut args = vec!["merge"];
        args.extend(folders.iter().map(String::as_str));
        self.place.run(&args)
    }
}

/// With the secret of the load.
fn spawn(mut command: Command) -> Child {
    command
        .env("TRUETPS_PARTS_SECRET", SECRET)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(super) fn json(path: &std::path::Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

pub(super) fn ran(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

/// All end well.
pub(super) fn good(children: Vec<Child>) {
    for (index, child) in children.into_iter().enumerate() {
        let ran = ran(child);
        assert_eq!(ran.code, Some(0), "part {index}: {}{}", ran.stdout, ran.stderr);
    }
}

/// All statements of a trial, in each phase.
fn statements(folder: &std::path::Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("trial-0001/intervals.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|interval| interval["statements"].as_u64().unwrap()).sum()
}

fn ok(trial: &Value) -> u64 {
    trial["measured"]["ok"].as_u64().unwrap()
}

/// A short load on this server.
pub(super) fn insert(dsn: &str) -> Vec<&str> {
    vec![
        "run",
        "insert",
        "--dsn",
        dsn,
        "--table-rows=500",
        "-c",
        "8",
        "--warm-up=0.2",
        "--measure=1",
    ]
}

/// The merged run is the sum of its parts, and every part's start was the same moment.
pub(super) fn check_merged(load: &Load<'_>) -> Value {
    let all: Vec<_> = (0..load.of).collect();
    let merged = load.merge(&all);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    let trial = load.place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "valid", "{trial}");
    let trials: Vec<_> = all.iter().map(|index| load.trial(*index)).collect();
    assert_eq!(ok(&trial), trials.iter().map(ok).sum::<u64>());
    assert_eq!(trial["engine"]["clients"], 8);
    let largest = |name: &str| {
        trials.iter().map(|one| one["measured"][name].as_f64().unwrap()).fold(0.0, f64::max)
    };
    assert_eq!(trial["measured"]["response_us_max"].as_f64(), Some(largest("response_us_max")));
    let starts: Vec<_> =
        trials.iter().map(|one| one["start"]["server_us"].as_i64().unwrap()).collect();
    assert!(starts.iter().all(|start| *start == starts[0] && *start > 0), "{starts:?}");
    assert_eq!(trial["parts"].as_array().unwrap().len(), all.len());
    let parts: u64 = all.iter().map(|index| statements(&load.folder(*index))).sum();
    assert_eq!(statements(&load.place.latest()), parts);
    trial
}

/// All clients together would need 188.
#[test]
fn each_part_needs_open_files_for_its_own_clients_only() {
    let Some(binary) = mariadb("each_part_needs_open_files") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, dsn) = (Place::new(), owned.socket_dsn());
    let args = vec![
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--table-rows=500",
        "-c",
        "60",
        "--warm-up=0.2",
        "--measure=1",
    ];
    let parts = Load { place: &place, args, of: 2 }.start_all();
    for part in &parts {
        let limit = Rlimit { current: Some(170), maximum: Some(170) };
        prlimit(Pid::from_raw(part.id() as i32), Resource::Nofile, limit).unwrap();
    }
    good(parts);
}

#[test]
fn four_parts_on_a_mariadb_are_one_load() {
    let Some(binary) = mariadb("four_parts_on_a_mariadb") else { return };
    let owned = Owned::start(&binary, &[("log_bin", "ON")]);
    let place = Place::new();
    let (before, dsn) = (owned.belongings(), owned.socket_dsn());
    let executed = || {
        let rows = owned.admin().query("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'").unwrap().rows;
        rows[0][1].as_ref().unwrap().parse::<u64>().unwrap()
    };
    let executed_before = executed();
    let load = Load { place: &place, args: insert(&dsn), of: 4 };
    good(load.start_all());
    let trial = check_merged(&load);
    assert_eq!(
        trial["beside"].as_array().map_or(0, Vec::len),
        0,
        "the parts are no strangers: {trial}"
    );
    assert_eq!(owned.belongings(), before, "nothing is left");
    let sent: u64 = (0..4).map(|index| statements(&load.folder(index))).sum();
    assert_eq!(executed() - executed_before, sent, "the server counts what the parts count");

    let report = place.good(&["report", "--full"]);
    assert!(report.stdout.contains("part 3/4 on "), "{}", report.stdout);
    let part = place.good(&["report", "part-1/latest"]);
    assert!(part.stdout.contains("Answer    Only part 1/4 of a load"), "{}", part.stdout);
    let document = place.good(&["report", "part-1/latest", "--format=json"]).stdout;
    let document: Value = serde_json::from_str(&document).unwrap();
    let trial = &document["trials"][0];
    let lines = trial["ledger"]["lines"].as_array().unwrap_or_else(|| panic!("{trial}"));
    let known = lines.iter().filter(|line| !line["per_tx"].is_null());
    let own = ["rows_changed_per_tx", "client_cpu_us_per_tx", "client_context_switches_per_tx"];
    assert!(
        known.clone().count() > 0
            && known.clone().all(|line| own.iter().any(|key| line["key"] == *key)),
        "the server works for all parts: {lines:?}"
    );
    let of_part = &trial["measured"]["server_cpu_us_per_tx"];
    assert!(of_part.is_null(), "{of_part}");
    let page = std::fs::read_to_string(load.folder(1).join("report.html")).unwrap();
    assert!(page.contains("nly part 1/4 of a load"), "the page says so, too");
    // Every command takes the merged run.
    let compared = place.run(&["compare", "part-0/latest", "runs/latest"]);
    assert!(compared.stdout.contains("A: only part 0/4 of a load"), "{}", compared.stdout);
    place.good(&["stalls", "runs/latest"]);

    // A sweep: each trial is started together.
    let args = vec![
        "sweep",
        "insert",
        "--dsn",
        &dsn,
        "--table-rows=500",
        "-c",
        "4,8",
        "--blocks=2",
        "--warm-up=0.1",
    ];
    let sweep = Load { place: &place, args: [&args[..], &["--measure=2"]].concat(), of: 4 };
    good(sweep.start_all());
    let merged = sweep.merge(&[3, 0, 2, 1]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    let document = place.good(&["report", "--format", "json"]);
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    let trials = document["trials"].as_array().unwrap();
    assert!(
        trials.len() >= 4 && trials.iter().all(|trial| trial["validity"]["state"] == "valid"),
        "{trials:?}"
    );
    assert_eq!(owned.belongings(), before, "nothing is left");
}

#[test]
fn two_parts_on_a_postgresql_are_one_load() {
    let options = PostgresOptions { tcp: true, ..PostgresOptions::default() };
    let Some(server) = PostgresServer::start("two_parts_on_a_postgresql", &options) else { return };
    let place = Place::new();
    let dsn = format!("postgresql://truetps@/postgres?socket={}", server.socket().display());
    let databases = || {
        server.connect().unwrap().query("SELECT datname FROM pg_database ORDER BY 1").unwrap().rows
    };
    let before = databases();
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    good(load.start_all());
    check_merged(&load);
    assert_eq!(databases(), before, "nothing is left");

    // A schedule: each part has its share of the rate, and its own clients.
    let args = ["run", "insert", "--dsn", &dsn, "--table-rows=500", "-c", "7", "--rate=70"];
    let args = [&args[..], &["--warm-up=0.1", "--measure=2"]].concat();
    let open = Load { place: &place, args, of: 2 };
    good(open.start_all());
    let part = place.good(&["report", "part-0/latest"]).stdout;
    let said = part.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("its part of 70 tps with 4 connections"), "{part}");
}

/// Far parts, whose hosts' clocks are not the server's. The clocks of this test's parts are one;
/// that the monotonic ones differ, as between hosts, is seen where time namespaces can be made.
#[test]
fn distant_parts_start_together() {
    let Some(binary) = mariadb("distant_parts_start_together") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    for delay in [Duration::from_millis(1), Duration::from_millis(20)] {
        let relay = Relay::to(owned.port);
        relay.delay(delay);
        let near = owned.tcp_dsn();
        let far = format!("mysql://{ACCOUNT}@127.0.0.1:{}", relay.port);
        let load = Load { place: &place, args: insert(&near), of: 2 };
        let far_load = Load { place: &place, args: insert(&far), of: 2 };
        let start = |load: &Load<'_>, index: u32| {
            let (part, runs) =
                (format!("--part={index}/2"), format!("--runs={}", Load::runs(index)));
            let args = [&load.args[..], &[&part, &runs, "--part-wait=20s"]].concat();
            let mut command =
                if index == 1 { in_other_time(&place, &args) } else { place.command(&args) };
            command
                .env("TRUETPS_PASSWORD", PASSWORD)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        good(vec![start(&load, 0), start(&far_load, 1)]);
        check_merged(&load);
        let uncertain_us = load.trial(1)["start"]["uncertainty_us"].as_f64().unwrap();
        assert!(uncertain_us >= delay.as_secs_f64() * 1e6, "half a round trip: {uncertain_us} µs");
        // What the clock of the same host says of both starts.
        let start_us = |index: u32| {
            let start = &load.trial(index)["start"];
            start["server_us"].as_f64().unwrap() - start["clock_offset_us"].as_f64().unwrap()
        };
        let apart_us = (start_us(0) - start_us(1)).abs();
        assert!(
            apart_us <= uncertain_us + 2_000.0,
            "{apart_us} µs apart, and known within {uncertain_us} µs"
        );
    }
}

/// The program with a monotonic clock of its own, where such can be made.
fn in_other_time(place: &Place, args: &[&str]) -> std::process::Command {
    let flags = ["--time", "--monotonic=100000", "--fork"];
    let shifted = |program: &str, args: &[&str]| {
        let all = [&flags[..], &[program], args].concat();
        place.program(std::path::Path::new("unshare"), &all)
    };
    let can = shifted("true", &[]).output().is_ok_and(|output| output.status.success());
    if can { shifted(env!("CARGO_BIN_EXE_truetps"), args) } else { place.command(args) }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let Some(binary) = mariadb("parts_that_do_not_fit") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let (before, dsn) = (owned.belongings(), owned.socket_dsn());
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    let other = |change: &[&'static str]| Load { args: [&load.args[..], change].concat(), ..load };

    // What each would send.
    let rehearsed =
        |part: &str| place.good(&[&load.args[..], &[part, "--dry-run"]].concat()).stdout;
    let (first, second) = (rehearsed("--part=0/2"), rehearsed("--part=1/2"));
    assert!(
        first.contains("CREATE TABLE truetps_parts") && first.contains("DROP DATABASE"),
        "{first}"
    );
    assert!(second.contains("GET_LOCK('truetps.part.1.") && !second.contains("CREATE"), "{second}");
    assert!(second.contains("by up to 4 sessions"), "{second}");

    // Another plan: both say so, and neither waits.
    let children = [load.start(0), other(&["--seed=77"]).start(1)];
    for (index, child) in children.into_iter().enumerate() {
        let ran = ran(child);
        assert_ne!(ran.code, Some(0), "part {index}: {}{}", ran.stdout, ran.stderr);
        let words = "part 1/2 has another plan than part 0";
        let reason = if index == 0 { reason_of(&load.trial(0)) } else { ran.stderr.clone() };
        assert!(reason.contains(words), "part {index}: {reason}\n{}{}", ran.stdout, ran.stderr);
    }

    // Another number of parts.
    let children = [load.start(0), Load { of: 3, ..other(&[]) }.start(1)];
    for (index, child) in children.into_iter().enumerate() {
        let ran = ran(child);
        assert_ne!(ran.code, Some(0), "part {index}: {}{}", ran.stdout, ran.stderr);
        let reason = if index == 0 { reason_of(&load.trial(0)) } else { ran.stderr };
        assert!(reason.contains("the number of parts differs"), "part {index}: {reason}");
    }

    // Two processes are one part: the second is refused, and the load goes on.
    let (first, second) = (load.start(0), load.start(1));
    wait_until("part 1", || {
        owned
            .admin()
            .query_value("SELECT COUNT(*) FROM truetps.truetps_parts")
            .is_ok_and(|n| n.as_deref() == Some("2"))
    });
    let again = ran(load.start_with(1, &["--runs=again"]));
    assert_eq!(again.code, Some(4), "{}", again.stderr);
    assert!(again.stderr.contains("another process is part 1/2 already"), "{}", again.stderr);
    good(vec![first, second]);
    check_merged(&load);

    // An account that may not make the schema; the other part waits no longer than --part-wait.
    let poor = "CREATE USER poor@'%'";
    owned.execute(&[poor]);
    let poor = format!("mysql://poor@127.0.0.1:{}", owned.port);
    let refused = Load { place: &place, args: insert(&poor), of: 2 };
    let ran_first = ran(refused.start(0));
    assert_eq!(ran_first.code, Some(2), "{}", ran_first.stderr);
    assert!(ran_first.stderr.contains("truetps"), "{}", ran_first.stderr);
    let began = Instant::now();
    let args = [&load.args[..], &["--part=1/2", "--part-wait=1s"]].concat();
    let late = ran(spawn(place.command(&args)));
    assert!(late.stderr.contains("part 1/2 did not find part 0 within 1 s"), "{}", late.stderr);
    assert!(began.elapsed() < Duration::from_secs(10));
    owned.execute(&["DROP USER poor@'%'"]);
    assert_eq!(owned.belongings(), before);
}

#[test]
fn a_proxy_that_spreads_statements_is_refused() {
    let Some(binary) = mariadb("a_proxy_that_spreads_statements") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&["CREATE USER pooled@'%'", "GRANT ALL ON `truetps%`.* TO pooled@'%'"]);
    let port = spreading_proxy::start(owned.port);
    let (near, behind) = (owned.socket_dsn(), format!("mysql://pooled@127.0.0.1:{port}?tls=off"));
    let mut client =
        Client::connect(&Target::parse(&behind).unwrap(), Duration::from_secs(20)).unwrap();
    let mut session = || client.query_value("SELECT CONNECTION_ID()").unwrap().unwrap();
    let sessions = [session(), session(), session()];
    assert!(sessions[0] != sessions[1] && sessions[0] == sessions[2], "{sessions:?}");
    drop(client);

    let place = Place::new();
    let before = owned.belongings();
    let words = "statements of one session run in several sessions of the server";
    let load = Load { place: &place, args: insert(&behind), of: 2 };
    let first = ran(load.start(0));
    assert_ne!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stderr.contains(words), "{}", first.stderr);
    assert!(!load.folder(0).join("trial-0001/intervals.jsonl").exists(), "no load has begun");
    assert_eq!(owned.belongings(), before, "nothing is left");

    let first = Load { place: &place, args: insert(&near), of: 2 }.start(0);
    let second = ran(load.start(1));
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    assert!(second.stderr.contains(words), "{}", second.stderr);
    assert!(!load.folder(1).exists(), "no load has begun");
    // It would wait for another part 1.
    signal(first.id(), Signal::INT);
    let first = ran(first);
    assert_ne!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    assert_eq!(owned.belongings(), before, "nothing is left");
}

#[test]
fn flags_of_parts_are_checked_before_anything_starts() {
    let place = Place::new();
    let dsn = "mysql://root@127.0.0.1:1";
    let run = |flags: &[&'static str]| [&insert(dsn)[..], flags].concat();
    place.refused(&["run", "insert", "--part=0/2"], &["--part needs --dsn"]);
    place.refused(&run(&["--part=2/2"]), &["2/2: the parts are numbered from 0 to 1"]);
    place.refused(&run(&["--part=0"]), &["not of the form I/N"]);
    place.refused(&run(&["--part-wait=1s"]), &["--part <I/N>"]);
    place.refused(&run(&["--part=auto"]), &["SLURM_PROCID", "write --part I/N"]);
    place.refused(&run(&["--part=0/9"]), &["has 8 connections, and each part needs one"]);
    place.refused(
        &run(&["--part=0/2", "--i-own-this-schema", "--schema=mine"]),
        &["--i-own-this-schema"],
    );
    place.refused(&run(&["--part=0/2", "--find-max"]), &["--find-max"]);
}

#[test]
fn only_parts_of_one_experiment_are_merged() {
    let Some(binary) = mariadb("only_parts_of_one_experiment") else { return };
    let owned = Owned::start(&binary, &[]);
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let load = Load { place: &place, args: insert(&dsn), of: 2 };
    good(load.start_all());
    std::fs::rename(place.path().join("part-1"), place.path().join("earlier")).unwrap();
    place.refused(
        &["merge", "part-0/latest", "part-0/latest"],
        &["both are part 0/2", "name each part once"],
    );
    let merged = load.merge(&[0]);
    assert_eq!(merged.code, Some(4), "no trial is valid: {}", merged.stderr);
    assert!(
        merged.stdout.contains("trial-0001: the load was not whole: part 1/2 is"),
        "{}",
        merged.stdout
    );
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "invalid", "{trial}");
    place.refused(&["merge", "runs/latest"], &["is not a part of a load"]);
    for folder in ["part-0/latest", "runs/latest"] {
        let resume = ["sweep", "--resume", folder, "--dsn", &dsn];
        place.refused(&resume, &["several load generators", "cannot be resumed"]);
    }

    good(load.start_all());
    place.refused(
        &["merge", "part-0/latest", "earlier/latest"],
        &["is part 1/2 of another experiment"],
    );
    let merged = load.merge(&[1, 0]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
}

/// When a part is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// It has come.
    Joined,
    /// All clients have connected.
    Ready,
    /// The load has run for this many milliseconds.
    Running(u64),
}

/// After the start of this load is named it runs for this long, but for the margin of a test that
/// sleeps.
const LATE_MS: u64 = 2_500;

/// Kills one part: the others end in time, no figure is taken for the whole, and nothing stays in
/// the server.
#[expect(clippy::too_many_lines, reason = "one journey")]
fn check_kill(owned: &Owned, moment: Moment, victim: u32) {
    let place = Place::new();
    let (before, dsn) = (owned.belongings(), owned.socket_dsn());
    let args = vec![
        "run",
        "insert",
        "--dsn",
        &dsn,
        "--table-rows=500",
        "-c",
        "6",
        "--warm-up=0.2",
        "--measure=2",
    ];
    let load = Load { place: &place, args, of: 3 };
    let mut children = load.start_all();
    let mut admin = owned.admin();
    let mut value = |sql: &str| admin.query_value(sql).ok().flatten();
    let (part, phases, sleep_ms) = match moment {
        Moment::Joined => (victim, "'joined', 'prepared', 'ready', 'started'", 0),
        Moment::Ready => (victim, "'prepared', 'ready', 'started'", 0),
        Moment::Running(ms) => (0, "'started'", ms),
    };
    let sql = format!(
        "SELECT COUNT(*) FROM truetps.truetps_parts WHERE part = {part} AND phase IN ({phases})"
    );
    wait_until(&format!("{moment:?}"), || value(&sql).as_deref() == Some("1"));
    sleep(Duration::from_millis(sleep_ms));
    children[victim as usize].kill().unwrap();
    let killed = Instant::now();
    let what = format!("{moment:?}, part {victim}");
    let is_late = matches!(moment, Moment::Running(ms) if ms > LATE_MS);
    for (index, child) in children.into_iter().enumerate() {
        let ran = ran(child);
        // A part that is killed after its load has ended has told so: the others are good.
        if index != victim as usize && !is_late {
            assert_ne!(ran.code, Some(0), "{what}, {index}: {}{}", ran.stdout, ran.stderr);
        }
    }
    assert!(
        killed.elapsed() < Duration::from_secs(45),
        "{what}: the others took {:?}",
        killed.elapsed()
    );
    let there: Vec<_> =
        (0..3).filter(|index| load.folder(*index).join("experiment.json").exists()).collect();
    if !there.is_empty() {
        let merged = load.merge(&there);
        assert_ne!(merged.code, Some(101), "{what}: {}", merged.stderr);
        if place.path().join("runs/latest/trial-0001/run.json").exists() {
            let trial = place.run_json("trial-0001");
            if is_late && trial["validity"]["state"] == "valid" {
                assert_eq!(
                    (there.len(), ok(&trial)),
                    (3, (0..3).map(|index| ok(&load.trial(index))).sum())
                );
                return;
            }
            assert_ne!(trial["validity"]["state"], "valid", "{what}: {trial}");
            let name = format!("part {victim}/3");
            let named = there.iter().any(|index| {
                let path = load.folder(*index).join("trial-0001/run.json");
                path.exists() && reason_of(&json(&path)).contains(&name)
            });
            assert!(
                named || is_late || reason_of(&trial).contains(&name),
                "{what}: {}",
                reason_of(&trial)
            );
        }
    }
    if victim == 0 {
        let restored = place.run(&["server", "restore"]);
        assert_eq!(restored.code, Some(0), "{what}: {}", restored.stderr);
    }
    assert_eq!(owned.belongings(), before, "{what}: nothing is left");
}

/// `TRUETPS_KILLS=50`: that many more, at random moments.
#[test]
fn a_part_that_is_killed_spoils_the_trial_and_nothing_else() {
    let Some(binary) = mariadb("a_part_that_is_killed") else { return };
    let owned = Owned::start(&binary, &[]);
    for (moment, victim) in [
        (Moment::Joined, 1),
        (Moment::Ready, 2),
        (Moment::Running(700), 1),
        (Moment::Running(700), 0),
    ] {
        check_kill(&owned, moment, victim);
    }
    let more: u64 =
        std::env::var("TRUETPS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for seed in 0..more {
        // Spread over all phases: a trial takes 2.7 s after its start is named.
        let moment = match seed % 5 {
            0 => Moment::Joined,
            1 => Moment::Ready,
            _ => Moment::Running(seed * 7919 % 3_000),
        };
        check_kill(&owned, moment, (seed % 3) as u32);
    }
}
