//! The scripts in `workloads/`: each is prepared, run, looked at and cleaned up, on MariaDB and on
//! PostgreSQL.

use std::path::Path;

use truetps_driver::Client;
use truetps_testkit::mysql_family::mariadb;
use truetps_testkit::{PostgresOptions, PostgresServer};

use crate::common::{Place, Ran};
use crate::support::Owned;

/// Rows of tables that a script has made.
const TABLES: &str = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ";

/// A private server with an empty database, and the way there.
struct Server {
    place: Place,
    flags: Vec<String>,
    admin: Client,
    schema: &'static str,
}

impl Server {
    fn mariadb(owned: &Owned) -> Self {
        owned.execute(&["CREATE DATABASE examples"]);
        let mut admin = owned.admin();
        admin.execute("USE examples").unwrap();
        let socket = format!("--mysql-socket={}", owned.server.socket().display());
        let flags = vec![socket, "--mysql-user=root".to_owned(), "--mysql-db=examples".to_owned()];
        Self { place: Place::new(), flags, admin, schema: "'examples'" }
    }

    fn postgres(server: &PostgresServer) -> Self {
        let folder = server.socket().parent().unwrap().display().to_string();
        let words = ["--db-driver=pgsql", "--pgsql-user=truetps", "--pgsql-db=postgres"];
        let mut flags: Vec<String> = words.map(str::to_owned).to_vec();
        flags.push(format!("--pgsql-host={folder}"));
        Self { place: Place::new(), flags, admin: server.connect().unwrap(), schema: "'public'" }
    }

    /// Runs a command of a script, which is to end well.
    fn good(&self, script: &str, words: &str) -> String {
        let ran = self.run(script, words);
        assert_eq!(ran.code, Some(0), "{script} {words}: {}{}", ran.stdout, ran.stderr);
        assert!(
            !ran.stdout.contains("FATAL") && !ran.stdout.contains("ALERT"),
            "{script} {words}: {}",
            ran.stdout
        );
        ran.stdout
    }

    fn run(&self, script: &str, words: &str) -> Ran {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(script);
        let mut args = vec!["sysbench", path.to_str().unwrap(), "--runs=none"];
        args.extend(self.flags.iter().map(String::as_str));
        args.extend(words.split_whitespace());
        self.place.run(&args)
    }

    fn number(&mut self, sql: &str) -> u64 {
        let value = self.admin.query_value(sql).unwrap().unwrap_or_default();
        value.parse().unwrap_or_else(|_| panic!("{sql}: {value}"))
    }

    fn tables(&mut self) -> u64 {
        self.number(&format!("{TABLES}{}", self.schema))
    }
}

/// Events that a report counts.
fn events(report: &str) -> u64 {
    let line =
        report.lines().find(|line| line.contains("total number of events:")).unwrap_or_default();
    line.rsplit(' ').next().unwrap_or_default().parse().unwrap_or_else(|_| panic!("{report}"))
}

fn ingest(server: &mut Server) {
    server.good("ingest.lua", "--tables=2 --rows=3 prepare");
    assert_eq!(server.tables(), 2);
    let report = server.good(
        "ingest.lua",
        "--tables=2 --rows=3 --payload=30 --threads=3 --events=40 --time=30 run",
    );
    assert_eq!(events(&report), 40);
    let rows = server.number("SELECT COUNT(*) FROM readings_1")
        + server.number("SELECT COUNT(*) FROM readings_2");
    assert_eq!(rows, 120);
    assert_eq!(server.number("SELECT COUNT(*) FROM readings_1 WHERE LENGTH(payload) <> 30"), 0);
    server.good("ingest.lua", "--tables=2 cleanup");
}

fn transfers(server: &mut Server) {
    server.good("transfers.lua", "--accounts=40 prepare");
    for order in ["off", "on"] {
        let flags = format!(
            "--accounts=40 --hot=2 --ordered={order} --threads=6 --events=150 --time=60 run"
        );
        assert_eq!(events(&server.good("transfers.lua", &flags)), 150);
    }
    assert_eq!(server.number("SELECT COUNT(*) FROM transfers"), 300);
    let checked = server.good("transfers.lua", "check");
    assert!(checked.contains("300 transfers; the balances sum up to 40000 of 40000"), "{checked}");
    server.admin.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1").unwrap();
    assert_eq!(server.run("transfers.lua", "check").code, Some(1), "money from nowhere is seen");
    server.good("transfers.lua", "cleanup");
}

fn queue(server: &mut Server) {
    server.good("queue.lua", "--jobs=30 prepare");
    assert_eq!(server.number("SELECT COUNT(*) FROM jobs"), 30);
    let report = server.good("queue.lua", "--consumers=75 --threads=4 --events=80 --time=30 run");
    assert_eq!(events(&report), 80);
    let left = server.number("SELECT COUNT(*) FROM jobs");
    assert!(
        report.contains(&format!("jobs left: {left}, the oldest of them ")),
        "{left}: {report}"
    );
    let report = server.good("queue.lua", "--consumers=100 --events=200 --time=30 run");
    assert!(report.contains("jobs left: 0, the oldest of them 0.0 s old"), "{report}");
    server.good("queue.lua", "cleanup");
}

fn shards(server: &mut Server) {
    let small = "--shards=4 --shard-rows=50 --threads=3";
    let said = server.good("shards.lua", &format!("{small} prepare"));
    assert_eq!(said.matches("loaded shard_").count(), 4, "{said}");
    server.good("shards.lua", &format!("{small} warm"));
    let report = server.good("shards.lua", &format!("{small} --time=1 --report-interval=0.3 run"));
    let csv: Vec<&str> = report.lines().skip_while(|line| !line.starts_with("time_s,")).collect();
    assert_eq!(csv[0], "time_s,clients,tps,qps,latency_ms,errors_per_s");
    let rows =
        || csv[1..].iter().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    assert!(
        (2..=4).contains(&rows().count()) && rows().all(|row| row.split(',').count() == 6),
        "{report}"
    );
    assert!(report.contains("\n# "), "{report}");
    let changes: u64 =
        (1..=4).map(|n| server.number(&format!("SELECT SUM(n) FROM shard_{n}"))).sum();
    assert!(changes > 0);
    server.good("shards.lua", &format!("{small} verify"));
    server.admin.execute("DELETE FROM shard_2 WHERE id = 7").unwrap();
    assert_eq!(
        server.run("shards.lua", &format!("{small} verify")).code,
        Some(1),
        "a lost row is seen"
    );
    server.good("shards.lua", &format!("{small} cleanup"));
}

fn all(mut server: Server) {
    for example in [ingest, transfers, queue, shards] {
        example(&mut server);
        assert_eq!(server.tables(), 0, "a script has left its tables");
    }
}

#[test]
fn the_examples_run_on_mariadb() {
    let Some(binary) = mariadb("the_examples_run_on_mariadb") else { return };
    let owned = Owned::start(&binary, &[]);
    all(Server::mariadb(&owned));
}

#[test]
fn the_examples_run_on_postgres() {
    // Deadlocks are looked for a second after the wait began: less of it is enough here.
    let setting = ("deadlock_timeout".to_owned(), "10ms".to_owned());
    let options = PostgresOptions { settings: vec![setting], ..Default::default() };
    let Some(server) = PostgresServer::start("the_examples_run_on_postgres", &options) else {
        return;
    };
    all(Server::postgres(&server));
}

#[test]
fn every_example_has_its_line_in_the_readme() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        assert!(name == "README.md" || readme.contains(&format!("| `{name}` |")), "{name}");
    }
}
