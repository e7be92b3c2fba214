//! A private PostgreSQL through the whole program: sweeps, a server with a name, what is refused,
//! what is killed.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use truetps_testkit::private_postgres;

use crate::common::{Ends, Place, has_server, signal, wait_until};

/// Two levels that a running server takes, two numbers of connections, two blocks with their twins.
const QUICK: &str = r#"
name = "commits"
about = "a test"
[server]
flavour = "postgresql"
[server.settings]
shared_buffers = "32MB"
min_wal_size = "32MB"
max_wal_size = "128MB"
[workload]
name = "insert"
table_rows = 500
[load]
warm_up_s = 0.1
measure_s = 0.5
[factors]
synchronous_commit = ["on", "off"]
connections = [1, 8]
[design]
blocks = 2
"#;

fn basedir(test: &str) -> Option<String> {
    let binary = private_postgres(test)?;
    Some(binary.basedir.display().to_string())
}

impl Place {
    /// So few trials decide nothing, or by chance.
    fn measured(&self, args: &[&str]) {
        let ran = self.run(args);
        assert!([Some(0), Some(3)].contains(&ran.code), "{args:?}\n{}{}", ran.stdout, ran.stderr);
    }

    /// Processes that work in this place, as all processes of a server do.
    fn at_work(&self) -> Vec<u32> {
        let home = self.home();
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let works_here = |pid: &u32| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&home))
        };
        numbers.filter(works_here).collect()
    }

    fn server_file(&self, trial: &str, name: &str) -> String {
        fs::read_to_string(self.latest().join(trial).join("server").join(name)).unwrap()
    }
}

fn trials(place: &Place) -> Vec<serde_json::Value> {
    let entries = fs::read_dir(place.latest()).unwrap().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let trials: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with("trial-"))
        .map(|name| place.run_json(name))
        .collect();
    for trial in &trials {
        assert_eq!(trial["validity"]["state"], "valid", "{trial}");
    }
    trials
}

/// So many commits take the server 10 ms of CPU at least, on any machine.
const COMMITS_OF_A_STEP: u64 = 1000;

