//! `truetps sysbench --part`: a script's load by several processes.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::{Place, Ran, reason_of, wait_until};
use crate::support::Owned;

/// Writes down what each client draws.
const DRAWING: &str = r#"
sysbench.cmdline.options = { load = { "Name of the load", "whole" } }
local n = 0
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  n = n + 1
  local number, unique = sysbench.rand.uniform(1, 1000000000), sysbench.rand.unique()
  con:query(string.format("INSERT INTO draws VALUES ('%s', %d, %d, %d, %d)",
                          sysbench.opt.load, sysbench.tid, n, number, unique))
end
"#;

const TABLE: &str = "CREATE TABLE draws (source VARCHAR(9), tid INT, n INT, number BIGINT, uniq \
                     BIGINT, PRIMARY KEY (source, tid, n))";

/// Makes the script's own schema. Returns the flag that names it.
fn script_schema(owned: &Owned) -> String {
    owned.execute(&["CREATE DATABASE sb", &TABLE.replace("draws", "sb.draws")]);
    format!("--dsn={}", owned.socket_dsn().replace('?', "/sb?"))
}

struct ScriptLoad<'a> {
    place: &'a Place,
    script: PathBuf,
    flags: Vec<&'a str>,
}

impl<'a> ScriptLoad<'a> {
    fn new(place: &'a Place, flags: &[&'a str]) -> Self {
        Self { place, script: place.write("drawing.lua", DRAWING), flags: flags.to_vec() }
    }

    fn args(&self, more: &[&'a str]) -> Vec<&str> {
        [&["sysbench", self.script.to_str().unwrap()], &self.flags[..], more, &["run"]].concat()
    }

    fn start(&self, index: u32, of: u32, more: &[&'a str]) -> Child {
        let part = format!("--part={index}/{of}");
        let mut args = self.args(more);
        args.splice(2..2, [&*part, "--part-wait=20"]);
        let mut command = self.place.command(&args);
        command
            .env("TRUETPS_RUNS", format!("part-{index}"))
            .env("TRUETPS_PARTS_SECRET", "the same in all parts");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn trial(&self, index: u32) -> Value {
        let path = self.place.path().join(format!("part-{index}/latest/trial-0001/run.json"));
        serde_json::from_slice(
            &std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        )
        .unwrap()
    }

    /// All parts end well.
    fn good(&self, of: u32, more: &[&'a str]) {
        let children: Vec<_> = (0..of).map(|index| self.start(index, of, more)).collect();
        for (index, child) in children.into_iter().enumerate() {
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(0), "part {index}: {}{}", ran.stdout, ran.stderr);
        }
    }
}

/// What two loads of one seed have drawn, one whole and one by parts.
fn check_draws(value: &mut dyn FnMut(&str) -> u64) {
    let both = "draws a JOIN draws b ON a.tid = b.tid AND a.n = b.n WHERE a.source = 'whole' AND \
                b.source = 'parts'";
    let (same, other) =
        (format!("{both} AND a.number = b.number"), format!("{both} AND a.number <> b.number"));
    assert_eq!(
        value(&format!("SELECT COUNT(*) FROM {other}")),
        0,
        "each client draws what it draws in the whole load"
    );
    assert!(value(&format!("SELECT COUNT(*) FROM {same}")) >= 20);
    assert_eq!(
        value("SELECT COUNT(DISTINCT tid) FROM draws WHERE source = 'parts'"),
        5,
        "5 clients in 2 parts"
    );
    let drawn = value("SELECT COUNT(*) FROM draws WHERE source = 'parts'");
    assert_eq!(
        value("SELECT COUNT(DISTINCT uniq) FROM draws WHERE source = 'parts'"),
        drawn,
        "no unique number twice"
    );
}

fn count(trial: &Value, name: &str) -> u64 {
    trial["measured"][name].as_u64().unwrap_or_else(|| panic!("{name}: {trial}"))
}

/// The parts of a script's load are the whole: numbers, counts, the merged folder.
fn check_parts(load: &ScriptLoad<'_>, value: &mut dyn FnMut(&str) -> u64) {
    let whole = load.place.run(&load.args(&["--load=whole"]));
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    load.good(2, &["--load=parts"]);
    check_draws(value);
    let merged = load.place.run(&["merge", "part-1/latest", "part-0/latest"]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    let (trial, parts) = (load.place.run_json("trial-0001"), [load.trial(0), load.trial(1)]);
    assert_eq!(trial["validity"]["state"], "valid", "{trial}");
    assert_eq!(count(&trial, "ok"), parts.iter().map(|part| count(part, "ok")).sum::<u64>());
    let rows = value("SELECT COUNT(*) FROM draws WHERE source = 'parts'");
    assert_eq!(
        trial["script"]["writes"].as_u64(),
        Some(rows),
        "a row of the table is a write of the merged run: {trial}"
    );
    assert_eq!(trial["engine"]["clients"], 5);
    let start = |part: &Value| part["start"]["server_us"].as_i64().unwrap();
    assert_eq!(start(&parts[0]), start(&parts[1]));
    let shown = load.place.good(&["report", "--full"]);
    assert!(shown.stdout.contains("part 1/2 on "), "{}", shown.stdout);
    let part = load.place.good(&["report", "part-1/latest"]);
    assert!(part.stdout.contains("Only part 1/2 of a load"), "{}", part.stdout);
}

#[test]
fn a_script_in_two_parts_on_a_mariadb_is_one_load() {
    let Some(binary) = mariadb("a_script_in_two_parts_on_a_mariadb") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, dsn) = (Place::new(), script_schema(&owned));
    let mut admin = owned.admin();
    admin.execute("USE sb").unwrap();
    let before = owned.belongings();
    let load = ScriptLoad::new(&place, &[&dsn, "--threads=5", "--time=1", "--rand-seed=7"]);
    check_parts(&load, &mut |sql| admin.query_value(sql).unwrap().unwrap().parse().unwrap());
    assert_eq!(owned.belongings(), before, "nothing is left");

    // The starts of one schedule are made once.
    let paced =
        ScriptLoad::new(&place, &[&dsn, "--threads=40", "--time=2", "--rand-seed=7", "--rate=300"]);
    let whole = place.run(&paced.args(&["--load=w2"]));
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    let scheduled = |trial: &Value| trial["measured"]["open_loop"]["scheduled"].as_u64().unwrap();
    let of_whole = scheduled(&place.run_json("trial-0001"));
    paced.good(2, &["--load=p2", "--warmup-time=1"]);
    let warm = [paced.trial(0), paced.trial(1)].iter().map(scheduled).sum::<u64>();
    assert!((400..800).contains(&warm), "600 of 2 s after a warm-up: {warm}");
    paced.good(2, &["--load=p3"]);
    assert_eq!([paced.trial(0), paced.trial(1)].iter().map(scheduled).sum::<u64>(), of_whole);
}

#[test]
fn a_script_in_two_parts_on_a_postgresql_is_one_load() {
    let options = PostgresOptions { tcp: true, ..PostgresOptions::default() };
    let Some(server) = PostgresServer::start("a_script_in_two_parts_on_a_postgresql", &options)
    else {
        return;
    };
    let mut admin = server.connect().unwrap();
    admin.execute(TABLE).unwrap();
    let databases = || {
        server.connect().unwrap().query("SELECT datname FROM pg_database ORDER BY 1").unwrap().rows
    };
    let (place, before) = (Place::new(), databases());
    let dsn = format!("--dsn=postgresql://truetps@/postgres?socket={}", server.socket().display());
    let load = ScriptLoad::new(&place, &[&dsn, "--threads=5", "--time=1", "--rand-seed=7"]);
    check_parts(&load, &mut |sql| admin.query_value(sql).unwrap().unwrap().parse().unwrap());
    assert_eq!(databases(), before, "nothing is left");
}

#[test]
fn parts_of_a_script_that_do_not_fit_are_refused() {
    let Some(binary) = mariadb("parts_of_a_script_that_do_not_fit") else { return };
    let owned = Owned::start(&binary, &[]);
    let (place, dsn) = (Place::new(), script_schema(&owned));
    let load = ScriptLoad::new(&place, &[&dsn, "--threads=4", "--time=3"]);
    let before = owned.belongings();
    let refused = |flags: &[&'static str], told: &str| {
        let ran = place.run(&load.args(flags));
        assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
        assert!((ran.stdout.clone() + &ran.stderr).contains(told), "{}{}", ran.stdout, ran.stderr);
    };
    refused(&["--part=0/2"], "--part needs --rand-seed=N");
    refused(&["--part=2/2", "--rand-seed=1"], "Invalid value for the 'part' option: '2/2'");
    refused(&["--part=0/5", "--rand-seed=1"], "--threads=4 is less than 5");
    refused(&["--part=0/3", "--rand-seed=1", "--events=2"], "--events=2 is less than 3");
    refused(&["--part=auto", "--rand-seed=1"], "none of SLURM_PROCID");
    let script = load.script.to_str().unwrap();
    let prepare = place.run(&[
        "sysbench",
        script,
        &dsn,
        "--part=0/2",
        "--rand-seed=1",
        "--threads=2",
        "cleanup",
    ]);
    assert_eq!(prepare.code, Some(1), "{}{}", prepare.stdout, prepare.stderr);
    let nowhere =
        place.run(&["sysbench", script, "--part=0/2", "--rand-seed=1", "--threads=2", "run"]);
    assert!(
        (nowhere.stdout.clone() + &nowhere.stderr).contains("needs the server's address"),
        "{}",
        nowhere.stdout
    );

    // Another value of an option of the script.
    let seeded = ScriptLoad { flags: [&load.flags[..], &["--rand-seed=1"]].concat(), ..load };
    let children = [seeded.start(0, 2, &["--load=a"]), seeded.start(1, 2, &["--load=b"])];
    for (index, child) in children.into_iter().enumerate() {
        let ran = Ran::from(child.wait_with_output().unwrap());
        let printed = ran.stdout + &ran.stderr;
        assert_eq!(ran.code, Some(1), "part {index}: {printed}");
        let words = "part 1/2 has another plan than part 0: `--load=a` in part 0, `--load=b` here";
        assert!(printed.contains(words), "part {index}: {printed}");
    }
    assert!(
        reason_of(&seeded.trial(0)).contains("part 1/2 has another plan"),
        "{}",
        seeded.trial(0)
    );

    // A part that is killed while the load runs: the other learns it when its own events have
    // ended.
    let (first, mut second) =
        (seeded.start(0, 2, &["--load=k"]), seeded.start(1, 2, &["--load=k"]));
    wait_until("rows of the second part", || {
        let rows = owned
            .admin()
            .query_value("SELECT COUNT(*) FROM sb.draws WHERE source = 'k' AND tid = 1");
        rows.is_ok_and(|rows| rows.as_deref() != Some("0"))
    });
    second.kill().unwrap();
    second.wait().unwrap();
    let began = Instant::now();
    let ran = Ran::from(first.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(45), "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(reason_of(&seeded.trial(0)).contains("part 1/2 has ended"), "{}", seeded.trial(0));
    assert_eq!(owned.belongings(), before, "nothing is left");
}