#[test]
fn a_sweep_of_what_a_running_server_takes() {
    let Some(basedir) = basedir("a_sweep_of_what_a_running_server_takes") else { return };
    let place = Place::with_templates();
    place.write("commits.toml", QUICK);
    let checked = place.good(&["plan", "check", "./commits.toml", "--basedir", &basedir]);
    assert!(checked.stdout.contains("PostgreSQL"), "{}", checked.stdout);
    place.measured(&["sweep", "./commits.toml", "--basedir", &basedir]);
    let trials = trials(&place);
    assert_eq!(trials.len(), 10);
    let mut steps_seen = false;
    for trial in &trials {
        assert_eq!(trial["server"]["flavour"], "postgresql");
        let level = trial["configuration"]["synchronous_commit"].as_str();
        let level = level
            .or_else(|| trial["configuration"]["levels"]["synchronous_commit"].as_str())
            .unwrap();
        let variables = place.server_file(trial["name"].as_str().unwrap(), "variables.json");
        assert!(
            variables.contains(&format!("\"synchronous_commit\": \"{level}\"")),
            "{level}: {variables}"
        );
        let cpu = &trial["measured"]["server_cpu_us_per_tx"];
        let cpu = cpu
            .as_f64()
            .or_else(|| trial["measured"]["resources"]["server_cpu_us_per_tx"].as_f64());
        // CPU time comes in steps of 10 ms: a few commits on a slow disk may take none.
        let has_steps = trial["measured"]["ok"].as_u64().unwrap() >= COMMITS_OF_A_STEP;
        assert!(cpu.is_some_and(|cpu| cpu > 0.0 || !has_steps), "of all its processes: {trial}");
        steps_seen |= has_steps;
    }
    assert!(steps_seen, "no trial had {COMMITS_OF_A_STEP} commits");
    assert!(place.server_file("trial-0001", "postgresql.conf").contains("shared_buffers = '32MB'"));
    let report =
        place.run(&["report", "--full"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("three times wal_writer_delay"), "durability: {report}");
    assert!(place.at_work().is_empty());
    assert_eq!(
        fs::read_dir(place.home().join("servers"))
            .unwrap()
            .flatten()
            .filter(|e| e.path().is_dir())
            .count(),
        0
    );
}

#[test]
fn levels_that_need_a_start_and_fresh_copies() {
    let Some(basedir) = basedir("levels_that_need_a_start_and_fresh_copies") else { return };
    let place = Place::with_templates();
    let plan = QUICK.replace(
        "synchronous_commit = [\"on\", \"off\"]",
        "wal_level = [\"replica\", \"minimal\"]",
    );
    let plan = plan.replace("[server.settings]", "[server.settings]\nmax_wal_senders = 0");
    let plan = plan
        .replace("connections = [1, 8]", "connections = [2]")
        .replace("blocks = 2", "blocks = 1\naa_pair = false");
    for datadir in ["refill", "fresh_copy"] {
        place.write(
            "levels.toml",
            &plan.replace("[design]", &format!("[design]\ndatadir = \"{datadir}\"")),
        );
        place.measured(&["sweep", "./levels.toml", "--basedir", &basedir]);
        let levels: Vec<_> = trials(&place)
            .iter()
            .map(|trial| place.server_file(trial["name"].as_str().unwrap(), "variables.json"))
            .map(|variables| variables.contains("\"wal_level\": \"minimal\""))
            .collect();
        assert!(levels.len() == 2 && levels[0] != levels[1], "{datadir}: {levels:?}");
    }
}

#[test]
fn wrong_settings_are_reported_before_anything_starts() {
    let Some(basedir) = basedir("wrong_settings_are_reported_before_anything_starts") else {
        return;
    };
    let place = Place::with_templates();
    for (set, words) in [
        ("synchronous_comit=off", &["postgresql 1", "did you mean `synchronous_commit`"][..]),
        (
            "synchronous_commit=sometimes",
            &["invalid value for parameter", "Available values: local"],
        ),
        ("shared_buffers=1ZB", &["Valid units for this parameter"]),
        ("data_directory=/tmp", &["own folder", "leave `data_directory` out"]),
        (
            "innodb_flush_log_at_trx_commit=1",
            &["it is one of the MySQL family", "hint: name a MySQL"],
        ),
    ] {
        place.refused(&["run", "insert", "--basedir", &basedir, "--set", set], words);
    }
    place.write("commits.toml", QUICK);
    if basedir.starts_with("/usr/lib/postgresql") {
        assert!(
            place.good(&["plan", "check", "./commits.toml"]).stdout.contains("PostgreSQL"),
            "found by its family"
        );
    }
    place.write("commits.toml", &QUICK.replace("\"off\"", "\"of\""));
    place.refused(
        &["sweep", "./commits.toml", "--basedir", &basedir],
        &["`synchronous_commit = of`"],
    );
    assert!(place.at_work().is_empty() && !place.path().join("runs/latest").exists());
}

#[test]
fn nothing_outlives_a_killed_run() {
    let Some(basedir) = basedir("nothing_outlives_a_killed_run") else { return };
    let place = Place::with_templates();
    let mut child = place.start(&[
        "run",
        "insert",
        "--basedir",
        &basedir,
        "--measure=60",
        "--table-rows=500",
        "--set",
        "min_wal_size=32MB",
    ]);
    place.wait_for_interval("trial-0001");
    assert!(place.at_work().len() > 5, "a process for each session");
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
    wait_until("the end of all processes", || place.at_work().is_empty());
    let listed = place.good(&["server", "list"]).stdout;
    assert!(listed.contains("left behind  postgresql 1"), "{listed}");
    assert!(place.good(&["server", "clean"]).stdout.contains("removed"));
    assert!(
        !Path::new(&place.home())
            .join("servers")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|entry| entry.path().is_dir())
    );
}

#[test]
fn the_life_of_a_server_with_a_name() {
    let Some(basedir) = basedir("the_life_of_a_server_with_a_name") else { return };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.good(&["server", "add", "pg", &basedir]);
    let started = place.good(&["server", "start", "pg", "--set", "work_mem=8MB"]);
    assert!(
        started.stdout.contains("postgresql://postgres@/postgres?socket="),
        "{}",
        started.stdout
    );
    assert!(started.stderr.contains("'SELECT version()'"), "{}", started.stderr);
    let dsn = started
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("dsn"))
        .unwrap()
        .trim()
        .trim_matches('\'')
        .to_owned();
    place.good(&["server", "capture", &dsn, "-o", "capture.json"]);
    let value = |sql: &str| {
        place.good(&["server", "sql", "pg", sql]).stdout.lines().last().unwrap().to_owned()
    };
    assert_eq!(value("SHOW work_mem"), "8MB");
    place.good(&[
        "server",
        "sql",
        "pg",
        "CREATE TABLE t (a int); INSERT INTO t VALUES (7)",
        "SELECT $$;$$",
    ]);
    place.refused(&["server", "remove", "pg"], &["runs (pid"]);
    let killed = place.good(&["server", "stop", "pg", "--kill"]);
    assert!(
        killed.stdout.contains("its next start recovers") && place.at_work().is_empty(),
        "{}",
        killed.stdout
    );
    let (port, started) = place.start_on_a_port("pg");
    assert!(started.stdout.contains(&format!("/run/.s.PGSQL.{port}")), "{}", started.stdout);
    let by_port = format!("postgresql://postgres@127.0.0.1:{port}/postgres");
    place.refused(&["run", "insert", "--dsn", &by_port], &["the server asks for a password"]);
    assert_eq!((value("SELECT a FROM t").as_str(), value("SHOW work_mem").as_str()), ("7", "4MB"));
    let stopped = place.good(&["server", "stop", "pg"]);
    assert!(stopped.stdout.contains("stopped cleanly"), "{}", stopped.stdout);
    assert!(
        place
            .good(&["server", "log", "pg", "-n", "3"])
            .stdout
            .contains("database system is shut down")
    );
    place.good(&["server", "remove", "pg"]);
    assert!(place.at_work().is_empty());
}

/// One plan, two families: each gets the same load in its own words.
#[test]
fn beside_a_server_of_the_other_family() {
    let Some(basedir) = basedir("beside_a_server_of_the_other_family") else { return };
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let _ends = Ends(&place);
    // Logs of the usual sizes are filled before the first trial, and their writing may hold up each
    // commit of a short one.
    place.write("small.cnf", "[mariadb]\ninnodb_log_file_size = 32M\n");
    place.write("small.conf", "min_wal_size = 32MB\n");
    place.good(&["server", "add", "pg", &basedir, "--my-cnf=small.conf"]);
    place.good(&["server", "add", "maria", "--my-cnf=small.cnf"]);
    place.write(
        "both.toml",
        "name = 'both'\nabout = 'a test'\n[workload]\nname = 'update-index'\ntable_rows = \
         500\n[load]\nwarm_up_s = 0.1\n\
         measure_s = 0.5\n[factors]\nserver = ['maria', 'pg']\nconnections = [2]\n[design]\nblocks \
         = 1\naa_pair = false\n",
    );
    place.measured(&["sweep", "./both.toml"]);
    let mut flavours: Vec<_> =
        trials(&place).iter().map(|trial| trial["server"]["flavour"].to_string()).collect();
    flavours.sort();
    assert_eq!(flavours, ["\"mariadb\"", "\"postgresql\""]);
    assert!(place.at_work().is_empty());
}
